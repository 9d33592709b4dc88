import { isLockTimeout, lostConnection } from '../../database/failure.ts'
import { groupByPlace, type Place } from '../../kernel/place.ts'
import { Problem } from '../../kernel/problem.ts'

const isUnavailable = (error: unknown) => error instanceof Problem && error.code === 'unavailable'

/** Limits of the batch writers of payments. See database/batch.ts. */
export const GROUP_COMMIT = {
  maxItems: 64,
  maxWaiting: 4_096,
  // A row that is locked, or one broken connection, says nothing about the next statement.
  failsAll: (error: unknown) => isUnavailable(error) && !isLockTimeout(error) && !lostConnection(error),
  tooMany: () =>
    new Problem('unavailable', 'More is being written than the database can take right now. Try again shortly.', {
      retryAfterSeconds: 1,
    }),
}

/**
 * Writes the items with one statement for each place, and one result for each item, in order. A statement that fails does not change the
 * results of the other places, which may be on disk already.
 */
export async function writeTogether<Item, Result>(
  items: Item[],
  placeOf: (item: Item) => Place,
  write: (place: Place, items: Item[]) => Promise<Result[]>,
): Promise<(Result | Error)[]> {
  const groups = groupByPlace(items, placeOf)
  const results = new Map<Item, Result | Error>()
  await Promise.all(
    groups.map(async ([place, group]) => {
      const written = await inOneOrAlone(group, (some) => write(place, some))
      for (const [index, item] of group.entries()) results.set(item, written[index] as Result | Error)
    }),
  )
  const inOrder = items.map((item) => results.get(item) as Result | Error)
  if (inOrder.every(GROUP_COMMIT.failsAll)) throw inOrder[0]
  return inOrder
}

/** If the statement fails because of one of the items, each is written alone. */
async function inOneOrAlone<Item, Result>(
  items: Item[],
  write: (items: Item[]) => Promise<Result[]>,
): Promise<(Result | Error)[]> {
  try {
    return await write(items)
  } catch (error) {
    if (items.length === 1 || (isUnavailable(error) && !isLockTimeout(error))) return items.map(() => error as Error)
  }
  const results: (Result | Error)[] = []
  for (const item of items) results.push(...(await inOneOrAlone([item], write)))
  return results
}
