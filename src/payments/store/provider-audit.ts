import type { Queries } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { NO_KEYS } from '../../integrations/provider-keys.ts'
import { type AttemptId, firstUuidAt, idOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, type Money, money } from '../../kernel/money.ts'
import { ALL_PLACES } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'

export interface AuditScope extends Scope {
  provider: string
  /** The current version of the keys. A merchant may have returned to an older one. */
  keysVersion: number
}

/** One recorded receipt, with the reversals of its attempt. */
export interface RecordedTransaction {
  receiptId: number
  keysVersion: number
  transactionId: string
  amount: number
  currency: string
  takenAt: Date
  attemptId: AttemptId | null
  orderReference: string | null
  providerReference: string | null
  /**
   * Of the whole attempt, or of unmatched money: returned, and what the provider may not have made: pending refunds,
   * and money that a person returned by hand. `byHand`: of an attempt; the provider made all of it, or none.
   */
  returned: number
  returning: number
  byHand: number
  receiptsOfAttempt: number
}

// The place is the first parameter of the statement.
const COLUMNS =
  new Fixed(`r.id as receipt_id, r.account, r.transaction_id, r.amount, r.currency, r.taken_at, r.attempt_id,
  -- The provider lists money that a person matched under the order that it names, not under ours.
  case when not exists (select from reviews v where v.place = $1 and v.receipt_id = r.id and v.act = 'matched')
       then a.order_reference end as order_reference, a.provider_reference, coalesce(a.amount_returned, r.returned) - open.pending - open.by_hand as returned, open.by_hand,
  -- A person has returned unmatched money.
  open.pending + case when r.attempt_id is null and exists (
      select from reviews v where v.place = $1 and v.receipt_id = r.id and v.act = 'returned_by_hand')
    then r.amount - r.returned else 0 end as returning, (select count(*)::integer from receipts o where o.place = $1 and o.attempt_id = r.attempt_id) as receipts_of_attempt`)
const SOURCES = new Fixed(`receipts r left join attempts a on a.place = $1 and a.id = r.attempt_id
  cross join lateral (select coalesce(sum(f.amount) filter (where f.status = 'pending'), 0)::bigint as pending,
                             coalesce(sum(f.amount) filter (where f.status = 'successful'), 0)::bigint as by_hand
                        from refunds f
                       where f.place = $1 and f.payment_id = r.payment_id and f.attempt_id = r.attempt_id and (
                         f.status = 'pending'
                         -- Returned by hand: in the provider's dashboard, or outside of the provider.
                         or (f.status = 'successful' and f.provider_refund_id is null
                             and exists (select from reviews v where v.place = $1 and v.payment_id = f.payment_id and v.refund_id = f.id
                                            and v.act = 'returned_by_hand')))) as open`)

interface RecordedRow {
  receipt_id: number
  account: number
  transaction_id: string
  amount: number
  currency: string
  taken_at: Date
  attempt_id: string | null
  order_reference: string | null
  provider_reference: string | null
  returned: number
  returning: number
  by_hand: number
  receipts_of_attempt: number
}

function recordedOf({ place }: AuditScope, row: RecordedRow): RecordedTransaction {
  return {
    receiptId: row.receipt_id,
    keysVersion: row.account,
    transactionId: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    takenAt: row.taken_at,
    attemptId: row.attempt_id === null ? null : idOf('attempt', row.attempt_id, place),
    orderReference: row.order_reference,
    providerReference: row.provider_reference,
    returned: row.returned,
    returning: row.returning,
    byHand: row.by_hand,
    receiptsOfAttempt: row.receipts_of_attempt,
  }
}

export async function findRecorded(
  db: Queries,
  scope: AuditScope,
  transactionIds: string[],
): Promise<RecordedTransaction[]> {
  const { place, merchantId, mode, provider } = scope
  const merchant = uuidOf(merchantId)
  const rows = await db.rows<RecordedRow>(sql`
    select ${COLUMNS} from ${SOURCES}
     where r.place = ${place} and r.merchant_id = ${merchant} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = any(array(select version from provider_accounts
                                  where merchant_id = ${merchant} and mode = ${mode} and provider = ${provider}) || ${NO_KEYS}::integer)
       and r.transaction_id = any(${transactionIds})`)
  return rows.map((row) => recordedOf(scope, row))
}

/**
 * Receipts of attempts, taken in the range, that the run of the window has not marked as found. What a person matched
 * is of another order. `isCreatedIn`: its order was made in the range, too, so a list by time of creation must have it.
 */
export async function absentReceipts(
  db: Queries,
  scope: AuditScope,
  { from, to, keysVersions, window, limit }: OfWindow & { limit: number },
): Promise<AbsentReceipt[]> {
  const { place, merchantId, mode, provider } = scope
  const rows = await db.rows<AbsentRow>(sql`
    select r.id, r.attempt_id, r.transaction_id, a.order_reference, r.amount, r.currency, a.created_at >= ${from} as is_created_in
      from receipts r join attempts a on a.place = ${place} and a.id = r.attempt_id
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.taken_at >= ${from} and r.taken_at < ${to} and r.account = any(${keysVersions}::integer[])
       and a.known_to_provider
       and not exists (select from reviews v where v.place = ${place} and v.receipt_id = r.id and v.act = 'matched')
       and not exists (select from reconciliation_listed l
                        where l.place = ${place} and l.merchant_id = r.merchant_id and l.mode = r.mode and l.provider = r.provider
                          and l.time_window = ${window} and l.receipt_id = r.id)
     limit ${limit}`)
  return rows.map((row) => ({
    receiptId: row.id,
    attemptId: idOf('attempt', row.attempt_id, place),
    transactionId: row.transaction_id,
    orderReference: row.order_reference,
    amount: money(row.amount, row.currency as Currency),
    isCreatedIn: row.is_created_in,
  }))
}

/** Receipts of these keys that were taken in the range of a window. Deleted keys can list nothing. */
interface OfWindow {
  from: Date
  to: Date
  keysVersions: number[]
  window: string
}

export interface ReceiptOfAccount {
  receiptId: number
  transactionId: string
  /** Null: unmatched money. */
  orderReference: string | null
  amount: Money
}

export interface AbsentReceipt extends ReceiptOfAccount {
  attemptId: AttemptId
  isCreatedIn: boolean
}

interface AbsentRow {
  id: number
  attempt_id: string
  transaction_id: string
  order_reference: string
  amount: number
  currency: string
  is_created_in: boolean
}

/** Receipts that were taken in the range, in the order of their ids. For the audit by hand. */
export async function pageOfReceipts(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  { from, to, after }: { from: Date; to: Date; after: number },
): Promise<ReceiptOfAccount[]> {
  const rows = await db.rows<{
    id: number
    transaction_id: string
    order_reference: string | null
    amount: number
    currency: string
  }>(sql`
    select r.id, r.transaction_id, a.order_reference, r.amount, r.currency
      from receipts r left join attempts a on a.place = ${place} and a.id = r.attempt_id
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.taken_at >= ${from} and r.taken_at < ${to} and r.id > ${after} order by r.id limit 1000`)
  return rows.map((row) => ({
    receiptId: row.id,
    transactionId: row.transaction_id,
    orderReference: row.order_reference,
    amount: money(row.amount, row.currency as Currency),
  }))
}

/** How many receipts of attempts were taken in the range. */
export async function countReceipts(db: Queries, scope: AuditScope, { from, to }: { from: Date; to: Date }) {
  const { place, merchantId, mode, provider } = scope
  const row = await db.row<{ count: number }>(sql`
    select count(*)::integer as count from receipts
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and taken_at >= ${from} and taken_at < ${to} and attempt_id is not null`)
  return row?.count ?? 0
}

/** The last transaction of a payment that was taken with these keys; null when there is none since then. */
export async function newestTransaction(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  { keysVersion, since }: { keysVersion: number; since: Date },
): Promise<string | null> {
  const row = await db.row<{ transaction_id: string }>(sql`
    select transaction_id from receipts
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and account = ${keysVersion} and taken_at >= ${since} and attempt_id is not null
     order by taken_at desc limit 1`)
  return row?.transaction_id ?? null
}

/** The attempts that have these orders, by our reference or the provider's own. */
export async function findOrders(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  references: string[],
): Promise<Map<string, AttemptId>> {
  const rows = await db.rows<{ reference: string; id: string }>(sql`
    select provider_reference as reference, id from attempts
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and provider_reference = any(${references})
    union all
    select order_reference, id from attempts
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and order_reference = any(${references})`)
  return new Map(rows.map(({ reference, id }) => [reference, idOf('attempt', id, place)]))
}

/** The version of the keys that each was started with. */
export async function keysOfAttempts(
  db: Queries,
  { place }: AuditScope,
  ids: AttemptId[],
): Promise<Map<AttemptId, number>> {
  const rows = await db.rows<{ id: string; account: number }>(sql`
    select id, account from attempts where place = ${place} and id = any(${ids.map(uuidOf)}::uuid[])`)
  return new Map(rows.map(({ id, account }) => [idOf('attempt', id, place), account]))
}

/** The money of an attempt as a whole. `returned`: also what is on the way back. */
export interface MoneyOfAttempt {
  received: number
  returned: number
  currency: string
  receiptIds: number[]
}

export async function moneyOfAttempts(
  db: Queries,
  { place }: AuditScope,
  ids: AttemptId[],
): Promise<Map<AttemptId, MoneyOfAttempt>> {
  const rows = await db.rows<MoneyOfAttempt & { id: string }>(sql`
    select a.id, (select coalesce(sum(r.amount), 0)::bigint from receipts r
                   where r.place = ${place} and r.attempt_id = a.id and r.currency = a.currency) as received,
           a.amount_returned as returned, a.currency,
           array(select r.id from receipts r where r.place = ${place} and r.attempt_id = a.id) as "receiptIds"
      from attempts a where a.place = ${place} and a.id = any(${ids.map(uuidOf)}::uuid[])`)
  // The driver reads the numbers of an array as text.
  return new Map(
    rows.map(({ id, receiptIds, ...money }) => [
      idOf('attempt', id, place),
      { ...money, receiptIds: receiptIds.map(Number) },
    ]),
  )
}

/**
 * Attempts with a dispute or refund that is not finished, in the order of their ids. `disputesBefore`,
 * `refundsBefore`: only those opened before that time; younger ones are in the account's lists.
 */
export async function attemptsWithOpenReturns(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  { disputesBefore, refundsBefore, after, limit }: OpenReturns,
): Promise<AttemptId[]> {
  const merchant = uuidOf(merchantId)
  const rows = await db.rows<{ id: string }>(sql`
    select id from (
      select d.attempt_id as id from disputes d
       where d.place = ${place} and d.merchant_id = ${merchant} and d.mode = ${mode} and d.status = 'open' and d.created_at < ${disputesBefore}
      union
      select f.attempt_id from refunds f
       where f.place = ${place} and f.merchant_id = ${merchant} and f.mode = ${mode} and f.status = 'pending' and f.created_at < ${refundsBefore}) o
     where id > ${after}::uuid
       and exists (select from attempts a where a.place = ${place} and a.id = o.id and a.provider = ${provider} and a.known_to_provider)
     order by id limit ${limit}`)
  return rows.map(({ id }) => idOf('attempt', id, place))
}

export interface OpenReturns {
  disputesBefore: Date
  refundsBefore: Date
  /** A UUID. */
  after: string
  limit: number
}

/** Whether an attempt was made since then. Ids begin with their time. */
export async function hasAttemptsSince(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  since: Date,
): Promise<boolean> {
  const row = await db.row(sql`
    select from attempts
     where place = ${place} and id >= ${firstUuidAt(since)}::uuid and merchant_id = ${uuidOf(merchantId)} and mode = ${mode}
       and provider = ${provider} limit 1`)
  return row !== undefined
}

/**
 * Whether another merchant has this order, named by us or by the provider. Two merchants may use one provider account:
 * its list and its notices have the money of both.
 */
export async function isOrderOfAnother(
  db: Queries,
  { merchantId, mode, provider }: Scope & { provider: string },
  reference: string,
): Promise<boolean> {
  const merchant = uuidOf(merchantId)
  const { first, last } = ALL_PLACES
  const row = await db.row(sql`
    select a.id from merchants m join attempts a on a.place = m.place and a.place between ${first} and ${last} and a.merchant_id = m.id
     where m.id <> ${merchant} and a.mode = ${mode} and a.provider = ${provider} and a.order_reference = ${reference}
    union all
    select a.id from merchants m join attempts a on a.place = m.place and a.place between ${first} and ${last} and a.merchant_id = m.id
     where m.id <> ${merchant} and a.mode = ${mode} and a.provider = ${provider} and a.provider_reference = ${reference}
    limit 1`)
  return row !== undefined
}

/** All providers of all merchants, including removed integrations, whose money is still on record. */
export async function listAuditScopes(db: Queries): Promise<AuditScope[]> {
  const rows = await db.rows<{ merchant_id: string; place: number; mode: Mode; provider: string; account: number }>(sql`
    select i.merchant_id, m.place, i.mode, i.provider, i.account from integrations i join merchants m on m.id = i.merchant_id
     order by i.merchant_id, i.mode, i.provider`)
  return rows.map((row) => ({
    merchantId: idOf('merchant', row.merchant_id),
    place: row.place,
    mode: row.mode,
    provider: row.provider,
    keysVersion: row.account,
  }))
}
