import { money } from '../../kernel/money.ts'
import {
  type ListAnswer,
  type ListedDispute,
  type ListedRefund,
  type ListedTransaction,
  type OrderHandle,
  type ReversalsAnswer,
  type TimeRange,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { type Api, findById, findTries } from './api.ts'
import { isNone, isPaid, receiptOf, refundStatusOf } from './mapping.ts'
import {
  type Chargeback,
  type Refund,
  readChargebacks,
  readEnvelope,
  readPages,
  readPaidTransactions,
  readRefunds,
  type Transaction,
  transactionIdOf,
} from './wire.ts'

/** Refunds and chargebacks of every transaction that brought money for an order. */
export async function listReversals(api: Api, order: OrderHandle, transactionIds: string[]): Promise<ReversalsAnswer> {
  const transactions = await transactionsOf(api, order, transactionIds)
  if (!Array.isArray(transactions)) return transactions
  const refunds: ListedRefund[] = []
  const disputes: ListedDispute[] = []
  for (const transaction of transactions) {
    const itsRefunds = required(await refundsOf(api, transaction))
    if ('kind' in itsRefunds) return itsRefunds
    for (const refund of itsRefunds) {
      const listed = listedRefund(refund, transaction)
      if (!listed) return unknown('it lists a refund without its date')
      refunds.push(listed)
    }
    // Accounts without the chargeback API still list their refunds.
    const itsChargebacks = optional(await chargebacksOf(api, transaction))
    if ('kind' in itsChargebacks) return itsChargebacks
    disputes.push(...itsChargebacks.map((chargeback) => listedDispute(chargeback, transaction)))
  }
  return { kind: 'reversals', refunds, disputes }
}

/**
 * Those that we know by id, verified; without any, the paid ones of the order. A known one may be of another order: a
 * person may have matched its money with this payment.
 */
async function transactionsOf(
  api: Api,
  { reference, providerReference }: OrderHandle,
  transactionIds: string[],
): Promise<Transaction[] | { kind: 'missing' } | Unknown> {
  if (transactionIds.length === 0) {
    const tries = await findTries(api, reference)
    if ('kind' in tries) return tries
    return tries.length === 0 && providerReference === reference ? { kind: 'missing' } : tries.filter(isPaid)
  }
  const transactions: Transaction[] = []
  for (const id of transactionIds) {
    const found = await findById(api, id)
    if (found.kind === 'unknown') return found
    if (found.kind === 'none') return { kind: 'missing' }
    transactions.push(found.transaction)
  }
  return transactions
}

/** What `refunds.ts` writes into the comment. */
const OUR_COMMENT = /^([0-9a-z]{32})(?::|$)/

function listedRefund(refund: Refund, { currency }: Transaction): ListedRefund | undefined {
  if (!refund.at) return undefined
  return {
    refundId: refund.id,
    reference: OUR_COMMENT.exec(refund.comment ?? '')?.[1] ?? null,
    amount: money(refund.amount, currency),
    status: refundStatusOf(refund),
    at: refund.at,
  }
}

function listedDispute(chargeback: Chargeback, { currency }: Transaction): ListedDispute {
  return {
    disputeId: chargeback.id,
    amount: money(chargeback.amount, currency),
    status: disputeStatusOf(chargeback),
    reason: chargeback.comment,
    respondBy: chargeback.dueAt,
    openedAt: chargeback.openedAt,
  }
}

/** `declined` is the merchant's answer to the bank, which has yet to decide. */
export function disputeStatusOf({ status }: { status: string }): ListedDispute['status'] {
  if (status === 'won') return 'won'
  return status === 'lost' || status === 'accepted' ? 'lost' : 'open'
}

/** Of the refunds or chargebacks of one transaction. */
const MOST_PAGES_OF_TRANSACTION = 5

/** The key works, and this list is not for it. */
export type Forbidden = { kind: 'forbidden'; status: number }

/**
 * Every entry of a list over all of its pages. An empty list may come as an error with 200, 400 or 404. `read` gets the
 * entries of a page and says undefined when one of them cannot be read.
 */
export async function everyEntry<T>(
  api: Api,
  path: string,
  query: Record<string, string>,
  read: (data: unknown) => T[] | undefined,
  mostPages: number,
): Promise<T[] | Forbidden | Unknown> {
  const entries: T[] = []
  let pages = 1
  for (let page = 1; page <= pages; page++) {
    const answer = await api.get(path, { ...query, ...(page > 1 && { page: String(page) }) })
    if (answer.kind === 'unknown') return answer
    const { status, text } = answer
    const envelope = readEnvelope(text)
    if (!envelope) return unreadable(status)
    if (!envelope.isSuccess) {
      if ([200, 400, 404].includes(status) && isNone(envelope.message)) return entries
      return status === 401 || status === 403 ? { kind: 'forbidden', status } : unreadable(status)
    }
    const isEmpty = envelope.data == null && isNone(envelope.message)
    const some = status === 200 ? (isEmpty ? [] : read(envelope.data)) : undefined
    if (!some) return unreadable(status)
    entries.push(...some)
    pages = readPages(envelope) ?? Number.POSITIVE_INFINITY
    if (pages > mostPages) return unknown('the list has more pages than are read')
  }
  return entries
}

/** For a list that must be readable. */
export function required<T>(list: T[] | Forbidden | Unknown): T[] | Unknown {
  return !Array.isArray(list) && list.kind === 'forbidden' ? unreadable(list.status) : list
}

/** For a list that some accounts may not read: nothing is known to be in it. */
export function optional<T>(list: T[] | Forbidden | Unknown): T[] | Unknown {
  return !Array.isArray(list) && list.kind === 'forbidden' ? [] : list
}

export function refundsOf(api: Api, { id, currency }: Pick<Transaction, 'id' | 'currency'>) {
  return everyEntry(api, '/refunds', { id }, (data) => readRefunds(data, id, currency), MOST_PAGES_OF_TRANSACTION)
}

/** `id` is the transaction's here, too. */
export function chargebacksOf(api: Api, { id, currency }: Transaction) {
  return everyEntry(
    api,
    '/chargebacks',
    { id },
    (data) => readChargebacks(data, id, currency),
    MOST_PAGES_OF_TRANSACTION,
  )
}

const DAY_MS = 86_400_000
/** Of refunds and chargebacks since the range began. */
const MOST_PAGES = 100

/**
 * One page of `GET /transactions`. Their filter takes days in a time zone that is not documented, so it asks for a day
 * more on both sides, and `created_at` decides. The cursor is the number of the page.
 */
export async function listTransactions(
  api: Api,
  { from, to }: TimeRange,
  cursor: string | null,
): Promise<ListAnswer<ListedTransaction>> {
  const page = Number(cursor ?? 1)
  const answer = await api.get('/transactions', {
    from: dayOf(from.getTime() - DAY_MS),
    to: dayOf(to.getTime() + DAY_MS),
    page: String(page),
  })
  if (answer.kind === 'unknown') return answer
  const envelope = answer.status === 200 ? readEnvelope(answer.text) : undefined
  const paid = envelope?.isSuccess ? readPaidTransactions(envelope.data) : undefined
  const pages = envelope && readPages(envelope)
  if (!paid || pages === undefined) return unreadable(answer.status)
  const inRange = paid.filter(({ at }) => at >= from && at < to)
  const returned = inRange.length === 0 ? new Map<string, number>() : await reversedSince(api, from, inRange)
  if ('kind' in returned) return returned
  const transactions: ListedTransaction[] = inRange.map((transaction) => ({
    ...receiptOf(transaction, returned.get(transaction.id)),
    reference: transaction.reference,
  }))
  return { kind: 'page', entries: transactions, nextCursor: page < pages ? String(page + 1) : null }
}

/**
 * Refunds and lost chargebacks of these transactions. Nothing goes back before it came in, so both lists start with the
 * range.
 */
async function reversedSince(
  api: Api,
  from: Date,
  transactions: Transaction[],
): Promise<Map<string, number> | Unknown> {
  const since = { from: dayOf(from.getTime() - DAY_MS), to: dayOf(Date.now() + DAY_MS) }
  const entries = (data: unknown) => (Array.isArray(data) ? (data as unknown[]) : undefined)
  const refunds = required(await everyEntry(api, '/refunds', since, entries, MOST_PAGES))
  if ('kind' in refunds) return refunds
  const chargebacks = optional(await everyEntry(api, '/chargebacks', since, entries, MOST_PAGES))
  if ('kind' in chargebacks) return chargebacks
  const returned = new Map<string, number>()
  for (const { id, currency } of transactions) {
    const of = (list: unknown[]) => list.filter((one) => transactionIdOf(one) === id)
    const itsRefunds = readRefunds(of(refunds), id, currency)
    const itsChargebacks = readChargebacks(of(chargebacks), id, currency)
    if (!itsRefunds || !itsChargebacks) return unreadable(200)
    const made = itsRefunds.filter((refund) => refundStatusOf(refund) === 'successful')
    const lost = itsChargebacks.filter((chargeback) => disputeStatusOf(chargeback) === 'lost')
    returned.set(
      id,
      [...made, ...lost].reduce((sum, { amount }) => sum + amount, 0),
    )
  }
  return returned
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
