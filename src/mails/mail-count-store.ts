import { createHash } from 'node:crypto'
import type { Queries } from '../database/database.ts'
import { freshSql, sql } from '../database/sql.ts'
import { ALL_PLACES, type Place } from '../kernel/place.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export const WINDOWS = { hour: HOUR_MS, day: DAY_MS }

/** When the window of a time ends. Windows begin on full hours and days of UTC. */
export function endOfWindow(window: keyof typeof WINDOWS, now: Date): Date {
  const ms = WINDOWS[window]
  return new Date((Math.floor(now.getTime() / ms) + 1) * ms)
}

/**
 * Counts one mail more about `what` in this hour or day, over all processes. False: the limit is reached. The key is a
 * digest, because `what` may be a customer's address.
 */
export async function countMail(
  db: Queries,
  place: Place,
  { what, window, limit }: { what: string; window: keyof typeof WINDOWS; limit: number },
  now: Date,
): Promise<boolean> {
  const until = endOfWindow(window, now)
  const key = createHash('sha256').update(`${what} ${until.toISOString()}`).digest()
  const rows = await db.rows(sql`
    insert into mail_counts as c (place, key, sent, counts_until) values (${place}, ${key}, 1, ${until})
    on conflict (key, place) do update set sent = c.sent + 1 where c.sent < ${limit}
    returning c.sent`)
  return rows.length > 0
}

/** Returns the ends of the windows that are deleted. */
export async function deleteOldCounts(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const { first, last } = ALL_PLACES
  const rows = await db.rows<{ at: Date }>(freshSql`
    with old as materialized (
      select place, key from mail_counts where place between ${first} and ${last} and counts_until < ${before}
       order by counts_until limit ${limit}
    )
    delete from mail_counts c using old
     where c.place between ${first} and ${last} and c.place = old.place and c.key = old.key
    returning c.counts_until as at`)
  return rows.map(({ at }) => at)
}
