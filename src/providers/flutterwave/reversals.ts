import { money } from '../../kernel/money.ts'
import { some } from '../json-parsers.ts'
import {
  type AccountLists,
  type ListAnswer,
  type ListedDispute,
  type ListedRefund,
  type ListedTransaction,
  type OfOrder,
  type OrderHandle,
  type ReversalsAnswer,
  type TimeRange,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { type Api, findById, findTries } from './api.ts'
import { isNone, isPaid, receiptOf, refundStatusOf } from './mapping.ts'
import { listedSettlement, readLines, readSettlement } from './settlements.ts'
import {
  type Chargeback,
  namesIn,
  pageIn,
  type Refund,
  readAnyChargeback,
  readAnyRefund,
  readChargebacks,
  readEnvelope,
  readPages,
  readPaidTransaction,
  readRefunds,
  type Transaction,
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
      const { at, amount } = refund
      if (!at) return unknown('it lists a refund without its date')
      refunds.push({ ...listedRefund({ ...refund, at }), amount: money(amount, transaction.currency) })
    }
    // Accounts without the chargeback API still list their refunds.
    const itsChargebacks = optional(await chargebacksOf(api, transaction))
    if ('kind' in itsChargebacks) return itsChargebacks
    for (const chargeback of itsChargebacks) {
      disputes.push({ ...listedDispute(chargeback), amount: money(chargeback.amount, transaction.currency) })
    }
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

function listedRefund(refund: Omit<Refund, 'amount'> & { at: Date }): Omit<ListedRefund, 'amount'> {
  return {
    refundId: refund.id,
    reference: OUR_COMMENT.exec(refund.comment ?? '')?.[1] ?? null,
    status: refundStatusOf(refund),
    at: refund.at,
  }
}

function listedDispute(chargeback: Omit<Chargeback, 'amount' | 'transactionId'>): Omit<ListedDispute, 'amount'> {
  return {
    disputeId: chargeback.id,
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

/** Every entry of a list over all of its pages. */
async function everyEntry<T>(
  api: Api,
  path: string,
  query: Record<string, string>,
  read: (data: unknown) => T[] | undefined,
): Promise<T[] | Forbidden | Unknown> {
  const entries: T[] = []
  for (let page = 1; page <= MOST_PAGES_OF_TRANSACTION; page++) {
    const some = await readPage(api, path, { ...query, ...(page > 1 && { page: String(page) }) }, read)
    if ('kind' in some) return some
    entries.push(...some.entries)
    if (some.pages > MOST_PAGES_OF_TRANSACTION) break
    if (page >= some.pages) return entries
  }
  return unknown('the list has more pages than are read')
}

/**
 * A page of a list. An empty list may come as an error with 200, 400 or 404. `read` gets the entries of the page and
 * says undefined when one of them cannot be read.
 */
async function readPage<T>(
  api: Api,
  path: string,
  query: Record<string, string>,
  read: (data: unknown) => T[] | undefined,
): Promise<{ entries: T[]; pages: number } | Forbidden | Unknown> {
  const answer = await api.get(path, query)
  if (answer.kind === 'unknown') return answer
  const { status, text } = answer
  const { page = '1' } = query
  const envelope = readEnvelope(text)
  if (!envelope) return unreadable(status)
  if (!envelope.isSuccess) {
    if ([200, 400, 404].includes(status) && isNone(envelope.message)) return { entries: [], pages: 1 }
    return status === 401 || status === 403 ? { kind: 'forbidden', status } : unreadable(status)
  }
  const isEmpty = envelope.data == null && isNone(envelope.message)
  const entries = status === 200 ? (isEmpty ? [] : read(envelope.data)) : undefined
  if (!entries) return unreadable(status)
  const pages = readPages(envelope)
  // In the other lists an entry that comes twice does no harm.
  const isOther = path === '/settlements' && (pageIn(envelope) ?? page) !== page
  if (isOther) return unknown('it answered with another page')
  return pages === undefined ? unknown('the list does not say how many pages it has') : { entries, pages }
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
  return everyEntry(api, '/refunds', { id }, (data) => readRefunds(data, id, currency))
}

/** `id` is the transaction's here, too. */
export function chargebacksOf(api: Api, { id, currency }: Transaction) {
  return everyEntry(api, '/chargebacks', { id }, (data) => readChargebacks(data, id, currency))
}

const DAY_MS = 86_400_000

/**
 * The lists of the account. Their filter takes days in a time zone that is not documented, so a day more on both sides
 * is asked for, and `created_at` decides. The cursor is the number of the page. A page in the order of time that is
 * older than the range is the last: the two hours of a busy account are at the beginning of three days.
 */
export function listsOf(api: Api): AccountLists {
  async function list<T, Entry>(
    path: string,
    { from, to }: TimeRange,
    cursor: string | null,
    read: (one: unknown) => T | null | undefined,
    show: (one: T) => { at: Date; entry: Entry },
  ): Promise<Extract<ListAnswer<Entry>, { kind: 'page' }> | Forbidden | Unknown> {
    const page = Number(cursor ?? 1)
    const days = { from: dayOf(from.getTime() - DAY_MS), to: dayOf(to.getTime() + DAY_MS) }
    const others: OfOrder[] = []
    const readAll = (data: unknown) => some(data, read, (one) => others.push(namesIn(one)))
    const said = await readPage(api, path, { ...days, page: String(page) }, readAll)
    if ('kind' in said) return said
    const shown = said.entries.map(show)
    const entries = shown.filter(({ at }) => at >= from && at < to).map(({ entry }) => entry)
    const isEnough = isNewestFirst(shown) && (shown.at(-1)?.at ?? to) < from
    const nextCursor = page < said.pages && !isEnough ? String(page + 1) : null
    return { kind: 'page', entries, nextCursor, ...(others.length > 0 && { unreadable: others }) }
  }
  return {
    async transactions(range, cursor) {
      const said = await list('/transactions', range, cursor, readPaidTransaction, (one) => ({
        at: one.at,
        entry: listedTransaction(one),
      }))
      return said.kind === 'forbidden' ? unreadable(said.status) : said
    },
    async refunds(range, cursor) {
      const said = await list('/refunds', range, cursor, readAnyRefund, (one) => ({
        at: one.at,
        entry: { ...listedRefund(one), transactionId: one.transactionId, orderReference: null, amount: null },
      }))
      return said.kind === 'forbidden' ? unreadable(said.status) : said
    },
    async disputes(range, cursor) {
      const said = await list(
        '/chargebacks',
        range,
        cursor,
        readAnyChargeback,
        ({ transactionId, orderReference, ...one }) => ({
          at: one.openedAt,
          entry: { ...listedDispute(one), transactionId, orderReference, amount: null },
        }),
      )
      if (said.kind !== 'forbidden') return said
      return { kind: 'unsupported', because: 'Flutterwave does not let this key list chargebacks' }
    },
    async settlements(range, cursor) {
      const said = await list('/settlements', range, cursor, readSettlement, (one) => ({
        at: one.madeAt,
        entry: listedSettlement(one),
      }))
      return said.kind === 'forbidden' ? NO_SETTLEMENTS : said
    },
    // All of them in one answer.
    async settlementLines(id) {
      const answer = await api.get(`/settlements/${encodeURIComponent(id)}`)
      if (answer.kind === 'unknown') return answer
      if (answer.status === 401 || answer.status === 403) return NO_SETTLEMENTS
      const envelope = answer.status === 200 ? readEnvelope(answer.text) : undefined
      const others: OfOrder[] = []
      const lines = envelope?.isSuccess ? readLines(envelope.data, id, (one) => others.push(namesIn(one))) : undefined
      if (!lines) return unreadable(answer.status)
      return { kind: 'page', entries: lines, nextCursor: null, ...(others.length > 0 && { unreadable: others }) }
    },
  }
}

const NO_SETTLEMENTS = { kind: 'unsupported', because: 'Flutterwave does not let this key list settlements' } as const

/** Fewer entries could be in order by chance. */
const LEAST_FOR_ORDER = 5

function isNewestFirst(entries: { at: Date }[]): boolean {
  const times = entries.map(({ at }) => at.getTime())
  return times.length >= LEAST_FOR_ORDER && times.slice(1).every((time, index) => time < (times[index] ?? 0))
}

/** It is `successful` as long as a part of it is left. */
function listedTransaction(transaction: Transaction): ListedTransaction {
  const { returned: _, ...receipt } = receiptOf(transaction)
  const isReversed = transaction.status !== 'successful'
  return { ...receipt, reference: transaction.reference, ...(isReversed && { isReversed }) }
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
