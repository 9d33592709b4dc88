import type { Writes } from '../../database/database.ts'
import type { EventType } from '../../events/event.ts'
import { newId } from '../../kernel/ids.ts'
import type { ListedDispute } from '../../providers/provider.ts'
import { writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { type Case, raise, settleCases } from '../state/case.ts'
import { type Dispute, disputeView } from '../state/dispute.ts'
import { chargebackId, isChargebackOf, type OnRecord } from '../state/match-reversals.ts'
import { type Change, decide, type PaymentState } from '../state/payment-state.ts'
import { newRefund, type Refund, type RefundKind, refundView, withCaseOfRefund } from '../state/refund.ts'
import { insertDispute, saveDispute } from '../store/disputes.ts'
import type { LockedPayment } from '../store/payment-states.ts'
import { insertRefund, reduceRefund, saveProviderRefundId, saveResolved } from '../store/refunds.ts'
import { refundChange, withRefund, withRefunded, withReversal } from './refund-payment.ts'

/**
 * A locked payment, with the recorded refunds and disputes of one attempt. Each step changes it, and is written at the
 * end.
 */
export interface Reconciliation extends OnRecord {
  tx: Writes
  deps: Pick<PaymentDeps, 'clock' | 'links' | 'log'>
  state: LockedPayment
}

const CAUSE = 'reconciliation with the provider'

/** Writes a change with its events, and keeps the new state for the next change. */
function write(work: Reconciliation, after: PaymentState, changes: Change[]): void {
  const decision = decide({ ...after, refunds: work.state.refunds }, changes, work.deps.clock.now())
  writeDecision(work.tx, work.deps, work.state, decision, { cause: CAUSE })
  // Not all of `after`: its refunds may be those from before the change.
  const { payment, attempts, cases } = decision.state
  work.state = { ...work.state, payment, attempts, cases }
  work.attempt = decision.state.attempts.find(({ id }) => id === work.attempt.id) ?? work.attempt
}

function keepRefund(work: Reconciliation, refund: Refund): void {
  work.refunds = withRefund(work.refunds, refund)
  work.state = { ...work.state, refunds: withRefund(work.state.refunds, refund) }
}

function withCase({ deps, refunds }: Reconciliation, after: PaymentState, refund: Refund): PaymentState {
  return withCaseOfRefund(after, refunds, refund, deps.clock.now())
}

/** Writes a refund that was made at the provider. The caller records its events. */
function addRefund(
  work: Reconciliation,
  wanted: { amount: number; kind: RefundKind; providerRefundId: string | null; reason: string },
): { refund: Refund; after: PaymentState } {
  const { tx, deps, state, attempt } = work
  const counted = isOfPayment(work, wanted.amount)
  const all = { ...wanted, attemptId: attempt.id, counted, transactionIds: [], isDone: true as const }
  const refund = newRefund(state.payment, all, deps.clock.now())
  insertRefund(tx, state.payment, refund)
  keepRefund(work, refund)
  const after = withRefunded(withReversal(state, attempt.id, refund.amount), refund)
  return { refund, after: withCase(work, after, refund) }
}

/** Whether a refund of this amount counts towards the payment. Amounts of pending refunds are reserved. */
function isOfPayment({ state: { payment }, attempt, refunds }: Reconciliation, amount: number): boolean {
  // The payment was paid by another attempt, so this attempt's money is surplus.
  if (payment.status === 'successful' && attempt.status !== 'successful') return false
  const promised = refunds
    .filter(({ status, counted }) => status === 'pending' && counted)
    .reduce((sum, refund) => sum + refund.amount, 0)
  return amount <= payment.amountPaid - payment.amountRefunded - promised
}

/** `providerRefundId` is null for money that the provider has given back without a refund of its own. */
export function recordRefund(work: Reconciliation, amount: number, providerRefundId: string | null): void {
  const reason = 'Made on the provider’s side.'
  const { refund, after } = addRefund(work, { amount, kind: 'provider', providerRefundId, reason })
  write(work, after, [refundChange(refund)])
}

/** A pending or failed refund turned out successful. */
export function completeRefund(work: Reconciliation, refund: Refund, providerRefundId: string): void {
  const wasHeld = refund.status === 'pending'
  const done: Refund = {
    ...refund,
    ...{ providerRefundId, status: 'successful', failure: null, needsReview: null },
    // Other refunds may have used the amount of a failed one since.
    counted: refund.counted && (wasHeld || isOfPayment(work, refund.amount)),
    resolvedAt: work.deps.clock.now(),
  }
  saveResolved(work.tx, done)
  keepRefund(work, done)
  const held = wasHeld ? work.state : withReversal(work.state, done.attemptId, done.amount)
  write(work, withCase(work, withRefunded(held, done), done), [refundChange(done)])
}

/** A refund failed, possibly after it was announced as successful. Its amount is available again. */
export function failRefund(work: Reconciliation, refund: Refund, failure: string): void {
  const after = undoReversal(work, refund, failure)
  write(work, after.state, [refundChange(after.refund)])
}

function undoReversal(work: Reconciliation, refund: Refund, failure: string): { refund: Refund; state: PaymentState } {
  const failed: Refund = {
    ...refund,
    ...{ status: 'failed', failure, needsReview: null },
    resolvedAt: work.deps.clock.now(),
  }
  saveResolved(work.tx, failed)
  keepRefund(work, failed)
  const state = withCase(work, withReversal(work.state, refund.attemptId, -refund.amount), failed)
  const wasDone = refund.status === 'successful'
  return { refund: failed, state: wasDone ? withRefunded(state, { ...refund, amount: -refund.amount }) : state }
}

/**
 * Sets the provider's refund id on money that was recorded as reversed without one. A row may stand for several
 * refunds; then a part is split off. The payment's totals do not change, so merchants are told nothing; the event is
 * for the audit.
 */
export function nameRefund(
  work: Reconciliation,
  unnamed: Refund,
  { amount, providerRefundId }: { amount: number; providerRefundId: string },
): Refund {
  const { tx, deps, state } = work
  if (amount === unnamed.amount) {
    const named = { ...unnamed, providerRefundId }
    saveProviderRefundId(tx, named.id, providerRefundId)
    keepRefund(work, named)
    return named
  }
  const { kind, counted, reason, transactionIds, attemptId } = unnamed
  const left = { ...unnamed, amount: unnamed.amount - amount }
  reduceRefund(tx, left.id, left.amount)
  keepRefund(work, left)
  const wanted = { attemptId, amount, kind, counted, reason, transactionIds, providerRefundId }
  const named = newRefund(state.payment, wanted, deps.clock.now())
  insertRefund(tx, state.payment, named)
  keepRefund(work, named)
  write(work, work.state, [{ type: 'refund.split', attemptId, data: { refund: refundView(left) } }])
  return named
}

/** Opens a case about the attempt, once. */
export function markForReview(work: Reconciliation, why: string): void {
  const { attempt, deps, state } = work
  const raised = raise(state, attempt, why, { now: deps.clock.now() })
  if (raised.cases === state.cases) return
  deps.log.error({ attemptId: attempt.id, provider: attempt.provider }, 'attempt needs review')
  write(work, raised, [])
}

/** The books agree again: closes the cases of the attempt that say nothing but this. */
export function closeCases(work: Reconciliation, said: string): void {
  const saysOnly = ({ summary }: Case) => summary.split('\n').every((line) => line.startsWith(said))
  const after = settleCases(work.state, work.attempt.id, work.deps.clock.now(), saysOnly)
  if (after.cases.some((each, index) => each !== work.state.cases[index])) write(work, after, [])
}

export function recordDispute(work: Reconciliation, listed: ListedDispute): Dispute {
  const { attempt, deps, tx, refunds } = work
  const about = { providerDisputeId: listed.disputeId }
  const dispute: Dispute = {
    ...about,
    id: newId('dispute', deps.clock.now(), attempt.place),
    paymentId: attempt.paymentId,
    attemptId: attempt.id,
    merchantId: attempt.merchantId,
    mode: attempt.mode,
    amount: listed.amount.amount,
    currency: listed.amount.currency,
    status: 'open',
    reason: listed.reason,
    respondBy: listed.respondBy,
    // Older versions counted the money of some disputes before they were lost.
    refundId: refunds.find((refund) => isChargebackOf(refund, about))?.id ?? null,
    settledBy: null,
    openedAt: listed.openedAt,
    resolvedAt: null,
  }
  insertDispute(tx, dispute)
  work.disputes = [...work.disputes, dispute]
  write(work, work.state, [disputeChanged('dispute.opened', dispute)])
  return dispute
}

const disputeChanged = (type: EventType, dispute: Dispute, refund?: Refund): Change => ({
  type,
  attemptId: dispute.attemptId,
  data: { dispute: disputeView(dispute), ...(refund && { refund: refundView(refund) }) },
})

export function keepDispute(work: Reconciliation, dispute: Dispute): void {
  saveDispute(work.tx, dispute, work.deps.clock.now())
  work.disputes = work.disputes.map((other) => (other.id === dispute.id ? dispute : other))
}

export function updateDispute(work: Reconciliation, dispute: Dispute): void {
  keepDispute(work, dispute)
  write(work, work.state, [disputeChanged('dispute.updated', dispute)])
}

/** A chargeback that was recorded before is reversed. */
export function winDispute(work: Reconciliation, dispute: Dispute): void {
  const counted = work.refunds.find(({ id, status }) => id === dispute.refundId && status === 'successful')
  const isChargeback = counted?.kind === 'chargeback'
  const undone = isChargeback ? undoReversal(work, counted, 'dispute_won: the provider gave the money back.') : null
  const won: Dispute = { ...dispute, status: 'won', resolvedAt: work.deps.clock.now() }
  keepDispute(work, won)
  write(work, undone?.state ?? work.state, [disputeChanged('dispute.won', won, undone?.refund)])
}

/**
 * Records lost money once: by the refund `counted` if it exists, else by a new chargeback of `amount`, unless that is
 * 0.
 */
export function loseDispute(
  work: Reconciliation,
  dispute: Dispute,
  by: { counted: Refund; settledBy: string | null } | { amount: number },
): void {
  const reason = 'The customer’s bank took the money back.'
  const providerRefundId = chargebackId(dispute)
  const added =
    'amount' in by && by.amount > 0
      ? chargeBack(work, { amount: by.amount, kind: 'chargeback', providerRefundId, reason })
      : null
  const refund = 'counted' in by ? by.counted : added?.refund
  const lost: Dispute = {
    ...dispute,
    status: 'lost',
    refundId: refund?.id ?? null,
    settledBy: 'counted' in by ? by.settledBy : dispute.settledBy,
    resolvedAt: work.deps.clock.now(),
  }
  keepDispute(work, lost)
  write(work, added?.after ?? work.state, [disputeChanged('dispute.lost', lost, refund)])
}

/** A dispute that is lost again after it was won reuses its chargeback, with the amount that is left. */
function chargeBack(
  work: Reconciliation,
  wanted: Parameters<typeof addRefund>[1],
): { refund: Refund; after: PaymentState } {
  const before = work.refunds.find(
    ({ kind, providerRefundId }) => kind === 'chargeback' && providerRefundId === wanted.providerRefundId,
  )
  if (!before) return addRefund(work, wanted)
  const again: Refund = {
    ...before,
    ...{ status: 'successful', failure: null, resolvedAt: work.deps.clock.now() },
    amount: wanted.amount,
    counted: isOfPayment(work, wanted.amount),
  }
  saveResolved(work.tx, again)
  keepRefund(work, again)
  return { refund: again, after: withRefunded(withReversal(work.state, again.attemptId, again.amount), again) }
}
