import { NO_ACCOUNT } from '../integrations/provider-account.ts'
import type { Scope } from '../kernel/scope.ts'
import { type AccountLimits, accountKey, NO_LIMITS, type Started, startWithin } from '../outbound/account-limits.ts'
import type { NoticeReading, RawNotice } from '../providers/provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type NoticeAccountCache, type NoticeAccounts, noticeAccountCache } from './read-notice-accounts.ts'
import { type Reconciled, reconcileReturns } from './reconcile-returns.ts'
import { checkAttempt, settleAttempt } from './settle-attempt.ts'
import type { Attempt } from './state/attempt.ts'
import type { Notice } from './state/notice.ts'
import { findAttemptByOrder } from './store/attempts.ts'
import { scheduleHintedCheck } from './store/hints.ts'
import { claimWaitingNotices, endNotice, insertNotice, postponeNotices } from './store/notices.ts'
import { findNewReceipts, insertUnmatched } from './store/receipts.ts'

export type Received =
  /** On disk: answer 2xx, then work it off. */
  | { kind: 'kept'; notice: Notice; isNew: boolean }
  | { kind: 'forged'; because: string }
  /** Not signed: nothing of it is stored. See `noteHint`. */
  | { kind: 'hint'; reference: string }
  | { kind: 'nobody' }

export interface NoticeGuards {
  accounts: NoticeAccountCache
  /** Called before a look-up that the cache cannot answer. Throws when the sender has made too many. */
  beforeLookUp(): void
  /** Called after that look-up. `found`: the merchant and the provider account exist. */
  afterLookUp(found: boolean): void
  /** Whether keys may be read anew for a notice that failed with the cached ones. */
  mayReadAgain(): boolean
}

/**
 * Verifies who sent a notice and stores it. A forged notice costs no query, except that keys which changed a moment ago are read anew, at
 * a bounded rate. The provider is not asked anything here.
 */
export async function receiveNotice(
  deps: PaymentDependencies,
  scope: Scope,
  provider: string,
  raw: { body: Buffer; headers: Record<string, string> },
  guards: NoticeGuards = unguarded(deps),
): Promise<Received> {
  const known = deps.providers.find(provider)
  if (!known) return { kind: 'nobody' }
  // No key of that mode exists, so nothing there can be signed with it.
  if (known.capabilities.sandboxOnly && scope.mode !== 'sandbox') return { kind: 'forged', because: 'another mode' }
  const { accounts } = guards
  const cached = accounts.cached(scope, provider)
  if (!cached) guards.beforeLookUp()
  const notice = { ...raw, receivedAt: deps.clock.now() }
  const current = cached ?? (await accounts.read(scope, provider))
  if (!cached) guards.afterLookUp(current.length > 0)
  let signed = readWith(current, notice)
  if (signed.reading.kind === 'forged' && cached && guards.mayReadAgain())
    signed = readWith(await accounts.read(scope, provider), notice)
  const { account, reading } = signed
  if (reading.kind === 'forged' || reading.kind === 'hint') return reading
  return {
    kind: 'kept',
    ...(await insertNotice(deps.database, deps.secrets, scope, { provider, account, body: raw.body, reading })),
  }
}

function unguarded(deps: PaymentDependencies): NoticeGuards {
  return {
    accounts: noticeAccountCache(deps),
    beforeLookUp: () => {},
    afterLookUp: () => {},
    mayReadAgain: () => false,
  }
}

interface Signed {
  /** The account whose key signed it. */
  account: number
  reading: NoticeReading
}

/**
 * Tries the keys of the current account, then those of retired ones: their orders are still paid, refunded and disputed. The answer for an
 * unknown merchant or provider is that of a bad signature: who uses what is not told to strangers.
 */
function readWith(accounts: NoticeAccounts, notice: RawNotice): Signed {
  let best: Signed = { account: NO_ACCOUNT, reading: { kind: 'forged', because: 'no such account' } }
  for (const { account, connection } of accounts) {
    const reading = read(() => connection.readNotice(notice))
    if (reading.kind !== 'forged' && reading.kind !== 'hint') return { account, reading }
    if (best.reading.kind === 'forged') best = { account, reading }
  }
  return best
}

/** An unsigned notice about an order of ours schedules at most one check a minute per payment. A worker makes the check. */
export async function scheduleCheckForHint(
  { database }: PaymentDependencies,
  scope: Scope,
  provider: string,
  reference: string,
): Promise<void> {
  const attempt = await findAttemptByOrder(database, scope, { provider }, reference)
  if (attempt) await database.transaction((tx) => scheduleHintedCheck(tx, attempt))
}

/** An adapter must not throw; if one does, the notice is kept all the same. */
function read(reading: () => NoticeReading): NoticeReading {
  try {
    return reading()
  } catch (error) {
    return { kind: 'unreadable', because: `the adapter failed: ${(error as Error).message}` }
  }
}

/** `refunded` and `charged_back` stand in notices that an older version kept. */
const SAYS_MONEY_WENT_BACK = new Set<string>(['refund', 'dispute', 'refunded', 'charged_back'])

/** What a notice says is a reason to ask the provider; the answer is what counts. */
export async function processNotice(deps: PaymentDependencies, notice: Notice): Promise<void> {
  const { database } = deps
  const { reading } = notice
  if (reading.kind !== 'notice') {
    return setAside(deps, notice, `cannot be read: ${reading.because}`)
  }
  const { says } = reading
  const attempt = await findAttemptOf(deps, notice, reading)
  if (!attempt) {
    await database.transaction((tx) => insertUnmatched(tx, notice, notice, reading.receipts))
    return setAside(
      deps,
      notice,
      reading.reference === null ? 'names no reference' : 'names a reference that is not ours',
    )
  }
  if (SAYS_MONEY_WENT_BACK.has(says)) {
    const reconciled = await reconcileOn(deps, attempt)
    return endNotice(database, notice.id, { ...reconciledAs(reconciled), attemptId: attempt.id })
  }
  // Signed with the key of another account, such as a rotated one: a reason to ask the provider, and no more.
  const isOwn = attempt.account === notice.account
  const noticeClaim = isOwn && (says === 'paid' || says === 'failed') ? says : undefined
  const state =
    isOwn && says === 'processing' && attempt.status === 'pending'
      ? // Nothing to prove: it keeps other tries and verdicts away until the outcome is known, which the checks will tell. (After a decline it may
        // be old news, so then the provider is asked.)
        await settleAttempt(deps, attempt, { outcome: { kind: 'processing' }, source: 'notice' })
      : await checkAttempt(deps, attempt, {
          source: 'notice',
          ...(noticeClaim && { noticeClaim, noticeReceipts: reading.receipts }),
        })
  const after = state.attempts.find(({ id }) => id === attempt.id)
  const changed = after && (after.status !== attempt.status || after.amountReceived !== attempt.amountReceived)
  if (!isOwn && !changed && reading.reference !== attempt.orderReference) {
    const strange = await database.transaction(async (tx) => {
      const newReceipts = await findNewReceipts(tx, attempt, reading.receipts)
      await insertUnmatched(tx, notice, notice, newReceipts)
      return newReceipts.length > 0
    })
    if (strange) return setAside(deps, notice, 'names an order of another account')
  }
  await endNotice(database, notice.id, {
    state: changed ? 'done' : 'ignored',
    note: changed ? null : `changed nothing: the attempt is ${after?.status ?? attempt.status}`,
    attemptId: attempt.id,
  })
}

/** The money first, since its own notice may have been lost; then what went back of it. What cannot be told yet is tried again later. */
async function reconcileOn(deps: PaymentDependencies, attempt: Attempt): Promise<Reconciled> {
  await checkAttempt(deps, attempt, { source: 'notice' })
  const reconciled = await reconcileReturns(deps, attempt)
  if (reconciled.kind === 'unanswered') throw new Error(`the provider did not list its refunds: ${reconciled.because}`)
  if (reconciled.kind === 'reconciled' && reconciled.waits !== null)
    throw new Error(`a listed refund or dispute has to wait: ${reconciled.waits}`)
  return reconciled
}

function reconciledAs(reconciled: Reconciled): { state: 'done' | 'ignored'; note: string | null } {
  if (reconciled.kind === 'missing') return { state: 'ignored', note: 'the provider does not know the order' }
  if (reconciled.kind === 'unsupported') return { state: 'ignored', note: 'the provider lists no refunds' }
  const changed = reconciled.kind === 'reconciled' && reconciled.changes > 0
  return changed
    ? { state: 'done', note: null }
    : { state: 'ignored', note: 'changed nothing: all is on record already' }
}

/** Some notices name a transaction alone, and only the provider knows of which order it is. No answer is a reason to try again later. */
async function findAttemptOf(
  { database, providers }: PaymentDependencies,
  notice: Notice,
  { reference, transactionId }: { reference: string | null; transactionId?: string },
): Promise<Attempt | undefined> {
  const byOrder = (named: string) => findAttemptByOrder(database, notice, notice, named)
  const named = reference === null ? undefined : await byOrder(reference)
  if (named || transactionId === undefined) return named
  // Two accounts of a merchant may share the secret that signs notices, so the one that fits first need not be the sender.
  const accounts = new Set([notice.account, ...(await providers.accounts(notice, notice.provider))])
  const unanswered: string[] = []
  for (const account of accounts) {
    const connection = await providers.connect(notice, notice.provider, { account, purpose: 'check' })
    const answer = await connection.findReference?.(transactionId)
    if (answer?.kind === 'unknown') unanswered.push(answer.because)
    const found = answer?.kind === 'found' ? await byOrder(answer.reference) : undefined
    if (found) return found
  }
  if (unanswered.length > 0)
    throw new Error(`${notice.provider} did not say whose transaction it is: ${unanswered.join(', ')}`)
  return undefined
}

async function setAside({ database, log }: PaymentDependencies, notice: Notice, why: string): Promise<void> {
  await endNotice(database, notice.id, { state: 'unmatched', note: why })
  log.error({ noticeId: notice.id, provider: notice.provider, merchantId: notice.merchantId }, `a notice ${why}`)
}

/** Notices that nobody finished: their receiver died, or the provider was away. */
export async function processWaitingNotices(deps: PaymentDependencies, limit: number): Promise<number> {
  const { claimed, done } = await startWaitingNotices(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** The same, without waiting for the providers' answers, and within the limits of each account. */
export async function startWaitingNotices(
  deps: PaymentDependencies,
  limit: number,
  limits: AccountLimits,
): Promise<Started> {
  return startWithin(limits, await claimWaitingNotices(deps.database, limit), {
    accountOf: (notice) => accountKey(notice),
    work: (notice) =>
      processNotice(deps, notice).catch((err) =>
        deps.log.warn({ err, noticeId: notice.id }, 'notice waits for another try'),
      ),
    postpone: (late) => postponeNotices(deps.database, late),
  })
}
