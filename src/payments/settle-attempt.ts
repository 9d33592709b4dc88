import type { Transaction } from '../database/database.ts'
import { type AttemptId, newId } from '../kernel/ids.ts'
import type { Outcome, Receipt, SavedCard } from '../providers/provider.ts'
import { askProvider, recordProviderCall } from './call-provider.ts'
import { type PaymentDependencies, withReserved } from './dependencies.ts'
import { type Attempt, handleOf } from './state/attempt.ts'
import { contradictionOf, missingInAnswer, type NewReceipt } from './state/new-receipt.ts'
import type { Decision, PaymentState } from './state/payment-state.ts'
import { isErased } from './state/personal-data.ts'
import { isReversed } from './state/returned-money.ts'
import { contradictsNotice, type OutcomeReport, settle } from './state/settle.ts'
import { endNotice } from './store/notices.ts'
import { findPaymentStateById, findStateByAttempt, lockPaymentState, type Snapshot } from './store/payment-states.ts'
import { findNewReceipts, insertReceipts, matchedReceipts } from './store/receipts.ts'
import { insertRefund } from './store/refunds.ts'
import { upsertCard } from './store/saved-cards.ts'
import type { CallRecord } from './store/write-payment.ts'
import { tryWriteDecision, type WrittenWith, writeDecision } from './write-decision.ts'

/** An outcome and how it reached us. */
export type Signal = Pick<OutcomeReport, 'outcome' | 'source' | 'noticeSays' | 'whenAsked'> & {
  /** The receipts in the notice that caused it. */
  noticeReceipts?: Receipt[]
  /** The notice that caused it. It is processed when the outcome is applied. */
  noticeId?: number
  /** The provider call that it is the answer to. */
  call?: CallRecord
}

/**
 * Every outcome is applied here: answers to a start, notices, returns of the customer, scheduled checks. With a snapshot from before the
 * provider was asked, the usual outcome is decided on it and written in one statement, if nothing has changed since. Otherwise the
 * payment's row lock serializes signals that arrive at the same time, and all results are written in one transaction.
 */
export async function settleAttempt(
  parts: PaymentDependencies,
  attempt: Attempt,
  signal: Signal,
  snapshot?: Snapshot,
): Promise<PaymentState> {
  const deps = withReserved(parts)
  let quick = snapshot && (await trySettle(deps, attempt, signal, snapshot))
  // Usually the notice and the customer's return are settled at the same time. The later one changes nothing, so it needs no lock.
  const current = quick === 'changed' ? await findPaymentStateById(deps.database, attempt.paymentId) : undefined
  if (current) quick = await trySettle(deps, attempt, signal, current)
  const decision =
    typeof quick === 'object' ? quick : await deps.database.transaction((tx) => settleIn(tx, deps, attempt, signal))
  logForOperator(deps, attempt, decision)
  return decision.state
}

/**
 * Nothing is written when the payment has changed since the snapshot was read, and when the outcome depends on more than the snapshot
 * has (undefined).
 */
async function trySettle(
  deps: PaymentDependencies,
  attempt: Attempt,
  signal: Signal,
  before: Snapshot,
): Promise<Decision | 'changed' | undefined> {
  const outcome = plausibleOutcome(signal)
  const recorded = recordedOf(before, attempt)
  const isUnrecorded = ({ transactionId }: Receipt) => !recorded.has(transactionId)
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const newReceipts = distinct(receipts).filter(isUnrecorded)
  const { noticeReceipts = [], noticeSays, ...rest } = signal
  const now = new Set(newReceipts.map(({ transactionId }) => transactionId))
  const isClaimOpen = noticeReceipts.filter(isUnrecorded).some(({ transactionId }) => !now.has(transactionId))
  const dependsOnMore =
    missingIn(before, attempt, signal, newReceipts).length > 0 ||
    isClaimOpen ||
    newReceipts.some(({ returned }) => returned) ||
    cardToSave(deps, attempt, outcome, newReceipts)
  if (dependsOnMore) return undefined
  // All receipts of the notice are on record, or are recorded now, so its claim "paid" is settled.
  const claim = noticeSays === 'paid' && noticeReceipts.length > 0 ? {} : noticeSays && { noticeSays }
  const report = { ...rest, ...claim, outcome, attemptId: attempt.id, newReceipts, now: deps.clock.now() }
  const decision = settle(before, report)
  const written = {
    ...writtenWith(attempt, signal, decision),
    receipts: newReceipts.map((receipt) => ({
      attempt,
      receipt,
      counted: decision.counted && receipt.amount.currency === attempt.currency,
    })),
  }
  return (await tryWriteDecision(deps, before, decision, written)) ? decision : 'changed'
}

/** See `missingInAnswer`. What a person matched with the payment is of an order of its own. */
function missingIn(
  before: Snapshot,
  { id }: Attempt,
  { source, outcome }: Signal,
  newReceipts: NewReceipt[],
): string[] {
  if (source === 'match' || !('receipts' in outcome)) return []
  return missingInAnswer(before.transactionIds.get(id) ?? [], outcome.receipts, newReceipts)
}

/** Of the attempt's provider account: another one may use the same ids. */
function recordedOf({ attempts, transactionIds }: Snapshot, { provider, account }: Attempt): Set<string> {
  const ofAccount = attempts.filter((each) => each.provider === provider && each.account === account)
  return new Set(ofAccount.flatMap(({ id }) => transactionIds.get(id) ?? []))
}

/** The same, in the transaction of the caller. */
export async function settleIn(
  tx: Transaction,
  deps: PaymentDependencies,
  attempt: Attempt,
  signal: Signal,
): Promise<Decision> {
  const now = deps.clock.now()
  const plausible = plausibleOutcome(signal)
  const before = await lockPaymentState(tx, attempt.paymentId)
  const receipts = 'receipts' in plausible ? plausible.receipts : []
  const found = await findNewReceipts(tx, attempt, receipts)
  const missing = missingIn(before, attempt, signal, found)
  // Money of another order, which a person matched with the payment, is in no answer about this one.
  const isContradiction = missing.length > 0 && !(await matchedReceipts(tx, attempt.id, missing))
  const newReceipts = isContradiction ? [] : found
  const contradiction = isContradiction ? contradictionOf(receipts) : undefined
  const outcome: Outcome = isContradiction
    ? { kind: 'unknown', because: 'it contradicts the money on record' }
    : plausible
  const { noticeReceipts, noticeSays, ...rest } = signal
  const said = noticeSays && (await isNewStatement(tx, attempt, signal, newReceipts)) ? { noticeSays } : {}
  const decision = settle(before, { ...rest, ...said, outcome, attemptId: attempt.id, newReceipts, contradiction, now })
  await insertReceipts(tx, attempt, newReceipts, decision.counted)
  await writeDecision(tx, deps, before, decision, writtenWith(attempt, signal, decision))
  await writeReturned(tx, deps, attempt, decision)
  const card = cardToSave(deps, attempt, outcome, newReceipts)
  if (card && !isErased(before.payment.user)) {
    await upsertCard(tx, deps.secrets, {
      id: newId('card', now, attempt.place),
      scope: attempt,
      provider: attempt.provider,
      account: attempt.account,
      customer: before.payment.user,
      card,
    })
  }
  return decision
}

/** Only with new money: a repeated check must not restore a card that was deleted since. */
function cardToSave(
  deps: PaymentDependencies,
  attempt: Attempt,
  outcome: Outcome,
  newReceipts: Receipt[],
): SavedCard | undefined {
  if (outcome.kind !== 'paid' || !outcome.savedCard || !maySaveCard(deps, attempt)) return undefined
  return newReceipts.some((each) => !isReversed(each)) ? outcome.savedCard : undefined
}

export function maySaveCard({ providers }: PaymentDependencies, { saveCard, provider }: Attempt): boolean {
  return saveCard || (providers.find(provider)?.capabilities.pageAsksToSave ?? false)
}

function writtenWith(attempt: Attempt, signal: Signal, { state }: Decision): WrittenWith {
  const { call, noticeId } = signal
  const after = state.attempts.find(({ id }) => id === attempt.id) ?? attempt
  return {
    cause: causeOf(signal),
    call,
    notice:
      noticeId === undefined ? undefined : { id: noticeId, attemptId: attempt.id, ...noticeResult(attempt, after) },
  }
}

/** A notice that changed the attempt is done. `before` is the attempt as it was when the notice was read. */
export function noticeResult(before: Attempt, after: Attempt): { state: 'done' | 'ignored'; note: string | null } {
  const changed = after.status !== before.status || after.amountReceived !== before.amountReceived
  return changed
    ? { state: 'done', note: null }
    : { state: 'ignored', note: `changed nothing: the attempt is ${after.status}` }
}

/**
 * Records money that the provider returned before we first saw it, as a successful refund of kind `provider` without
 * `providerRefundId`. Reconciliation assigns the listed refund to this row instead of counting it again.
 */
async function writeReturned(tx: Transaction, deps: PaymentDependencies, attempt: Attempt, decision: Decision) {
  for (const { transactionId, amount, counted } of decision.returned) {
    await insertRefund(tx, {
      id: newId('refund', deps.clock.now(), attempt.place),
      state: decision.state,
      attemptId: attempt.id,
      amount,
      kind: 'provider',
      counted,
      reason: 'Given back at the provider before it was seen here.',
      transactionIds: [transactionId],
      isDone: true,
    })
  }
}

/** A transaction that occurs twice in one answer counts once. */
function distinct(receipts: Receipt[]): Receipt[] {
  return [...new Map(receipts.map((receipt) => [receipt.transactionId, receipt])).values()]
}

/** A total above this is a defect of the provider or the adapter. */
const MAX_PLAUSIBLE_AMOUNT = 10 ** 15

function plausibleOutcome({ noticeSays, outcome }: Signal): Outcome {
  if (contradictsNotice(noticeSays, outcome))
    return { kind: 'unknown', because: 'the notice says failed, the provider says paid' }
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const total = receipts.reduce((sum, { amount }) => sum + amount.amount, 0)
  return total > MAX_PLAUSIBLE_AMOUNT ? { kind: 'unknown', because: 'the amounts are implausible' } : outcome
}

/** A notice may call a part of the money "paid". When all its receipts are on record, it says nothing new. */
async function isNewStatement(
  tx: Transaction,
  attempt: Attempt,
  signal: Signal,
  newReceipts: Receipt[],
): Promise<boolean> {
  const { noticeSays, noticeReceipts = [] } = signal
  if (noticeSays !== 'paid' || noticeReceipts.length === 0) return true
  const recordedNow = new Set(newReceipts.map(({ transactionId }) => transactionId))
  const unrecorded = await findNewReceipts(tx, attempt, noticeReceipts)
  return unrecorded.some(({ transactionId }) => !recordedNow.has(transactionId))
}

function causeOf({ source, noticeSays, outcome }: Signal): string {
  return `${source}${noticeSays ? ` (${noticeSays})` : ''}: ${outcome.kind}`
}

type Why = Pick<Signal, 'source' | 'noticeSays' | 'noticeReceipts' | 'noticeId'>

/** Checks in this process because of a notice of success, by attempt. */
const checksOfNotices = new Map<AttemptId, Promise<PaymentState>>()

/** The payment after the check of a notice of success, if one is under way: the customer who returns meanwhile waits for it. */
export const checkForNotice = (id: AttemptId): Promise<PaymentState> | undefined => checksOfNotices.get(id)

/** What the provider answers to a check, and the record of the call. */
export type CheckAnswer = Awaited<ReturnType<typeof askForOutcome>>

export function askForOutcome(deps: PaymentDependencies, attempt: Attempt) {
  return askProvider(deps, attempt, 'check', (connection) => connection.check(handleOf(attempt)))
}

/**
 * Asks the provider for the outcome and applies it. `snapshot`: the payment, if it has been read already. `asked`: the provider has been
 * asked already, with attempt and snapshot as they were kept in memory since the start (started-attempts.ts). They may be old.
 */
export async function checkAttempt(
  deps: PaymentDependencies,
  attempt: Attempt,
  why: Why,
  snapshot?: Snapshot,
  asked?: Promise<CheckAnswer>,
): Promise<PaymentState> {
  const { id } = attempt
  // Usually the notice and the customer arrive at the same time: one question answers both.
  const underWay = why.source === 'return' ? checksOfNotices.get(id) : undefined
  if (underWay) return underWay
  const checked =
    snapshot && asked ? settleKept(deps, attempt, why, snapshot, asked) : askAndSettle(deps, attempt, why, snapshot)
  if (why.noticeSays !== 'paid') return checked
  checksOfNotices.set(id, checked)
  return checked.finally(() => {
    if (checksOfNotices.get(id) === checked) checksOfNotices.delete(id)
  })
}

async function askAndSettle(
  deps: PaymentDependencies,
  attempt: Attempt,
  why: Why,
  snapshot: Snapshot | undefined,
): Promise<PaymentState> {
  const before = snapshot ?? (await findPaymentStateById(deps.database, attempt.paymentId))
  if (!before) throw new Error(`payment ${attempt.paymentId} not found`)
  // The provider does not know an order that awaits the customer's confirmation.
  if (attempt.instructions?.kind === 'confirm') return ignoreSignal(deps, attempt, why, before)
  return settleAttempt(deps, attempt, signalOf(attempt, why, await askForOutcome(deps, attempt)), before)
}

/**
 * The version of the payment guards the write. If it is refused, or the answer is not "paid", the payment is read and the provider asked
 * again: the answer may depend on what has changed.
 */
async function settleKept(
  deps: PaymentDependencies,
  attempt: Attempt,
  why: Why,
  snapshot: Snapshot,
  asked: Promise<CheckAnswer>,
): Promise<PaymentState> {
  const signal = signalOf(attempt, why, await asked)
  // The question may have been too early for any other answer.
  const first = { ...signal, call: { ...signal.call, isNew: true } } // the call before was the start
  const decision = signal.outcome.kind === 'paid' && (await trySettle(deps, attempt, first, snapshot))
  if (typeof decision === 'object') {
    logForOperator(deps, attempt, decision)
    return decision.state
  }
  await recordProviderCall(deps, signal.call)
  const current = await findStateByAttempt(deps.database, attempt.id)
  if (!current) throw new Error(`attempt ${attempt.id} not found`)
  return askAndSettle(deps, current.attempt, why, current.state)
}

function signalOf(attempt: Attempt, why: Why, { answer: outcome, record: call }: CheckAnswer) {
  return { ...why, outcome, call, whenAsked: { status: attempt.status, since: attempt.checks.since } }
}

async function ignoreSignal(
  { database }: PaymentDependencies,
  attempt: Attempt,
  { noticeId }: Pick<Signal, 'noticeId'>,
  state: PaymentState,
): Promise<PaymentState> {
  if (noticeId !== undefined) {
    await endNotice(
      database,
      { place: attempt.place, id: noticeId },
      { ...noticeResult(attempt, attempt), attemptId: attempt.id },
    )
  }
  return state
}

function logForOperator({ log }: PaymentDependencies, attempt: Attempt, { changes }: Decision): void {
  const { id: attemptId, paymentId, provider } = attempt
  for (const { type } of changes) {
    if (type === 'attempt.needs_review') log.error({ paymentId, attemptId, provider }, 'attempt needs review')
    else if (type === 'payment.surplus') log.warn({ paymentId, attemptId, provider }, 'surplus money received')
  }
}
