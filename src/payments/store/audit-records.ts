import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { EventType } from '../../events/event.ts'
import { idOf, type PaymentId, uuidOf } from '../../kernel/ids.ts'
import type { Records } from '../state/audit.ts'
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

/** The records of the payments after `last`, oldest first (keyset pagination). */
export async function recordsAfter(db: Transaction, last: PaymentId | undefined, limit: number): Promise<Records[]> {
  // One snapshot for all statements, because payments change during the audit.
  await db.rows(sql`set transaction isolation level repeatable read, read only`)
  const states = await withAttempts(db, await pageOfPayments(db, last, limit))
  if (states.length === 0) return []
  const ids = states.map(({ payment }) => uuidOf(payment.id))
  const events = await db.rows<{
    payment_id: string
    type: EventType
    sequence: number
    reference: string | null
    dispute: string | null
  }>(sql`
    select payment_id, type, sequence, data->'attempt'->>'reference' as reference, data->'dispute'->>'id' as dispute from events
     where payment_id = any(${ids}::uuid[]) order by payment_id, sequence`)
  const receipts = await db.rows<{
    payment_id: string
    attempt_id: string
    amount: number
    currency: string
    counted: boolean
  }>(sql`
    select payment_id, attempt_id, amount, currency, counted from receipts where payment_id = any(${ids}::uuid[])`)
  const refunds = await db.rows<RefundRow>(sql`
    select id, payment_id, attempt_id, counted, kind, status, amount from refunds where payment_id = any(${ids}::uuid[])`)
  const disputes = await db.rows<DisputeRow>(sql`
    select id, payment_id, attempt_id, status, refund_id from disputes where payment_id = any(${ids}::uuid[])`)
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
      receipts: (receiptsOf.get(id) ?? []).map((row) => ({ ...row, attemptId: idOf('attempt', row.attempt_id) })),
      refunds: (refundsOf.get(id) ?? []).map((row) => ({
        ...row,
        id: idOf('refund', row.id),
        attemptId: idOf('attempt', row.attempt_id),
      })),
      disputes: (disputesOf.get(id) ?? []).map(({ status, ...row }) => ({
        id: idOf('dispute', row.id),
        attemptId: idOf('attempt', row.attempt_id),
        status,
        refundId: row.refund_id === null ? null : idOf('refund', row.refund_id),
      })),
    }
  })
}
