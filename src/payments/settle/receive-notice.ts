import { reservedOf } from '../../database/database.ts'
import { NO_KEYS } from '../../integrations/provider-keys.ts'
import type { Owner, Scope } from '../../kernel/scope.ts'
import {
  type CallLimits,
  type ClaimedWork,
  integrationKey,
  NO_LIMITS,
  startWithin,
} from '../../outbound/call-limits.ts'
import type { NoticeReading, RawNotice, Receipt } from '../../providers/provider.ts'
import { type PaymentDeps, withReserved } from '../deps.ts'
import { type Reconciled, reconcileAttempt } from '../refunds/reconcile-attempt.ts'
import { seeFailedRefunds } from '../refunds/see-failed-refunds.ts'
import { recordNoticed } from '../settlements/import-settlements.ts'
import type { Attempt } from '../state/attempt.ts'
import { referenceAtProvider } from '../state/new-attempt.ts'
import { factsOfReading, type Notice } from '../state/notice.ts'
import { attemptIn } from '../state/payment-state.ts'
import { scheduleHintedCheck } from '../store/hints.ts'
import { claimWaitingNotices, endNotice, insertNotice, postponeNotices, referenceLocked } from '../store/notices.ts'
import { findStateByOrder } from '../store/payment-states.ts'
import { isOrderOfAnother } from '../store/provider-audit.ts'
import { insertUnmatched, readRecordedMoney } from '../store/receipts.ts'
import { refundsDueNow } from '../store/refunds.ts'
import { type NoticeKeys, type NoticeKeysCache, noticeKeysCache } from './read-notice-keys.ts'
import { askOrder, checkAttempt, noticeResult, settleAttempt, statusOf } from './settle-attempt.ts'

export type Received =
  /** Stored: answer 2xx, then process it. */
  | { kind: 'kept'; notice: Notice; isNew: boolean }
  | { kind: 'forged'; because: string }
  /** Unsigned: nothing is stored. See `scheduleCheckForHint`. */
  | { kind: 'hint'; scope: Scope; reference: string }
  /** Nothing is stored: see `answerQuestion`. */
  | { kind: 'question'; scope: Scope; question: Question }
  | { kind: 'not found' }

type Question = Extract<NoticeReading, { kind: 'question' }>

export interface NoticeGuards {
  keys: NoticeKeysCache
  /** Called before an uncached look-up. Throws when the sender has exceeded the rate limit. */
  beforeLookUp(): void
  /** Called after that look-up. `found`: the merchant and keys for the provider exist. */
  afterLookUp(found: boolean): void
  /** Rate limit for reading keys from the database after a notice failed with the cached ones. */
  mayReadAgain(): boolean
}

/**
 * Verifies the signature of a notice and stores it. A forged notice costs no query, except a rate-limited read of
 * recently changed keys.
 */
export async function receiveNotice(
  deps: PaymentDeps,
  owner: Owner,
  named: string,
  { token, ...raw }: { body: Buffer; headers: Record<string, string>; token?: string | undefined },
  guards: NoticeGuards = unguarded(deps),
): Promise<Received> {
  const known = deps.providers.find(named)
  if (!known) return { kind: 'not found' }
  const { name: provider } = known.capabilities
  // No live keys exist, so a signature is impossible.
  if (known.capabilities.sandboxOnly && owner.mode !== 'sandbox') return { kind: 'forged', because: 'another mode' }
  const { keys } = guards
  const cached = keys.cached(owner, provider)
  if (!cached) guards.beforeLookUp()
  const url = deps.links.notices(owner, named) + (token ? `/${token}` : '')
  const notice = { ...raw, receivedAt: deps.clock.now(), url }
  const current = cached ?? (await keys.read(owner, provider))
  if (!cached) guards.afterLookUp(current.list.length > 0)
  let signed = await readWith(current, notice)
  if (signed.reading.kind === 'forged' && cached && guards.mayReadAgain())
    signed = await readWith(await keys.read(owner, provider), notice)
  const { keysVersion, reading } = signed
  if (reading.kind === 'forged') return reading
  const scope = { ...owner, place: current.place }
  if (reading.kind === 'hint') return { ...reading, scope }
  if (reading.kind === 'question') return { kind: 'question', scope, question: reading }
  const { body } = raw
  const kept = { provider, keysVersion, body, reading }
  const stored = await insertNotice(reservedOf(deps.database), deps.secrets, scope, kept, deps.clock.now())
  return { kind: 'kept', ...stored }
}

function unguarded(deps: PaymentDeps): NoticeGuards {
  return {
    keys: noticeKeysCache(deps),
    beforeLookUp: () => {},
    afterLookUp: () => {},
    mayReadAgain: () => false,
  }
}

interface Signed {
  /** The keys that signed it. */
  keysVersion: number
  reading: NoticeReading
}

/**
 * Verifies with the current keys, then with retired ones, whose orders are still paid, refunded and disputed. An
 * unknown merchant answers like a bad signature, so that strangers cannot find out which merchant uses which provider.
 */
async function readWith({ list }: NoticeKeys, notice: RawNotice): Promise<Signed> {
  let best: Signed = { keysVersion: NO_KEYS, reading: { kind: 'forged', because: 'no such keys' } }
  for (const { keysVersion, client } of list) {
    await client.prepareNotice?.(notice)
    const reading = read(() => client.readNotice(notice))
    if (reading.kind !== 'forged' && reading.kind !== 'hint') return { keysVersion, reading }
    if (best.reading.kind === 'forged') best = { keysVersion, reading }
  }
  return best
}

/**
 * An unsigned notice about a known order schedules a check, at most one per minute and payment. The worker makes it.
 */
export async function scheduleCheckForHint(
  { database, clock }: PaymentDeps,
  scope: Scope,
  provider: string,
  reference: string,
): Promise<void> {
  const found = await findStateByOrder(database, scope, { provider }, reference)
  if (found) await database.transaction((tx) => scheduleHintedCheck(tx, found.attempt, clock.now()))
}

/** A payment may be made if it is still open, also by an attempt that has ended. */
export async function answerQuestion(
  { database, clock }: Pick<PaymentDeps, 'database' | 'clock'>,
  scope: Scope,
  provider: string,
  { reference, answers }: Question,
): Promise<object> {
  const found = await findStateByOrder(database, scope, { provider }, reference)
  const isOpen = found?.state.payment.status === 'pending' && found.state.payment.expiresAt > clock.now()
  return isOpen ? answers.yes : answers.no
}

/** Adapters must not throw. If one does, the notice is stored as unreadable. */
function read(reading: () => NoticeReading): NoticeReading {
  try {
    return reading()
  } catch (error) {
    return { kind: 'unreadable', because: `the adapter failed: ${(error as Error).message}` }
  }
}

/** A payout that is made at once may be told before its payment is. After this, what is not on record stays so. */
const MOST_OPEN_MS = 2 * 86_400_000

/** `refunded` and `charged_back` occur in notices that older versions stored. */
const REVERSAL_NOTICES = new Set<string>(['refund', 'dispute', 'refunded', 'charged_back'])

/**
 * A notice only triggers a check: the provider's answer to the check is applied, not what the notice says. The
 * exception is a "processing" that is signed with the attempt's own keys.
 */
export async function processNotice(unreserved: PaymentDeps, notice: Notice): Promise<void> {
  const deps = withReserved(unreserved)
  const { database } = deps
  const { reading } = notice
  if (reading.kind !== 'notice') {
    return markUnmatched(deps, notice, `cannot be read: ${reading.because}`)
  }
  const { says } = reading
  if (reading.settlement) {
    const isOpen = await recordNoticed(deps, notice, reading.settlement)
    const ageMs = deps.clock.now().getTime() - notice.receivedAt.getTime()
    if (isOpen && ageMs < MOST_OPEN_MS) throw new Error('money of its lines is not on record yet')
    await endNotice(database, notice, { state: 'done', note: null })
    return
  }
  // A payout, or a subscription: nothing for a person to look at.
  if (says === 'other' && reading.reference === null && reading.transactionId === undefined) {
    await endNotice(database, notice, { state: 'ignored', note: 'is about no order' })
    return
  }
  const found = await findAttemptOf(deps, notice, reading)
  if ('names' in found) {
    if (found.isOfAnother) {
      await endNotice(database, notice, { state: 'ignored', note: 'is about no order of this account' })
      return
    }
    for (const name of found.names) {
      // The money is that merchant's, and none that this one could match with a payment.
      if (await isOrderOfAnother(database, notice, name))
        return markUnmatched(deps, notice, 'names an order of another merchant')
    }
    const why = reading.reference === null ? 'names no reference' : 'names a reference that is not ours'
    const isKnown = await recordUnmatched(deps, notice, { ...found, receipts: reading.receipts, why })
    return isKnown ? processNotice(deps, notice) : undefined
  }
  const { attempt } = found
  if (REVERSAL_NOTICES.has(says)) {
    const reconciled = await reconcileForNotice(deps, attempt)
    const isUnlisted = reconciled.kind === 'unsupported'
    const said = { facts: factsOfReading(reading), at: notice.receivedAt }
    const changes = isUnlisted ? await seeFailedRefunds(deps, attempt, said) : 0
    const result = changes > 0 ? { state: 'done' as const, note: null } : noticeResultOf(reconciled)
    await endNotice(database, notice, { ...result, attemptId: attempt.id })
    // Afterwards: what the notice said is found by the attempt of the ended notice.
    if (isUnlisted) await refundsDueNow(database, attempt, deps.clock.now())
    return
  }
  // Signed with other keys, such as rotated ones: it triggers a check, and what it says is ignored, but for its money.
  const isOwn = attempt.keysVersion === notice.keysVersion
  const noticeSays = isOwn && (says === 'paid' || says === 'failed') ? says : undefined
  const signal = {
    source: 'notice' as const,
    // What is not about our order may still be unmatched money, see below.
    ...((isOwn || isOurName(deps, attempt, reading.reference)) && { notice, noticeReceipts: reading.receipts }),
    ...(noticeSays && { noticeSays }),
  }
  const state =
    isOwn && says === 'processing' && attempt.status === 'pending'
      ? // Applied without a check: it only blocks other attempts until a check gives the outcome. After a decline it may be stale.
        await settleAttempt(deps, attempt, { ...signal, outcome: { kind: 'processing' }, whenAsked: statusOf(attempt) })
      : await checkAttempt(deps, attempt, signal)
  if (signal.notice !== undefined) return
  const isUnmatched = await database.transaction(async (tx) => {
    const recorded = await readRecordedMoney(tx, attempt, reading.receipts)
    const assigned = recorded.receipts.filter(
      ({ attemptId, keysVersion }) =>
        attemptId !== null && [attempt.keysVersion, notice.keysVersion].includes(keysVersion),
    )
    const ids = new Set(assigned.map(({ transactionId }) => transactionId))
    const rest = reading.receipts.filter(({ transactionId }) => !ids.has(transactionId))
    await insertUnmatched(tx, notice, notice, rest)
    return rest.length > 0
  })
  if (isUnmatched) return markUnmatched(deps, notice, 'names an order of another account')
  const result = noticeResult(attempt, attemptIn(state, attempt.id))
  await endNotice(database, notice, { ...result, attemptId: attempt.id })
}

/** Made by us, so that no order of another account has it. */
function isOurName({ providers }: PaymentDeps, attempt: Attempt, reference: string | null): boolean {
  const { provider, orderReference } = attempt
  if (reference === orderReference) return true
  const capabilities = providers.find(provider)?.capabilities
  return capabilities?.referenceLength !== undefined && reference === referenceAtProvider(capabilities, orderReference)
}

/**
 * Checks for received money first, because its notice may be lost, then for refunds and disputes. Throws to retry the
 * notice later.
 */
async function reconcileForNotice(deps: PaymentDeps, attempt: Attempt): Promise<Reconciled> {
  const { outcome } = await askOrder(deps, attempt, { source: 'notice' })
  const reconciled = await reconcileAttempt(deps, attempt, outcome && 'receipts' in outcome ? outcome.receipts : [])
  if (reconciled.kind === 'unanswered') throw new Error(`the provider did not list its refunds: ${reconciled.because}`)
  if (reconciled.kind === 'reconciled' && reconciled.waits !== null)
    throw new Error(`a listed refund or dispute cannot be matched yet: ${reconciled.waits}`)
  return reconciled
}

function noticeResultOf(reconciled: Reconciled): { state: 'done' | 'ignored'; note: string | null } {
  if (reconciled.kind === 'missing') return { state: 'ignored', note: 'the provider does not know the order' }
  if (reconciled.kind === 'unsupported') return { state: 'ignored', note: 'the provider lists no refunds' }
  const changed = reconciled.kind === 'reconciled' && reconciled.changes > 0
  return changed
    ? { state: 'done', note: null }
    : { state: 'ignored', note: 'changed nothing: all is on record already' }
}

/**
 * Some notices have only a transaction id, so the provider is asked for its order. Throws to retry later when it does
 * not answer. `names`: of the order, which is none of this merchant's. `isOfAnother`: the notice may be about another
 * account, and the provider does not find the transaction with keys of this merchant.
 */
async function findAttemptOf(
  { database, providers }: PaymentDeps,
  notice: Notice,
  { reference, transactionId }: { reference: string | null; transactionId?: string },
): Promise<{ attempt: Attempt } | { names: string[]; isOfAnother: boolean }> {
  const byOrder = (named: string) => findStateByOrder(database, notice, notice, named)
  const names = reference === null ? [] : [reference]
  const named = reference === null ? undefined : await byOrder(reference)
  if (named) return named
  let isOfAnother = providers.find(notice.provider)?.capabilities.signsForAllAccounts === true
  if (transactionId === undefined) return { names, isOfAnother }
  // Two keys of a merchant may share a signing secret, so the order may belong to others than the verified ones.
  const ofMerchant = await providers.keysVersions(notice, notice.provider)
  const unanswered: string[] = []
  for (const keysVersion of new Set([notice.keysVersion, ...ofMerchant])) {
    const client = await providers.connect(notice, notice.provider, { keysVersion, purpose: 'check' })
    const answer = await client.findReference?.(transactionId)
    // Retired keys that are refused never answer. Strangers could make notices that wait for it.
    const isRefused = async () => keysVersion !== ofMerchant[0] && (await client.verifyKeys()).kind === 'bad'
    if (answer?.kind === 'unknown' && !(isOfAnother && (await isRefused()))) unanswered.push(answer.because)
    if (answer?.kind !== 'found') continue
    isOfAnother = false
    const found = await byOrder(answer.reference)
    if (found) return found
    names.push(answer.reference)
  }
  if (unanswered.length > 0)
    throw new Error(`${notice.provider} did not name the order of the transaction: ${unanswered.join(', ')}`)
  return { names, isOfAnother }
}

/**
 * Records the money, and marks the notice as unmatched. True, with nothing written, if a start has told us one of the
 * names since they were looked up.
 */
async function recordUnmatched(
  deps: PaymentDeps,
  notice: Notice,
  { names, receipts, why }: { names: string[]; receipts: Receipt[]; why: string },
): Promise<boolean> {
  const outcome = await deps.database.transaction(async (tx) => {
    for (const reference of names.toSorted()) {
      await tx.rows(referenceLocked(notice, { provider: notice.provider, reference }))
      if (await findStateByOrder(tx, notice, notice, reference)) return 'known'
    }
    await insertUnmatched(tx, notice, notice, receipts)
    return (await endNotice(tx, notice, { state: 'unmatched', note: why })) ? 'unmatched' : 'done'
  })
  if (outcome === 'unmatched') logUnmatched(deps, notice, why)
  return outcome === 'known'
}

async function markUnmatched(deps: PaymentDeps, notice: Notice, why: string): Promise<void> {
  if (await endNotice(deps.database, notice, { state: 'unmatched', note: why })) logUnmatched(deps, notice, why)
}

function logUnmatched({ log }: PaymentDeps, notice: Notice, why: string): void {
  log.error(
    { noticeId: notice.id, provider: notice.provider, merchantId: notice.merchantId },
    `unmatched notice: it ${why}`,
  )
}

/** Processes stored notices that are not finished: the process died, or the provider did not answer or is slow to. */
export async function processWaitingNotices(deps: PaymentDeps, limit: number): Promise<number> {
  const { claimed, done } = await startWaitingNotices(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** Starts the work without waiting for the answers, within the rate limits of each integration. */
export async function startWaitingNotices(deps: PaymentDeps, limit: number, limits: CallLimits): Promise<ClaimedWork> {
  return startWithin(limits, await claimWaitingNotices(deps.database, limit), {
    keyOf: (notice) => integrationKey(notice),
    work: (notice) =>
      processNotice(deps, notice).catch((err) =>
        deps.log.warn({ err, noticeId: notice.id }, 'processing a notice failed; retrying'),
      ),
    postpone: (late) => postponeNotices(deps.database, late, deps.clock.now()),
  })
}
