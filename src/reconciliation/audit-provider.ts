import type { AttemptId } from '../kernel/ids.ts'
import { formatMoney } from '../kernel/money.ts'
import { handleOf } from '../payments/state/attempt.ts'
import { totalsOf } from '../payments/state/reversed-money.ts'
import { findAttempt } from '../payments/store/attempts.ts'
import { type AuditScope, pageOfReceipts } from '../payments/store/provider-audit.ts'
import { receiptsOf } from '../payments/store/receipts.ts'
import type { Providers } from '../providers/provider.ts'
import { type CompareDeps, compareEntries, type Listing, unreadableOfOurs } from './compare-entries.ts'
import { LIST_KINDS, type ListKind, readPage } from './read-list.ts'
import type { Range } from './windows.ts'

/** Our records beside the lists of one account, by hand. */
export interface ProviderAudit extends AuditScope {
  /** Entries of all lists that our records agree with. */
  agreed: number
  /** Entries that name nothing of ours. */
  foreign: number
  differences: Difference[]
  /** Lists that the provider does not have, and why. */
  unsupported: string[]
  /** Why not everything could be compared; null when it could. */
  incomplete: string | null
}

export interface Difference {
  /** What the list is of; `absent`: a transaction on record that the list lacks. */
  kind: ListKind | 'absent'
  /** The provider's id of the entry. */
  id: string
  /** The reference of the order; null when neither side has one. */
  reference: string | null
  finding: string
}

/**
 * A provider's calls may report times of one transaction that differ by hours, so the list is read with a margin. It
 * goes by the time when a transaction was made, which may be days before the payment.
 */
const DAY_MS = 24 * 3_600_000
const BEFORE_MS = 4 * DAY_MS
const MAX_PAGES = 10_000

/** Compares all lists of a range with our records, as reconciliation does, and changes nothing. */
export async function auditProvider(
  deps: CompareDeps & { providers: Providers },
  scope: AuditScope,
  range: Range,
): Promise<ProviderAudit> {
  const audit: ProviderAudit = {
    ...scope,
    ...{ agreed: 0, foreign: 0, differences: [], unsupported: [], incomplete: null },
  }
  for (const kind of LIST_KINDS) {
    const read = await readAll(deps, scope, kind, range)
    if (read.unsupported) audit.unsupported.push(read.unsupported)
    audit.incomplete ??= read.incomplete
    audit.foreign += read.unreadable
    if (read.listing) await compareAll(deps, scope, { audit, listing: read.listing, range, isWhole: !read.incomplete })
  }
  return audit
}

async function compareAll(
  deps: CompareDeps,
  scope: AuditScope,
  { audit, listing, range, isWhole }: { audit: ProviderAudit; listing: Listing; range: Range; isWhole: boolean },
): Promise<void> {
  const { kind } = listing
  const isInRange = (at?: Date) => !at || (at >= range.from && at < range.to)
  const compared = await compareEntries(deps, scope, listing)
  for (const { id, reference, verdict, attemptId, transaction } of compared) {
    if (!isInRange(transaction?.listed.at)) continue
    const finding =
      verdict.kind === 'unclear' && attemptId && kind !== 'disputes'
        ? await askWhatItHas(deps, attemptId)
        : 'finding' in verdict && verdict.finding
    if (finding) audit.differences.push({ kind, id, reference, finding })
    else if (verdict.kind === 'foreign') audit.foreign++
    else audit.agreed++
  }
  if (kind !== 'transactions' || !isWhole) return
  const seen = new Set(compared.flatMap(({ receiptIds }) => receiptIds))
  for (let after = 0; ; ) {
    const page = await pageOfReceipts(deps.database, scope, { ...range, after })
    for (const { receiptId, transactionId: id, orderReference: reference, amount } of page)
      if (!seen.has(receiptId)) {
        const finding = `our records have ${formatMoney(amount)}, the provider does not list it`
        audit.differences.push({ kind: 'absent', id, reference, finding })
      }
    const last = page.at(-1)
    if (!last) return
    after = last.receiptId
  }
}

/** Where the list does not say how much came in or went back, the check of the order does. Null: our records agree. */
async function askWhatItHas({ database, providers }: CompareDeps, id: AttemptId): Promise<string | null> {
  const attempt = await findAttempt(database, id)
  if (!attempt) return null
  const client = await providers.connect(attempt, attempt.provider, { keysVersion: attempt.keysVersion })
  const outcome = await client.check(handleOf(attempt))
  if (outcome.kind === 'unknown') return `the provider did not say how much it has: ${outcome.because}`
  const { received, returned } = totalsOf('receipts' in outcome ? outcome.receipts : [])
  const text = (amount: number) => formatMoney({ amount, currency: attempt.currency })
  const { amountReturned } = attempt
  const receipts = await receiptsOf(database, attempt.paymentId)
  const recorded = receipts
    .filter(({ attemptId, currency }) => attemptId === id && currency === attempt.currency)
    .reduce((sum, { amount }) => sum + amount, 0)
  if (received > recorded) return `the provider took ${text(received)}, our records have ${text(recorded)}`
  if (returned <= amountReturned) return null
  return `the provider gave back ${text(returned)}, our records have ${text(amountReturned)}`
}

interface Read {
  listing?: Listing
  /** Entries of other shops. */
  unreadable: number
  unsupported?: string
  incomplete: string | null
}

/** A whole list over all versions of the keys. Each entry occurs once: new keys may be of the same account. */
async function readAll(
  deps: CompareDeps & { providers: Providers },
  scope: AuditScope,
  kind: ListKind,
  { from, to }: Range,
): Promise<Read> {
  const { providers } = deps
  let unreadable = 0
  const range = { from: new Date(from.getTime() - BEFORE_MS), to: new Date(to.getTime() + DAY_MS) }
  const found = new Map<string, Listing['entries'][number]>()
  const read = (incomplete: string | null): Read => ({
    listing: { kind, entries: [...found.values()] } as Listing, // entries of this kind
    ...{ unreadable, incomplete },
  })
  for (const keysVersion of await providers.keysVersions(scope, scope.provider)) {
    let cursor: string | null = null
    for (let pages = 0; ; pages++) {
      if (pages === MAX_PAGES) return read(`${scope.provider} lists more than ${MAX_PAGES} pages`)
      const page = await readPage(providers, scope, { kind, keysVersion, range, cursor })
      if (page.kind === 'unknown') return read(page.because)
      if (page.kind === 'unsupported') return { unsupported: page.because, unreadable, incomplete: null }
      if (page.kind === 'skipped') break
      const ours = await unreadableOfOurs(deps, scope, page.unreadable)
      if (ours) return read(ours)
      unreadable += page.unreadable.length
      for (const entry of page.listing.entries) {
        const name = nameOf(entry)
        if (!found.has(name)) found.set(name, entry) // the current keys come first
      }
      if (page.nextCursor === null) break
      cursor = page.nextCursor
    }
  }
  return read(null)
}

function nameOf(entry: Listing['entries'][number]): string {
  if ('disputeId' in entry && 'openedAt' in entry) return `${entry.disputeId} ${entry.orderReference}`
  if ('refundId' in entry) return `${entry.refundId} ${entry.orderReference}`
  return `${entry.transactionId} ${entry.reference}`
}
