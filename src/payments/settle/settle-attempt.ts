import type { Writes } from '../../database/database.ts'
import { newId } from '../../kernel/ids.ts'
import type { Outcome, Receipt, SavedCard } from '../../providers/provider.ts'
import { askProvider } from '../call-provider.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import { type PaymentDeps, withReserved } from '../deps.ts'
import { type Attempt, handleOf, isUnasked } from '../state/attempt.ts'
import { contradictionOf, missingInAnswer, newReceiptsOf, type RecordedMoney } from '../state/new-receipt.ts'
import type { OutcomeReport } from '../state/outcome-report.ts'
import { attemptIn, type Decision, type PaymentState } from '../state/payment-state.ts'
import { isErased } from '../state/personal-data.ts'
import { newRefund, type Refund } from '../state/refund.ts'
import { isReversed } from '../state/reversed-money.ts'
import { contradictsNotice, settle } from '../state/settle.ts'
import { type CallRecord, callRecorded } from '../store/attempts.ts'
import { bodyOfErasedDropped, noticeEnded } from '../store/notices.ts'
import { findPaymentStateById, type LockedPayment } from '../store/payment-states.ts'
import { readRecordedMoney, writeReceipt } from '../store/receipts.ts'
import { insertRefund } from '../store/refunds.ts'
import { upsertCard } from '../store/saved-cards.ts'

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
 * Every outcome is applied here: answers to a start, notices, the customer who returns, scheduled checks. The lock of
 * the payment orders signals that arrive at the same time: the second one is decided on what the first one has written.
 */
export async function settleAttempt(unreserved: PaymentDeps, attempt: Attempt, signal: Signal): Promise<PaymentState> {
  const deps = withReserved(unreserved)
  const decision = await changePayment(deps, attempt.paymentId, {
    read: (tx) => readRecordedMoney(tx, attempt, receiptsOf(signal)),
    decide: (before, recorded, tx) => settleLocked({ tx, deps, before, recorded }, attempt, signal),
  })
  return decision.state
}

/** The receipts that a decision about the signal looks up. */
export function receiptsOf({ outcome, noticeReceipts = [] }: Pick<Signal, 'outcome' | 'noticeReceipts'>): Receipt[] {
  return [...('receipts' in outcome ? outcome.receipts : []), ...noticeReceipts]
}

/** A payment under its lock, with what is on record of the signal's receipts. */
export interface Settling {
  tx: Writes
  deps: PaymentDeps
  before: LockedPayment
  recorded: RecordedMoney
}

/** Decides and writes under the lock of the payment. */
export function settleLocked({ tx, deps, before, recorded }: Settling, attempt: Attempt, signal: Signal): Decision {
  const now = deps.clock.now()
  const plausible = plausibleOutcome(signal)
  const receipts = 'receipts' in plausible ? plausible.receipts : []
  const found = newReceiptsOf(attempt, receipts, recorded)
  const ofAttempt = before.receipts.filter(({ attemptId }) => attemptId === attempt.id)
  const contradiction =
    signal.source !== 'match' && missingInAnswer(ofAttempt, receipts, found).length > 0
      ? contradictionOf(receipts)
      : undefined
  const newReceipts = contradiction ? [] : found
  const outcome: Outcome = contradiction
    ? { kind: 'unknown', because: 'it contradicts the money on record' }
    : plausible
  const { noticeReceipts, noticeSays, ...rest } = signal
  const said = noticeSays && isNewStatement(attempt, signal, newReceipts, recorded) ? { noticeSays } : {}
  const decision = settle(before, { ...rest, ...said, outcome, attemptId: attempt.id, newReceipts, contradiction, now })
  const returned = refundsOfEarlyReversals(decision, attempt, now)
  writeDecision(tx, deps, before, decision, {
    cause: causeOf(signal),
    refunds: [...before.refunds, ...returned],
  })
  for (const receipt of newReceipts) writeReceipt(tx, attempt, receipt, decision.counted)
  for (const refund of returned) insertRefund(tx, attempt, refund)
  const card = cardToSave(deps, attempt, outcome, newReceipts)
  if (card && !isErased(before.payment.user)) {
    const { provider, keysVersion, place } = attempt
    const customer = before.payment.user
    upsertCard(tx, deps.secrets, {
      id: newId('card', now, place),
      scope: attempt,
      provider,
      keysVersion,
      customer,
      card,
    })
  }
  writeSignal(tx, attemptIn(before, attempt.id), signal, decision)
  tx.afterCommit(() => logForOperator(deps, attempt, decision))
  return decision
}

/** The provider call that led to the decision, and the notice, which is processed with it. */
function writeSignal(tx: Writes, before: Attempt, { call, noticeId }: Signal, { state }: Decision): void {
  if (call) tx.write(callRecorded(call))
  if (noticeId === undefined) return
  const after = attemptIn(state, before.id)
  const notice = { place: before.place, id: noticeId }
  tx.write(noticeEnded(notice, { attemptId: before.id, ...noticeResult(before, after) }))
  if (isErased(state.payment.user)) tx.write(bodyOfErasedDropped(notice, before.id))
}

/** Only with new money: a repeated check must not restore a card that was deleted since. */
function cardToSave(
  deps: PaymentDeps,
  attempt: Attempt,
  outcome: Outcome,
  newReceipts: Receipt[],
): SavedCard | undefined {
  if (outcome.kind !== 'paid' || !outcome.savedCard || !maySaveCard(deps, attempt)) return undefined
  return newReceipts.some((each) => !isReversed(each)) ? outcome.savedCard : undefined
}

export function maySaveCard({ providers }: PaymentDeps, { saveCard, provider }: Attempt): boolean {
  return saveCard || (providers.find(provider)?.capabilities.pageAsksToSave ?? false)
}

/** A notice that changed the attempt is done. */
export function noticeResult(before: Attempt, after: Attempt): { state: 'done' | 'ignored'; note: string | null } {
  const changed = after.status !== before.status || after.amountReceived !== before.amountReceived
  return changed
    ? { state: 'done', note: null }
    : { state: 'ignored', note: `changed nothing: the attempt is ${after.status}` }
}

/**
 * Money that the provider reversed before we first saw it is a successful refund of kind `provider` without
 * `providerRefundId`. Reconciliation assigns the listed refund to this row instead of counting it again.
 */
function refundsOfEarlyReversals({ state, earlyReversals }: Decision, { id: attemptId }: Attempt, now: Date): Refund[] {
  const reason = 'Given back at the provider before it was seen here.'
  return earlyReversals.map(({ transactionId, amount, counted }) => {
    const wanted = { attemptId, amount, counted, kind: 'provider', isDone: true, reason } as const
    return newRefund(state.payment, { ...wanted, transactionIds: [transactionId] }, now)
  })
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
function isNewStatement(attempt: Attempt, signal: Signal, newReceipts: Receipt[], recorded: RecordedMoney): boolean {
  const { noticeSays, noticeReceipts = [] } = signal
  if (noticeSays !== 'paid' || noticeReceipts.length === 0) return true
  const recordedNow = new Set(newReceipts.map(({ transactionId }) => transactionId))
  const unrecorded = newReceiptsOf(attempt, noticeReceipts, recorded)
  return unrecorded.some(({ transactionId }) => !recordedNow.has(transactionId))
}

function causeOf({ source, noticeSays, outcome }: Signal): string {
  return `${source}${noticeSays ? ` (${noticeSays})` : ''}: ${outcome.kind}`
}

type Why = Pick<Signal, 'source' | 'noticeSays' | 'noticeReceipts' | 'noticeId'>

/** Asks the provider for the outcome and applies it. */
export async function checkAttempt(deps: PaymentDeps, attempt: Attempt, why: Why): Promise<PaymentState> {
  // A signed notice about such an attempt proves that its provider was called: before the database was restored.
  if (isUnasked(attempt) && why.source !== 'notice') return readState(deps, attempt)
  const { answer: outcome, record: call } = await askProvider(deps, attempt, 'check', (client) =>
    client.check(handleOf(attempt)),
  )
  return settleAttempt(deps, attempt, { ...why, outcome, call, whenAsked: statusOf(attempt) })
}

/** To detect a change in the meantime. */
export function statusOf({ status, checks: { since } }: Attempt): Required<Signal>['whenAsked'] {
  return { status, since }
}

async function readState({ database }: PaymentDeps, attempt: Attempt): Promise<PaymentState> {
  const state = await findPaymentStateById(database, attempt.paymentId)
  if (!state) throw new Error(`payment ${attempt.paymentId} is gone`)
  return state
}

function logForOperator({ log }: PaymentDeps, attempt: Attempt, { changes }: Decision): void {
  const { id: attemptId, paymentId, provider } = attempt
  for (const { type } of changes) {
    if (type === 'attempt.needs_review') log.error({ paymentId, attemptId, provider }, 'attempt needs review')
    else if (type === 'payment.surplus') log.warn({ paymentId, attemptId, provider }, 'surplus money received')
  }
}
