import type { Queries, Transaction, Writes } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { type AttemptId, idOf, type MerchantId, type PaymentId, placeOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { ALL_PLACES, type Place } from '../../kernel/place.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import {
  areSharesOfOrder,
  isShareOfOrder,
  type NewReceipt,
  type RecordedMoney,
  type RecordedReceipt,
  sharesOfOrder,
} from '../state/new-receipt.ts'
import { isReversed, reversedAmount } from '../state/reversed-money.ts'
import { type CaseRow, caseOfRow } from './cases.ts'
import { followUnmatched } from './other-cases.ts'

/** A version of the merchant's keys at a provider. */
type OfKeys = Scope & { provider: string; keysVersion: number }

interface RecordedRow {
  id: number
  transaction_id: string
  account: number
  attempt_id: string | null
  payment_id: string | null
  amount: number
  currency: string
  returned: number
  by_hand: number | null
  open_case: CaseRow | null
}

/**
 * How often recorded money is read until all of it is locked. One more try is needed only for money that was recorded
 * between two statements.
 */
const MAX_READS = 5

/**
 * What is on record of these transactions, under all versions of the merchant's keys. Unmatched money is locked first,
 * because a person may be returning it at this moment. Throws `unavailable` if other money of these transactions was
 * recorded during each of MAX_READS reads.
 */
export async function readRecordedMoney(tx: Queries, of: OfKeys, receipts: Receipt[]): Promise<RecordedMoney> {
  if (receipts.length === 0) return { receipts: [], returnedByPayments: 0 }
  for (let read = 0; read < MAX_READS; read++) {
    const recorded = await lockAndRead(tx, of, receipts)
    if (!recorded) continue
    const returnedByPayments = areSharesOfOrder(receipts) ? await returnedOfAttempts(tx, of.place, recorded) : 0
    return { receipts: recorded, returnedByPayments }
  }
  throw new Problem('unavailable', 'Other requests are recording the same money. Try again shortly.', {
    retryAfterSeconds: 1,
  })
}

/**
 * Undefined if money was recorded between the two statements. Without its lock, another payment could take it before
 * this one writes.
 */
async function lockAndRead(
  tx: Queries,
  { place, merchantId, mode, provider, keysVersion }: OfKeys,
  receipts: Receipt[],
): Promise<RecordedReceipt[] | undefined> {
  const merchant = uuidOf(merchantId)
  const ids = receipts.map(({ transactionId }) => transactionId)
  const [locked, rows] = await Promise.all([
    tx.rows<{ id: number }>(sql`
      select id from receipts
       where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and provider = ${provider}
         and account = any(array(select version from provider_accounts
                                  where merchant_id = ${merchant} and mode = ${mode} and provider = ${provider}) || ${keysVersion}::integer)
         and transaction_id = any(${ids}) and attempt_id is null
       order by id for no key update`),
    tx.rows<RecordedRow>(sql`
      select r.id, r.transaction_id, r.account, r.attempt_id, r.payment_id, r.amount, r.currency, r.returned,
             (select v.amount from reviews v
               where v.place = ${place} and v.receipt_id = r.id and v.act = 'returned_by_hand') as by_hand,
             (select to_jsonb(c) from cases c
               where c.place = ${place} and c.merchant_id = ${merchant} and c.mode = ${mode} and c.subject_kind = 'receipt'
                 and c.subject = r.id::text and c.closed_at is null limit 1) as open_case
        from receipts r
       where r.place = ${place} and r.merchant_id = ${merchant} and r.mode = ${mode} and r.provider = ${provider}
         and r.account = any(array(select version from provider_accounts
                                    where merchant_id = ${merchant} and mode = ${mode} and provider = ${provider}) || ${keysVersion}::integer)
         and r.transaction_id = any(${ids})
       order by r.id`),
  ])
  const lockedIds = new Set(locked.map(({ id }) => id))
  if (rows.some(({ id, attempt_id }) => attempt_id === null && !lockedIds.has(id))) return undefined
  return rows.map((row) => recordedOf(row, place))
}

function recordedOf(row: RecordedRow, place: Place): RecordedReceipt {
  return {
    id: row.id,
    transactionId: row.transaction_id,
    keysVersion: row.account,
    attemptId: row.attempt_id === null ? null : idOf('attempt', row.attempt_id, place),
    paymentId: row.payment_id === null ? null : idOf('payment', row.payment_id, place),
    amount: row.amount,
    currency: row.currency,
    returned: row.returned,
    returnedByHand: row.by_hand,
    openCase: row.open_case && caseOfRow(row.open_case),
  }
}

/** What the payments have refunded that have this money. */
async function returnedOfAttempts(tx: Queries, place: Place, recorded: RecordedReceipt[]): Promise<number> {
  const payments = recorded.flatMap(({ paymentId }) => (paymentId ? [uuidOf(paymentId)] : []))
  const attempts = recorded.flatMap(({ attemptId }) => (attemptId ? [uuidOf(attemptId)] : []))
  const row = await tx.row<{ amount: number }>(sql`
    select coalesce(sum(amount), 0)::bigint as amount from refunds
     where place = ${place} and payment_id = any(${payments}::uuid[]) and attempt_id = any(${attempts}::uuid[])
       and kind <> 'chargeback' and status <> 'failed'`)
  return row?.amount ?? 0
}

/** Records a new receipt. One that was unmatched before is assigned to the attempt. */
export function writeReceipt(tx: Writes, attempt: Attempt, receipt: NewReceipt, counted: boolean): void {
  const { unmatchedId, transactionId, amount, at, fee = null, receiptNumber = null } = receipt
  const counts = counted && amount.currency === attempt.currency && !isReversed(receipt)
  const [attemptUuid, paymentUuid] = [uuidOf(attempt.id), uuidOf(attempt.paymentId)]
  tx.write(
    unmatchedId === undefined
      ? sql`
          insert into receipts (place, merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount, currency,
                                counted, returned, taken_at, receipt_number, fee_charged)
          values (${attempt.place}, ${uuidOf(attempt.merchantId)}, ${attempt.mode}, ${attempt.provider}, ${attempt.keysVersion},
                  ${transactionId}, ${attemptUuid}, ${paymentUuid}, ${amount.amount}, ${amount.currency}, ${counts},
                  ${reversedAmount(receipt)}, ${at}, ${receiptNumber}, ${fee})`
      : sql`
          update receipts
             set attempt_id = ${attemptUuid}, payment_id = ${paymentUuid}, counted = ${counts}, amount = ${amount.amount},
                 currency = ${amount.currency}, returned = ${reversedAmount(receipt)}, taken_at = ${at}, receipt_number = ${receiptNumber},
                 fee_charged = ${fee}
           where place = ${attempt.place} and id = ${unmatchedId}`,
  )
}

/** The provider told the number after the money was recorded. */
export function nameReceipt(tx: Writes, attempt: Attempt, transactionId: string, receiptNumber: string): void {
  tx.write(sql`
    update receipts set receipt_number = ${receiptNumber}
     where place = ${attempt.place} and merchant_id = ${uuidOf(attempt.merchantId)} and mode = ${attempt.mode} and provider = ${attempt.provider}
       and account = ${attempt.keysVersion} and transaction_id = ${transactionId} and attempt_id = ${uuidOf(attempt.id)}`)
}

/**
 * Records money that matches no attempt. It is listed for the operator and counts towards no payment. Of unmatched
 * money that is on record, only what the provider has given back since is updated. Where the provider names one sum for
 * an order, `receipts` are all of that order.
 */
export async function insertUnmatched(
  tx: Transaction,
  scope: Scope,
  at: { provider: string; keysVersion: number },
  receipts: Receipt[],
): Promise<void> {
  const isOfOrder = receipts.some(isShareOfOrder)
  // On record first: of two notices at once, the second one waits here, and then reads the shares that the first one
  // has written.
  for (const { transactionId, amount, at: takenAt } of isOfOrder ? receipts : [])
    await tx.rows(sql`
      insert into receipts (place, merchant_id, mode, provider, account, transaction_id, amount, currency, counted, returned, taken_at)
      values (${scope.place}, ${uuidOf(scope.merchantId)}, ${scope.mode}, ${at.provider}, ${at.keysVersion}, ${transactionId}, ${amount.amount},
              ${amount.currency}, false, 0, ${takenAt})
      on conflict (place, merchant_id, mode, provider, account, transaction_id) do update set returned = receipts.returned where false -- only locks it`)
  const shares = isOfOrder ? await readShares(tx, { ...scope, ...at }, receipts) : undefined
  for (const receipt of receipts) {
    const { transactionId, amount } = receipt
    const returned = shares ? (shares.get(transactionId) ?? 0) : reversedAmount(receipt)
    await tx.rows(sql`
      insert into receipts (place, merchant_id, mode, provider, account, transaction_id, amount, currency, counted, returned, taken_at)
      values (${scope.place}, ${uuidOf(scope.merchantId)}, ${scope.mode}, ${at.provider}, ${at.keysVersion}, ${transactionId}, ${amount.amount},
              ${amount.currency}, false, ${returned}, ${receipt.at})
      on conflict (place, merchant_id, mode, provider, account, transaction_id) do update set returned = excluded.returned
       where receipts.attempt_id is null and receipts.returned < excluded.returned`)
  }
  const ids = receipts.map(({ transactionId }) => transactionId)
  await followUnmatched(tx, scope, at, ids)
}

/** The share of each transaction of an order that is not money of a payment, see `sharesOf`. */
export async function readShares(tx: Queries, of: OfKeys, receipts: Receipt[]): Promise<Map<string, number>> {
  return sharesOfOrder(receipts, await readRecordedMoney(tx, of, receipts))
}

/**
 * A refund of unmatched money failed. False if the money was handled, or what is `recorded` of it has changed,
 * meanwhile.
 */
export async function lowerReturned(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  { provider, keysVersion }: { provider: string; keysVersion: number },
  { transactionId, recorded, returned }: { transactionId: string; recorded: number; returned: number },
): Promise<boolean> {
  const row = await tx.row(sql`
    update receipts r set returned = ${returned}
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = ${keysVersion} and r.transaction_id = ${transactionId} and r.attempt_id is null and r.returned = ${recorded}
       and not exists (select from reviews v where v.place = ${place} and v.receipt_id = r.id)
    returning r.id`)
  if (row) await followUnmatched(tx, { place, merchantId, mode }, { provider, keysVersion }, [transactionId])
  return row !== undefined
}

/** The receipts of a payment, oldest first. */
export interface ReceiptOfPayment {
  attemptId: AttemptId
  transactionId: string
  amount: number
  currency: string
  /** Counts towards the payment. */
  counted: boolean
  /** A person matched it with the payment. */
  isMatched: boolean
  receiptNumber: string | null
}

export async function receiptsOf(db: Queries, id: PaymentId): Promise<ReceiptOfPayment[]> {
  const place = placeOf(id)
  const rows = await db.rows<{
    attempt_id: string
    transaction_id: string
    amount: number
    currency: string
    counted: boolean
    is_matched: boolean
    receipt_number: string | null
  }>(sql`
    select r.receipt_number, r.attempt_id, r.transaction_id, r.amount, r.currency, r.counted,
           exists (select from reviews v where v.place = ${place} and v.receipt_id = r.id and v.act = 'matched') as is_matched
      from receipts r where r.place = ${place} and r.payment_id = ${uuidOf(id)} order by r.id`)
  return rows.map((row) => ({
    attemptId: idOf('attempt', row.attempt_id, place),
    transactionId: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    counted: row.counted,
    isMatched: row.is_matched,
    receiptNumber: row.receipt_number,
  }))
}

/** Another attempt paid the payment, so the receipts of this attempt stop counting. */
export function uncountReceipts(tx: Writes, attemptId: AttemptId): void {
  tx.write(sql`
    update receipts set counted = false
     where place = ${placeOf(attemptId)} and attempt_id = ${uuidOf(attemptId)} and counted`)
}

/** All transactions of an attempt, including those that do not count towards the payment. */
export async function allTransactionsOf(db: Queries, attemptId: AttemptId): Promise<string[]> {
  const rows = await db.rows<{ transaction_id: string }>(sql`
    select transaction_id from receipts where place = ${placeOf(attemptId)} and attempt_id = ${uuidOf(attemptId)} order by id`)
  return rows.map(({ transaction_id }) => transaction_id)
}

/** These transactions of an attempt, if a person matched all of them with its payment. */
export async function matchedReceipts(
  db: Queries,
  attemptId: AttemptId,
  transactionIds: string[],
): Promise<Receipt[] | undefined> {
  const place = placeOf(attemptId)
  const rows = await db.rows<{ transaction_id: string; amount: number; currency: Currency; taken_at: Date }>(sql`
    select r.transaction_id, r.amount, r.currency, r.taken_at
      from receipts r join reviews v on v.place = ${place} and v.receipt_id = r.id and v.act = 'matched'
     where r.place = ${place} and r.attempt_id = ${uuidOf(attemptId)} and r.transaction_id = any(${transactionIds})`)
  if (rows.length === 0 || rows.length < new Set(transactionIds).size) return undefined
  return rows.map(({ transaction_id, amount, currency, taken_at }) => ({
    transactionId: transaction_id,
    amount: money(amount, currency),
    at: taken_at,
  }))
}

export interface UnmatchedReceipt {
  /** `receipt-12`, as in the dashboard's list of transfers. */
  id: string
  provider: string
  merchantId: MerchantId
  mode: Mode
  transactionId: string
  amount: number
  currency: string
  recordedAt: Date
}

/** Newest first. */
export async function listUnmatchedReceipts(db: Queries, limit: number): Promise<UnmatchedReceipt[]> {
  const rows = await db.rows<{
    id: number
    provider: string
    merchant_id: string
    mode: Mode
    transaction_id: string
    amount: number
    currency: string
    recorded_at: Date
  }>(sql`
    select id, provider, merchant_id, mode, transaction_id, amount - returned as amount, currency, recorded_at from receipts r
     where attempt_id is null and amount > returned and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       and not exists (select from reviews v
                        where v.place = r.place and v.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} and v.receipt_id = r.id)
     order by recorded_at desc limit ${limit}`)
  return rows.map((row) => ({
    id: `receipt-${row.id}`,
    provider: row.provider,
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    transactionId: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    recordedAt: row.recorded_at,
  }))
}
