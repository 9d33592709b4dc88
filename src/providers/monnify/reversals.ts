import { money } from '../../kernel/money.ts'
import {
  type ListAnswer,
  type ListedRefund,
  type ListedTransaction,
  type OrderHandle,
  type Receipt,
  type ReversalsAnswer,
  type TimeRange,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { spreadReversed } from '../spread-reversed.ts'
import { isMissing, read, type Session } from './api.ts'
import { NAIRA, receiptsOf, transactionOf } from './mapping.ts'
import { type MonnifyRefund, type MonnifyRefundPage, readRefundPage, readSearchPage, readTransaction } from './wire.ts'

const PAGE = 100
const MOST_PAGES = 20
/** Fewer entries could be in order by chance. */
const LEAST_FOR_ORDER = 5
const HOUR_MS = 3_600_000
/** Their times have no zone, and their clock is not ours. */
const MARGIN_MS = 24 * HOUR_MS

/**
 * Refunds of an order. Monnify has no API for disputes. A transaction of theirs may have several transfers of ours, and
 * the recorded ones may be of another order, with which a person matched them.
 */
export async function listReversals(
  session: Session,
  order: OrderHandle,
  transactionIds: string[],
): Promise<ReversalsAnswer> {
  const names = new Set(transactionIds.map(transactionOf))
  if (names.size === 0 && order.providerReference !== order.reference) names.add(order.providerReference)
  if (names.size === 0) {
    const name = await nameOf(session, order)
    if (typeof name !== 'string') return name
    names.add(name)
  }
  const refunds = await refundsSince(session, order.startedAt)
  if (!Array.isArray(refunds)) {
    return refunds.kind === 'refused' ? unknown('Monnify has not enabled the refund API for this account') : refunds
  }
  const ofThis = refunds.filter(({ transactionReference }) => names.has(transactionReference))
  return { kind: 'reversals', refunds: ofThis.map((refund) => listed(refund, order.startedAt)), disputes: [] }
}

/** The refund's own reference is ours if we made it, and one of theirs if it was made in the dashboard. */
function listed(refund: MonnifyRefund, otherwiseAt: Date): ListedRefund {
  const { refundReference, refundAmount, refundStatus, createdOn } = refund
  return {
    refundId: refundReference,
    reference: refundReference,
    amount: money(refundAmount, NAIRA),
    status: refundStatus === 'COMPLETED' ? 'successful' : refundStatus === 'FAILED' ? 'failed' : 'pending',
    at: createdOn ?? otherwiseAt,
  }
}

/** Their name of an order for which we have none. */
async function nameOf(session: Session, { reference }: OrderHandle): Promise<string | { kind: 'missing' } | Unknown> {
  const path = `/api/v2/merchant/transactions/query?paymentReference=${encodeURIComponent(reference)}`
  const answer = await session.get(path)
  if (isMissing(answer)) return { kind: 'missing' }
  const said = read(answer, readTransaction)
  if (said.kind !== 'good') return said.kind === 'refused' ? unreadable(said.status) : said
  const { paymentReference, transactionReference } = said.body
  return paymentReference === reference ? transactionReference : unknown('it answered about another order')
}

/**
 * The receipts of one transaction, each with what was refunded of it, pending refunds included: a payment that we see
 * for the first time then is no success. The answer about a transaction does not mention refunds. A list that fails
 * stops no payment: what went back is booked when it is listed.
 */
export async function withRefunds(session: Session, receipts: Receipt[], since: Date): Promise<Receipt[]> {
  const [first] = receipts
  if (!first) return receipts
  const refunds = await refundsSince(session, since)
  if (!Array.isArray(refunds)) return receipts
  return spreadReversed(
    receipts,
    sumOf(refunds, transactionOf(first.transactionId), ({ refundStatus }) => refundStatus !== 'FAILED'),
  )
}

function sumOf(refunds: MonnifyRefund[], name: string, counts: (refund: MonnifyRefund) => boolean): number {
  const counted = refunds.filter((refund) => refund.transactionReference === name && counts(refund))
  return counted.reduce((sum, { refundAmount }) => sum + refundAmount, 0)
}

const isCompleted = ({ refundStatus }: MonnifyRefund) => refundStatus === 'COMPLETED'

/** One page of the transactions of a range. The cursor is the number of the page. */
export async function listTransactions(
  session: Session,
  { from, to }: TimeRange,
  cursor: string | null,
): Promise<ListAnswer<ListedTransaction>> {
  const number = Number(cursor ?? 0)
  // They search by the time of the start; a link lives for 40 minutes.
  const started = new Date(from.getTime() - HOUR_MS)
  const path = `/api/v1/transactions/search?page=${number}&size=${PAGE}&from=${started.getTime()}&to=${to.getTime()}`
  const said = read(await session.get(path), readSearchPage)
  if (said.kind === 'unknown') return said
  if (said.kind === 'refused') {
    return { kind: 'unsupported', because: `Monnify refused the search for transactions (${said.status})` }
  }
  const names = said.body.content.flatMap((found) =>
    found.paymentStatus === 'PENDING' ? [] : [found.transactionReference],
  )
  const found = await receiptsOfEach(session, names, started)
  if ('kind' in found) return found
  const first = Math.floor(from.getTime() / 1000) * 1000 // some of their times are whole seconds
  return {
    kind: 'page',
    entries: found.filter(({ at }) => at.getTime() >= first && at <= to),
    nextCursor: number + 1 < said.body.totalPages ? String(number + 1) : null,
  }
}

/** The search names what was asked for, not what was paid: so each transaction is asked for by its name. */
async function receiptsOfEach(session: Session, names: string[], since: Date): Promise<ListedTransaction[] | Unknown> {
  const transactions: ListedTransaction[] = []
  let refunds: MonnifyRefund[] | undefined
  for (const name of names) {
    const said = read(await session.get(`/api/v2/transactions/${encodeURIComponent(name)}`), readTransaction)
    if (said.kind !== 'good') return said.kind === 'refused' ? unreadable(said.status) : said
    const receipts = receiptsOf(said.body, since)
    if (!receipts || said.body.transactionReference !== name)
      return unknown('it contradicts itself about a transaction')
    if (receipts.length === 0) continue
    if (!refunds) {
      const listed = await refundsSince(session, since)
      if (!Array.isArray(listed) && listed.kind === 'unknown') return listed
      refunds = Array.isArray(listed) ? listed : []
    }
    const reference = said.body.paymentReference
    const returned = said.body.status === 'REVERSED' ? said.body.amountPaid : sumOf(refunds, name, isCompleted)
    transactions.push(...spreadReversed(receipts, returned).map((receipt) => ({ ...receipt, reference })))
  }
  return transactions
}

type Refused = { kind: 'refused'; status: number }

/**
 * Refunds that were made since a time, and perhaps older ones. Their list has no filter and no documented order. When
 * the first page is in order of time, reading stops where the entries are too old; else the whole list is read.
 */
export async function refundsSince(session: Session, since: Date): Promise<MonnifyRefund[] | Refused | Unknown> {
  const first = await pageOfRefunds(session, 0)
  if ('kind' in first) return first
  const found = new Map(first.content.map((refund) => [refund.refundReference, refund]))
  const order = orderIn(first.content)
  const isOld = (refund: MonnifyRefund | undefined) =>
    refund?.createdOn != null && refund.createdOn.getTime() < since.getTime() - MARGIN_MS
  const isEnough = ({ content }: MonnifyRefundPage) =>
    (order === 'newest first' && isOld(content.at(-1))) || (order === 'oldest first' && isOld(content[0]))

  // The first page of a list that begins with the oldest is no reason to stop.
  let page = order === 'oldest first' ? undefined : first
  for (let pages = 1; pages < first.totalPages; pages++) {
    if (page && isEnough(page)) break
    if (pages >= MOST_PAGES) return unknown('its list of refunds is too long to read')
    const number = order === 'oldest first' ? first.totalPages - pages : pages
    const next = await pageOfRefunds(session, number)
    if ('kind' in next) return next.kind === 'refused' ? unreadable(next.status) : next
    for (const refund of next.content) found.set(refund.refundReference, refund)
    page = next
  }
  return [...found.values()]
}

async function pageOfRefunds(session: Session, number: number): Promise<MonnifyRefundPage | Refused | Unknown> {
  const answer = await session.get(`/api/v1/refunds?page=${number}&size=${PAGE}`)
  if (isMissing(answer)) return { content: [], totalPages: 0 }
  const said = read(answer, readRefundPage)
  if (said.kind === 'good') return said.body
  return said.kind === 'refused' ? { kind: 'refused', status: said.status } : said
}

function orderIn(refunds: MonnifyRefund[]): 'newest first' | 'oldest first' | 'unknown' {
  const times = refunds.map(({ createdOn }) => createdOn?.getTime() ?? Number.NaN)
  const pairs = times.slice(1).map((time, i) => time - (times[i] ?? Number.NaN))
  if (times.length < LEAST_FOR_ORDER || pairs.every((step) => step === 0)) return 'unknown'
  if (pairs.every((step) => step <= 0)) return 'newest first'
  return pairs.every((step) => step >= 0) ? 'oldest first' : 'unknown'
}
