import type { Database } from '../database/database.ts'
import type { AttemptId } from '../kernel/ids.ts'
import { reversedAmount, sharesOf } from '../payments/state/reversed-money.ts'
import {
  type AuditScope,
  findRecorded,
  pageOfRecorded,
  type RecordedTransaction,
} from '../payments/store/provider-audit.ts'
import { findInOrder } from '../payments/transfers/confirm-money.ts'
import type { ListedTransaction, Providers } from '../providers/provider.ts'

export interface Range {
  from: Date
  to: Date
}

/** Reconciliation of one merchant's records with a provider's list of transactions. */
export interface ProviderAudit extends AuditScope {
  /** Transactions that both sides have in the range. */
  agreed: number
  differences: Difference[]
  /** Why not everything could be compared; null when it could. */
  incomplete: string | null
}

export interface Difference {
  transactionId: string
  /** Our reference of the order; null when neither side has one. */
  reference: string | null
  finding: string
  /** What `repairDifference` can do about it; null: a person must decide. */
  repair: Repair | null
}

export type Repair =
  /**
   * Money at the provider that is not on record, or unmatched money that the provider has given back. `ofOrder`: all of
   * its order, where the provider names one reversed sum for it.
   */
  | { kind: 'money'; listed: Listed; ofOrder?: Listed[] }
  /** Unmatched money of which less was given back than is on record, because a refund failed. */
  | { kind: 'failed refund'; transactionId: string; keysVersion: number; recorded: number; returned: number }
  /** Refunds and disputes of the attempt that are not on record. */
  | { kind: 'reversals'; attemptId: AttemptId }

/** A listed transaction, and the keys that it is listed for. */
export type Listed = ListedTransaction & { keysVersion: number }

/** A provider's calls may report times of one transaction that differ by hours, so the list is read with a margin. */
const MARGIN_MS = 24 * 3_600_000
const MAX_PAGES = 10_000

/**
 * Compares received and reversed money, transaction by transaction. Transactions are matched by id and order over all
 * of the merchant's accounts at the provider, because new keys may belong to the same account as old ones.
 */
export async function auditProvider(
  { database, providers }: { database: Database; providers: Providers },
  scope: AuditScope,
  range: Range,
): Promise<ProviderAudit> {
  const listing = await listAll(providers, scope, range)
  const shares = listing.transactions.filter(
    ({ returnedIsOfOrder, reference }) => returnedIsOfOrder && reference !== null,
  )
  const orders = Map.groupBy(shares, ({ reference }) => reference)
  const differences: Difference[] = []
  let agreed = 0
  const seen = new Set<string>()
  const returned = new Map<string, { recorded: RecordedTransaction; theirs: number; listed: Set<string> }>()
  for (const page of chunks(listing.transactions, 500)) {
    const recorded = await findRecorded(
      database,
      scope,
      page.map(({ transactionId }) => transactionId),
    )
    for (const theirs of page) {
      const ours = recorded.find((each) => isSame(each, theirs))
      if (ours) seen.add(ours.receiptId)
      const isInRange = theirs.at >= range.from && theirs.at < range.to
      const taken = compareTaken(ours, theirs)
      const ofOrder = theirs.returnedIsOfOrder && orders.get(theirs.reference)
      const isUnmatched = !taken && ours?.attemptId === null
      const theirShare =
        isUnmatched && ofOrder ? await shareOf(database, scope, theirs, ofOrder) : (theirs.returned ?? 0)
      const given = isUnmatched ? compareReturned(ours, theirShare) : undefined
      const finding = taken ?? given
      const listed = { ...theirs, keysVersion: ours?.keysVersion ?? theirs.keysVersion }
      const isRepairable = !ours || (given && theirShare > ours.returned)
      const repair: Repair | null = isRepairable
        ? { kind: 'money', listed, ...(ofOrder && { ofOrder }) }
        : given && ours && isInRange
          ? await findFailed(providers, scope, ours, theirs)
          : null
      if (finding && isInRange) differences.push({ ...nameOf(ours, theirs), finding, repair })
      else if (isInRange) agreed++
      if (!ours?.attemptId) continue
      const sum = returned.get(ours.attemptId) ?? { recorded: ours, theirs: 0, listed: new Set() }
      returned.set(ours.attemptId, { ...sum, theirs: sum.theirs + (theirs.returned ?? 0) })
      sum.listed.add(ours.receiptId)
    }
  }
  for (const { recorded, theirs, listed } of returned.values()) {
    // Some transactions of the attempt are outside the range, so the sum of its reversals is not known.
    if (listed.size < recorded.receiptsOfAttempt) continue
    const finding = compareReturned(recorded, theirs)
    const { transactionId, orderReference: reference, attemptId } = recorded
    const repair = attemptId && { kind: 'reversals' as const, attemptId }
    if (finding) differences.push({ transactionId, reference, finding, repair })
  }
  if (listing.incomplete === null) differences.push(...(await findUnlisted(database, scope, range, seen)))
  return { ...scope, agreed, differences, incomplete: listing.incomplete }
}

interface Listing {
  transactions: Listed[]
  incomplete: string | null
}

/** Lists all transactions over all keys that are stored. Each transaction occurs once. */
async function listAll(
  providers: Providers,
  { provider, ...scope }: AuditScope,
  { from, to }: Range,
): Promise<Listing> {
  const found = new Map<string, Listed>()
  const range = { from: new Date(from.getTime() - MARGIN_MS), to: new Date(to.getTime() + MARGIN_MS) }
  for (const keysVersion of await providers.keysVersions(scope, provider)) {
    const client = await providers.connect(scope, provider, { keysVersion })
    if (!client.lists?.transactions) return incomplete(found, `${provider} has no list of transactions`)
    let cursor: string | null = null
    for (let page = 0; ; page++) {
      if (page === MAX_PAGES) return incomplete(found, `${provider} lists more than ${MAX_PAGES} pages`)
      const answer = await client.lists.transactions(range, cursor)
      if (answer.kind !== 'page') return incomplete(found, answer.because)
      for (const each of answer.entries) {
        const name = `${each.transactionId} ${each.reference}`
        if (!found.has(name)) found.set(name, { ...each, keysVersion }) // the current keys come first
      }
      if (answer.nextCursor === null) break
      cursor = answer.nextCursor
    }
  }
  return { transactions: [...found.values()], incomplete: null }
}

function incomplete(found: Map<string, Listed>, because: string): Listing {
  return { transactions: [...found.values()], incomplete: because }
}

function isSame(ours: RecordedTransaction, theirs: ListedTransaction): boolean {
  if (ours.transactionId !== theirs.transactionId) return false
  if (theirs.reference === null || ours.orderReference === null) return true
  return theirs.reference === ours.orderReference || theirs.reference === ours.providerReference
}

function compareTaken(ours: RecordedTransaction | undefined, theirs: ListedTransaction): string | undefined {
  const { amount, currency } = theirs.amount
  if (!ours) return `the provider took ${amount} ${currency}, our records do not have it`
  if (ours.amount !== amount || ours.currency !== currency) {
    return `the provider took ${amount} ${currency}, our records have ${ours.amount} ${ours.currency}`
  }
  return undefined
}

function compareReturned(ours: RecordedTransaction, theirs: number): string | undefined {
  // The provider may or may not have executed a pending refund.
  if (theirs >= ours.returned && theirs <= ours.returned + ours.returning) return undefined
  return `the provider gave back ${theirs} ${ours.currency}, our records have ${ours.returned}`
}

/**
 * Less was given back of unmatched money than is on record: a refund failed, or is under way and not listed. The check
 * of an order counts refunds under way. With several transactions in one order, no share is certain.
 */
async function findFailed(
  providers: Providers,
  scope: AuditScope,
  { transactionId, keysVersion, returned: recorded, returning }: RecordedTransaction,
  theirs: Listed,
): Promise<Repair | null> {
  if (theirs.reference === null || returning > 0) return null
  const client = await providers.connect(scope, scope.provider, { keysVersion: theirs.keysVersion })
  const found = await findInOrder(client, theirs, theirs.reference)
  if ('kind' in found || !found.returnedIsOfOrder || found.ofOrder.length > 1) return null
  const returned = Math.max(reversedAmount(found), reversedAmount(theirs))
  return returned < recorded ? { kind: 'failed refund', transactionId, keysVersion, recorded, returned } : null
}

/** What the provider gave back of unmatched money, of what it gave back of the order. */
async function shareOf(
  database: Database,
  scope: AuditScope,
  { transactionId }: ListedTransaction,
  ofOrder: ListedTransaction[],
): Promise<number> {
  const recorded = await findRecorded(
    database,
    scope,
    ofOrder.map((each) => each.transactionId),
  )
  const assigned = recorded.filter(({ attemptId }) => attemptId !== null)
  const byAttempt = new Map(assigned.map(({ attemptId, returned, returning }) => [attemptId, returned + returning]))
  const taken = assigned.reduce((sum, { amount }) => sum + amount, 0)
  const byPayments = [...byAttempt.values()].reduce((sum, returned) => sum + returned, 0)
  const known = recorded.map((each) => ({
    transactionId: each.transactionId,
    returned: each.returned,
    isAssigned: each.attemptId !== null,
    isReturnedByHand: each.returning > 0,
  }))
  return sharesOf(ofOrder, known, Math.min(byPayments, taken)).get(transactionId) ?? 0
}

function nameOf(
  ours: RecordedTransaction | undefined,
  theirs: ListedTransaction,
): Pick<Difference, 'transactionId' | 'reference'> {
  return { transactionId: theirs.transactionId, reference: ours?.orderReference ?? theirs.reference }
}

async function findUnlisted(
  database: Database,
  scope: AuditScope,
  range: Range,
  seen: Set<string>,
): Promise<Difference[]> {
  const found: Difference[] = []
  for (let after: RecordedTransaction | undefined; ; ) {
    const page = await pageOfRecorded(database, scope, after)
    for (const { receiptId, transactionId, orderReference, amount, currency, takenAt } of page) {
      if (takenAt < range.from || takenAt >= range.to || seen.has(receiptId)) continue
      const finding = `our records have ${amount} ${currency}, the provider does not list it`
      found.push({ transactionId, reference: orderReference, finding, repair: null })
    }
    after = page.at(-1)
    if (after === undefined) return found
  }
}

function* chunks<T>(all: T[], size: number): Generator<T[]> {
  for (let start = 0; start < all.length; start += size) yield all.slice(start, start + size)
}
