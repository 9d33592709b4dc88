import type { Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import { type AttemptId, newId, type PaymentId } from '../kernel/ids.ts'
import { type Currency, money } from '../kernel/money.ts'
import { type AccountLimits, NO_LIMITS, type Started, startWithin } from '../outbound/account-limits.ts'
import type { RefundOutcome } from '../providers/provider.ts'
import { callProvider } from './call-provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type Attempt, handleOf } from './state/attempt.ts'
import { decide, type PaymentState } from './state/payment-state.ts'
import { assertNotRepeated, planRefund, type Refund, refundReference, refundView, tryAgain } from './state/refund.ts'
import { findAttempt, lockPaymentState } from './store/attempts.ts'
import { transactionsOf } from './store/receipts.ts'
import {
  claimDueRefunds,
  findRefundOfCall,
  insertRefund,
  leaseRefund,
  lockRefund,
  type NewRefund,
  postponeRefunds,
  type RefundLease,
  refundsOf,
  renewRefundLease,
  saveResolved,
  saveUnanswered,
} from './store/refunds.ts'
import { writeDecision } from './write-decision.ts'

export interface RefundRequest {
  amount?: number | undefined
  reason: string | null
  /** Chosen with the Idempotency-Key of the call, so that a repeat finds what it made. */
  callReference?: string | undefined
  /** The same amount of the same payment again within a minute is meant, or the call has a key of its own. */
  mayRepeat?: boolean
}

/**
 * Sends money back through the provider that took it. The refund is committed before the provider is asked. A repeated call finds the
 * first one's refund, and asks the provider only if it wins the lease: otherwise it answers with the refund as it stands.
 */
export async function refundPayment(
  deps: PaymentDependencies,
  actor: string,
  id: PaymentId,
  wanted: RefundRequest,
): Promise<Refund> {
  const { refund, lease } = await deps.database.transaction(async (tx) => {
    const before = await lockPaymentState(tx, id)
    const known = wanted.callReference && (await findRefundOfCall(tx, id, wanted.callReference))
    if (known) return { refund: known, lease: await leaseRefund(tx, known.id) }
    const earlier = await refundsOf(tx, id)
    if (!wanted.mayRepeat) assertNotRepeated(earlier, before, wanted.amount, deps.clock.now())
    const { attempt, amount } = planRefund(before, earlier, wanted.amount)
    const made = await promise(tx, deps, before, attempt, {
      amount,
      kind: 'merchant',
      counted: true,
      reason: wanted.reason,
      transactionIds: await transactionsOf(tx, attempt.id),
      callReference: wanted.callReference,
    })
    if (!made) throw new Error('a refund with a new id was there already')
    await recordAct(tx, { actor, act: 'refund.asked_for', merchantId: before.payment.merchantId, subject: made.id })
    return { refund: made, lease: await leaseRefund(tx, made.id) }
  })
  return lease ? carryOut(deps, refund, lease) : refund
}

/** Puts a refund on record, and what it takes off the attempt's money. */
async function promise(
  tx: Transaction,
  deps: PaymentDependencies,
  before: PaymentState,
  attempt: Attempt,
  wanted: Omit<NewRefund, 'id' | 'state' | 'attemptId'>,
): Promise<Refund | undefined> {
  const id = newId('refund', deps.clock.now())
  const made = await insertRefund(tx, { ...wanted, id, state: before, attemptId: attempt.id })
  if (made) await writeDecision(tx, deps, before, decide(withReturned(before, attempt.id, made.amount), []))
  return made
}

export function withReturned(state: PaymentState, attemptId: AttemptId, amount: number): PaymentState {
  return {
    ...state,
    attempts: state.attempts.map((attempt) =>
      attempt.id === attemptId ? { ...attempt, amountReturned: attempt.amountReturned + amount } : attempt,
    ),
  }
}

/** Of money that counts: the attempt and the payment show it. What went back beyond the payment was never part of it. */
export function withRefunded(state: PaymentState, { attemptId, amount, counted }: Refund): PaymentState {
  if (!counted) return state
  return {
    payment: { ...state.payment, amountRefunded: state.payment.amountRefunded + amount },
    attempts: state.attempts.map((attempt) =>
      attempt.id === attemptId ? { ...attempt, amountRefunded: attempt.amountRefunded + amount } : attempt,
    ),
  }
}

export async function sendDueRefunds(deps: PaymentDependencies, limit: number): Promise<number> {
  const { claimed, done } = await startDueRefunds(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** The same, without waiting for the providers' answers, and within the limits of each account. */
export async function startDueRefunds(
  deps: PaymentDependencies,
  limit: number,
  limits: AccountLimits,
): Promise<Started> {
  return startWithin(limits, await claimDueRefunds(deps.database, limit), {
    accountOf: ({ account }) => account,
    work: async ({ refund, lease }) => {
      await carryOut(deps, refund, lease).catch((err) =>
        deps.log.warn({ err, refundId: refund.id }, 'refund waits for another try'),
      )
    },
    postpone: (late) => postponeRefunds(deps.database, late),
  })
}

async function carryOut(deps: PaymentDependencies, refund: Refund, lease: RefundLease): Promise<Refund> {
  const attempt = await findAttempt(deps.database, refund.attemptId)
  if (!attempt) throw new Error(`attempt ${refund.attemptId} is gone`)
  const others = (await refundsOf(deps.database, refund.paymentId)).filter(({ id }) => id !== refund.id)
  const outcome = await underLease(deps, refund, lease, (isLeaseHeld) =>
    callProvider(deps, attempt, 'refund', (provider) =>
      provider.refund({
        reference: refundReference(refund.id),
        order: handleOf(attempt),
        transactionIds: refund.transactionIds,
        amount: money(refund.amount, refund.currency as Currency),
        reason: refund.reason,
        otherRefundIds: others.flatMap(({ providerRefundId }) => providerRefundId ?? []),
        recordedAt: refund.createdAt,
        isLeaseHeld,
      }),
    ),
  )
  return deps.database.transaction((tx) => conclude(tx, deps, refund, lease, outcome))
}

const RENEW_EVERY_MS = 20_000

/**
 * Renews the lease while the provider is asked. Some providers have no idempotency key: their adapter first looks for an earlier request in
 * several calls, each of which may be slow, and two processes that look at once would both find none and both ask.
 */
async function underLease<T>(
  { database, log }: PaymentDependencies,
  { id: refundId }: Refund,
  first: RefundLease,
  work: (isLeaseHeld: () => boolean) => Promise<T>,
): Promise<T> {
  let lease: RefundLease | undefined = first
  const renewing = setInterval(async () => {
    if (!lease) return
    try {
      lease = await renewRefundLease(database, refundId, lease)
      if (!lease) log.warn({ refundId }, 'lease of a refund lost')
    } catch (err) {
      log.warn({ err, refundId }, 'renewing the lease of a refund failed; trying again')
    }
  }, RENEW_EVERY_MS)
  try {
    return await work(() => lease !== undefined && performance.now() < lease.heldUntilMs)
  } finally {
    clearInterval(renewing)
  }
}

async function conclude(
  tx: Transaction,
  deps: PaymentDependencies,
  wanted: Refund,
  lease: RefundLease,
  outcome: RefundOutcome,
): Promise<Refund> {
  const state = await lockPaymentState(tx, wanted.paymentId)
  const refund = await lockRefund(tx, wanted.id)
  if (!refund) throw new Error(`refund ${wanted.id} is gone`)
  if (refund.status !== 'pending') return refund
  const now = deps.clock.now()
  switch (outcome.kind) {
    case 'refunded':
      return complete(tx, deps, state, { ...refund, providerRefundId: outcome.refundId })
    case 'refused': {
      const failed: Refund = {
        ...refund,
        ...{ status: 'failed', failure: outcome.because, needsReview: null, resolvedAt: now },
      }
      await saveResolved(tx, failed)
      await tell(tx, deps, state, failed, withReturned(state, failed.attemptId, -failed.amount))
      return failed
    }
    default: {
      const wasSent = !('neverSent' in outcome && outcome.neverSent)
      const tried = {
        ...refund,
        tries: refund.tries + (wasSent ? 1 : 0), // what never left is no try: it is made again soon
        providerRefundId: 'refundId' in outcome ? outcome.refundId : refund.providerRefundId,
      }
      const { refund: waiting, dueAt } = tryAgain(tried, now)
      const isSaved = await saveUnanswered(tx, waiting, lease, dueAt)
      if (!isSaved) return refund
      if (waiting.needsReview !== refund.needsReview) await tell(tx, deps, state, waiting, state)
      return waiting
    }
  }
}

async function complete(
  tx: Transaction,
  deps: PaymentDependencies,
  state: PaymentState,
  refund: Refund,
): Promise<Refund> {
  const done: Refund = {
    ...refund,
    ...{ status: 'successful', failure: null, needsReview: null },
    resolvedAt: deps.clock.now(),
  }
  await saveResolved(tx, done)
  await tell(tx, deps, state, done, withRefunded(state, done))
  return done
}

function tell(
  tx: Transaction,
  deps: PaymentDependencies,
  before: PaymentState,
  refund: Refund,
  after: PaymentState,
): Promise<void> {
  const type = { failed: 'refund.failed', successful: 'refund.successful', pending: 'refund.needs_review' } as const
  const changes = [
    { type: type[refund.status], attemptId: refund.attemptId, data: { refund: refundView(refund) } } as const,
  ]
  return writeDecision(tx, deps, before, decide(after, changes))
}
