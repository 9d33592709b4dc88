import type { Queries, Transaction } from '../../../database/database.ts'
import { readTime } from '../../../database/database-clock.ts'
import { sql } from '../../../database/sql.ts'
import { ALL_PLACES, type Place, rowsOfEachPlace } from '../../../kernel/place.ts'
import { placeOfMerchant } from './place.ts'

export interface NoticeKey {
  place: Place
  id: number
}

export interface DueNotice extends NoticeKey {
  merchantUuid: string
  body: string
  /** This one included. */
  tries: number
}

/** Written with the change that it tells of. `delayMs` null: it is lost on the way. */
export async function insertNotice(
  tx: Transaction,
  merchantUuid: string,
  body: string,
  { now, delayMs }: { now: Date; delayMs: number | null },
): Promise<void> {
  const dueAt = new Date(now.getTime() + (delayMs ?? 0))
  await tx.rows(sql`
    insert into gateway_notices (place, merchant_id, body, state, due_at)
    values (${placeOfMerchant(merchantUuid)}, ${merchantUuid}, ${body}, ${delayMs === null ? 'lost' : 'waiting'}, ${dueAt})`)
}

/**
 * For this process alone, for as long as the lease lasts. After a crash it is simply due again. Found without a lock,
 * over all places.
 */
export async function claimDueNotices(queries: Queries, limit: number, leaseSeconds: number): Promise<DueNotice[]> {
  const due = await queries.rows<{ place: Place; id: number; now: string }>(sql`
    select place, id, now()::text as now from gateway_notices
     where state = 'waiting' and due_at <= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by due_at limit ${limit}`)
  const now = due[0]?.now
  return rowsOfEachPlace(due, (place, group) =>
    queries.rows<DueNotice>(sql`
      update gateway_notices n
         set due_at = ${now}::timestamptz + ${leaseSeconds}::integer * interval '1 second', tries = n.tries + 1
       where n.place = ${place} and n.id = any(${group.map(({ id }) => id)}::bigint[])
         and (n.state = 'waiting') is true and (n.due_at <= ${now}::timestamptz) is true
      returning n.place, n.id, n.merchant_id as "merchantUuid", n.body, n.tries`),
  )
}

export async function markNoticeSent(queries: Queries, { place, id }: NoticeKey): Promise<void> {
  await queries.rows(sql`update gateway_notices set state = 'sent' where place = ${place} and id = ${id}`)
}

/** `retrySeconds` null: that was the last try. */
export async function markNoticeFailed(
  queries: Queries,
  { place, id }: NoticeKey,
  retrySeconds: number | null,
): Promise<void> {
  const now = await readTime(queries)
  await queries.rows(sql`
    update gateway_notices
       set state = ${retrySeconds === null ? 'given_up' : 'waiting'},
           due_at = ${now}::timestamptz + ${retrySeconds ?? 0}::integer * interval '1 second'
     where place = ${place} and id = ${id} and state = 'waiting'`)
}
