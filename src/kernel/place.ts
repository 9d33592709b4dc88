import { decodeBase32, encodeBase32 } from './base32.ts'
import { encodeBase58 } from './base58.ts'
import { randomInteger48 } from './random.ts'

/**
 * The key of distribution, 0 to 1023: every row of a table that grows has the place of its merchant as the last column
 * of its keys. With one PostgreSQL it only costs two bytes; a cluster can put each place on a machine of its own. See
 * docs/decisions/0014-place.md.
 */
export type Place = number

const PLACES = 1_024

/** Background work claims rows by a range of places. One process loop covers all of them. */
export interface PlaceRange {
  first: Place
  last: Place
}

export const ALL_PLACES: PlaceRange = { first: 0, last: PLACES - 1 }

export function randomPlace(): Place {
  return randomInteger48() % PLACES
}

// Two characters: 58² > 1024. A table, because every id is made with it.
const ENCODED = Array.from({ length: PLACES }, (_, place) => encodeBase58(BigInt(place), 2))
const DECODED = new Map(ENCODED.map((text, place) => [text, place]))

export function encodePlace(place: Place): string {
  return ENCODED[place] as string
}

/** Undefined when the text is not a place. */
export function decodePlace(text: string): Place | undefined {
  return DECODED.get(text)
}

/** In base32, the alphabet of references: 32² = 1024. */
export function encodePlace32(place: Place): string {
  return encodeBase32(place, 2)
}

export function decodePlace32(text: string): Place | undefined {
  return text.length === 2 ? decodeBase32(text) : undefined
}

/** The items of each place, in the order of places: a statement on a table that grows is about one place. */
export function groupByPlace<Item>(items: Iterable<Item>, placeOf: (item: Item) => Place): [Place, Item[]][] {
  return [...Map.groupBy(items, placeOf)].sort(([a], [b]) => a - b)
}

/**
 * Runs a statement for each place of the items, each with a commit of its own, and returns all rows. If a place fails,
 * the others go on: what they have claimed must be worked on. It throws if there is no row at all; the items of a
 * failed place are still due, so the next search finds them again.
 */
export async function rowsOfEachPlace<Item extends { place: Place }, Row>(
  items: Item[],
  run: (place: Place, group: Item[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  let failure: { error: unknown } | undefined
  for (const [place, group] of groupByPlace(items, (item) => item.place)) {
    try {
      rows.push(...(await run(place, group)))
    } catch (error) {
      failure ??= { error }
    }
  }
  if (failure && rows.length === 0) throw failure.error
  return rows
}
