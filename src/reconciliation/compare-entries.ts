import type { Queries } from '../database/database.ts'
import type { AttemptId } from '../kernel/ids.ts'
import { type Refund, refundReference } from '../payments/state/refund.ts'
import { disputesOfAttempts } from '../payments/store/disputes.ts'
import {
  type AuditScope,
  findOrders,
  findRecorded,
  isOrderOfAnother,
  keysOfAttempts,
  moneyOfAttempts,
  type RecordedTransaction,
} from '../payments/store/provider-audit.ts'
import { findListedRefunds } from '../payments/store/refunds.ts'
import { checkOrder } from '../providers/check-order.ts'
import type {
  ListedDispute,
  ListedRefund,
  ListedTransaction,
  OfAccount,
  OfOrder,
  Providers,
} from '../providers/provider.ts'
import {
  type Belongs,
  compareDispute,
  compareOrder,
  compareRefund,
  compareTransaction,
  isSame,
  isStuck,
  looksLikeOurs,
  returnedOfAttempt,
  type Verdict,
} from './compare.ts'
import { shareOf } from './unmatched-money.ts'

/** Entries of one list, with the version of the keys that they are listed for. */
export type Listing =
  | { kind: 'transactions'; entries: Listed[] }
  | { kind: 'refunds'; entries: (OfAccount<ListedRefund> & OfKeys)[] }
  | { kind: 'disputes'; entries: (OfAccount<ListedDispute> & OfKeys)[] }

interface OfKeys {
  keysVersion: number
}

export type Listed = ListedTransaction & OfKeys

/** An entry and what our records say about it. */
export interface Compared {
  /** The provider's id of the entry. */
  id: string
  reference: string | null
  verdict: Verdict
  /** The attempt that it belongs to; null for unmatched money and for what is not ours. */
  attemptId: AttemptId | null
  /** Receipts on record that the entry stands for. */
  receiptIds: number[]
  /** It is about money that is not on record, or with another amount: not about what went back of it. */
  isOfTaken?: boolean
  /** It is about a refund that waits for nothing but a person. */
  isStuck?: boolean
  /** Of a transaction. `returned`: the part of this unmatched money that went back. */
  transaction?: { listed: Listed; ours: RecordedTransaction | undefined; ofOrder: Listed[]; returned: number }
}

export interface CompareDeps {
  database: Queries
  clock: { now(): Date }
  providers: Pick<Providers, 'connect'>
  /** Called before each order is asked for, so that a long page keeps its lease. */
  onAsk?: () => Promise<void>
}

const CHUNK = 500

export async function compareEntries(deps: CompareDeps, scope: AuditScope, listing: Listing): Promise<Compared[]> {
  switch (listing.kind) {
    case 'transactions':
      return compareTransactions(deps, scope, listing.entries)
    case 'refunds':
      return compareRefunds(deps, scope, listing.entries)
    case 'disputes':
      return compareDisputes(deps, scope, listing.entries)
  }
}

async function compareTransactions(deps: CompareDeps, scope: AuditScope, entries: Listed[]): Promise<Compared[]> {
  const exact = await compareExact(
    deps,
    scope,
    entries.filter(({ isOfOrder }) => !isOfOrder),
  )
  const orders = await compareOrders(
    deps,
    scope,
    entries.filter(({ isOfOrder }) => isOfOrder),
  )
  return [...exact, ...orders]
}

interface Pair {
  theirs: Listed
  ours: RecordedTransaction | undefined
  attemptId: AttemptId | null
  belongs: Belongs
}

async function compareExact(deps: CompareDeps, scope: AuditScope, entries: Listed[]): Promise<Compared[]> {
  const page = await withSums(deps, scope, await pairsOf(deps, scope, entries))
  const ofOrders = Map.groupBy(page, ({ theirs }) => (theirs.returnedIsOfOrder ? theirs.reference : null))
  const compared: Compared[] = []
  for (const { theirs, ours, attemptId, belongs } of page) {
    const { reference } = theirs
    const ofOrder = reference === null ? [] : (ofOrders.get(reference) ?? []).map((each) => each.theirs)
    const sum = ours ? returnedOfAttempt(ours, page) : { returned: 0, isWhole: true }
    const isShare = ours?.attemptId === null && ofOrder.length > 0
    const returned = isShare ? await shareOf(deps.database, scope, theirs, ofOrder) : sum.returned
    compared.push({
      ...{ id: theirs.transactionId, reference: ours?.orderReference ?? reference, attemptId },
      verdict: compareTransaction(theirs, ours, { ...sum, belongs, returned }),
      receiptIds: ours ? [ours.receiptId] : [],
      isOfTaken: !ours || ours.amount !== theirs.amount.amount || ours.currency !== theirs.amount.currency,
      transaction: { listed: theirs, ours, ofOrder, returned },
    })
  }
  return compared
}

async function pairsOf(deps: CompareDeps, scope: AuditScope, entries: Listed[]): Promise<Pair[]> {
  const found: Pick<Pair, 'theirs' | 'ours'>[] = []
  for (const chunk of chunks(entries)) {
    const ids = chunk.map(({ transactionId }) => transactionId)
    const recorded = await findRecorded(deps.database, scope, ids)
    found.push(...chunk.map((theirs) => ({ theirs, ours: recorded.find((each) => isSame(each, theirs)) })))
  }
  const unknown = found.filter(({ ours }) => !ours).flatMap(({ theirs }) => theirs.reference ?? [])
  const orders = await ordersOf(deps.database, scope, unknown)
  const pairs: Pair[] = []
  for (const { theirs, ours } of found) {
    const attemptId = ours ? ours.attemptId : (orders.get(theirs.reference ?? '') ?? null)
    const belongs = ours || attemptId ? 'ours' : await belongingOf(deps, scope, theirs.reference)
    pairs.push({ theirs, ours, attemptId, belongs })
  }
  return pairs
}

/**
 * Money of no attempt, or of the order of another one, where the list does not say what went back of it: the check of
 * its own order does.
 */
async function withSums(deps: CompareDeps, scope: AuditScope, page: Pair[]): Promise<Pair[]> {
  const namesNoSum = ({ reference, returned, returnedIsOfOrder }: Listed) =>
    reference !== null && returned === undefined && !returnedIsOfOrder
  const isMatched = ({ theirs, ours }: Pair) => theirs.isReversed && ours?.orderReference === null
  const isUnclear = (pair: Pair) =>
    namesNoSum(pair.theirs) && (pair.attemptId === null ? pair.belongs !== 'foreign' : isMatched(pair))
  const orders = Map.groupBy(page.filter(isUnclear), ({ theirs }) => theirs.reference)
  const asked: Listed[] = []
  for (const pairs of orders.values())
    asked.push(
      ...(await askOrderOf(
        deps,
        scope,
        pairs.map(({ theirs }) => theirs),
      )),
    )
  const answered = await pairsOf(deps, scope, asked)
  return [...page.filter((pair) => !isUnclear(pair)), ...answered]
}

/** Entries that name an order and no transactions. Of an order of ours without an attempt, the provider is asked. */
async function compareOrders(deps: CompareDeps, scope: AuditScope, entries: Listed[]): Promise<Compared[]> {
  const { database } = deps
  const names = entries.flatMap(({ transactionId, reference }) => [transactionId, ...(reference ? [reference] : [])])
  const orders = await ordersOf(database, scope, names)
  const money = await moneyOfAttempts(database, scope, [...new Set(orders.values())])
  const compared: Compared[] = []
  for (const theirs of entries) {
    const { transactionId: id, reference } = theirs
    const attemptId = orders.get(reference ?? '') ?? orders.get(id) ?? null
    const ours = attemptId && money.get(attemptId)
    if (ours) {
      const isOfTaken = ours.received < theirs.amount.amount
      const { receiptIds } = ours
      compared.push({ id, reference, attemptId, verdict: compareOrder(theirs, ours), receiptIds, isOfTaken })
    } else if (reference !== null && (await belongingOf(deps, scope, reference)) === 'lost') {
      compared.push(...(await compareExact(deps, scope, await askOrderOf(deps, scope, [theirs]))))
    } else compared.push({ id, reference, attemptId: null, verdict: { kind: 'foreign' }, receiptIds: [] })
  }
  return compared
}

/**
 * The transactions of a listed order, with what went back of each, as the check of the order has them. What the check
 * lacks is taken as it is listed. Without an answer there is none: the next run asks again.
 */
async function askOrderOf({ providers, onAsk }: CompareDeps, scope: AuditScope, listed: Listed[]): Promise<Listed[]> {
  const [first] = listed
  if (!first?.reference) return listed
  const { keysVersion, reference, at } = first
  await onAsk?.()
  const client = await providers.connect(scope, scope.provider, { keysVersion })
  const outcome = await checkOrder(client, reference, at)
  if (outcome.kind === 'unknown') return []
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const names = new Set(receipts.map(({ transactionId }) => transactionId))
  const others = listed.filter(
    ({ transactionId, isOfOrder }) => !names.has(transactionId) && !(isOfOrder && receipts.length > 0),
  )
  return [...receipts, ...others].map((each) => ({ ...each, returned: each.returned ?? 0, reference, keysVersion }))
}

/** Whose money it is that has no attempt of this merchant. */
async function belongingOf(deps: CompareDeps, scope: AuditScope, reference: string | null): Promise<Belongs> {
  if (reference === null || !looksLikeOurs(reference, scope.merchantId, deps.clock.now())) return 'foreign'
  // Two merchants may use one account of the provider: then the list of the other one books it.
  return (await isOrderOfAnother(deps.database, scope, reference)) ? 'foreign' : 'lost'
}

/**
 * Of entries that cannot be read, one that may be ours: it names an order or transaction of ours, or nothing. Others
 * are of other shops. Returns a reason to stop there.
 */
export async function unreadableOfOurs(
  deps: CompareDeps,
  scope: AuditScope,
  unreadable: OfOrder[],
): Promise<string | null> {
  const ours = await attemptsOf(deps.database, scope, unreadable)
  for (const one of unreadable) {
    const { orderReference, transactionId } = one
    const name = orderReference ?? transactionId
    if (name === null) return 'an entry of its list that we cannot read, and that names nothing'
    if (ours.has(one) || (await belongingOf(deps, scope, orderReference)) === 'lost')
      return `an entry of its list about ${name}, which is ours, that we cannot read`
  }
  return null
}

async function compareRefunds(
  { database, clock }: CompareDeps,
  scope: AuditScope,
  entries: (OfAccount<ListedRefund> & OfKeys)[],
): Promise<Compared[]> {
  const compared: Compared[] = []
  for (const chunk of chunks(entries)) {
    const attempts = await attemptsOf(database, scope, chunk)
    const refunds = await findListedRefunds(database, scope, chunk)
    const disputes = await disputesOfAttempts(database, scope.place, [...new Set(attempts.values())])
    const keys = await keysOfAttempts(database, scope, [
      ...attempts.values(),
      ...refunds.map(({ attemptId }) => attemptId),
    ])
    for (const theirs of chunk) {
      const own = attempts.get(theirs)
      const same = refunds.filter(
        ({ id, providerRefundId }) => providerRefundId === theirs.refundId || refundReference(id) === theirs.reference,
      )
      // A refund of money that a person matched is listed for the order of the money, and on record for the payment.
      // Ids are unique within one account only, but for our references.
      const isOfAccount = ({ attemptId }: Refund) => !own || keys.get(attemptId) === keys.get(own)
      const ours =
        same.find(({ attemptId }) => attemptId === own) ??
        same.find((each) => isOfAccount(each) || refundReference(each.id) === theirs.reference)
      const attemptId = ours?.attemptId ?? own ?? null
      const settles = disputes.some(({ settledBy }) => settledBy === theirs.refundId)
      const verdict = compareRefund(theirs, ours, {
        ...{ belongs: attemptId ? 'ours' : 'foreign', settles, now: clock.now() },
      })
      compared.push({
        ...{ id: theirs.refundId, reference: theirs.orderReference, verdict, attemptId, receiptIds: [] },
        isStuck: isStuck(theirs, clock.now()),
      })
    }
  }
  return compared
}

async function compareDisputes(
  { database }: CompareDeps,
  scope: AuditScope,
  entries: (OfAccount<ListedDispute> & OfKeys)[],
): Promise<Compared[]> {
  const compared: Compared[] = []
  for (const chunk of chunks(entries)) {
    const attempts = await attemptsOf(database, scope, chunk)
    const disputes = await disputesOfAttempts(database, scope.place, [...new Set(attempts.values())])
    for (const theirs of chunk) {
      const attemptId = attempts.get(theirs) ?? null
      const ours = disputes.find((each) => each.attemptId === attemptId && each.providerDisputeId === theirs.disputeId)
      const verdict = compareDispute(theirs, ours, attemptId ? 'ours' : 'foreign')
      compared.push({ id: theirs.disputeId, reference: theirs.orderReference, verdict, attemptId, receiptIds: [] })
    }
  }
  return compared
}

/**
 * The attempt of each entry, by its transaction, or by its order. Ids are unique within one account: what the same keys
 * have brought comes first.
 */
async function attemptsOf<Entry extends OfOrder & Partial<OfKeys>>(
  db: Queries,
  scope: AuditScope,
  entries: Entry[],
): Promise<Map<Entry, AttemptId>> {
  const recorded = await findRecorded(
    db,
    scope,
    entries.flatMap(({ transactionId }) => transactionId ?? []),
  )
  const orders = await ordersOf(
    db,
    scope,
    entries.flatMap(({ orderReference }) => orderReference ?? []),
  )
  const found = new Map<Entry, AttemptId>()
  for (const entry of entries) {
    const { transactionId, orderReference } = entry
    const names = (each: RecordedTransaction) =>
      orderReference === null ||
      each.orderReference === null ||
      [each.orderReference, each.providerReference].includes(orderReference)
    const named = recorded.filter((each) => each.transactionId === transactionId && names(each))
    const byTransaction = named.find(({ keysVersion }) => keysVersion === entry.keysVersion) ?? named[0]
    const attemptId = byTransaction ? byTransaction.attemptId : orders.get(orderReference ?? '')
    if (attemptId) found.set(entry, attemptId)
  }
  return found
}

async function ordersOf(db: Queries, scope: AuditScope, references: string[]): Promise<Map<string, AttemptId>> {
  const orders = new Map<string, AttemptId>()
  for (const chunk of chunks([...new Set(references)]))
    for (const [reference, id] of await findOrders(db, scope, chunk)) orders.set(reference, id)
  return orders
}

function* chunks<T>(all: T[]): Generator<T[]> {
  for (let start = 0; start < all.length; start += CHUNK) yield all.slice(start, start + CHUNK)
}
