import { money } from '../../kernel/money.ts'
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
  type ReversalsAnswer,
  type TimeRange,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { linesReader, listedSettlement, readPayout } from './settlements.ts'
import {
  idOf,
  namesIn,
  readCharge,
  readDispute,
  readError,
  readList,
  readRefund,
  type StripeCharge,
  type StripeDispute,
  type StripeRefund,
  type StripeTry,
  unlessForeign,
} from './wire.ts'

/** Refunds, disputes and charges as Stripe lists them. README.md has the tables. */
type Get = (path: string) => Promise<ProviderAnswer>

const PAGE = 100
const MOST_PAGES = 10

/** Refunds and disputes of payment intents. */
export async function listReversalsOf(get: Get, intentIds: string[]): Promise<ReversalsAnswer> {
  const refunds: ListedRefund[] = []
  const disputes: ListedDispute[] = []
  for (const id of new Set(intentIds)) {
    const [given, disputed] = [await refundsOf(get, id), await disputesOf(get, id)]
    if (!Array.isArray(given)) return given
    if (!Array.isArray(disputed)) return disputed
    refunds.push(...given.map(listedRefund))
    disputes.push(...disputed.map(listedDispute))
  }
  return { kind: 'reversals', refunds, disputes }
}

/** Adds to a paid outcome what lost disputes took. Refunds are in it already: the charge names their sum. */
export async function withLostDisputes(get: Get, outcome: Outcome, charge: StripeTry | null): Promise<Outcome> {
  if (outcome.kind !== 'paid' || !charge?.isDisputed) return outcome
  const [receipt] = outcome.receipts
  if (!receipt) return outcome
  const lost = await lostOf(get, receipt.transactionId, receipt.amount.currency)
  if (typeof lost !== 'number') return lost
  const returned = Math.min(receipt.amount.amount, (receipt.returned ?? 0) + lost)
  return returned === 0 ? outcome : { ...outcome, receipts: [{ ...receipt, returned }] }
}

/**
 * The lists of the account, without other businesses of it where an entry tells. The cursor is Stripe's id of the last
 * entry of a page.
 */
export function listsOf(get: Get): AccountLists {
  async function page<T, Entry>(
    query: string,
    cursor: string | null,
    read: (one: unknown) => T | null | undefined,
    show: (one: T) => Entry[],
  ): Promise<ListAnswer<Entry> | Forbidden> {
    const after = cursor === null ? '' : `&starting_after=${encodeURIComponent(cursor)}`
    const answer = await get(`${query}${after}`)
    if (answer.kind === 'unknown') return answer
    if (answer.status === 403) return { kind: 'forbidden' }
    const page = answer.status === 200 ? readList(answer.text, (one) => one) : undefined
    if (!page) return unreadable(answer.status)
    const last = idOf(page.data.at(-1))
    if (page.hasMore && !last) return unreadable(answer.status)
    if (page.hasMore && last === cursor) return unknown('its list does not go on')
    const others: OfOrder[] = []
    const entries = some(page.data, read, (one) => others.push(namesIn(one))) ?? []
    return {
      ...{ kind: 'page', entries: entries.flatMap(show), nextCursor: page.hasMore && last ? last : null },
      ...(others.length > 0 && { unreadable: others }),
    }
  }
  /** Their times are whole seconds. */
  const within = ({ from, to }: TimeRange) => {
    const [gte, lte] = [Math.floor(from.getTime() / 1000), Math.floor(to.getTime() / 1000)]
    return `limit=${PAGE}&created[gte]=${gte}&created[lte]=${lte}`
  }
  async function list<T, Entry>(...asked: Parameters<typeof page<T, Entry>>): Promise<ListAnswer<Entry>> {
    const said = await page(...asked)
    return said.kind === 'forbidden' ? unreadable(403) : said
  }
  /** Restricted keys of before may lack these permissions. */
  async function listPaidOut<T, Entry>(...asked: Parameters<typeof page<T, Entry>>): Promise<ListAnswer<Entry>> {
    const said = await page(...asked)
    if (said.kind !== 'forbidden') return said
    return { kind: 'unsupported', because: 'the Stripe key may not read Payouts and Balance' }
  }
  return {
    transactions: (range, cursor) => list(`/v1/charges?${within(range)}`, cursor, readCharge, listedCharge),
    refunds: (range, cursor) =>
      list(`/v1/refunds?${within(range)}`, cursor, unlessForeign(readRefund), (refund) =>
        ofIntent(refund.intentId, refund.orderReference, listedRefund(refund)),
      ),
    disputes: (range, cursor) =>
      list(`/v1/disputes?${within(range)}`, cursor, unlessForeign(readDispute), (dispute) =>
        ofIntent(dispute.intentId, null, listedDispute(dispute)),
      ),
    settlements: (range, cursor) =>
      listPaidOut(`/v1/payouts?${within(range)}`, cursor, unlessForeign(readPayout), listedSettlement),
    settlementLines: (id, cursor) => {
      const query = `payout=${encodeURIComponent(id)}&limit=${LINES}&expand[]=data.source`
      return listPaidOut(`/v1/balance_transactions?${query}`, cursor, linesReader(id), (line) => [line])
    },
  }
}

type Forbidden = { kind: 'forbidden' }

/** A charge is some 5 kB, and an answer of more than a megabyte is not read. */
const LINES = 50

/** What is for no payment intent is not ours. */
function ofIntent<Entry>(transactionId: string | null, orderReference: string | null, entry: Entry) {
  return transactionId === null ? [] : [{ ...entry, transactionId, orderReference }]
}

/**
 * Its sum of refunds has those in it that are under way. What disputes took is in their own list, so of a disputed
 * charge the sum is not all that went back.
 */
function listedCharge(charge: StripeCharge): ListedTransaction[] {
  const { id, intentId, status, captured, currency, refunded, isDisputed, at, reference } = charge
  if (status !== 'succeeded' || captured === 0) return []
  const returned = refunded > 0 && !isDisputed && { returned: Math.min(refunded, captured) }
  // A charge is one try of an intent. Where no intent is named, the same money has another id elsewhere.
  const names = { transactionId: intentId ?? id, ...(intentId && { idIsProviders: true as const }), reference }
  const gone = isDisputed && { isReversed: true as const }
  return [{ ...names, amount: money(captured, currency), at, ...returned, ...gone }]
}

async function lostOf(get: Get, intentId: string, currency: string): Promise<number | Unknown> {
  const disputes = await disputesOf(get, intentId)
  if (!Array.isArray(disputes)) return disputes
  const lost = disputes.filter((dispute) => statusOf(dispute) === 'lost')
  if (lost.some((dispute) => dispute.currency !== currency)) return unknown('it lost a dispute in another currency')
  return lost.reduce((sum, { amount }) => sum + amount, 0)
}

const refundsOf = (get: Get, intentId: string) =>
  readAll(get, `/v1/refunds?payment_intent=${encodeURIComponent(intentId)}`, readRefund)

const disputesOf = (get: Get, intentId: string) =>
  readAll(get, `/v1/disputes?payment_intent=${encodeURIComponent(intentId)}`, readDispute)

function listedRefund({ id, status, amount, currency, refundReference, createdAt }: StripeRefund): ListedRefund {
  return {
    refundId: id,
    reference: refundReference,
    amount: money(amount, currency),
    status: status === 'succeeded' ? 'successful' : ['failed', 'canceled'].includes(status) ? 'failed' : 'pending',
    at: createdAt,
  }
}

function listedDispute(dispute: StripeDispute): ListedDispute {
  const { id, amount, currency, reason, respondBy, createdAt } = dispute
  return {
    disputeId: id,
    amount: money(amount, currency),
    status: statusOf(dispute),
    reason,
    respondBy,
    openedAt: createdAt,
  }
}

/**
 * `warning_…` is an inquiry of the bank: no money moves, and a closed one leaves it where it is. `prevented` was
 * settled before it became a dispute, with the merchant's money or without it; the balance tells. A word that is new to
 * us is open: nothing is final about it. `appeal_…` is a lost one that the merchant contests: the money stays away
 * until it is won.
 */
function statusOf({ status, tookMoney }: StripeDispute): ListedDispute['status'] {
  if (status === 'lost' || status.startsWith('appeal_') || (status === 'prevented' && tookMoney)) return 'lost'
  return ['won', 'warning_closed', 'prevented'].includes(status) ? 'won' : 'open'
}

/** Every entry of a list. `path` has a query already. */
async function readAll<T extends { id: string }>(
  get: Get,
  path: string,
  read: (one: unknown) => T | undefined,
): Promise<T[] | Unknown> {
  const entries: T[] = []
  let cursor = ''
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await get(`${path}&limit=${PAGE}${cursor}`)
    if (answer.kind === 'unknown') return answer
    const list = answer.status === 200 ? readList(answer.text, read) : undefined
    if (!list) return notListed(answer)
    entries.push(...list.data)
    if (!list.hasMore) return entries
    const last = list.data.at(-1)
    if (!last) return unreadable(answer.status)
    cursor = `&starting_after=${encodeURIComponent(last.id)}`
  }
  return unknown('its list is too long to read')
}

/** Stripe deletes no payment: when it does not know one that it made, the key belongs to another account. */
function notListed({ status, text }: { status: number; text: string }): Unknown {
  const isGone = [400, 404].includes(status) && readError(text)?.code === 'resource_missing'
  return isGone ? unknown('it does not know the payment; is the key of another account?') : unreadable(status)
}
