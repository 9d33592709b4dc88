import type { Mode } from '../../kernel/mode.ts'
import { type Money, money } from '../../kernel/money.ts'
import { some } from '../json-parsers.ts'
import {
  type AccountLists,
  type ListAnswer,
  type ListedDispute,
  type ListedRefund,
  type ListedTransaction,
  type OfOrder,
  type Outcome,
  type ProviderAnswer,
  type TimeRange,
  type Unknown,
  unknown,
} from '../provider.ts'
import { isOfMode, isReversed, receiptOf } from './mapping.ts'
import { listedLine, listedSettlement, readLine, readSettlement } from './settlements.ts'
import {
  fromHundredths,
  type ListedPaystackRefund,
  namesIn,
  type PaystackDispute,
  type PaystackTransaction,
  readData,
  readDispute,
  readDisputes,
  readListedRefund,
  readListedRefunds,
  readPaging,
  readPaidTransaction,
} from './wire.ts'

export interface Reversals {
  refunds: ListedRefund[]
  disputes: ListedDispute[]
}

type Get = (path: string) => Promise<ProviderAnswer>

/** Refunds and disputes of one transaction, from the two lists that Paystack has. */
export async function reversalsOf(
  get: Get,
  mode: Mode,
  transaction: PaystackTransaction,
): Promise<Reversals | Unknown> {
  const refunds = await everyEntry(get, `/refund?transaction=${transaction.id}`, readListedRefunds)
  if ('kind' in refunds) return refunds
  const disputes = await everyEntry(get, `/dispute?transaction=${transaction.id}`, readDisputes)
  if ('kind' in disputes) return disputes
  // The filters are documented in one place and not in another, so entries of other transactions are left out here.
  const ofIt = ({ transactionId }: { transactionId: string }) => transactionId === transaction.id
  const ofMode = (one: { domain: string }) => isOfMode(one, mode)
  const [itsRefunds, itsDisputes] = [refunds.filter(ofIt), disputes.filter(ofIt)]
  if (![...itsRefunds, ...itsDisputes].every(ofMode)) return unknown('it answered in another mode')
  if (itsRefunds.some(({ amount }) => amount.currency !== transaction.amount.currency)) {
    return unknown('it answered with another currency')
  }
  return {
    refunds: itsRefunds.map((refund) => ({
      ...listedRefund(refund),
      amount: atMost(refund.amount, transaction.amount),
    })),
    disputes: itsDisputes.map((dispute) => ({
      ...listedDispute(dispute),
      amount: disputedAmount(dispute, transaction.amount),
    })),
  }
}

/** The lists of the account. Entries of the other mode, which a sample of theirs has, are not of this account. */
export function listsOf(get: Get, mode: Mode): AccountLists {
  type Named = { domain: string; transactionId: string; orderReference: string | null }
  async function list<T extends { domain: string }, Entry>(
    path: string,
    cursor: string | null,
    read: (one: unknown) => T | null | undefined,
    show: (one: T) => Entry[],
  ): Promise<ListAnswer<Entry>> {
    const unreadable: OfOrder[] = []
    const readAll = (data: unknown) => some(data, read, (one) => unreadable.push(namesIn(one)))
    const page = await readPage(get, path, cursor, readAll)
    if ('kind' in page) return page
    const entries = page.entries.filter((one) => isOfMode(one, mode)).flatMap(show)
    return { kind: 'page', entries, nextCursor: page.next, ...(unreadable.length > 0 && { unreadable }) }
  }
  const within = ({ from, to }: TimeRange) => new URLSearchParams({ from: from.toISOString(), to: to.toISOString() })
  const ofOrder = ({ transactionId, orderReference }: Named) => ({ transactionId, orderReference })
  return {
    // Without a filter by status: that takes one status at a time, and not `reversal-pending`. Their page about lists
    // says `perPage`, their description of this one `per_page`.
    transactions: (range, cursor) =>
      list(`/transaction?${within(range)}&per_page=${PER_PAGE}`, cursor, readPaidTransaction, listedTransaction),
    refunds: (range, cursor) =>
      list(`/refund?${within(range)}`, cursor, readListedRefund, (refund) => [
        { ...listedRefund(refund), ...ofOrder(refund), amount: refund.amount },
      ]),
    disputes: (range, cursor) =>
      list(`/dispute?${within(range)}`, cursor, readDispute, (dispute) => [
        {
          ...listedDispute(dispute),
          ...ofOrder(dispute),
          amount: dispute.ofTransaction && disputedAmount(dispute, dispute.ofTransaction),
        },
      ]),
    // Without `subaccount` the payouts to split partners are listed, too.
    settlements: (range, cursor) =>
      list(`/settlement?subaccount=none&${within(aDayWider(range))}`, cursor, readSettlement, listedSettlement),
    settlementLines: (id, cursor) =>
      list(`/settlement/${encodeURIComponent(id)}/transactions`, cursor, readLine, listedLine),
  }
}

const DAY_MS = 86_400_000

/** Whether the filter of settlements means their day or when they were made is not documented. */
const aDayWider = ({ from, to }: TimeRange): TimeRange => ({
  from: new Date(from.getTime() - DAY_MS),
  to: new Date(to.getTime() + DAY_MS),
})

/** One without a date of payment was never taken. */
function listedTransaction(transaction: PaystackTransaction): ListedTransaction[] {
  const { at, paidAt, reference } = transaction
  const hasGone = isReversed(transaction)
  if (!at || (hasGone && !paidAt)) return []
  return [{ ...receiptOf(transaction, at), reference, ...(hasGone && { isReversed: true as const }) }]
}

/**
 * What has gone back of a reversed transaction, in our minor units, with pending refunds: Paystack takes their amount
 * from the merchant's balance when they are created, so a payment that we see for the first time then is no success.
 */
export function reversedBy({ refunds, disputes }: Reversals, transaction: PaystackTransaction): number | Unknown {
  const made = refunds.filter(({ status }) => status !== 'failed')
  const lost = disputes.filter(({ status }) => status === 'lost')
  if (made.length === 0 && lost.length === 0) {
    // The bank reversed it, and nothing is listed. A failed refund would have made it a success again.
    const isWhole = transaction.status === 'reversed' && refunds.length === 0
    return isWhole ? transaction.amount.amount : unknown('it says reversed, and lists nothing that was given back')
  }
  return Math.min(sum(made) + sum(unsettled(lost, made)), transaction.amount.amount)
}

/** Marks a reversal that neither list has. */
export function markUnlisted(outcome: Outcome, { refunds, disputes }: Reversals): Outcome {
  const isListed = refunds.length > 0 || disputes.some(({ status }) => status === 'lost')
  if (outcome.kind !== 'paid' || isListed) return outcome
  return { ...outcome, receipts: outcome.receipts.map((each) => ({ ...each, returnedIsUnlisted: true as const })) }
}

/**
 * Lost disputes without a refund of their own. Paystack pays an accepted dispute back with a refund, which has been
 * counted.
 */
function unsettled(lost: ListedDispute[], made: ListedRefund[]): ListedDispute[] {
  const free = [...made]
  return lost.filter(({ disputeId, amount, openedAt }) => {
    const settling = free.findIndex(
      (refund) =>
        refund.disputeId === disputeId ||
        (refund.disputeId === undefined &&
          refund.reference === null &&
          refund.amount.amount === amount.amount &&
          refund.at >= openedAt),
    )
    if (settling >= 0) free.splice(settling, 1)
    return settling < 0
  })
}

const sum = (parts: { amount: Money }[]) => parts.reduce((total, { amount }) => total + amount.amount, 0)

/**
 * The note that `refunds.ts` writes. The note of the dashboard repeats the reference of the payment, which is none of a
 * refund.
 */
const OUR_NOTE = /^Refund ([0-9a-z]{32})$/

const STATUSES: Record<string, ListedRefund['status']> = { processed: 'successful', failed: 'failed' }

function listedRefund(refund: ListedPaystackRefund): Omit<ListedRefund, 'amount'> {
  return {
    refundId: refund.id,
    reference: OUR_NOTE.exec(refund.note)?.[1] ?? null,
    status: STATUSES[refund.status] ?? 'pending',
    at: refund.at,
    ...(refund.disputeId !== null && { disputeId: refund.disputeId }),
    ...(refund.status === 'needs-attention' && { needsAccount: true as const }),
  }
}

function listedDispute(dispute: PaystackDispute): Omit<ListedDispute, 'amount'> {
  return {
    disputeId: dispute.id,
    status: disputeStatus(dispute),
    reason: dispute.category,
    respondBy: dispute.dueAt,
    openedAt: dispute.openedAt,
  }
}

function disputedAmount({ hundredths }: PaystackDispute, whole: Money): Money {
  const part = hundredths === null ? undefined : fromHundredths(hundredths, whole.currency)
  return part === undefined ? whole : atMost(money(part, whole.currency), whole)
}

/**
 * `merchant-accepted`, `auto-accepted`: the customer gets the money. A resolution that we do not know leaves the
 * dispute open. `archived` has ended; without a resolution no money went back for it.
 */
function disputeStatus({ status, resolution }: PaystackDispute): ListedDispute['status'] {
  if (status !== 'resolved' && status !== 'archived') return 'open'
  if (resolution?.endsWith('accepted')) return 'lost'
  if (status === 'archived' && resolution === null) return 'won'
  return resolution === 'declined' ? 'won' : 'open'
}

/** When fees are passed on, a full refund is larger than the order by these. */
function atMost(amount: Money, whole: Money): Money {
  return amount.amount > whole.amount ? whole : amount
}

const PER_PAGE = 100
/** A payment with more refunds than fit on these pages needs a person. */
const MAX_PAGES = 10
/** Before the name that a list gives to its next page. Without it, a cursor is the number of a page. */
const NAMED = 'next:'

/** The page that a cursor stands for; null is the first one. */
function pageQuery(cursor: string | null): Record<string, string> {
  const page: Record<string, string> = cursor?.startsWith(NAMED)
    ? { use_cursor: 'true', next: cursor.slice(NAMED.length) }
    : { page: cursor ?? '1' }
  return { perPage: String(PER_PAGE), ...page }
}

/** Of a list that says nothing of its pages, and may ignore what we ask for. */
const THEIR_PER_PAGE = 50

/**
 * The cursor of the next page; null after the last one. More follows while `meta.pageCount` or `meta.next` says so.
 * Without both, a page that is not full is the last.
 */
function nextOf(text: string, cursor: string | null, entries: number): string | null | Unknown {
  const { pages, entriesPerPage = THEIR_PER_PAGE, next } = readPaging(text)
  const page = cursor?.startsWith(NAMED) ? undefined : Number(cursor ?? 1)
  if (page !== undefined && pages !== undefined && page < pages) return String(page + 1)
  if (next !== undefined) return cursor === NAMED + next ? unknown('its list does not go on') : NAMED + next
  if (page === undefined || pages !== undefined || entries === 0) return null
  return entries < Math.min(entriesPerPage, PER_PAGE) ? null : String(page + 1)
}

/**
 * Every entry of a list over all of its pages, until `isEnough`. After `MAX_PAGES` the list is unknown: what is not
 * read could be what matters.
 */
export async function everyEntry<T>(
  get: Get,
  path: string,
  read: (data: unknown) => T[] | undefined,
  isEnough: (entries: T[]) => boolean = () => false,
): Promise<T[] | Unknown> {
  const entries: T[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page: Page<T> | Unknown = await readPage(get, path, cursor, read)
    if ('kind' in page) return page
    entries.push(...page.entries)
    if (page.next === null || isEnough(entries)) return entries
    cursor = page.next
  }
  return unknown('the list has more pages than are read')
}

interface Page<T> {
  entries: T[]
  next: string | null
}

async function readPage<T>(
  get: Get,
  path: string,
  cursor: string | null,
  read: (data: unknown) => T[] | undefined,
): Promise<Page<T> | Unknown> {
  const [base, given] = path.split('?')
  const query = new URLSearchParams(given)
  for (const [name, value] of Object.entries(pageQuery(cursor))) query.set(name, value)
  const answer = await get(`${base}?${query}`)
  if (answer.kind === 'unknown') return answer
  const data = answer.status === 200 ? readData(answer.text) : undefined
  const entries = read(data)
  if (!entries) return unknown(`it answered ${answer.status} with what we cannot read`)
  // In the other lists an entry that comes twice does no harm.
  const { page = query.get('page') } = readPaging(answer.text)
  if (base?.startsWith('/settlement') && String(page) !== query.get('page'))
    return unknown('it answered with another page')
  const next = nextOf(answer.text, cursor, (data as unknown[]).length)
  return typeof next === 'object' && next !== null ? next : { entries, next }
}
