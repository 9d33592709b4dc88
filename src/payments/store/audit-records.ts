import type { Queries, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf, type PaymentId, uuidOf } from '../../kernel/ids.ts'
import { ALL_PLACES, groupByPlace, type Place } from '../../kernel/place.ts'
import type { RecordedEvent, RecordedRefund, Records, Told } from '../state/audited-records.ts'
import type { Payment } from '../state/payment.ts'
import type { PaymentState } from '../state/payment-state.ts'
import { withAttempts } from './payment-states.ts'
import { pageOfPayments } from './payments.ts'

type Of<Row> = Row & { payment_id: string }
type OfAttempt<Row> = Of<Row> & { attempt_id: string }
type EventRow = Omit<RecordedEvent, 'merchantId'> & { merchant_id: string }
type ReceiptRow = Omit<Records['receipts'][number], 'attemptId'>
type RefundRow = Omit<RecordedRefund, 'attemptId'>
type DisputeRow = Omit<Records['disputes'][number], 'attemptId' | 'refundId'> & { refund_id: string | null }

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
  const [events, receipts, refunds, disputes] = await Promise.all([
    db.rows<Of<EventRow>>(sql`
      select payment_id, merchant_id, mode, type, sequence, occurred_at as at, data->'attempt'->>'reference' as "attemptReference",
             data->'price' as price, data->'transactions' as transactions, data->'refund' as refund, data->'dispute' as dispute
        from events where place = ${place} and payment_id = any(${ids}::uuid[]) order by payment_id, sequence`),
    db.rows<OfAttempt<ReceiptRow>>(sql`
      select payment_id, attempt_id, transaction_id as "transactionId", amount, currency, counted, returned
        from receipts where place = ${place} and payment_id = any(${ids}::uuid[])`),
    db.rows<OfAttempt<RefundRow>>(sql`
      select payment_id, attempt_id, id, counted, kind, status, amount, currency, transaction_ids as "transactionIds",
             due_at as "dueAt", leased_until as "leasedUntil", resolved_at as "resolvedAt"
        from refunds where place = ${place} and payment_id = any(${ids}::uuid[])`),
    db.rows<OfAttempt<DisputeRow>>(sql`
      select payment_id, attempt_id, id, status, amount, currency, refund_id
        from disputes where place = ${place} and payment_id = any(${ids}::uuid[])`),
  ])
  const eventsOf = by(events)
  const [receiptsOf, refundsOf, disputesOf] = [by(receipts), by(refunds), by(disputes)]
  const told = await readTold(
    db,
    place,
    ids.filter((id) => !eventsOf.get(id)?.some(({ price }) => price)),
  )
  const attemptId = ({ attempt_id }: { attempt_id: string }) => idOf('attempt', attempt_id, place)
  return states.map((state) => {
    const id = uuidOf(state.payment.id)
    return {
      state,
      told: told.get(id),
      events: (eventsOf.get(id) ?? []).map((row) => ({ ...row, merchantId: idOf('merchant', row.merchant_id) })),
      receipts: (receiptsOf.get(id) ?? []).map((row) => ({ ...row, attemptId: attemptId(row) })),
      refunds: (refundsOf.get(id) ?? []).map((row) => ({
        ...row,
        id: idOf('refund', row.id, place),
        attemptId: attemptId(row),
      })),
      disputes: (disputesOf.get(id) ?? []).map((row) => ({
        ...row,
        id: idOf('dispute', row.id, place),
        attemptId: attemptId(row),
        refundId: row.refund_id === null ? null : idOf('refund', row.refund_id, place),
      })),
    }
  })
}

const by = <Row extends { payment_id: string }>(rows: Row[]) => Map.groupBy(rows, ({ payment_id }) => payment_id)

/** The payments as their first webhook bodies have them, for those whose events have no price. */
async function readTold(db: Queries, place: Place, ids: string[]): Promise<Map<string, Told>> {
  if (ids.length === 0) return new Map()
  const rows = await db.rows<Of<{ told: Told }>>(sql`
    select distinct on (payment_id) payment_id, body::jsonb #> '{data,payment}' as told
      from events where place = ${place} and payment_id = any(${ids}::uuid[]) and body is not null order by payment_id, sequence`)
  return new Map(rows.map(({ payment_id, told }) => [payment_id, told]))
}

/** Work of queues that are not part of a payment's records, and that was put off for longer than the service does. */
export async function readPutOff(db: Queries, limit: number): Promise<{ what: string; until: string }[]> {
  const { first, last } = ALL_PLACES
  return db.rows(sql`
    (select 'check of attempt ' || reference as what, check_leased_until::text as until from attempts
      where next_check_at is not null and check_leased_until > now() + interval '1 hour' and place between ${first} and ${last} limit ${limit})
    union all
    (select 'notice ' || id || ' of ' || provider, due_at::text from notices
      where state = 'waiting' and due_at > now() + interval '2 days' and place between ${first} and ${last} limit ${limit})
    union all
    (select 'delivery ' || id, due_at::text from deliveries
      where state = 'waiting' and due_at > now() + interval '3 days' and place between ${first} and ${last} limit ${limit})`)
}

/** Guards of the schema that somebody switched off. */
export async function readMissingGuards(db: Queries): Promise<string[]> {
  const rows = await db.rows<{ name: string }>(sql`
    select name from unnest(${GUARDS}::text[]) as name
     where not exists (select from pg_trigger t where t.tgname = name and t.tgenabled in ('O', 'A'))
       and not exists (select from pg_index i join pg_class c on c.oid = i.indexrelid
                        where c.relname = name and i.indisunique and i.indisvalid)`)
  return rows.map(({ name }) => name)
}

/** Triggers that keep the history as it is, and unique indexes that keep money from counting twice. */
const GUARDS = [
  ...['events_are_append_only', 'events_are_kept', 'audit_log_is_append_only'],
  ...['events_payment_id_sequence_place_key', 'one_success_per_payment', 'receipts_transaction'],
  ...['refund_of_call', 'refund_of_provider'],
]
