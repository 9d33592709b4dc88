import type { Connection, ListedDispute, ListedRefund, ReturnsAnswer } from '../providers/provider.ts'
import { callProvider } from './call-provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type Attempt, handleOf } from './state/attempt.ts'
import { disputeChange, withListed } from './state/dispute.ts'
import { chargebackId, matchLoss, matchRefund, whyExceeded } from './state/match-returns.ts'
import type { Refund } from './state/refund.ts'
import { disputesOf } from './store/disputes.ts'
import { lockPaymentState } from './store/payment-states.ts'
import { allTransactionsOf } from './store/receipts.ts'
import { refundsOf, refundsOfOthers } from './store/refunds.ts'
import {
  completeRefund,
  failRefund,
  keepDispute,
  loseDispute,
  markForReview,
  nameRefund,
  type Reconciliation,
  recordDispute,
  recordRefund,
  updateDispute,
  winDispute,
} from './write-returns.ts'

export type Reconciled =
  /** `changes`: recorded differences. `waits`: why an entry cannot be matched yet. `isOpen`: a refund or dispute is unfinished. */
  | { kind: 'reconciled'; changes: number; waits: string | null; isOpen: boolean }
  | { kind: 'unanswered'; because: string }
  | { kind: 'missing' }
  /** The provider has no list of refunds and disputes. */
  | { kind: 'unsupported' }

type Returns = Extract<ReturnsAnswer, { kind: 'returns' }>

/**
 * Reconciliation of one attempt: lists the provider's refunds and disputes and records the missing ones. The provider is called outside a
 * transaction; the differences are written in one transaction, under the payment's lock.
 */
export async function reconcileReturns(deps: PaymentDependencies, attempt: Attempt): Promise<Reconciled> {
  const transactionIds = await allTransactionsOf(deps.database, attempt.id)
  const list = async (provider: Connection) =>
    (await provider.listReturns?.(handleOf(attempt), transactionIds)) ?? ({ kind: 'unsupported' } as const)
  const answer = await callProvider(deps, attempt, 'list returns', list)
  if (answer.kind === 'unknown') return { kind: 'unanswered', because: answer.because }
  if (answer.kind !== 'returns') return answer
  return deps.database.transaction(async (tx) => {
    const state = await lockPaymentState(tx, attempt.paymentId)
    const isOwn = ({ attemptId }: { attemptId: string }) => attemptId === attempt.id
    const work: Reconciliation = {
      tx,
      deps,
      state,
      attempt: state.attempts.find(({ id }) => id === attempt.id) ?? attempt,
      refunds: (await refundsOf(tx, attempt.paymentId)).filter(isOwn),
      disputes: (await disputesOf(tx, attempt.paymentId)).filter(isOwn),
    }
    return recordDifferences(work, { ...answer, refunds: await withoutOthers(work, answer.refunds) })
  })
}

/**
 * Without refunds that are on record for another attempt. Two transfers of one order can be matched with two payments: the provider lists
 * all refunds of that order for both.
 */
async function withoutOthers(work: Reconciliation, listed: ListedRefund[]): Promise<ListedRefund[]> {
  const unknown = listed.filter((refund) => !isKnown(work, refund))
  if (unknown.length === 0) return listed
  const others = await refundsOfOthers(work.tx, work.attempt, unknown)
  return listed.filter((refund) => isKnown(work, refund) || !others.has(refund.refundId))
}

function isKnown(work: Reconciliation, refund: ListedRefund): boolean {
  return matchRefund(work, refund, false).kind === 'known'
}

async function recordDifferences(work: Reconciliation, { refunds, disputes }: Returns): Promise<Reconciled> {
  const before = work.state.payment.sequence
  const waits: string[] = []
  const listed = refunds.toSorted((a, b) => rank(a) - rank(b) || a.at.getTime() - b.at.getTime())
  // Known refunds first: a resolved one changes the amount that is left for the others.
  const known = listed.filter((refund) => isKnown(work, refund))
  const others = listed.filter((refund) => !known.includes(refund))
  const done = new Set<string>()
  for (const refund of known) await takeRefund(work, refund, done, waits)
  for (const dispute of disputes.toSorted((a, b) => a.openedAt.getTime() - b.openedAt.getTime()))
    await takeDispute(work, dispute, listed, waits)
  // Of money that was returned before we saw it, large refunds first: a small one must not take a part of their row.
  for (const refund of others.toSorted((a, b) => b.amount.amount - a.amount.amount))
    if (matchRefund(work, refund, false).kind === 'adopts') await takeRefund(work, refund, done, waits)
  for (const refund of others) await takeRefund(work, refund, done, waits)
  return {
    kind: 'reconciled',
    changes: work.state.payment.sequence - before,
    waits: waits[0] ?? null,
    isOpen:
      waits.length > 0 || [...refunds, ...disputes].some(({ status }) => status === 'pending' || status === 'open'),
  }
}

/** Of several tries with one reference, the successful one counts, then a pending one. */
function rank({ status }: ListedRefund): number {
  return { successful: 0, pending: 1, failed: 2 }[status]
}

async function takeRefund(
  work: Reconciliation,
  listed: ListedRefund,
  done: Set<string>,
  waits: string[],
): Promise<void> {
  const { refundId, reference, status } = listed
  const isAnother = reference !== null && done.has(reference)
  const match = matchRefund(work, listed, isAnother)
  if (reference !== null) done.add(reference)
  switch (match.kind) {
    case 'known':
      if (isAnother && match.refund.status === 'successful' && status !== 'successful') return
      return takeKnown(work, match.refund, listed, waits)
    case 'settles':
      return keepDispute(work, { ...match.dispute, settledBy: refundId })
    case 'adopts':
      await nameRefund(work, match.refund, { amount: listed.amount.amount, providerRefundId: refundId })
      return
    case 'new':
      return recordRefund(work, listed.amount.amount, refundId)
    case 'waits':
      waits.push(match.because)
      return
    case 'unfit':
      return markForReview(work, `refund_mismatch: ${match.because}.`)
    case 'nothing':
      return
  }
}

const FAILED = 'The provider could not give the money back.'

async function takeKnown(work: Reconciliation, refund: Refund, listed: ListedRefund, waits: string[]): Promise<void> {
  const { refundId, status } = listed
  if (status === refund.status || status === 'pending') return
  // The transaction was recorded as returned in full, so the payment never counted it. A person decides what to do now.
  if (status === 'failed' && !refund.counted && refund.kind === 'provider' && work.attempt.amountReversed > 0)
    return markForReview(work, `refund_failed: the provider kept ${refund.amount} that is on record as given back.`)
  if (status === 'failed') return failRefund(work, refund, FAILED)
  const exceeded = refund.status === 'failed' ? whyExceeded(work, refund.amount) : undefined
  if (exceeded?.kind === 'waits') waits.push(exceeded.because)
  else if (exceeded) await markForReview(work, `refund_mismatch: ${exceeded.because}.`)
  else await completeRefund(work, refund, refundId)
}

async function takeDispute(
  work: Reconciliation,
  listed: ListedDispute,
  refunds: ListedRefund[],
  waits: string[],
): Promise<void> {
  if (listed.amount.amount < 1) return markForReview(work, 'dispute_mismatch: a dispute without an amount is listed.')
  const known =
    work.disputes.find(({ providerDisputeId }) => providerDisputeId === listed.disputeId) ??
    (await recordDispute(work, listed))
  const change = disputeChange(known, listed)
  const dispute = known.status === 'open' ? withListed(known, listed) : known
  if (change === null) return
  if (change === 'updated') return updateDispute(work, dispute)
  if (change === 'won') return winDispute(work, dispute)
  const loss = matchLoss(work, dispute, refunds)
  if (loss.kind === 'waits') {
    waits.push(loss.because)
    return
  }
  if (loss.kind === 'adopts') {
    const wanted = { amount: dispute.amount, providerRefundId: chargebackId(dispute) }
    const counted = await nameRefund(work, loss.refund, wanted)
    return loseDispute(work, dispute, { counted, settledBy: null })
  }
  if (loss.kind === 'counted') return loseDispute(work, dispute, { counted: loss.refund, settledBy: loss.settledBy })
  await loseDispute(work, dispute, { amount: loss.amount })
  if (loss.review) await markForReview(work, loss.review)
}
