import { type Currency, formatMoney, money } from '../../kernel/money.ts'
import type { ListedDispute, ListedRefund, ProviderClient, Receipt, ReversalsAnswer } from '../../providers/provider.ts'
import { callProvider } from '../call-provider.ts'
import { changePayment } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { type Attempt, handleOf } from '../state/attempt.ts'
import { type Dispute, disputeChange, withListed } from '../state/dispute.ts'
import {
  chargebackId,
  isUnnamed,
  matchKnown,
  matchLoss,
  matchRefund,
  rankOf,
  whyExceeded,
} from '../state/match-reversals.ts'
import { attemptIn } from '../state/payment-state.ts'
import type { Refund } from '../state/refund.ts'
import { unlistedReversal } from '../state/unlisted-reversal.ts'
import { disputesOf } from '../store/disputes.ts'
import { allTransactionsOf } from '../store/receipts.ts'
import { refundsOfOthers } from '../store/refunds.ts'
import { reviewsOf } from '../store/reviews.ts'
import {
  closeCases,
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
} from './write-reversals.ts'

export type Reconciled =
  /**
   * `changes`: recorded differences. `waits`: why an entry cannot be matched yet. `isOpen`: a refund or dispute is
   * unfinished.
   */
  | { kind: 'reconciled'; changes: number; waits: string | null; isOpen: boolean }
  | { kind: 'unanswered'; because: string }
  | { kind: 'missing' }
  /** The provider has no list of refunds and disputes. */
  | { kind: 'unsupported' }

type Reversals = Extract<ReversalsAnswer, { kind: 'reversals' }>

/**
 * Reconciliation of one attempt: lists the provider's refunds and disputes and records the missing ones. The provider
 * is called outside a transaction; the differences are written in one transaction, under the payment's lock.
 * `receipts`: of a check right before, which says how much went back of each. A reversal without a refund object is in
 * no list, and is booked by that.
 */
export async function reconcileAttempt(
  deps: PaymentDeps,
  attempt: Attempt,
  receipts: Receipt[] = [],
): Promise<Reconciled> {
  const transactionIds = await allTransactionsOf(deps.database, attempt.id)
  const list = async (provider: ProviderClient) =>
    (await provider.listReversals?.(handleOf(attempt), transactionIds)) ?? ({ kind: 'unsupported' } as const)
  const answer = await callProvider(deps, attempt, 'list returns', list)
  if (answer.kind === 'unknown') return { kind: 'unanswered', because: answer.because }
  if (answer.kind !== 'reversals') return answer
  return changePayment(deps, attempt.paymentId, {
    read: (tx) =>
      Promise.all([
        disputesOf(tx, attempt.paymentId),
        refundsOfOthers(tx, attempt, answer.refunds),
        reviewsOf(tx, attempt.paymentId),
      ]),
    decide: (state, [disputes, ofOthers, reviews], tx) => {
      const isOwn = ({ attemptId }: { attemptId: string }) => attemptId === attempt.id
      const work: Reconciliation = {
        tx,
        deps,
        state,
        attempt: attemptIn(state, attempt.id),
        refunds: state.refunds.filter(isOwn),
        disputes: disputes.filter(isOwn),
        byHand: new Set(
          reviews.filter(({ act }) => act === 'returned_by_hand').flatMap(({ refundId }) => refundId ?? []),
        ),
      }
      // Two transfers of one order can be matched with two payments: the provider lists all refunds of that order for
      // both.
      const own = matchKnown(work, answer.refunds)
      const refunds = answer.refunds.filter((refund) => own.has(refund) || !ofOthers.has(refund.refundId))
      const reconciled = recordDifferences(work, { ...answer, refunds })
      const isSettled = reconciled.kind === 'reconciled' && reconciled.changes === 0 && reconciled.waits === null
      const unlisted = isSettled ? unlistedReversal(work, state.receipts, receipts, refunds) : 0
      const isSure = receipts.length > 0 && !receipts.some(({ returnedIsUnlisted }) => returnedIsUnlisted)
      if (unlisted > 0 && !isSure && !isKnownForADay(work, unlisted)) {
        markForReview(work, unlistedCase(work, unlisted))
        return reconciled
      }
      if (unlisted > 0) recordRefund(work, unlisted, null)
      if (unlisted > 0 || isSure) closeUnlisted(work)
      return unlisted > 0 ? { ...reconciled, changes: 1 } : reconciled
    },
  })
}

const UNLISTED = 'refund_mismatch: the provider says that money went back, and lists no refund or dispute of it'
const DAY_MS = 86_400_000

/** A list may lag. So what no list names is a case first, and is recorded when it is still so after a day. */
const unlistedCase = ({ attempt: { currency } }: Reconciliation, amount: number) =>
  `${UNLISTED}: ${formatMoney({ amount, currency })}. It is recorded when it is still so after a day.`

function isKnownForADay(work: Reconciliation, amount: number): boolean {
  const before = work.deps.clock.now().getTime() - DAY_MS
  return work.state.cases.some(
    ({ subject, summary, openedAt }) =>
      subject.id === work.attempt.id &&
      summary.split('\n').includes(unlistedCase(work, amount)) &&
      openedAt.getTime() <= before,
  )
}

/** It is recorded, or a list names it now. */
const closeUnlisted = (work: Reconciliation) => closeCases(work, UNLISTED)

/** A difference that stays after the provider was asked: a person decides. */
export function reviewAttempt(deps: PaymentDeps, attempt: Attempt, why: string): Promise<void> {
  return changePayment(deps, attempt.paymentId, {
    decide: (state, _, tx) =>
      markForReview({ tx, deps, state, attempt: attemptIn(state, attempt.id), refunds: [], disputes: [] }, why),
  })
}

function recordDifferences(work: Reconciliation, { refunds, disputes }: Reversals): Reconciled {
  const before = work.state.payment.sequence
  const unnamed = unnamedIn(work)
  const waits: string[] = []
  const listed = refunds.toSorted((a, b) => rankOf(a) - rankOf(b) || a.at.getTime() - b.at.getTime())
  // Known refunds first: a resolved one changes the amount that is left for the others.
  const known = matchKnown(work, listed)
  const others = listed.filter((refund) => !known.has(refund))
  for (const [entry, refund] of known) takeKnown(work, refund, entry, waits)
  for (const dispute of disputes.toSorted((a, b) => a.openedAt.getTime() - b.openedAt.getTime()))
    takeDispute(work, dispute, listed, waits)
  // Of money that was reversed before we saw it, large refunds first: a small one must not take a part of their row.
  for (const refund of others.toSorted((a, b) => b.amount.amount - a.amount.amount))
    if (matchRefund(work, refund).kind === 'adopts') takeRefund(work, refund, waits)
  for (const refund of others) if (!isOnRecord(work, refund)) takeRefund(work, refund, waits)
  reviewRest(work, unnamed)
  return {
    kind: 'reconciled',
    changes: work.state.payment.sequence - before,
    waits: waits[0] ?? null,
    isOpen:
      waits.length > 0 || [...refunds, ...disputes].some(({ status }) => status === 'pending' || status === 'open'),
  }
}

/** What is on record as given back, and in no list of the provider. */
function unnamedIn({ refunds }: Reconciliation): number {
  return refunds.filter(isUnnamed).reduce((sum, { amount }) => sum + amount, 0)
}

const REST = 'refund_mismatch: a part of what is on record as given back is in no list of the provider'

/** Refunds have adopted a part of what was recorded without one: perhaps no more than that went back. */
function reviewRest(work: Reconciliation, before: number): void {
  const amount = unnamedIn(work)
  const { currency } = work.attempt
  if (amount > 0 && amount < before)
    markForReview(work, `${REST}: ${formatMoney({ amount, currency })}. Compare with its dashboard.`)
  if (amount === 0 && before > 0) closeCases(work, REST)
}

/** Under its id: a refund that was just adopted, or one that the list names twice. */
function isOnRecord({ refunds }: Reconciliation, { refundId }: ListedRefund): boolean {
  return refunds.some(({ kind, providerRefundId }) => kind !== 'chargeback' && providerRefundId === refundId)
}

function takeRefund(work: Reconciliation, listed: ListedRefund, waits: string[]): void {
  const { refundId } = listed
  const match = matchRefund(work, listed)
  switch (match.kind) {
    case 'settles':
      keepDispute(work, { ...match.dispute, settledBy: refundId })
      break
    case 'adopts':
      nameRefund(work, match.refund, { amount: listed.amount.amount, providerRefundId: refundId })
      break
    case 'new':
      recordRefund(work, listed.amount.amount, refundId)
      if (match.review) markForReview(work, match.review)
      break
    case 'waits':
      waitFor(work, listed, match.because, waits)
      break
    case 'unfit':
      markForReview(work, `refund_mismatch: ${match.because}.`)
      break
    case 'nothing':
      break
  }
}

const WAITS_MS = 7 * 86_400_000

/** What cannot be matched for a week is for a person. */
function waitFor(work: Reconciliation, { at, amount }: ListedRefund, because: string, waits: string[]): void {
  if (work.deps.clock.now().getTime() - at.getTime() < WAITS_MS) waits.push(because)
  else markForReview(work, `refund_mismatch: a refund of ${formatMoney(amount)} is listed for a week, and ${because}.`)
}

const FAILED = 'The provider could not give the money back.'

export function takeKnown(work: Reconciliation, refund: Refund, listed: ListedRefund, waits: string[]): void {
  const { refundId, status, amount } = listed
  if (status !== 'failed' && (amount.amount !== refund.amount || amount.currency !== refund.currency)) {
    const ours = formatMoney(money(refund.amount, refund.currency as Currency))
    const why = `${ours} was asked for, and the provider lists ${formatMoney(amount)} as refunded`
    markForReview(work, `refund_mismatch: ${why}. Compare with its dashboard.`)
    return
  }
  if (status === refund.status || status === 'pending') return
  // The transaction was recorded as reversed in full, so the payment never counted it. A person decides what to do now.
  const isOfReversed = !refund.counted && refund.kind === 'provider' && work.attempt.amountReversed > 0
  const exceeded = refund.status === 'failed' ? whyExceeded(work, refund.amount) : undefined
  if (status === 'failed' && isOfReversed)
    markForReview(
      work,
      `refund_failed: the provider kept ${formatMoney(money(refund.amount, work.attempt.currency))} that is on record as given back.`,
    )
  else if (status === 'failed') failRefund(work, refund, FAILED)
  else if (exceeded?.kind === 'waits') waitFor(work, listed, exceeded.because, waits)
  else if (exceeded) markForReview(work, `refund_mismatch: ${exceeded.because}.`)
  else completeRefund(work, refund, refundId)
}

function takeDispute(work: Reconciliation, listed: ListedDispute, refunds: ListedRefund[], waits: string[]): void {
  if (listed.amount.amount < 1) {
    markForReview(work, 'dispute_mismatch: a dispute without an amount is listed.')
    return
  }
  const known =
    work.disputes.find(({ providerDisputeId }) => providerDisputeId === listed.disputeId) ?? recordDispute(work, listed)
  const change = disputeChange(known, listed)
  const dispute = known.status === 'open' ? withListed(known, listed) : known
  if (change === 'updated') updateDispute(work, dispute)
  else if (change === 'won') winDispute(work, dispute)
  else if (change === 'lost') takeLoss(work, dispute, refunds, waits)
}

function takeLoss(work: Reconciliation, dispute: Dispute, refunds: ListedRefund[], waits: string[]): void {
  const loss = matchLoss(work, dispute, refunds)
  switch (loss.kind) {
    case 'waits':
      waits.push(loss.because)
      break
    case 'adopts': {
      const wanted = { amount: dispute.amount, providerRefundId: chargebackId(dispute) }
      loseDispute(work, dispute, { counted: nameRefund(work, loss.refund, wanted), settledBy: null })
      break
    }
    case 'counted':
      loseDispute(work, dispute, { counted: loss.refund, settledBy: loss.settledBy })
      break
    case 'chargeback':
      loseDispute(work, dispute, { amount: loss.amount })
      if (loss.review) markForReview(work, loss.review)
  }
}
