import type { Queries } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { type AttemptId, idOf, LAST_UUID, type PaymentId, uuidOf } from '../../kernel/ids.ts'
import type { Currency } from '../../kernel/money.ts'
import { money } from '../../kernel/money.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { AttemptStatus } from '../state/attempt.ts'
import type { MoneyKind } from '../state/open-money.ts'
import type { PaymentStatus } from '../state/payment.ts'
import { listUnmatchedMoney } from './unmatched.ts'

/** One line of the list of money that does not add up. */
export interface Transfer {
  /** `receipt-12`, the attempt's id, or the id of a late payment. */
  id: string
  kind: MoneyKind
  provider: string
  /** The provider's id of unmatched money. */
  transactionId: string | null
  paymentId: PaymentId | null
  paymentReference: string | null
  paymentStatus: PaymentStatus | null
  email: string | null
  amount: number
  currency: string
  /** What the customer was asked for. */
  due: number | null
  received: number
  /** Why the last refund through the provider failed. */
  failure: string | null
  at: Date
}

/** Where the next page begins, in each of the three sources. */
export interface TransferCursor {
  receipt: number
  attempt: string
  payment: string
}

export const FIRST_PAGE: TransferCursor = { receipt: Number.MAX_SAFE_INTEGER, attempt: LAST_UUID, payment: LAST_UUID }

/**
 * Newest first. Each source is read in the order of its index, and the page takes the newest of their first lines. A
 * line never passes another one of its source, even if it is newer (a late payment): the cursor would skip the other
 * one.
 */
export async function listTransfers(
  db: Queries,
  scope: Scope,
  cursor: TransferCursor,
  limit: number,
): Promise<{ transfers: Transfer[]; next: TransferCursor | null }> {
  const [unmatched, holding, late] = await Promise.all([
    listUnmatchedMoney(db, scope, { before: cursor.receipt, limit: limit + 1 }),
    listHolding(db, scope, cursor.attempt, limit + 1),
    listLate(db, scope, cursor.payment, limit + 1),
  ])
  const sources: Line[][] = [
    unmatched.map((money) => ({ transfer: unmatchedOf(money), passed: { receipt: money.id } })),
    holding.map((transfer) => ({ transfer, passed: { attempt: uuidOf(transfer.id as AttemptId) } })),
    late.map((transfer) => ({ transfer, passed: { payment: uuidOf(transfer.id as PaymentId) } })),
  ]
  const transfers: Transfer[] = []
  let next = cursor
  for (let line = takeNewest(sources); line; line = takeNewest(sources)) {
    if (transfers.length === limit) return { transfers, next }
    transfers.push(line.transfer)
    next = { ...next, ...line.passed }
  }
  return { transfers, next: null }
}

interface Line {
  transfer: Transfer
  passed: Partial<TransferCursor>
}

/** Removes the newest of the first lines. */
function takeNewest(sources: Line[][]): Line | undefined {
  const timeOf = ([first]: Line[]) => first?.transfer.at.getTime() ?? 0
  return sources.toSorted((a, b) => timeOf(b) - timeOf(a))[0]?.shift()
}

function unmatchedOf({
  id,
  provider,
  transactionId,
  amount,
  currency,
  recordedAt,
}: Awaited<ReturnType<typeof listUnmatchedMoney>>[number]): Transfer {
  const nothing = {
    paymentId: null,
    paymentReference: null,
    paymentStatus: null,
    email: null,
    due: null,
    failure: null,
  }
  const own = { id: `receipt-${id}`, kind: 'unmatched' as const, provider, transactionId, amount, currency }
  return { ...own, ...nothing, received: amount, at: recordedAt }
}

interface HeldRow {
  id: string
  payment_id: string
  reference: string
  payment_status: PaymentStatus
  user_email: string
  provider: string
  status: AttemptStatus
  amount: number
  currency: string
  due: number
  received: number
  failure: string | null
  at: Date
}

function transferOf(row: HeldRow, place: number): Omit<Transfer, 'id' | 'kind'> {
  return {
    provider: row.provider,
    transactionId: null,
    paymentId: idOf('payment', row.payment_id, place),
    paymentReference: row.reference,
    paymentStatus: row.payment_status,
    email: row.user_email,
    amount: row.amount,
    currency: row.currency,
    due: row.due,
    received: row.received,
    failure: row.failure,
    at: row.at,
  }
}

/**
 * What an attempt `a` of the payment `p` holds, and that is not due: `beyondDue`. The place is the first parameter of
 * the statement.
 */
const BEYOND_DUE = new Fixed(`(a.amount_received - a.amount_returned
  - case when a.status = 'successful'
         then a.amount_charged - greatest(0, a.amount_refunded + a.amount_charged - p.amount_paid + (
                select coalesce(sum(f.amount), 0)::bigint from refunds f
                 where f.place = $1 and f.attempt_id = a.id and f.counted and f.status = 'pending'))
         else 0 end)`)

/**
 * Attempts `a` of the payment `p` with open money: the rules of `openMoneyOf`. The place is the first parameter of the
 * statement.
 */
export const HOLDS_OPEN_MONEY = new Fixed(`(
  -- As in the index attempts_holding.
  a.amount_received > a.amount_returned and a.amount_received > case when a.status = 'successful' then a.amount_charged else 0 end
  and ${BEYOND_DUE.text} > 0
  and not exists (select from reviews v
                   where v.place = $1 and v.attempt_id = a.id and v.act = 'noted' and v.received = a.amount_received))`)

/** Late payments `p` with open money: the rules of `lateMoneyOf`. The place is the first parameter of the statement. */
export const IS_LATE_AND_OPEN = new Fixed(`(
  p.late
  and p.amount_paid > (select coalesce(sum(f.amount), 0) from refunds f
                        where f.place = $1 and f.payment_id = p.id and f.counted and f.status <> 'failed')
  and not exists (select from reviews v left join refunds f on f.place = $1 and f.id = v.refund_id
                   where v.place = $1 and v.payment_id = p.id and v.kind = 'late' and f.status is distinct from 'failed'))`)

async function listHolding(
  db: Queries,
  { place, merchantId, mode }: Scope,
  before: string,
  limit: number,
): Promise<Transfer[]> {
  const rows = await db.rows<HeldRow>(sql`
    select a.id, a.payment_id, p.reference, p.status as payment_status, p.user_email, a.provider, a.status, a.currency,
           ${BEYOND_DUE} as amount,
           a.amount_charged as due, a.amount_received as received, a.created_at as at,
           (select f.failure from refunds f where f.place = ${place} and f.attempt_id = a.id and f.status = 'failed' order by f.id desc limit 1) as failure
      from attempts a join payments p on p.place = ${place} and p.id = a.payment_id
     where a.place = ${place} and a.merchant_id = ${uuidOf(merchantId)} and a.mode = ${mode} and a.id < ${before}::uuid
       and ${HOLDS_OPEN_MONEY}
     order by a.id desc limit ${limit}`)
  return rows.map((row) => ({
    id: idOf('attempt', row.id, place),
    kind: row.status === 'successful' ? 'overpaid' : row.payment_status === 'successful' ? 'surplus' : 'underpaid',
    ...transferOf(row, place),
  }))
}

async function listLate(
  db: Queries,
  { place, merchantId, mode }: Scope,
  before: string,
  limit: number,
): Promise<Transfer[]> {
  const rows = await db.rows<HeldRow>(sql`
    select p.id, p.id as payment_id, p.reference, p.status as payment_status, p.user_email, a.provider, a.status, p.currency,
           p.amount_paid - gone.refunded as amount, a.amount_charged as due, p.amount_paid as received,
           p.completed_at as at,
           (select f.failure from refunds f where f.place = ${place} and f.attempt_id = a.id and f.status = 'failed' order by f.id desc limit 1) as failure
      from payments p join attempts a on a.place = ${place} and a.payment_id = p.id and a.status = 'successful'
      cross join lateral (
        select coalesce(sum(f.amount), 0)::bigint as refunded from refunds f
         where f.place = ${place} and f.payment_id = p.id and f.counted and f.status <> 'failed') gone
     where p.place = ${place} and p.merchant_id = ${uuidOf(merchantId)} and p.mode = ${mode} and p.id < ${before}::uuid
       and ${IS_LATE_AND_OPEN}
     order by p.id desc limit ${limit}`)
  return rows.map((row) => ({ id: idOf('payment', row.id, place), kind: 'late', ...transferOf(row, place) }))
}

export interface UnmatchedMoney {
  provider: string
  keysVersion: number
  receipt: Receipt
}

interface UnmatchedRow {
  provider: string
  account: number
  transaction_id: string
  attempt_id: string | null
  amount: number
  currency: Currency
  returned: number
  taken_at: Date
}

/**
 * Locks unmatched money, and the records of the same transaction under other keys: of two members who handle both, one
 * waits for the other. `done`: it is handled, or the provider has given it back. Undefined if this merchant has no such
 * money.
 */
export async function lockUnmatched(
  tx: Queries,
  { place, merchantId, mode }: Scope,
  id: number,
): Promise<UnmatchedMoney | 'done' | undefined> {
  const merchant = uuidOf(merchantId)
  const named = await tx.row<{ provider: string; account: number; transaction_id: string }>(sql`
    select provider, account, transaction_id from receipts
     where place = ${place} and id = ${id} and merchant_id = ${merchant} and mode = ${mode}`)
  if (!named) return undefined
  // In one order, so that they do not wait for each other.
  const rows = await tx.rows<UnmatchedRow & { id: number }>(sql`
    select id, provider, account, transaction_id, attempt_id, amount, currency, returned, taken_at from receipts
     where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and provider = ${named.provider}
       and account = any(array(select version from provider_accounts
                                where merchant_id = ${merchant} and mode = ${mode} and provider = ${named.provider}) || ${named.account}::integer)
       and transaction_id = ${named.transaction_id}
     order by id for update`)
  const row = rows.find((each) => each.id === id)
  if (!row) return undefined
  const reviewed = await tx.row(sql`select id from reviews where place = ${place} and receipt_id = ${id}`)
  const {
    provider,
    account: keysVersion,
    transaction_id: transactionId,
    amount,
    currency,
    returned,
    taken_at: at,
  } = row
  if (row.attempt_id !== null || reviewed || returned === amount) return 'done'
  return { provider, keysVersion, receipt: { transactionId, amount: money(amount, currency), returned, at } }
}

/**
 * Whether the same transaction is on record under other keys of the merchant, where it is of a payment or was returned
 * by hand. The caller has locked it. Equal ids of different amounts may be of two accounts at the provider; an amount
 * that only a notice names tells nothing.
 */
export async function isHandledUnderOtherKeys(
  tx: Queries,
  { place, merchantId, mode }: Scope,
  { provider, keysVersion, receipt }: UnmatchedMoney,
  isConfirmed: boolean,
): Promise<boolean> {
  const { transactionId, amount } = receipt
  const others = await tx.rows<{ id: number; assigned: boolean }>(sql`
    select r.id, r.attempt_id is not null as assigned from receipts r
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = any(array(select version from provider_accounts
                                  where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider} and version <> ${keysVersion}))
       and r.transaction_id = ${transactionId}
       and (not ${isConfirmed}::boolean or r.amount = ${amount.amount} and r.currency = ${amount.currency})`)
  if (others.some(({ assigned }) => assigned)) return true
  const row = await tx.row(sql`
    select id from reviews
     where place = ${place} and receipt_id = any(${others.map(({ id }) => id)}::bigint[]) and act = 'returned_by_hand' limit 1`)
  return row !== undefined
}
