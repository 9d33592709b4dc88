import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'

/** What a new merchant has done already. */
export interface FirstSteps {
  madePayment: boolean
  wasPaid: boolean
  receivedWebhook: boolean
}

/** Events whose deliveries are looked at. A merchant that receives webhooks has one among the latest. */
const LATEST_EVENTS = 50

/** Each answer is read from an index, at any number of payments. */
export async function findFirstSteps(db: Queries, { place, merchantId, mode }: Scope): Promise<FirstSteps> {
  const merchant = uuidOf(merchantId)
  const [row] = await db.rows<{ made: boolean; paid: boolean; received: boolean }>(sql`
    select exists (select from payments where place = ${place} and merchant_id = ${merchant} and mode = ${mode})
           or exists (select from links where place = ${place} and merchant_id = ${merchant} and mode = ${mode}) as made,
           exists (select from payments where place = ${place} and merchant_id = ${merchant} and mode = ${mode}
                                          and status = 'successful') as paid,
           exists (select from (select id from events
                                 where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and body is not null
                                 order by id desc limit ${LATEST_EVENTS}) e
                     join deliveries d on d.place = ${place} and d.event_id = e.id and d.state = 'delivered') as received`)
  return {
    madePayment: row?.made ?? false,
    wasPaid: row?.paid ?? false,
    receivedWebhook: row?.received ?? false,
  }
}
