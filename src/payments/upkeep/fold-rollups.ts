import type { Database } from '../../database/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { firstUuidAt, timeOfUuid } from '../../kernel/ids.ts'
import { endOfStretch, findUnfolded, foldStretch, listCursors, resetRollups, sumNextDay } from '../store/rollups.ts'

/**
 * An id is given before its commit, so a row with a lower id may become visible after one with a higher id. Only rows
 * are folded that are older than any transaction can be; the charts read the newer ones themselves.
 */
const LATE_COMMIT_MS = 15_000

/**
 * Folds new payments and events into the hourly rollups, a limited number for each place. Returns true when more are
 * waiting. Payments do not write rollups themselves: payments of one merchant would wait for the lock of its hour. See
 * docs/decisions/0017-rollups.md.
 */
export async function foldRollups({ database, clock }: { database: Database; clock: Clock }): Promise<boolean> {
  const until = firstUuidAt(new Date(clock.now().getTime() - LATE_COMMIT_MS))
  let isMore = false
  // A place at a time: with many places, one statement for all would be too long.
  for (const unfolded of await findUnfolded(database, until)) {
    const end = await endOfStretch(database, unfolded)
    await foldStretch(database, { ...unfolded, until: end })
    isMore ||= end !== unfolded.until
  }
  return isMore
}

/** A fact is folded by the time in its id, which may differ from its own time by what clocks and transactions take. */
const SETTLED_MS = 3_600_000

/**
 * Sums up days from their hourly rollups, one for each place. Returns true when more are waiting. A day that is summed
 * up does not change: the cursor of the hourly rollups has passed it by an hour.
 */
export async function sumUpDays({ database }: { database: Database }): Promise<boolean> {
  let isMore = false
  for (const cursor of await listCursors(database)) {
    const until = new Date(timeOfUuid(cursor.foldedTo).getTime() - SETTLED_MS)
    if (await sumNextDay(database, cursor, until)) isMore = true
  }
  return isMore
}

/** Makes all rollups again. For an operator whose audit found differences. */
export async function rebuildRollups(deps: { database: Database; clock: Clock }): Promise<void> {
  for (const { place } of await listCursors(deps.database))
    await deps.database.transaction((tx) => resetRollups(tx, place))
  while (await foldRollups(deps)) {}
  while (await sumUpDays(deps)) {}
}
