import { randomBytes } from 'node:crypto'
import type { MemberId } from '../kernel/ids.ts'
import { digestOf } from '../merchants/credential.ts'

/** A token of a session or a one-time link: 256 random bits. Only its digest is stored. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

const CODE_LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789' // 32 letters without l, o, 0 and 1
const CODE_LENGTH = 16
const CODES = 10

/** Ten recovery codes of 80 random bits, as shown to the member: `abcd-efgh-ijkm-npqr`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () => {
    const letters = Array.from(randomBytes(CODE_LENGTH), (byte) => CODE_LETTERS.charAt(byte & 31)).join('')
    return letters.replace(/(.{4})(?=.)/g, '$1-')
  })
}

/** Upper case, spaces and missing hyphens are accepted. */
export function recoveryCodeDigest(memberId: MemberId, code: string): Buffer {
  return digestOf(`${memberId} ${code.toLowerCase().replaceAll(/[^a-z0-9]/g, '')}`)
}
