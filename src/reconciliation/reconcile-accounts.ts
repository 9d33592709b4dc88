import { LAST_UUID, uuidOf } from '../kernel/ids.ts'
import { providerCalls, reconciliationFailures } from '../metrics/instruments.ts'
import { type CallLimits, type ClaimedWork, integrationKey, NO_LIMITS, startWithin } from '../outbound/call-limits.ts'
import type { PaymentDeps } from '../payments/deps.ts'
import { readNextLines, recordSettlements } from '../payments/settlements/import-settlements.ts'
import { reportUnsettled } from '../payments/settlements/report-unsettled.ts'
import { openAccountCase } from '../payments/store/other-cases.ts'
import {
  absentReceipts,
  attemptsWithOpenReturns,
  countReceipts,
  hasAttemptsSince,
} from '../payments/store/provider-audit.ts'
import { oldestPending } from '../payments/store/settlements.ts'
import { askForAbsent, askForOpen, bookDifferences } from './book-differences.ts'
import { type Compared, compareEntries, unreadableOfOurs } from './compare-entries.ts'
import { watchEarlierAccount } from './earlier-account.ts'
import { type ListKind, readPage, readSettlementPage } from './read-list.ts'
import {
  claimDueRuns,
  forgetListed,
  keepLease,
  markListed,
  NO_COUNTS,
  planRuns,
  postponeRuns,
  type Run,
  saveFailure,
  saveFinished,
  saveProgress,
  unsupportedKinds,
} from './run-store.ts'
import { isStale, LISTED_DAILY_MS, lateAfterMs, nextDue, rangeOf, retryAt, windowOf } from './windows.ts'

const HOUR_MS = 3_600_000
/** A payout may be pending for months. */
const MOST_PENDING_MS = 180 * 24 * HOUR_MS
/** A list may lag: younger receipts are looked for by the next run. */
const LAG_MS = HOUR_MS
/** Orders that are asked for by themselves in one step, and in one run. */
const ASKED_PER_STEP = 20
const MOST_ASKED = 200
const MOST_COUNTED = 10_000
/** Runs about open refunds and disputes in which an order was not answered; then each such order is a case. */
const MOST_SILENT_MS = 7 * 24 * HOUR_MS
/** More absent receipts than this are no orders, but an account: its keys may be of another one. */
const MOST_ABSENT = 5
const MOST_ABSENT_SHARE = 0.01

/**
 * Reconciliation of our records with the providers' own lists (see docs/refunds-and-disputes.md). A run is one list of
 * one account and one window. Each step reads one page, books what differs, and saves the cursor, so that any process
 * can go on:
 *
 *   due ─▶ list ─page─▶ list … ─last page─▶ absent ─▶ finished ─▶ due again
 *                                  └─ without a search for absent receipts ─┘
 */
export async function reconcileDueRuns(deps: PaymentDeps, limit: number): Promise<number> {
  const { claimed, done } = await startDueRuns(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** Starts a step of each due run without waiting for the answers, within the rate limits of each integration. */
export async function startDueRuns(deps: PaymentDeps, limit: number, limits: CallLimits): Promise<ClaimedWork> {
  return startWithin(limits, await claimDueRuns(deps.database, limit), {
    keyOf: (run: Run) => integrationKey(run),
    work: (run) =>
      step(deps, run).catch(async (err) => {
        deps.log.warn({ err, ...nameOf(run) }, 'a step of a reconciliation failed; retrying')
        await fail(deps, run, 'it failed; the log has the reason').catch(() => {}) // the lease expires anyway
      }),
    postpone: (late) => postponeRuns(deps.database, late, deps.clock.now()),
  })
}

/** Adds the runs of integrations that were set up since. */
export const planAccounts = ({ database }: Pick<PaymentDeps, 'database'>) => planRuns(database)

const nameOf = ({ merchantId, mode, provider, kind, window }: Run) => ({ merchantId, mode, provider, kind, window })

async function step(deps: PaymentDeps, claimed: Run): Promise<void> {
  const run = begun(claimed, deps.clock.now())
  if (run.startedAt !== claimed.startedAt && (await isIdle(deps, run)))
    return saveProgress(
      deps.database,
      { ...claimed, startedAt: null, range: null },
      nextDue(run.window, run.startedAt, Math.random()),
    )
  if (run.startedAt !== claimed.startedAt && run.kind === 'transactions') await forgetListed(deps.database, run)
  if (run.kind === 'open') return askOpen(deps, run)
  if (run.kind === 'settlements') return importStep(deps, run)
  if (run.phase === 'absent') return askAbsent(deps, run)
  return readNextPage(deps, run, run.kind)
}

/** A run under way. */
type Begun = Run & { startedAt: Date; range: NonNullable<Run['range']> }

/** Begins a run, or one that could not go on for too long again from its start. */
function begun(run: Run, now: Date): Begun {
  const { startedAt, range, window } = run
  if (startedAt && range && !isStale(window, startedAt, now)) return { ...run, startedAt, range }
  const fresh = { phase: 'list' as const, readWith: null, cursor: null, counts: NO_COUNTS, unsupported: null }
  return { ...run, ...fresh, startedAt: now, range: rangeOf(window, run, now) }
}

function isIdle(deps: PaymentDeps, { window, range, ...scope }: Begun): Promise<boolean> | false {
  return (
    (windowOf(window).isOnlyWhenActive ?? false) && hasAttemptsSince(deps.database, scope, range.from).then((is) => !is)
  )
}

async function readNextPage(deps: PaymentDeps, run: Begun, kind: ListKind): Promise<void> {
  const { database, providers, clock } = deps
  const versions = await providers.keysVersions(run, run.provider)
  const keysVersion = run.readWith ?? versions[0]
  if (keysVersion === undefined) return finish(deps, run)
  const page = await readPage(providers, run, { kind, keysVersion, range: run.range, cursor: run.cursor })
  providerCalls.inc({ provider: run.provider, mode: run.mode, call: `list ${kind}`, outcome: page.kind })
  if (page.kind === 'unknown') return fail(deps, run, page.because)
  const unreadable = page.kind === 'page' && (await unreadableOfOurs(deps, run, page.unreadable))
  if (unreadable) return fail(deps, run, unreadable)
  if (page.kind === 'skipped' && page.areRefused && run.window === '8 days' && kind === 'transactions')
    await watchEarlierAccount(deps, run, keysVersion)
  const next = versions[versions.indexOf(keysVersion) + 1]
  const nextCursor = page.kind === 'page' ? page.nextCursor : null
  const isLast = nextCursor === null && next === undefined
  const unsupported = page.kind === 'unsupported' ? page.because : run.unsupported
  const read: Begun = {
    ...{ ...run, unsupported, cursor: nextCursor },
    readWith: nextCursor === null ? (next ?? keysVersion) : keysVersion,
    counts: page.kind === 'page' ? await bookPage(deps, run, page) : run.counts,
  }
  if (!isLast) return saveProgress(database, read, clock.now())
  const looksForAbsent = windowOf(run.window).findsAbsent && kind === 'transactions' && unsupported === null
  return looksForAbsent ? saveProgress(database, { ...read, phase: 'absent' }, clock.now()) : finish(deps, read)
}

/** Until the list has ended, then the lines of what is new, page by page. */
async function importStep(deps: PaymentDeps, run: Begun): Promise<void> {
  const { database, clock } = deps
  if (run.phase === 'lines') {
    const isDaily = run.window === '60 days'
    const read = await readNextLines(deps, run, { after: run.cursor, reports: isDaily })
    // One that cannot be read must not keep the others from being read. The next run tries it again.
    if (typeof read === 'object') return saveProgress(database, { ...run, cursor: read.unread }, clock.now())
    if (read === 'read') return saveProgress(database, run, clock.now())
    // Once a day: its numbers change with each payment.
    if (isDaily) await reportUnsettled(deps, run)
    return finish(deps, run)
  }
  const versions = await deps.providers.keysVersions(run, run.provider)
  const keysVersion = run.readWith ?? versions[0]
  if (keysVersion === undefined) return finish(deps, run)
  const from = await oldestPending(database, run, new Date(run.startedAt.getTime() - MOST_PENDING_MS))
  const range = from && from < run.range.from ? { ...run.range, from } : run.range
  const what = { kind: 'settlements' as const, keysVersion, range, cursor: run.cursor }
  const page = await readSettlementPage(deps.providers, run, what)
  providerCalls.inc({ provider: run.provider, mode: run.mode, call: 'list settlements', outcome: page.kind })
  if (page.kind === 'unknown') return fail(deps, run, page.because)
  const entries = page.kind === 'page' ? page.entries : []
  const booked = await recordSettlements(deps, { ...run, keysVersion }, entries, run.window === '60 days')
  const { counts } = run
  const listed = { ...counts, listed: counts.listed + entries.length, booked: counts.booked + booked }
  const nextCursor = page.kind === 'page' ? page.nextCursor : null
  const next = versions[versions.indexOf(keysVersion) + 1]
  const isLast = nextCursor === null && next === undefined
  const unsupported = page.kind === 'unsupported' ? page.because : run.unsupported
  if (isLast && unsupported !== null) {
    // Of an account whose settlements are in notices, or whose key may not list them any more.
    if (run.window === '60 days') await reportUnsettled(deps, run)
    return finish(deps, { ...run, unsupported })
  }
  await saveProgress(
    database,
    {
      ...{ ...run, unsupported, cursor: nextCursor, counts: listed },
      readWith: nextCursor === null ? (next ?? keysVersion) : keysVersion,
      ...(isLast && { phase: 'lines' as const }),
    },
    clock.now(),
  )
}

async function bookPage(
  deps: PaymentDeps,
  run: Begun,
  { listing, unreadable }: Extract<Awaited<ReturnType<typeof readPage>>, { kind: 'page' }>,
): Promise<Run['counts']> {
  const onAsk = () => holdLease(deps, run)
  const compared = await compareEntries({ ...deps, onAsk }, run, listing)
  const seen = compared.flatMap(({ receiptIds }) => receiptIds)
  if (windowOf(run.window).findsAbsent && seen.length > 0) await markListed(deps.database, run, seen)
  const isLong = windowOf(run.window).everyMs >= 24 * HOUR_MS
  const booked = await bookDifferences(deps, run, { listing, compared, isLong, onAsk })
  if (booked.unanswered > 0)
    deps.log.info({ ...nameOf(run), unanswered: booked.unanswered }, 'orders that differ were not answered')
  const count = (kind: Compared['verdict']['kind']) => compared.filter(({ verdict }) => verdict.kind === kind).length
  const { counts } = run
  return {
    listed: counts.listed + compared.length + unreadable.length,
    agreed: counts.agreed + count('equal'),
    foreign: counts.foreign + count('foreign') + unreadable.length,
    booked: counts.booked + booked.booked,
    asked: counts.asked + booked.asked,
    absent: counts.absent,
  }
}

async function holdLease({ database }: PaymentDeps, run: Run): Promise<void> {
  if (!(await keepLease(database, run))) throw new Error('another process has taken the run over')
}

/** Receipts of ours that the list lacks are asked for one by one, unless there are so many that the account is wrong. */
async function askAbsent(deps: PaymentDeps, run: Begun): Promise<void> {
  const { database, clock } = deps
  const { from, to } = run.range
  const range = {
    ...{ from, to: new Date(Math.min(to.getTime(), run.startedAt.getTime() - LAG_MS)) },
    ...{ window: run.window, keysVersions: await deps.providers.keysVersions(run, run.provider) },
  }
  if (run.cursor === null) {
    const absent = await absentReceipts(database, run, { ...range, limit: MOST_COUNTED })
    const missing = absent.filter(({ isCreatedIn }) => isCreatedIn).length
    const share = missing / Math.max(1, await countReceipts(database, run, range))
    run.counts = { ...run.counts, absent: absent.length }
    if (missing > MOST_ABSENT && share > MOST_ABSENT_SHARE) return reportAccount(deps, run, missing)
  }
  const receipts = await absentReceipts(database, run, { ...range, limit: ASKED_PER_STEP })
  for (const receipt of receipts) {
    await holdLease(deps, run)
    await askForAbsent(deps, receipt)
    // Asked once in a run: without an answer, the next run finds it again.
    await markListed(database, run, [receipt.receiptId])
  }
  const asked = run.counts.asked + receipts.length
  const next = { ...run, cursor: 'counted', counts: { ...run.counts, asked } }
  if (receipts.length < ASKED_PER_STEP || asked >= MOST_ASKED) return finish(deps, next)
  return saveProgress(database, next, clock.now())
}

/** The case is closed by a person: that a later window lacks nothing may only mean that the transactions are older. */
async function reportAccount(deps: PaymentDeps, run: Begun, missing: number): Promise<void> {
  const because = `${missing} transactions on record are not in the provider’s list. Its keys may be of another account.`
  deps.log.error({ ...nameOf(run), missing }, 'the list of an account lacks many transactions on record')
  const at = deps.clock.now()
  const { provider } = run
  const found = { provider, reason: 'missing_at_provider' as const, summary: because }
  await deps.database.transaction((tx) => openAccountCase(tx, run, found, at))
  reconciliationFailures.inc({ provider, mode: run.mode })
  await saveFinished(deps.database, run, {
    at,
    dueAt: nextDue(run.window, run.startedAt, Math.random()),
    failure: because,
  })
}

/** Open disputes and pending refunds that no daily list has: they are too old, or the account has no such list. */
async function askOpen(deps: PaymentDeps, run: Begun): Promise<void> {
  const { database, clock } = deps
  const unsupported = await unsupportedKinds(database, run)
  const before = (kind: ListKind) =>
    unsupported.has(kind) ? run.startedAt : new Date(run.startedAt.getTime() - LISTED_DAILY_MS)
  const ids = await attemptsWithOpenReturns(database, run, {
    ...{ disputesBefore: before('disputes'), refundsBefore: before('refunds') },
    ...{ after: run.cursor ?? FIRST_UUID, limit: ASKED_PER_STEP },
  })
  const silentFor = run.failedSince ? clock.now().getTime() - run.failedSince.getTime() : 0
  let unanswered = run.counts.absent
  for (const id of ids) {
    await holdLease(deps, run)
    if ((await askForOpen(deps, id, silentFor >= MOST_SILENT_MS)) === 'unanswered') unanswered++
  }
  const last = ids.at(-1)
  const counts = { ...run.counts, asked: run.counts.asked + ids.length, absent: unanswered }
  if (ids.length < ASKED_PER_STEP || !last) {
    if (unanswered === 0) return finish(deps, { ...run, counts })
    const failure = `the provider did not answer about ${unanswered} orders with an open refund or dispute`
    const dueAt = nextDue(run.window, run.startedAt, Math.random())
    return saveFinished(database, { ...run, counts }, { at: clock.now(), dueAt, failure })
  }
  return saveProgress(database, { ...run, counts, cursor: uuidOf(last) }, clock.now())
}

const FIRST_UUID = LAST_UUID.replaceAll('f', '0')

async function finish({ database, clock }: PaymentDeps, run: Begun): Promise<void> {
  const dueAt = nextDue(run.window, run.startedAt, Math.random())
  await saveFinished(database, run, { at: clock.now(), dueAt })
}

/** Without the reason, which is on the page of providers: it may differ from list to list. */
const UNREAD =
  'unanswered: A list of this account could not be compared for more than a day. Lost payments, refunds, reversals and disputes are not found meanwhile. The page of providers says why.'

async function fail({ database, clock, log }: PaymentDeps, run: Run, because: string): Promise<void> {
  const at = clock.now()
  const since = run.comparedTo ?? run.failedSince
  const isLate = run.failedSince && since && at.getTime() - since.getTime() > lateAfterMs(run.window)
  if (isLate && !windowOf(run.window).isOnlyWhenActive) {
    const found = { provider: run.provider, reason: 'unanswered' as const, summary: UNREAD, since }
    await database.transaction((tx) => openAccountCase(tx, run, found, at))
  }
  log.warn({ ...nameOf(run), because }, 'the provider did not answer its list; retrying')
  reconciliationFailures.inc({ provider: run.provider, mode: run.mode })
  await saveFailure(database, run, { because, at, dueAt: retryAt(run.failedSince, at) })
}
