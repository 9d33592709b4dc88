import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type EventId, type PaymentId, placeOf, uuidOf } from '../kernel/ids.ts'

/** The first trace of a payment stays. */
export async function saveTrace(db: Queries, paymentId: PaymentId, traceparent: string): Promise<void> {
  await db.rows(sql`
    update payments set trace = ${traceparent}
     where place = ${placeOf(paymentId)} and id = ${uuidOf(paymentId)} and trace is null`)
}

export async function findTrace(db: Queries, paymentId: PaymentId): Promise<string | undefined> {
  const row = await db.row<{ trace: string | null }>(sql`
    select trace from payments where place = ${placeOf(paymentId)} and id = ${uuidOf(paymentId)}`)
  return row?.trace ?? undefined
}

/** The trace of the payment that an event is about. */
export async function findTraceOfEvent(db: Queries, eventId: EventId): Promise<string | undefined> {
  const place = placeOf(eventId)
  const row = await db.row<{ trace: string | null }>(sql`
    select p.trace from events e join payments p on p.place = ${place} and p.id = e.payment_id
     where e.place = ${place} and e.id = ${uuidOf(eventId)}`)
  return row?.trace ?? undefined
}
