import { randomBytes } from 'node:crypto'
import { encodeBase58 } from '../../../kernel/base58.ts'

/** `gct_…`: the time first, so that an index on it grows at its end, then 128 random bits, so that it cannot be guessed. */
export function newId(prefix: string, now: Date): string {
  const random = BigInt(`0x${randomBytes(16).toString('hex')}`)
  return prefix + encodeBase58(BigInt(now.getTime()), 8) + encodeBase58(random, 22)
}
