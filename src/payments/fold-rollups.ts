import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import { firstUuidAt } from '../kernel/ids.ts'
import { endOfStretch, findUnfolded, foldStretch, listCursors, resetRollups } from './store/rollups.ts'

/**
 * An id is given before its commit, so a row with a lower id may become visible after one with a higher id. Only rows are folded that are
 * older than any transaction can be; the charts read the newer ones themselves.
 */
const LATE_COMMIT_MS = 15_000

/**
 * Folds new payments and events into the hourly rollups, a limited number for each place. Returns true when more are waiting. Payments do
 * not write rollups themselves: payments of one merchant would wait for the lock of its hour. See docs/decisions/0017-rollups.md.
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

/** Makes all rollups again. For an operator whose audit found differences. */
export async function rebuildRollups(deps: { database: Database; clock: Clock }): Promise<void> {
  for (const { place } of await listCursors(deps.database))
    await deps.database.transaction((tx) => resetRollups(tx, place))
  while (await foldRollups(deps)) {}
}
