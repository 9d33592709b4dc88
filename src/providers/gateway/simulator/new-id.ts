import { randomBytes } from 'node:crypto'
import { encodeBase58 } from '../../../kernel/base58.ts'
import { decodePlace, encodePlace, type Place } from '../../../kernel/place.ts'

/**
 * `gct_…`: the time first, so that an index on it grows at its end, then 128 random bits, so that it cannot be guessed.
 */
export function newId(prefix: string, now: Date): string {
  const random = BigInt(`0x${randomBytes(16).toString('hex')}`)
  return prefix + encodeBase58(BigInt(now.getTime()), TIME_LENGTH) + encodeBase58(random, 22)
}

/** The secret in the address of a card page: the time, the place, then 128 random bits. */
export function newPageToken(now: Date, place: Place): string {
  const token = newId('', now)
  return token.slice(0, TIME_LENGTH) + encodePlace(place) + token.slice(TIME_LENGTH)
}

/** Undefined when the text is not a page token. */
export function placeOfPageToken(token: string): Place | undefined {
  return PAGE_TOKEN.test(token) ? decodePlace(token.slice(TIME_LENGTH, TIME_LENGTH + 2)) : undefined
}

const TIME_LENGTH = 8
const PAGE_TOKEN = /^[1-9A-HJ-NP-Za-km-z]{32}$/
