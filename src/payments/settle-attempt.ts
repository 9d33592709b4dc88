import type { Transaction } from '../database/database.ts'
import { newId } from '../kernel/ids.ts'
import type { Outcome, Receipt } from '../providers/provider.ts'
import { callProvider } from './call-provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type Attempt, handleOf } from './state/attempt.ts'
import type { Decision, PaymentState } from './state/payment-state.ts'
import { isReversed, withoutKnownReturns } from './state/returned-money.ts'
import { contradictsNotice, type OutcomeReport, settle } from './state/settle.ts'
import { findPaymentStateById, lockPaymentState } from './store/attempts.ts'
import { findNewReceipts, insertReceipts } from './store/receipts.ts'
import { insertRefund, refundsOf } from './store/refunds.ts'
import { upsertCard } from './store/saved-cards.ts'
import { writeDecision } from './write-decision.ts'

/** An outcome and how it reached us. */
export type Signal = Pick<OutcomeReport, 'outcome' | 'source' | 'noticeSays' | 'whenAsked'> & {
  /** The receipts in the notice that caused it. */
  noticeReceipts?: Receipt[]
}

/**
 * Every outcome is applied here: answers to a start, notices, returns of the customer, scheduled checks. The payment's row lock
 * serializes signals that arrive at the same time; all results are written in one transaction.
 */
export function settleAttempt(deps: PaymentDependencies, attempt: Attempt, signal: Signal): Promise<PaymentState> {
  return deps.database.transaction((tx) => settleIn(tx, deps, attempt, signal))
}

async function settleIn(
  tx: Transaction,
  deps: PaymentDependencies,
  attempt: Attempt,
  signal: Signal,
): Promise<PaymentState> {
  const now = deps.clock.now()
  const outcome = plausibleOutcome(signal)
  const before = await lockPaymentState(tx, attempt.paymentId)
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const unrecorded = await findNewReceipts(tx, attempt, receipts)
  const newReceipts = await withoutReturnsOnRecord(tx, attempt, unrecorded, receipts)
  const { noticeReceipts, noticeSays, ...rest } = signal
  const said = noticeSays && (await isNewStatement(tx, attempt, signal, newReceipts)) ? { noticeSays } : {}
  const decision = settle(before, { ...rest, ...said, outcome, attemptId: attempt.id, newReceipts, now })
  await insertReceipts(tx, attempt, newReceipts, decision.counted)
  await writeDecision(tx, deps, before, decision, causeOf(signal))
  await writeReturned(tx, deps, attempt, decision)
  // Only with new money: a repeated check must not restore a card that was deleted since.
  const maySave = attempt.saveCard || deps.providers.find(attempt.provider)?.capabilities.pageAsksToSave
  if (outcome.kind === 'paid' && outcome.savedCard && maySave && newReceipts.some((each) => !isReversed(each))) {
    await upsertCard(tx, deps.secrets, {
      id: newId('card', now),
      scope: attempt,
      provider: attempt.provider,
      account: attempt.account,
      customer: before.payment.user,
      card: outcome.savedCard,
    })
  }
  logForOperator(deps, attempt, decision)
  return decision.state
}

async function withoutReturnsOnRecord(
  tx: Transaction,
  attempt: Attempt,
  newReceipts: Receipt[],
  receipts: Receipt[],
): Promise<Receipt[]> {
  const isAllNew = newReceipts.length === receipts.length
  if (isAllNew || !newReceipts.some(({ returnedIsOfOrder }) => returnedIsOfOrder)) return newReceipts
  // Where an order can have several transactions, adapters do not count lost disputes in `returned`.
  const onRecord = (await refundsOf(tx, attempt.paymentId))
    .filter(({ attemptId, kind, status }) => attemptId === attempt.id && kind !== 'chargeback' && status !== 'failed')
    .reduce((sum, { amount }) => sum + amount, 0)
  return withoutKnownReturns(newReceipts, receipts, onRecord)
}

/**
 * Records money that the provider returned before we first saw it, as a successful refund of kind `provider` without
 * `providerRefundId`. Reconciliation assigns the listed refund to this row instead of counting it again.
 */
async function writeReturned(tx: Transaction, deps: PaymentDependencies, attempt: Attempt, decision: Decision) {
  for (const { transactionId, amount, counted } of decision.returned) {
    await insertRefund(tx, {
      id: newId('refund', deps.clock.now()),
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

/** Asks the provider for the outcome and applies it. */
export async function checkAttempt(
  deps: PaymentDependencies,
  attempt: Attempt,
  why: Pick<Signal, 'source' | 'noticeSays' | 'noticeReceipts'>,
): Promise<PaymentState> {
  // The provider does not know an order that awaits the customer's confirmation.
  if (attempt.instructions?.kind === 'confirm') return currentState(deps, attempt)
  const outcome = await callProvider(deps, attempt, 'check', (connection) => connection.check(handleOf(attempt)))
  return settleAttempt(deps, attempt, {
    ...why,
    outcome,
    whenAsked: { status: attempt.status, since: attempt.checks.since },
  })
}

async function currentState({ database }: PaymentDependencies, { paymentId }: Attempt): Promise<PaymentState> {
  const state = await findPaymentStateById(database, paymentId)
  if (!state) throw new Error(`payment ${paymentId} not found`)
  return state
}

function logForOperator({ log }: PaymentDependencies, attempt: Attempt, { changes }: Decision): void {
  const { id: attemptId, paymentId, provider } = attempt
  for (const { type } of changes) {
    if (type === 'attempt.needs_review') log.error({ paymentId, attemptId, provider }, 'attempt needs review')
    else if (type === 'payment.surplus') log.warn({ paymentId, attemptId, provider }, 'surplus money received')
  }
}
