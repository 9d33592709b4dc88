import type { Queries, Writes } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf, LAST_UUID, newId, type PaymentId, placeOf, type ReviewId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { MoneyKind, Review, ReviewAct } from '../state/open-money.ts'
import type { Refund } from '../state/refund.ts'

export interface NewReview extends Review {
  scope: Scope
  receiptId?: number
  paymentId: PaymentId | null
  currency: string
  note: string | null
  /** As in the audit log. */
  actor: string
  at: Date
}

/** What a person decided. It is written in the transaction of what they did. */
export function insertReview(tx: Writes, review: NewReview): void {
  const {
    scope,
    kind,
    act,
    receiptId = null,
    attemptId,
    paymentId,
    amount,
    currency,
    received,
    refundId,
    note,
  } = review
  tx.write(sql`
    insert into reviews (place, id, merchant_id, mode, kind, act, receipt_id, attempt_id, payment_id, amount, currency, received, refund_id,
                         note, actor, at)
    values (${scope.place}, ${uuidOf(newId('review', review.at, scope.place))}, ${uuidOf(scope.merchantId)}, ${scope.mode}, ${kind}, ${act},
            ${receiptId}, ${attemptId && uuidOf(attemptId)}, ${paymentId && uuidOf(paymentId)}, ${amount}, ${currency}, ${received},
            ${refundId && uuidOf(refundId)}, ${note}, ${review.actor}, ${review.at})`)
}

interface ReviewRow {
  place: number
  id: string
  kind: Review['kind']
  act: ReviewAct
  attempt_id: string | null
  amount: number
  received: number | null
  refund_id: string | null
}

export async function reviewsOf(db: Queries, paymentId: PaymentId): Promise<Review[]> {
  const place = placeOf(paymentId)
  const rows = await db.rows<ReviewRow>(sql`
    select place, id, kind, act, attempt_id, amount, received, refund_id from reviews
     where place = ${place} and payment_id = ${uuidOf(paymentId)} order by id`)
  return rows.map((row) => ({
    kind: row.kind,
    act: row.act,
    attemptId: row.attempt_id === null ? null : idOf('attempt', row.attempt_id, place),
    amount: row.amount,
    received: row.received,
    refundId: row.refund_id === null ? null : idOf('refund', row.refund_id, place),
  }))
}

/** A review as lists show it. */
export interface ListedReview {
  id: ReviewId
  kind: MoneyKind | 'payment'
  act: ReviewAct
  paymentId: PaymentId | null
  paymentReference: string | null
  provider: string | null
  transactionId: string | null
  amount: number
  currency: string
  note: string | null
  actor: string
  at: Date
  refundStatus: Refund['status'] | null
  refundFailure: string | null
}

/** Newest first: of one payment, or all that people did with money. */
export async function listReviews(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { paymentId, before, limit }: { paymentId?: PaymentId; before?: ReviewId | undefined; limit: number },
): Promise<ListedReview[]> {
  const merchant = uuidOf(merchantId)
  const below = before ? uuidOf(before) : LAST_UUID
  const rows = await db.rows<Omit<ListedReview, 'id' | 'paymentId'> & { id: string; paymentId: string | null }>(
    paymentId
      ? sql`
          select v.id, v.kind, v.act, v.payment_id as "paymentId", p.reference as "paymentReference", a.provider, null as "transactionId",
                 v.amount, v.currency, v.note, v.actor, v.at, f.status as "refundStatus", f.failure as "refundFailure"
            from reviews v join payments p on p.place = ${place} and p.id = v.payment_id
            left join attempts a on a.place = ${place} and a.id = v.attempt_id
            left join refunds f on f.place = ${place} and f.id = v.refund_id
           where v.place = ${place} and v.payment_id = ${uuidOf(paymentId)} and v.merchant_id = ${merchant} and v.mode = ${mode}
           order by v.id desc limit ${limit}`
      : sql`
          select v.id, v.kind, v.act, v.payment_id as "paymentId", p.reference as "paymentReference", coalesce(a.provider, r.provider) as provider,
                 r.transaction_id as "transactionId", v.amount, v.currency, v.note, v.actor, v.at, f.status as "refundStatus",
                 f.failure as "refundFailure"
            from reviews v left join payments p on p.place = ${place} and p.id = v.payment_id
            left join attempts a on a.place = ${place} and a.id = v.attempt_id
            left join receipts r on r.place = ${place} and r.id = v.receipt_id
            left join refunds f on f.place = ${place} and f.id = v.refund_id
           where v.place = ${place} and v.merchant_id = ${merchant} and v.mode = ${mode} and v.id < ${below}::uuid and v.kind <> 'payment'
           order by v.id desc limit ${limit}`,
  )
  return rows.map((row) => ({
    ...row,
    id: idOf('review', row.id, place),
    paymentId: row.paymentId === null ? null : idOf('payment', row.paymentId, place),
  }))
}
