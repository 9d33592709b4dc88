import { money } from '../../kernel/money.ts'
import { some } from '../json-parsers.ts'
import {
  type AccountLists,
  type ListAnswer,
  type ListedRefund,
  type ListedTransaction,
  type OfOrder,
  type OrderHandle,
  type Receipt,
  type ReversalsAnswer,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { spreadReversed } from '../spread-reversed.ts'
import { isMissing, read, type Session } from './api.ts'
import { NAIRA, transactionOf } from './mapping.ts'
import {
  type MonnifyFound,
  type MonnifyRefund,
  type MonnifyRefundPage,
  namesIn,
  readAnyPage,
  readFound,
  readRefund,
  readRefundPage,
  readTransaction,
} from './wire.ts'

const PAGE = 100
const MOST_PAGES = 20
/** Fewer entries could be in order by chance. */
const LEAST_FOR_ORDER = 5
/** Their times have no zone, and their clock is not ours. */
const MARGIN_MS = 24 * 3_600_000

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
  return { kind: 'reversals', refunds: ofThis.map((refund) => listedRefund(refund, order.startedAt)), disputes: [] }
}

/** The refund's own reference is ours if we made it, and one of theirs if it was made in the dashboard. */
function listedRefund(refund: MonnifyRefund, otherwiseAt: Date): ListedRefund {
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
  const name = transactionOf(first.transactionId)
  return spreadReversed(
    receipts,
    refunds
      .filter((refund) => refund.transactionReference === name && refund.refundStatus !== 'FAILED')
      .reduce((sum, { refundAmount }) => sum + refundAmount, 0),
  )
}

/** The lists of the account. The cursor is the number of the page. */
export function listsOf(session: Session): AccountLists {
  return {
    async transactions({ from, to }, cursor) {
      const page = Number(cursor ?? 0)
      const path = `/api/v1/transactions/search?page=${page}&size=${PAGE}&from=${from.getTime()}&to=${to.getTime()}`
      const said = read(await session.get(path), readAnyPage)
      if (said.kind === 'unknown') return said
      if (said.kind === 'refused') return refusal(said, 'the search for transactions')
      return pageOf(readable(said.body, readFound), page, (found) => orderOf(found, from))
    },
    async refunds({ from, to }, cursor) {
      const page = Number(cursor ?? 0)
      const any = await pageOfRefunds(session, page, readAnyPage, `&from=${from.getTime()}&to=${to.getTime()}`)
      if ('kind' in any) return any.kind === 'refused' ? refusal(any, 'the list of refunds') : any
      const said = readable(any, readRefund)
      const show = (refund: MonnifyRefund) => {
        const name = refund.transactionReference
        return [{ ...listedRefund(refund, from), transactionId: name, orderReference: name }]
      }
      // An account where the filter has no effect lists all of them, the newest first.
      const isEnough = orderIn(said.content) === 'newest first' && isOld(said.content.at(-1), from)
      return pageOf(isEnough ? { ...said, totalPages: 0 } : said, page, show)
    },
  }
}

interface Page<T> {
  content: T[]
  totalPages: number
}

/** The entries of a page that are valid, and what the others name. */
function readable<T>({ content, totalPages }: Page<unknown>, readOne: (one: unknown) => T | undefined) {
  const unreadable: OfOrder[] = []
  const entries = some(content, readOne, (one) => unreadable.push(namesIn(one))) ?? []
  return { content: entries, totalPages, ...(unreadable.length > 0 && { unreadable }) }
}

function pageOf<T, Entry>(
  { content, totalPages, ...others }: Page<T> & { unreadable?: OfOrder[] },
  page: number,
  show: (one: T) => Entry[],
): ListAnswer<Entry> {
  const nextCursor = page + 1 < totalPages ? String(page + 1) : null
  return { kind: 'page', entries: content.flatMap(show), nextCursor, ...others }
}

/** 403: Monnify has not enabled it for this account. Any other refusal is a fault. */
function refusal({ status }: Refused, what: string): ListAnswer<never> {
  if (status !== 403) return unreadable(status)
  return { kind: 'unsupported', because: `Monnify refused ${what} (403)` }
}

/** Orders that have ended, or wait, may have a part of their money: the search does not say. Their check does. */
const WITHOUT_MONEY = new Set(['PENDING', 'FAILED', 'CANCELLED', 'EXPIRED', 'ABANDONED'])

/** The search names what was asked for, not what was paid, and no transfers. */
function orderOf(found: MonnifyFound, otherwiseAt: Date): ListedTransaction[] {
  const { transactionReference, paymentReference: reference, paymentStatus: status, amount, currencyCode } = found
  if (WITHOUT_MONEY.has(status)) return []
  const least = status === 'PAID' ? amount : status === 'OVERPAID' ? amount + 1 : 1
  // Records that say it is paid contradict a part. Of what is paid beyond the amount, there is no sum.
  const askFrom = status === 'PARTIALLY_PAID' ? amount : status === 'OVERPAID' ? least : undefined
  return [
    {
      ...{ transactionId: transactionReference, reference, isOfOrder: true },
      amount: money(least, currencyCode ?? NAIRA),
      at: found.createdOn ?? otherwiseAt,
      ...(askFrom !== undefined && { askFrom }),
      ...(status === 'REVERSED' && { isReversed: true }),
    },
  ]
}

type Refused = { kind: 'refused'; status: number }

/**
 * Refunds that were made since a time, and perhaps older ones. Their list has no filter and no documented order. When
 * the first page is in order of time, reading stops where the entries are too old; else the whole list is read.
 */
export async function refundsSince(session: Session, since: Date): Promise<MonnifyRefund[] | Refused | Unknown> {
  const first = await pageOfRefunds(session, 0, readRefundPage)
  if ('kind' in first) return first
  const found = new Map(first.content.map((refund) => [refund.refundReference, refund]))
  const order = orderIn(first.content)
  const isEnough = ({ content }: MonnifyRefundPage) =>
    (order === 'newest first' && isOld(content.at(-1), since)) || (order === 'oldest first' && isOld(content[0], since))

  // The first page of a list that begins with the oldest is no reason to stop.
  let page = order === 'oldest first' ? undefined : first
  for (let pages = 1; pages < first.totalPages; pages++) {
    if (page && isEnough(page)) break
    if (pages >= MOST_PAGES) return unknown('its list of refunds is too long to read')
    const number = order === 'oldest first' ? first.totalPages - pages : pages
    const next = await pageOfRefunds(session, number, readRefundPage)
    if ('kind' in next) return next.kind === 'refused' ? unreadable(next.status) : next
    for (const refund of next.content) found.set(refund.refundReference, refund)
    page = next
  }
  return [...found.values()]
}

const isOld = (refund: MonnifyRefund | undefined, since: Date) =>
  refund?.createdOn != null && refund.createdOn.getTime() < since.getTime() - MARGIN_MS

async function pageOfRefunds<T = MonnifyRefund>(
  session: Session,
  number: number,
  readPage: (body: unknown) => Page<T> | undefined,
  filter = '',
): Promise<Page<T> | Refused | Unknown> {
  const answer = await session.get(`/api/v1/refunds?page=${number}&size=${PAGE}${filter}`)
  if (isMissing(answer)) return { content: [], totalPages: 0 }
  const said = read(answer, readPage)
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
