import type { Queries, Transaction } from '../../../database/database.ts'
import { sql } from '../../../database/sql.ts'

export interface DueNotice {
  id: number
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
    insert into gateway_notices (merchant_id, body, state, due_at)
    values (${merchantUuid}, ${body}, ${delayMs === null ? 'lost' : 'waiting'},
      clock_timestamp() + ${delayMs ?? 0}::integer * interval '1 millisecond')`)
}

/** For this process alone, for as long as the lease lasts. After a crash it is simply due again. */
export function claimDueNotices(queries: Queries, limit: number, leaseSeconds: number): Promise<DueNotice[]> {
  return queries.rows(sql`
    update gateway_notices set due_at = clock_timestamp() + ${leaseSeconds}::integer * interval '1 second', tries = tries + 1
     where id in (select id from gateway_notices
                   where state = 'waiting' and due_at <= now()
                   order by due_at limit ${limit} for update skip locked)
    returning id, merchant_id as "merchantUuid", body, tries`)
}

export async function markNoticeSent(queries: Queries, id: number): Promise<void> {
  await queries.rows(sql`update gateway_notices set state = 'sent' where id = ${id}`)
}

/** `retrySeconds` null: that was the last try. */
export async function markNoticeFailed(queries: Queries, id: number, retrySeconds: number | null): Promise<void> {
  await queries.rows(sql`
    update gateway_notices
       set state = ${retrySeconds === null ? 'given_up' : 'waiting'},
           due_at = clock_timestamp() + ${retrySeconds ?? 0}::integer * interval '1 second'
     where id = ${id} and state = 'waiting'`)
}
