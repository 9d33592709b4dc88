import type { Transaction as DatabaseTransaction, Queries } from '../../../database/database.ts'
import { Fixed, sql } from '../../../database/sql.ts'
import { placeOfMerchant } from './place.ts'
import type { Payment, PaymentKey, Transaction } from './record.ts'

const DAY_MS = 24 * 3_600_000

/** A dispute in the provider's ledger. */
export interface Dispute {
  place: number
  id: number
  paymentId: number
  amount: number
  currency: string
  status: 'open' | 'won' | 'lost'
  reason: string
  respondBy: Date
  openedAt: Date
  /** Losing it took money. False when a refund had given the same money back. */
  moved: boolean
  /** The refund that was made for this dispute. */
  settledBy: number | null
}

const COLUMNS =
  new Fixed(`place, id, payment_id as "paymentId", amount, currency, status, reason, respond_by as "respondBy",
  opened_at as "openedAt", moved, settled_by as "settledBy"`)

export async function insertDispute(
  tx: DatabaseTransaction,
  { place, id, merchantUuid, currency, readAt }: Payment,
  { amount, reason, respondInDays }: { amount: number; reason: string; respondInDays: number },
): Promise<Dispute> {
  // Whole seconds.
  const respondBy = new Date(Math.floor(readAt.getTime() / 1_000) * 1_000 + respondInDays * DAY_MS)
  const row = await tx.row<Dispute>(sql`
    insert into gateway_disputes (place, payment_id, merchant_id, amount, currency, reason, respond_by)
    values (${place}, ${id}, ${merchantUuid}, ${amount}, ${currency}, ${reason}, ${respondBy})
    returning ${COLUMNS}`)
  return row as Dispute
}

export function findDispute(queries: Queries, merchantUuid: string, id: number): Promise<Dispute | undefined> {
  const place = placeOfMerchant(merchantUuid)
  return queries.row(sql`
    select ${COLUMNS} from gateway_disputes where place = ${place} and id = ${id}::bigint and merchant_id = ${merchantUuid}`)
}

export function disputesOf(queries: Queries, { place, id }: PaymentKey): Promise<Dispute[]> {
  return queries.rows(
    sql`select ${COLUMNS} from gateway_disputes where place = ${place} and payment_id = ${id} order by id`,
  )
}

export async function saveDispute(tx: DatabaseTransaction, dispute: Dispute): Promise<void> {
  await tx.rows(sql`
    update gateway_disputes
       set amount = ${dispute.amount}, status = ${dispute.status}, reason = ${dispute.reason}, respond_by = ${dispute.respondBy},
           moved = ${dispute.moved}, settled_by = ${dispute.settledBy}
     where place = ${dispute.place} and id = ${dispute.id}`)
}

/** A page of a list, in the order of time. `after`: the id of the last entry of the page before. */
export interface PageRange {
  from: Date
  to: Date
  after: number
  limit: number
}

/** Disputes that were opened in a range of time, each with the reference of its payment. */
export function findDisputes(
  queries: Queries,
  merchantUuid: string,
  { from, to, after, limit }: PageRange,
): Promise<(Dispute & { payment: string })[]> {
  const place = placeOfMerchant(merchantUuid)
  return queries.rows(sql`
    select d.*, p.reference as payment from (
      select ${COLUMNS} from gateway_disputes
       where place = ${place} and merchant_id = ${merchantUuid} and opened_at >= ${from} and opened_at < ${to} and id > ${after}::bigint
       order by id limit ${limit}) d
      join gateway_payments p on p.place = ${place} and p.id = d."paymentId"
     order by d.id`)
}

export type Refund = Pick<Transaction, 'id' | 'kind' | 'amount' | 'currency' | 'at' | 'byHand' | 'refundReference'>

/** Refunds that were made in a range of time. `disputeId`: the dispute that it settles. */
export function findRefunds(
  queries: Queries,
  merchantUuid: string,
  { from, to, after, limit }: PageRange,
): Promise<(Refund & { payment: string; disputeId: number | null })[]> {
  const place = placeOfMerchant(merchantUuid)
  return queries.rows(sql`
    select t.id, t.kind, t.amount, t.currency, t.at, t.refund_reference as "refundReference", t.by_hand as "byHand",
           p.reference as payment, d.id as "disputeId" from (
      select * from gateway_transactions
       where place = ${place} and merchant_id = ${merchantUuid} and kind = 'refund' and at >= ${from} and at < ${to} and id > ${after}::bigint
       order by id limit ${limit}) t
      join gateway_payments p on p.place = ${place} and p.id = t.payment_id
      left join gateway_disputes d on d.place = ${place} and d.settled_by = t.id
     order by t.id`)
}

/** A paid transaction with the payment that it belongs to. */
export type TakenTransaction = Transaction & { reference: string; refunded: number }

/** What was taken in a range of time, in the order of time. A transaction that is not settled yet is left out. */
export function findTaken(
  queries: Queries,
  merchantUuid: string,
  { from, to, after, limit }: PageRange,
): Promise<TakenTransaction[]> {
  const place = placeOfMerchant(merchantUuid)
  return queries.rows(sql`
    select t.id, t.payment_id as "paymentId", t.kind, t.status, t.amount, t.currency, t.at, p.reference, p.refunded from (
      select * from gateway_transactions
       where place = ${place} and merchant_id = ${merchantUuid} and kind in ('charge', 'transfer') and status = 'paid'
         and at >= ${from} and at < ${to} and (settles_at is null or settles_at <= clock_timestamp())
         and (at, id) > (coalesce((select at from gateway_transactions where place = ${place} and id = ${after}::bigint), '-infinity'), ${after}::bigint)
       order by at, id limit ${limit}) t
      join gateway_payments p on p.place = ${place} and p.id = t.payment_id
     order by t.at, t.id`)
}
