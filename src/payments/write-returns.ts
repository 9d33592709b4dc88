import type { Transaction } from '../database/database.ts'
import type { EventType } from '../events/event.ts'
import { newId } from '../kernel/ids.ts'
import type { ListedDispute } from '../providers/provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { withRefunded, withReturned } from './refund-payment.ts'
import type { Attempt } from './state/attempt.ts'
import { type Dispute, disputeView } from './state/dispute.ts'
import { chargebackId, isChargebackOf, type OnRecord } from './state/match-returns.ts'
import { type Change, decide, type PaymentState, replaceAttempt } from './state/payment-state.ts'
import { type Refund, type RefundKind, refundView } from './state/refund.ts'
import { insertDispute, saveDispute } from './store/disputes.ts'
import { insertRefund, reduceRefund, saveProviderRefundId, saveResolved } from './store/refunds.ts'
import { writeDecision } from './write-decision.ts'

/** A locked payment, with the recorded refunds and disputes of one attempt. */
export interface Reconciliation extends OnRecord {
  tx: Transaction
  deps: PaymentDependencies
  state: PaymentState
}

const CAUSE = 'reconciliation with the provider'

/** Writes a change with its events, and keeps the new state for the next change. */
async function write(work: Reconciliation, after: PaymentState, changes: Change[]): Promise<void> {
  const decision = decide(after, changes)
  await writeDecision(work.tx, work.deps, work.state, decision, { cause: CAUSE })
  work.state = decision.state
  work.attempt = decision.state.attempts.find(({ id }) => id === work.attempt.id) ?? work.attempt
}

const refundChanged = (type: EventType, refund: Refund): Change => ({
  type,
  attemptId: refund.attemptId,
  data: { refund: refundView(refund) },
})

function keepRefund(work: Reconciliation, refund: Refund): void {
  work.refunds = [...work.refunds.filter(({ id }) => id !== refund.id), refund]
}

/** Inserts a refund that was made at the provider. The caller records its events. */
async function addRefund(
  work: Reconciliation,
  wanted: { amount: number; kind: RefundKind; providerRefundId: string; reason: string },
): Promise<{ refund: Refund; after: PaymentState }> {
  const { tx, deps, state, attempt } = work
  const refund = await insertRefund(tx, {
    ...wanted,
    id: newId('refund', deps.clock.now(), attempt.place),
    state,
    attemptId: attempt.id,
    counted: isOfPayment(work, wanted.amount),
    transactionIds: [],
  })
  if (!refund) throw new Error(`refund ${wanted.providerRefundId} is on record under another attempt's lock`)
  keepRefund(work, refund)
  return { refund, after: withRefunded(withReturned(state, attempt.id, refund.amount), refund) }
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

export async function recordRefund(work: Reconciliation, amount: number, providerRefundId: string): Promise<void> {
  const reason = 'Made on the provider’s side.'
  const { refund, after } = await addRefund(work, { amount, kind: 'provider', providerRefundId, reason })
  await write(work, after, [refundChanged('refund.successful', refund)])
}

/** A pending or failed refund turned out successful. */
export async function completeRefund(work: Reconciliation, refund: Refund, providerRefundId: string): Promise<void> {
  const wasHeld = refund.status === 'pending'
  const done: Refund = {
    ...refund,
    ...{ providerRefundId, status: 'successful', failure: null, needsReview: null },
    // Other refunds may have used the amount of a failed one since.
    counted: refund.counted && (wasHeld || isOfPayment(work, refund.amount)),
    resolvedAt: work.deps.clock.now(),
  }
  await saveResolved(work.tx, done)
  keepRefund(work, done)
  const held = wasHeld ? work.state : withReturned(work.state, done.attemptId, done.amount)
  await write(work, withRefunded(held, done), [refundChanged('refund.successful', done)])
}

/** A refund failed, possibly after it was announced as successful. Its amount is available again. */
export async function failRefund(work: Reconciliation, refund: Refund, failure: string): Promise<void> {
  const after = await unreturn(work, refund, failure)
  await write(work, after.state, [refundChanged('refund.failed', after.refund)])
}

async function unreturn(
  work: Reconciliation,
  refund: Refund,
  failure: string,
): Promise<{ refund: Refund; state: PaymentState }> {
  const failed: Refund = {
    ...refund,
    ...{ status: 'failed', failure, needsReview: null },
    resolvedAt: work.deps.clock.now(),
  }
  await saveResolved(work.tx, failed)
  keepRefund(work, failed)
  const state = withReturned(work.state, refund.attemptId, -refund.amount)
  const wasDone = refund.status === 'successful'
  return { refund: failed, state: wasDone ? withRefunded(state, { ...refund, amount: -refund.amount }) : state }
}

/**
 * Sets the provider's refund id on money that was recorded as returned without one. A row may stand for several refunds; then a part is
 * split off. The payment's totals do not change.
 */
export async function nameRefund(
  work: Reconciliation,
  unnamed: Refund,
  { amount, providerRefundId }: { amount: number; providerRefundId: string },
): Promise<Refund> {
  const { tx, deps, state } = work
  if (amount === unnamed.amount) {
    const named = { ...unnamed, providerRefundId }
    await saveProviderRefundId(tx, named.id, providerRefundId)
    keepRefund(work, named)
    return named
  }
  const { kind, counted, reason, transactionIds, attemptId } = unnamed
  await reduceRefund(tx, unnamed.id, amount)
  keepRefund(work, { ...unnamed, amount: unnamed.amount - amount })
  const id = newId('refund', deps.clock.now(), state.payment.place)
  const wanted = { id, state, attemptId, amount, kind, counted, reason, transactionIds, providerRefundId }
  const named = await insertRefund(tx, wanted)
  if (!named) throw new Error(`refund ${providerRefundId} is on record already`)
  keepRefund(work, named)
  return named
}

/** Marks the attempt for review by a person, once. */
export async function markForReview(work: Reconciliation, why: string): Promise<void> {
  const { attempt, deps } = work
  if (attempt.needsReview !== null || attempt.reviewed === why) return
  deps.log.error({ attemptId: attempt.id, provider: attempt.provider }, 'attempt needs review')
  const reviewed: Attempt = { ...attempt, needsReview: why }
  await write(work, replaceAttempt(work.state, reviewed), [{ type: 'attempt.needs_review', attemptId: attempt.id }])
}

export async function recordDispute(work: Reconciliation, listed: ListedDispute): Promise<Dispute> {
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
  await insertDispute(tx, dispute)
  work.disputes = [...work.disputes, dispute]
  await write(work, work.state, [disputeChanged('dispute.opened', dispute)])
  return dispute
}

const disputeChanged = (type: EventType, dispute: Dispute, refund?: Refund): Change => ({
  type,
  attemptId: dispute.attemptId,
  data: { dispute: disputeView(dispute), ...(refund && { refund: refundView(refund) }) },
})

export async function keepDispute(work: Reconciliation, dispute: Dispute): Promise<void> {
  await saveDispute(work.tx, dispute)
  work.disputes = work.disputes.map((other) => (other.id === dispute.id ? dispute : other))
}

export async function updateDispute(work: Reconciliation, dispute: Dispute): Promise<void> {
  await keepDispute(work, dispute)
  await write(work, work.state, [disputeChanged('dispute.updated', dispute)])
}

/** A chargeback that was recorded before is reversed. */
export async function winDispute(work: Reconciliation, dispute: Dispute): Promise<void> {
  const counted = work.refunds.find(({ id, status }) => id === dispute.refundId && status === 'successful')
  const isChargeback = counted?.kind === 'chargeback'
  const undone = isChargeback ? await unreturn(work, counted, 'dispute_won: the provider gave the money back.') : null
  const won: Dispute = { ...dispute, status: 'won', resolvedAt: work.deps.clock.now() }
  await keepDispute(work, won)
  await write(work, undone?.state ?? work.state, [disputeChanged('dispute.won', won, undone?.refund)])
}

/** Records lost money once: by the refund `counted` if it exists, else by a new chargeback of `amount`, unless that is 0. */
export async function loseDispute(
  work: Reconciliation,
  dispute: Dispute,
  by: { counted: Refund; settledBy: string | null } | { amount: number },
): Promise<void> {
  const reason = 'The customer’s bank took the money back.'
  const providerRefundId = chargebackId(dispute)
  const added =
    'amount' in by && by.amount > 0
      ? await chargeBack(work, { amount: by.amount, kind: 'chargeback', providerRefundId, reason })
      : null
  const refund = 'counted' in by ? by.counted : added?.refund
  const lost: Dispute = {
    ...dispute,
    status: 'lost',
    refundId: refund?.id ?? null,
    settledBy: 'counted' in by ? by.settledBy : dispute.settledBy,
    resolvedAt: work.deps.clock.now(),
  }
  await keepDispute(work, lost)
  await write(work, added?.after ?? work.state, [disputeChanged('dispute.lost', lost, refund)])
}

/** A dispute that is lost again after it was won reuses its chargeback, with the amount that is left. */
async function chargeBack(
  work: Reconciliation,
  wanted: Parameters<typeof addRefund>[1],
): Promise<{ refund: Refund; after: PaymentState }> {
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
  await saveResolved(work.tx, again)
  keepRefund(work, again)
  return { refund: again, after: withRefunded(withReturned(work.state, again.attemptId, again.amount), again) }
}
