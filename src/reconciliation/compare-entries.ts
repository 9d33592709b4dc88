import type { Queries } from '../database/database.ts'
import type { AttemptId } from '../kernel/ids.ts'
import { refundReference } from '../payments/state/refund.ts'
import { disputesOfAttempts } from '../payments/store/disputes.ts'
import {
  type AuditScope,
  findOrders,
  findRecorded,
  isOrderOfAnother,
  type RecordedTransaction,
} from '../payments/store/provider-audit.ts'
import { findListedRefunds } from '../payments/store/refunds.ts'
import type { ListedDispute, ListedRefund, ListedTransaction, OfOrder } from '../providers/provider.ts'
import {
  type Belongs,
  compareDispute,
  compareRefund,
  compareTransaction,
  isSame,
  looksLikeOurs,
  returnedOfAttempt,
  type Verdict,
} from './compare.ts'
import { shareOf } from './unmatched-money.ts'

/** Entries of one list, with the version of the keys that they are listed for. */
export type Listing =
  | { kind: 'transactions'; entries: Listed[] }
  | { kind: 'refunds'; entries: (ListedRefund & OfOrder)[] }
  | { kind: 'disputes'; entries: (ListedDispute & OfOrder)[] }

export type Listed = ListedTransaction & { keysVersion: number }

/** An entry and what our records say about it. */
export interface Compared {
  /** The provider's id of the entry. */
  id: string
  reference: string | null
  verdict: Verdict
  /** The attempt that it belongs to; null for unmatched money and for what is not ours. */
  attemptId: AttemptId | null
  /** Of a transaction. `returned`: the part of this unmatched money that went back. */
  transaction?: { listed: Listed; ours: RecordedTransaction | undefined; ofOrder: Listed[]; returned: number }
}

export interface CompareDeps {
  database: Queries
  clock: { now(): Date }
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
  const { database } = deps
  const page: { theirs: Listed; ours: RecordedTransaction | undefined }[] = []
  for (const chunk of chunks(entries)) {
    const recorded = await findRecorded(
      database,
      scope,
      chunk.map(({ transactionId }) => transactionId),
    )
    page.push(...chunk.map((theirs) => ({ theirs, ours: recorded.find((each) => isSame(each, theirs)) })))
  }
  const unknown = page.filter(({ ours }) => !ours).flatMap(({ theirs }) => theirs.reference ?? [])
  const orders = await ordersOf(database, scope, unknown)
  const ofOrders = Map.groupBy(entries, ({ returnedIsOfOrder, reference }) => (returnedIsOfOrder ? reference : null))
  const compared: Compared[] = []
  for (const { theirs, ours } of page) {
    const { reference } = theirs
    const attemptId = ours ? ours.attemptId : (orders.get(reference ?? '') ?? null)
    const belongs = ours || attemptId ? 'ours' : await belongingOf(deps, scope, reference)
    const ofOrder = reference === null ? [] : (ofOrders.get(reference) ?? [])
    const sum = ours ? returnedOfAttempt(ours, page) : { returned: 0, isWhole: true }
    const isShare = ours?.attemptId === null && ofOrder.length > 0
    const returned = isShare ? await shareOf(database, scope, theirs, ofOrder) : sum.returned
    compared.push({
      ...{ id: theirs.transactionId, reference: ours?.orderReference ?? reference, attemptId },
      verdict: compareTransaction(theirs, ours, { ...sum, belongs, returned }),
      transaction: { listed: theirs, ours, ofOrder, returned },
    })
  }
  return compared
}

/** Whose money it is that has no attempt of this merchant. */
async function belongingOf(deps: CompareDeps, scope: AuditScope, reference: string | null): Promise<Belongs> {
  if (reference === null || !looksLikeOurs(reference, deps.clock.now())) return 'foreign'
  // Two merchants may use one account of the provider: then the list of the other one books it.
  return (await isOrderOfAnother(deps.database, scope, reference)) ? 'foreign' : 'lost'
}

async function compareRefunds(
  { database }: CompareDeps,
  scope: AuditScope,
  entries: (ListedRefund & OfOrder)[],
): Promise<Compared[]> {
  const compared: Compared[] = []
  for (const chunk of chunks(entries)) {
    const attempts = await attemptsOf(database, scope, chunk)
    const refunds = await findListedRefunds(database, scope, chunk)
    const disputes = await disputesOfAttempts(database, scope.place, [...new Set(attempts.values())])
    for (const theirs of chunk) {
      const own = attempts.get(theirs)
      const same = refunds.filter(
        ({ id, providerRefundId }) => providerRefundId === theirs.refundId || refundReference(id) === theirs.reference,
      )
      // A refund of money that a person matched is listed for the order of the money, and on record for the payment.
      const ours = same.find(({ attemptId }) => attemptId === own) ?? same[0]
      const attemptId = ours?.attemptId ?? own ?? null
      const settles = disputes.some(({ settledBy }) => settledBy === theirs.refundId)
      const verdict = compareRefund(theirs, ours, { belongs: attemptId ? 'ours' : 'foreign', settles })
      compared.push({ id: theirs.refundId, reference: theirs.orderReference, verdict, attemptId })
    }
  }
  return compared
}

async function compareDisputes(
  { database }: CompareDeps,
  scope: AuditScope,
  entries: (ListedDispute & OfOrder)[],
): Promise<Compared[]> {
  const compared: Compared[] = []
  for (const chunk of chunks(entries)) {
    const attempts = await attemptsOf(database, scope, chunk)
    const disputes = await disputesOfAttempts(database, scope.place, [...new Set(attempts.values())])
    for (const theirs of chunk) {
      const attemptId = attempts.get(theirs) ?? null
      const ours = disputes.find((each) => each.attemptId === attemptId && each.providerDisputeId === theirs.disputeId)
      const verdict = compareDispute(theirs, ours, attemptId ? 'ours' : 'foreign')
      compared.push({ id: theirs.disputeId, reference: theirs.orderReference, verdict, attemptId })
    }
  }
  return compared
}

/** The attempt of each entry, by its transaction, or by its order. */
async function attemptsOf<Entry extends OfOrder>(
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
    const byTransaction = recorded.find((each) => each.transactionId === transactionId && names(each))
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
