import type { Writes } from '../../database/database.ts'
import { actRecorded } from '../../events/audit-log-store.ts'
import type { AttemptId, PaymentId } from '../../kernel/ids.ts'
import { type Currency, formatMoney, type Money, money } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import { type CallLimits, type ClaimedWork, NO_LIMITS, startWithin } from '../../outbound/call-limits.ts'
import type { Capabilities } from '../../providers/capabilities.ts'
import type { BankAccount, RefundOutcome } from '../../providers/provider.ts'
import { callProvider } from '../call-provider.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { orderHandle } from '../order-handle.ts'
import type { Attempt } from '../state/attempt.ts'
import { raise } from '../state/case.ts'
import { type Review, refundsByPeople, returnedByHand } from '../state/open-money.ts'
import { type Change, type Decision, decide, type PaymentState } from '../state/payment-state.ts'
import {
  assertAccountFits,
  assertMayRefund,
  assertNotRepeated,
  daysOf,
  mustBeSeenAgain,
  newRefund,
  nextRefundTry,
  planRefund,
  type Refund,
  refundReference,
  refundSubject,
  refundView,
  reviewAfter,
  reviewedIfLate,
  type WantedRefund,
  withCaseOfRefund,
} from '../state/refund.ts'
import { findAttempt } from '../store/attempts.ts'
import { findStateByOrder, type LockedPayment } from '../store/payment-states.ts'
import { isOrderOfAnother } from '../store/provider-audit.ts'
import { matchedReceipts } from '../store/receipts.ts'
import { findRefundAccount, forgetRefundAccount, sealAccount } from '../store/refund-accounts.ts'
import {
  claimDueRefunds,
  findRefundOfCall,
  insertRefund,
  leaseRefund,
  lockRefund,
  markAsked,
  newRefundLease,
  postponeRefunds,
  type RefundLease,
  refundsOf,
  renewRefundLease,
  saveResolved,
  saveUnanswered,
} from '../store/refunds.ts'
import { reviewsOf } from '../store/reviews.ts'
import { seeAgain } from './see-surplus-again.ts'

export interface RefundRequest {
  amount?: number | undefined
  reason: string | null
  /** The customer's bank account, for a provider that needs it. */
  account?: BankAccount | undefined
  /** Stored with the call's idempotency key, so that a repeat finds its refund. */
  callReference?: string | undefined
  /** Allows the same amount again within a minute: `allowDuplicate`, or an idempotency key of its own. */
  mayRepeat?: boolean
  /** Throws when the refunds of this payment, with this one, are too much. Runs under the lock of the payment. */
  limit?: ((total: Money) => void) | undefined
}

/**
 * Creates a refund and sends it to the provider that received the money. The refund is committed before the provider is
 * called. A repeated call finds the first refund and calls the provider only if it wins the lease; otherwise it returns
 * the refund as it is.
 */
export async function refundPayment(
  deps: PaymentDeps,
  actor: string,
  id: PaymentId,
  wanted: RefundRequest,
): Promise<Refund> {
  const { refund, lease } = await changePayment(deps, id, {
    read: (tx) =>
      Promise.all([
        reviewsOf(tx, id),
        wanted.callReference ? findRefundOfCall(tx, id, wanted.callReference) : undefined,
      ]),
    decide: (before, [reviews, known], tx) => {
      if (known) return { refund: known, lease: undefined }
      const { payment, refunds } = before
      if (!wanted.mayRepeat) assertNotRepeated(refunds, before, wanted.amount, deps.clock.now())
      assertMayRefund(refundsByPeople(refunds, reviews))
      const { attempt, amount } = planRefund(before, refunds, wanted.amount)
      wanted.limit?.(money(amount + refundedBefore(refunds, reviews), payment.currency))
      assertAccountFits(capabilitiesOf(deps, attempt), attempt, wanted.account)
      const counted = before.receipts.filter((each) => each.attemptId === attempt.id && each.counted)
      const made = writePending({ tx, deps, before }, wanted, {
        attemptId: attempt.id,
        amount,
        kind: 'merchant',
        counted: true,
        reason: wanted.reason,
        transactionIds: counted.map(({ transactionId }) => transactionId),
      })
      const subject = refundSubject(made.refund.id, wanted.account)
      tx.write(actRecorded(payment.place, { actor, act: 'refund.asked_for', merchantId: payment.merchantId, subject }))
      return made
    },
  })
  const held = lease ?? (await leaseRefund(deps.database, refund.id, deps.clock.now()))
  return held ? sendRefund(deps, refund, held) : refund
}

export function capabilitiesOf({ providers }: PaymentDeps, { provider }: Pick<Attempt, 'provider'>): Capabilities {
  const capabilities = providers.find(provider)?.capabilities
  if (!capabilities) throw new Problem('conflict', `The provider ${provider} is not known any more.`)
  return capabilities
}

/** What people have refunded of a payment, at the provider and by hand. */
export function refundedBefore(refunds: Refund[], reviews: Review[]): number {
  return refundsByPeople(refunds, reviews)
    .filter(({ status }) => status !== 'failed')
    .reduce((sum, refund) => sum + refund.amount, returnedByHand(reviews))
}

/** Writes a refund, which this process is about to send, and reserves its amount on the attempt. */
export function writePending(
  { tx, deps, before }: { tx: Writes; deps: PaymentDeps; before: LockedPayment },
  { callReference, account }: Pick<RefundRequest, 'callReference' | 'account'>,
  wanted: WantedRefund,
): { refund: Refund; lease: RefundLease } {
  const refund = newRefund(before.payment, wanted, deps.clock.now())
  const lease = newRefundLease()
  const sealedAccount = account && sealAccount(deps.secrets, refund.id, account)
  insertRefund(tx, before.payment, refund, { callReference, lease, sealedAccount })
  const held = { ...withReversal(before, refund.attemptId, refund.amount), refunds: [...before.refunds, refund] }
  writeDecision(tx, deps, before, decide(held, [], refund.createdAt))
  return { refund, lease }
}

export function withReversal(state: PaymentState, attemptId: AttemptId, amount: number): PaymentState {
  return {
    ...state,
    attempts: state.attempts.map((attempt) =>
      attempt.id === attemptId ? { ...attempt, amountReturned: attempt.amountReturned + amount } : attempt,
    ),
  }
}

/** Adds a counted refund to the totals of attempt and payment. Refunds of surplus money never count. */
export function withRefunded(state: PaymentState, { attemptId, amount, counted }: Refund): PaymentState {
  if (!counted) return state
  return {
    ...state,
    payment: { ...state.payment, amountRefunded: state.payment.amountRefunded + amount },
    attempts: state.attempts.map((attempt) =>
      attempt.id === attemptId ? { ...attempt, amountRefunded: attempt.amountRefunded + amount } : attempt,
    ),
  }
}

export async function sendDueRefunds(deps: PaymentDeps, limit: number): Promise<number> {
  const { claimed, done } = await startDueRefunds(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** Starts the work without waiting for the answers, within the rate limits of each integration. */
export async function startDueRefunds(deps: PaymentDeps, limit: number, limits: CallLimits): Promise<ClaimedWork> {
  return startWithin(limits, await claimDueRefunds(deps.database, limit), {
    keyOf: ({ integration }) => integration,
    work: async ({ refund, lease }) => {
      await sendRefund(deps, refund, lease).catch((err) =>
        deps.log.warn({ err, refundId: refund.id }, 'sending a refund failed; retrying'),
      )
    },
    postpone: (late) => postponeRefunds(deps.database, late, deps.clock.now()),
  })
}

export async function sendRefund(deps: PaymentDeps, refund: Refund, lease: RefundLease): Promise<Refund> {
  const attempt = await findAttempt(deps.database, refund.attemptId)
  if (!attempt) throw new Error(`attempt ${refund.attemptId} not found`)
  const others = (await refundsOf(deps.database, refund.paymentId)).filter(({ id }) => id !== refund.id)
  const known = await findRefundAccount(deps.database, deps.secrets, refund.id)
  const matched = await matchedReceipts(deps.database, attempt.id, refund.transactionIds)
  const isOnRecord = async (reference: string) =>
    (await findStateByOrder(deps.database, attempt, attempt, reference)) !== undefined ||
    isOrderOfAnother(deps.database, attempt, reference)
  const isByPerson = refundsByPeople([refund], await reviewsOf(deps.database, refund.paymentId)).length > 0
  const order = await orderHandle(deps, attempt)
  let wasAsked = false
  const mayAsk = async () => {
    wasAsked = await markAsked(deps.database, refund.id, lease, deps.clock.now())
    return wasAsked
  }
  const outcome = await underLease(deps, refund, lease, async (isLeaseHeld) => {
    const seen = mustBeSeenAgain(refund, isByPerson) ? await seeAgain(deps, attempt, matched !== undefined) : 'seen'
    if (seen !== 'seen') return seen
    return callProvider(deps, attempt, 'refund', (provider) =>
      provider.refund({
        reference: refundReference(refund.id),
        order,
        transactionIds: refund.transactionIds,
        amount: money(refund.amount, refund.currency as Currency),
        reason: refund.reason,
        account: known?.account,
        refundId: refund.providerRefundId ?? undefined,
        otherRefundIds: others.flatMap(({ providerRefundId }) => providerRefundId ?? []),
        recordedAt: refund.createdAt,
        matched: matched && { receipts: matched, isOnRecord },
        isLeaseHeld,
        mayAsk,
      }),
    )
  })
  return recordOutcome(deps, refund, { lease, outcome, sealed: known?.sealed ?? null, wasAsked })
}

const RENEW_EVERY_MS = 20_000

/**
 * Renews the lease while the provider is called. Some providers have no idempotency key: their adapter first searches
 * for an earlier request, in several calls. Without the lease, two processes could both find none and refund twice.
 */
async function underLease<T>(
  { database, clock, log }: PaymentDeps,
  { id: refundId }: Refund,
  first: RefundLease,
  work: (isLeaseHeld: () => boolean) => Promise<T>,
): Promise<T> {
  let lease: RefundLease | undefined = first
  const renewing = setInterval(async () => {
    if (!lease) return
    try {
      lease = await renewRefundLease(database, refundId, lease, clock.now())
      if (!lease) log.warn({ refundId }, 'refund lease lost')
    } catch (err) {
      log.warn({ err, refundId }, 'renewing a refund lease failed; retrying')
    }
  }, RENEW_EVERY_MS)
  try {
    return await work(() => lease !== undefined && performance.now() < lease.heldUntilMs)
  } finally {
    clearInterval(renewing)
  }
}

interface Tried {
  lease: RefundLease
  outcome: RefundOutcome
  /** The customer's bank account that was sent. */
  sealed: Buffer | null
  /** By this try: `mayAsk` was true. */
  wasAsked: boolean
}

function recordOutcome(
  deps: PaymentDeps,
  wanted: Refund,
  { lease, outcome, sealed, wasAsked }: Tried,
): Promise<Refund> {
  return changePayment(deps, wanted.paymentId, {
    read: (tx) => lockRefund(tx, wanted.id),
    decide: (before, locked, tx) => {
      const refund = before.refunds.find(({ id }) => id === wanted.id)
      if (!refund) throw new Error(`refund ${wanted.id} not found`)
      const now = deps.clock.now()
      const attempt = before.attempts.find(({ id }) => id === refund.attemptId)
      if (refund.status === 'failed' && outcome.kind === 'refunded' && attempt) {
        // A person ended it while the provider was asked.
        const raised = raise(before, attempt, madeAfterEnd(refund), { now })
        if (raised.cases !== before.cases) writeDecision(tx, deps, before, decide(raised, [], now), { cause: 'refund' })
      }
      if (refund.status !== 'pending') return refund
      const days = daysOf(deps.providers.find(attempt?.provider ?? '')?.capabilities ?? {})
      const after = afterOutcome(refund, outcome, { days, now, hadAccount: sealed !== null, wasAsked })
      if (after.status === 'pending') {
        if (locked?.lease !== lease.token) return refund // another process sends it now
        // An account that came while this try was under way is sent at once.
        const isSent = sealed !== null && locked.sealedAccount?.equals(sealed) === true
        saveUnanswered(tx, after, isSent || locked.sealedAccount === null ? nextRefundTry(after, days, now) : now)
        if (isSent && outcome.kind === 'pending') forgetRefundAccount(tx, after.id)
        if (after.needsReview === refund.needsReview) return after
      } else saveResolved(tx, after)
      const state =
        after.status === 'successful'
          ? withRefunded(before, after)
          : after.status === 'failed'
            ? withReversal(before, after.attemptId, -after.amount)
            : before
      const refunds = withRefund(before.refunds, after)
      const followed = withCaseOfRefund({ ...state, refunds }, refunds, after, now)
      const isAnswered = after.status === 'pending' && after.needsReview === null
      writeDecision(tx, deps, before, decide(followed, isAnswered ? [] : [refundChange(after)], now), { refunds })
      return after
    },
  })
}

const madeAfterEnd = ({ amount, currency }: Refund) =>
  `refund_mismatch: a refund of ${formatMoney(money(amount, currency as Currency))} was ended by a person, and the provider has made it. Compare with its dashboard.`

function afterOutcome(
  refund: Refund,
  outcome: RefundOutcome,
  { days, now, hadAccount, wasAsked }: { days: number; now: Date; hadAccount: boolean; wasAsked: boolean },
): Refund {
  switch (outcome.kind) {
    case 'refunded':
      return {
        ...refund,
        ...{ status: 'successful', failure: null, needsReview: null, resolvedAt: now },
        providerRefundId: outcome.refundId,
      }
    case 'refused':
      return { ...refund, ...{ status: 'failed', failure: outcome.because, needsReview: null, resolvedAt: now } }
    default: {
      const wasSent = !('neverSent' in outcome && outcome.neverSent)
      const isLimited = 'errorStatus' in outcome && outcome.errorStatus === 429
      const tookAccount = hadAccount && outcome.kind === 'pending' && outcome.needsAccount === undefined
      return reviewedIfLate(
        {
          ...refund,
          askedAt: wasAsked && (!wasSent || isLimited) ? null : refund.askedAt,
          accountTakenAt: tookAccount ? now : refund.accountTakenAt,
          tries: refund.tries + (wasSent ? 1 : 0), // a request that was never sent is not a try, so the retry is soon
          providerRefundId: 'refundId' in outcome ? outcome.refundId : refund.providerRefundId,
          needsReview:
            outcome.kind === 'pending' ? reviewAfter(refund, outcome.needsAccount, hadAccount) : refund.needsReview,
        },
        days,
        now,
      )
    }
  }
}

/** A refund has this status now: its event, and its case. */
export function decideRefund(state: PaymentState, refunds: Refund[], refund: Refund, now: Date): Decision {
  return decide(withCaseOfRefund({ ...state, refunds }, refunds, refund, now), [refundChange(refund)], now)
}

/** The event of a refund's status. */
export function refundChange(refund: Refund): Change {
  const type = { failed: 'refund.failed', successful: 'refund.successful', pending: 'refund.needs_review' } as const
  return { type: type[refund.status], attemptId: refund.attemptId, data: { refund: refundView(refund) } }
}

/** The refunds of a payment, with this one as it is now. */
export function withRefund(refunds: Refund[], refund: Refund): Refund[] {
  const isKnown = refunds.some(({ id }) => id === refund.id)
  return isKnown ? refunds.map((other) => (other.id === refund.id ? refund : other)) : [...refunds, refund]
}
