import type { Place } from '../../../kernel/place.ts'

/** The simulator's own places: it knows nothing of a merchant but the uuid, whose end is random. */
export function placeOfMerchant(merchantUuid: string): Place {
  return Number.parseInt(merchantUuid.slice(-3), 16) & 1_023
}
