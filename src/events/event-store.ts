import type { Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Event } from './event.ts'

/** Takes a transaction, never a plain connection: an event without its change, or a change without its event, must not exist. */
export async function recordEvent(tx: Transaction, event: Event): Promise<void> {
  await tx.rows(sql`
    insert into events (id, merchant_id, mode, payment_id, type, sequence, data, cause)
    values (${uuidOf(event.id)}, ${uuidOf(event.merchantId)}, ${event.mode}, ${uuidOf(event.paymentId)},
            ${event.type}, ${event.sequence}, ${event.data}, ${event.cause})`)
}
