import type { Queries, Writes } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { type AttemptId, type DisputeId, idOf, LAST_UUID, type PaymentId, placeOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Dispute, DisputeStatus } from '../state/dispute.ts'

const COLUMNS =
  new Fixed(`d.place, d.id, d.payment_id, d.attempt_id, d.merchant_id, d.mode, d.provider_dispute_id, d.amount, d.currency, d.status,
  d.reason, d.respond_by, d.refund_id, d.settled_by, d.opened_at, d.resolved_at`)

interface DisputeRow {
  place: number
  id: string
  payment_id: string
  attempt_id: string
  merchant_id: string
  mode: Mode
  provider_dispute_id: string
  amount: number
  currency: string
  status: DisputeStatus
  reason: string | null
  respond_by: Date | null
  refund_id: string | null
  settled_by: string | null
  opened_at: Date
  resolved_at: Date | null
}

function disputeOf(row: DisputeRow): Dispute {
  const { place } = row
  return {
    id: idOf('dispute', row.id, place),
    paymentId: idOf('payment', row.payment_id, place),
    attemptId: idOf('attempt', row.attempt_id, place),
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    providerDisputeId: row.provider_dispute_id,
    amount: row.amount,
    currency: row.currency,
    status: row.status,
    reason: row.reason,
    respondBy: row.respond_by,
    refundId: row.refund_id === null ? null : idOf('refund', row.refund_id, place),
    settledBy: row.settled_by,
    openedAt: row.opened_at,
    resolvedAt: row.resolved_at,
  }
}

/** Under the lock of the payment. */
export function insertDispute(tx: Writes, dispute: Dispute): void {
  tx.write(sql`
    insert into disputes (place, id, payment_id, attempt_id, merchant_id, mode, provider_dispute_id, amount, currency, status, reason,
                          respond_by, refund_id, settled_by, opened_at, resolved_at)
    values (${placeOf(dispute.id)}, ${uuidOf(dispute.id)}, ${uuidOf(dispute.paymentId)}, ${uuidOf(dispute.attemptId)}, ${uuidOf(dispute.merchantId)},
            ${dispute.mode}, ${dispute.providerDisputeId}, ${dispute.amount}, ${dispute.currency}, ${dispute.status}, ${dispute.reason},
            ${dispute.respondBy}, ${dispute.refundId && uuidOf(dispute.refundId)}, ${dispute.settledBy}, ${dispute.openedAt},
            ${dispute.resolvedAt})`)
}

/** Under the lock of the payment. */
export function saveDispute(tx: Writes, dispute: Dispute, now: Date): void {
  tx.write(sql`
    update disputes
       set amount = ${dispute.amount}, status = ${dispute.status}, reason = ${dispute.reason}, respond_by = ${dispute.respondBy},
           refund_id = ${dispute.refundId && uuidOf(dispute.refundId)}, settled_by = ${dispute.settledBy},
           resolved_at = ${dispute.resolvedAt}, updated_at = ${now}
     where place = ${placeOf(dispute.id)} and id = ${uuidOf(dispute.id)}`)
}

export async function disputesOf(db: Queries, id: PaymentId): Promise<Dispute[]> {
  const rows = await db.rows<DisputeRow>(sql`
    select ${COLUMNS} from disputes d where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} order by opened_at, id`)
  return rows.map(disputeOf)
}

/** The disputes of several attempts of one place. */
export async function disputesOfAttempts(db: Queries, place: Place, ids: AttemptId[]): Promise<Dispute[]> {
  const rows = await db.rows<DisputeRow>(sql`
    select ${COLUMNS} from disputes d where place = ${place} and attempt_id = any(${ids.map(uuidOf)}::uuid[])`)
  return rows.map(disputeOf)
}

/** A dispute with the reference of its payment, as merchants see it. */
export type DisputeOfPayment = Dispute & { paymentReference: string }

export async function findDispute(
  db: Queries,
  { place, merchantId, mode }: Scope,
  id: DisputeId,
): Promise<DisputeOfPayment | undefined> {
  const row = await db.row<DisputeRow & { reference: string }>(sql`
    select ${COLUMNS}, p.reference from disputes d join payments p on p.place = ${place} and p.id = d.payment_id
     where d.place = ${place} and d.id = ${uuidOf(id)} and d.merchant_id = ${uuidOf(merchantId)} and d.mode = ${mode}`)
  return row && { ...disputeOf(row), paymentReference: row.reference }
}

/** Newest first. The page is limited before the join, which PostgreSQL would make with all disputes. */
export async function listDisputes(
  db: Queries,
  { place, merchantId, mode }: Scope,
  filter: {
    status: DisputeStatus | undefined
    paymentId: PaymentId | undefined
    before: DisputeId | undefined
    limit: number
  },
): Promise<DisputeOfPayment[]> {
  const { status, paymentId, before, limit } = filter
  const [merchant, below] = [uuidOf(merchantId), before ? uuidOf(before) : LAST_UUID]
  const rows = await db.rows<DisputeRow & { reference: string }>(
    paymentId
      ? sql`
        select ${COLUMNS}, p.reference from disputes d join payments p on p.place = ${place} and p.id = d.payment_id
         where d.place = ${place} and d.payment_id = ${uuidOf(paymentId)} and d.merchant_id = ${merchant} and d.mode = ${mode} and d.id < ${below}::uuid
           and (${status ?? null}::text is null or d.status = ${status ?? null})
         order by d.id desc limit ${limit}`
      : status
        ? sql`
        select ${COLUMNS}, p.reference from (
          select * from disputes
           where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and status = ${status} and id < ${below}::uuid
           order by id desc limit ${limit}) d
          join payments p on p.place = ${place} and p.id = d.payment_id
         order by d.id desc`
        : sql`
        select ${COLUMNS}, p.reference from (
          select * from disputes
           where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and id < ${below}::uuid
           order by id desc limit ${limit}) d
          join payments p on p.place = ${place} and p.id = d.payment_id
         order by d.id desc`,
  )
  return rows.map((row) => ({ ...disputeOf(row), paymentReference: row.reference }))
}
