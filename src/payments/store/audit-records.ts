import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { EventType } from '../../events/event.ts'
import { idOf, type PaymentId, uuidOf } from '../../kernel/ids.ts'
import { groupByPlace, type Place } from '../../kernel/place.ts'
import type { Records } from '../state/audit.ts'
import type { Payment } from '../state/payment.ts'
import type { PaymentState } from '../state/payment-state.ts'
import { withAttempts } from './payment-states.ts'
import { pageOfPayments } from './payments.ts'

interface RefundRow {
  id: string
  payment_id: string
  attempt_id: string
  counted: boolean
  kind: string
  status: string
  amount: number
}

interface DisputeRow {
  id: string
  payment_id: string
  attempt_id: string
  status: string
  refund_id: string | null
}

/** The records of the payments after `last`, merchant by merchant, oldest first (keyset pagination). */
export async function recordsAfter(db: Transaction, last: Payment | undefined, limit: number): Promise<Records[]> {
  // One snapshot for all statements, because payments change during the audit.
  await db.rows(sql`set transaction isolation level repeatable read, read only`)
  const page = await pageOfPayments(db, last, limit)
  const records = new Map<PaymentId, Records>()
  for (const [place, group] of groupByPlace(await withAttempts(db, page), ({ payment }) => payment.place))
    for (const each of await recordsOf(db, place, group)) records.set(each.state.payment.id, each)
  return page.map(({ id }) => records.get(id) as Records)
}

async function recordsOf(db: Transaction, place: Place, states: PaymentState[]): Promise<Records[]> {
  const ids = states.map(({ payment }) => uuidOf(payment.id))
  const events = await db.rows<{
    payment_id: string
    type: EventType
    sequence: number
    reference: string | null
    dispute: string | null
  }>(sql`
    select payment_id, type, sequence, data->'attempt'->>'reference' as reference, data->'dispute'->>'id' as dispute from events
     where place = ${place} and payment_id = any(${ids}::uuid[]) order by payment_id, sequence`)
  const receipts = await db.rows<{
    payment_id: string
    attempt_id: string
    amount: number
    currency: string
    counted: boolean
  }>(sql`
    select payment_id, attempt_id, amount, currency, counted from receipts where place = ${place} and payment_id = any(${ids}::uuid[])`)
  const refunds = await db.rows<RefundRow>(sql`
    select id, payment_id, attempt_id, counted, kind, status, amount from refunds where place = ${place} and payment_id = any(${ids}::uuid[])`)
  const disputes = await db.rows<DisputeRow>(sql`
    select id, payment_id, attempt_id, status, refund_id from disputes where place = ${place} and payment_id = any(${ids}::uuid[])`)
  const of = <Row extends { payment_id: string }>(rows: Row[]) => Map.groupBy(rows, ({ payment_id }) => payment_id)
  const [eventsOf, receiptsOf, refundsOf] = [of(events), of(receipts), of(refunds)]
  const disputesOf = of(disputes)
  return states.map((state) => {
    const id = uuidOf(state.payment.id)
    return {
      state,
      events: (eventsOf.get(id) ?? []).map(({ type, sequence, reference, dispute }) => ({
        type,
        sequence,
        attemptReference: reference,
        dispute,
      })),
      receipts: (receiptsOf.get(id) ?? []).map((row) => ({
        ...row,
        attemptId: idOf('attempt', row.attempt_id, place),
      })),
      refunds: (refundsOf.get(id) ?? []).map((row) => ({
        ...row,
        id: idOf('refund', row.id, place),
        attemptId: idOf('attempt', row.attempt_id, place),
      })),
      disputes: (disputesOf.get(id) ?? []).map(({ status, ...row }) => ({
        id: idOf('dispute', row.id, place),
        attemptId: idOf('attempt', row.attempt_id, place),
        status,
        refundId: row.refund_id === null ? null : idOf('refund', row.refund_id, place),
      })),
    }
  })
}
