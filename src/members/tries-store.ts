import type { Database, Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { digestOf } from '../merchants/credential.ts'

/** A counter of tries, such as `account ada@example.com`. After `free` tries in a row each further one has to wait. */
export interface TryCounter {
  name: string
  free: number
}

const FIRST_WAIT_SECONDS = 15
/** The longest wait. It is short, so that guessing by others never keeps a member out for good. */
export const LONGEST_WAIT_SECONDS = 900

/**
 * Counts a try on each counter before the secret is checked, so that concurrent guesses cannot pass together. Returns
 * the seconds to wait when a counter refuses; then nothing is counted.
 */
export async function countTry(database: Database, counters: TryCounter[]): Promise<number | undefined> {
  // First a read: a flood of guesses must not become a flood of writes.
  const seconds = await secondsToWait(database, counters)
  if (seconds > 0) return seconds
  try {
    await database.transaction(async (tx) => {
      for (const { name, free } of counters) {
        const counted = await tx.row(sql`
          insert into sign_in_tries as t (key, tries, tried_at) values (${digestOf(name)}, 1, now())
          on conflict (key) do update set tried_at = now(),
                 tries = case when t.tried_at < now() - interval '1 day' then 1 else t.tries + 1 end
           where t.tries < ${free}
              or t.tried_at < now() - least(${LONGEST_WAIT_SECONDS}::int,
                   ${FIRST_WAIT_SECONDS}::int * power(2, least(t.tries - ${free}, 10))) * interval '1 second'
          returning tries`)
        if (!counted) throw new MustWait()
      }
    })
    return undefined
  } catch (error) {
    if (!(error instanceof MustWait)) throw error
    return Math.max(1, await secondsToWait(database, counters))
  }
}

/** Rolls the transaction back. */
class MustWait extends Error {}

/** Zero or less: no counter refuses. */
async function secondsToWait(db: Queries, counters: TryCounter[]): Promise<number> {
  const keys = counters.map(({ name }) => digestOf(name))
  const row = await db.row<{ seconds: number | null }>(sql`
    select ceil(max(extract(epoch from t.tried_at - now()) + least(${LONGEST_WAIT_SECONDS}::int,
             ${FIRST_WAIT_SECONDS}::int * power(2, least(t.tries - c.free, 10)))))::int as seconds
      from unnest(${keys}::bytea[], ${counters.map(({ free }) => free)}::int[]) as c (key, free)
      join sign_in_tries t on t.key = c.key
     where t.tries >= c.free`)
  return row?.seconds ?? 0
}

/** After a success: the account's counters start again, and an address gets its try back. */
export async function forgiveTries(db: Queries, forget: string[], giveBack: string[]): Promise<void> {
  await db.rows(sql`delete from sign_in_tries where key = any(${forget.map(digestOf)}::bytea[])`)
  await db.rows(sql`
    update sign_in_tries set tries = greatest(0, tries - 1) where key = any(${giveBack.map(digestOf)}::bytea[])`)
}
