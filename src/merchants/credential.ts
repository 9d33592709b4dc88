import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { encodeBase58 } from '../kernel/base58.ts'
import type { Mode } from '../kernel/mode.ts'

/** The credential of a merchant's backend. The id is public; the secret is shown once and stored as a digest. */
export interface NewCredential {
  clientId: string
  clientSecret: string
}

/** `bytes`: 48 random or derived bytes, which must be secret. */
export function newCredential(mode: Mode, bytes: Buffer = randomBytes(48)): NewCredential {
  return {
    clientId: `cid_${mode}_${base58(bytes.subarray(0, 16), 22)}`,
    clientSecret: `sec_${mode}_${base58(bytes.subarray(16), 44)}`,
  }
}

function base58(bytes: Buffer, length: number): string {
  return encodeBase58(BigInt(`0x${bytes.toString('hex')}`), length)
}

export function digestOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

export function equalInConstantTime(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

const UNKNOWN_DIGEST = randomBytes(32)

/** Constant time, also for an unknown credential (no digest). */
export function secretMatches(secret: string, digest: Buffer | undefined): boolean {
  const equal = timingSafeEqual(digestOf(secret), digest ?? UNKNOWN_DIGEST)
  return equal && digest !== undefined
}
