import type { Queries, Transaction } from '../../../database/database.ts'
import { sql } from '../../../database/sql.ts'
import { ALL_PLACES, type Place } from '../../../kernel/place.ts'
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
  delayMs: number | null,
): Promise<void> {
  await tx.rows(sql`
    insert into gateway_notices (place, merchant_id, body, state, due_at)
    values (${placeOfMerchant(merchantUuid)}, ${merchantUuid}, ${body}, ${delayMs === null ? 'lost' : 'waiting'},
      clock_timestamp() + ${delayMs ?? 0}::integer * interval '1 millisecond')`)
}

/** For this process alone, for as long as the lease lasts. After a crash it is simply due again. Guarded as in claimDueChecks. */
export function claimDueNotices(queries: Queries, limit: number, leaseSeconds: number): Promise<DueNotice[]> {
  return queries.rows(sql`
    with due as materialized (
      select place, id, state, due_at from gateway_notices
       where state = 'waiting' and due_at <= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by due_at limit ${limit}
    )
    update gateway_notices n set due_at = clock_timestamp() + ${leaseSeconds}::integer * interval '1 second', tries = n.tries + 1
      from due where n.place = due.place and n.id = due.id and n.state = due.state and n.due_at = due.due_at
    returning n.place, n.id, n.merchant_id as "merchantUuid", n.body, n.tries`)
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
  await queries.rows(sql`
    update gateway_notices
       set state = ${retrySeconds === null ? 'given_up' : 'waiting'},
           due_at = clock_timestamp() + ${retrySeconds ?? 0}::integer * interval '1 second'
     where place = ${place} and id = ${id} and state = 'waiting'`)
}
