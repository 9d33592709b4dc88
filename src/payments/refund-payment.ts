import type { Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import { type AttemptId, newId, type PaymentId } from '../kernel/ids.ts'
import { type Currency, type Money, money } from '../kernel/money.ts'
import { Problem } from '../kernel/problem.ts'
import { type AccountLimits, NO_LIMITS, type Started, startWithin } from '../outbound/account-limits.ts'
import type { BankAccount, Capabilities, RefundOutcome } from '../providers/provider.ts'
import { callProvider } from './call-provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type Attempt, handleOf } from './state/attempt.ts'
import { type Review, returnedByHand } from './state/open-money.ts'
import { decide, type PaymentState } from './state/payment-state.ts'
import {
  assertAccountFits,
  assertNotRepeated,
  planRefund,
  type Refund,
  refundReference,
  refundView,
  reviewAfter,
  tryAgain,
} from './state/refund.ts'
import { findAttempt } from './store/attempts.ts'
import { findStateByOrder, lockPaymentState } from './store/payment-states.ts'
import { isOrderOfAnother } from './store/provider-audit.ts'
import { matchedReceipts, transactionsOf } from './store/receipts.ts'
import {
  claimDueRefunds,
  findRefundAccount,
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
  sealAccount,
} from './store/refunds.ts'
import { reviewsOf } from './store/reviews.ts'
import { writeDecision } from './write-decision.ts'

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
 * Creates a refund and sends it to the provider that received the money. The refund is committed before the provider is called. A
 * repeated call finds the first refund and calls the provider only if it wins the lease; otherwise it returns the refund as it is.
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
    const reviews = await reviewsOf(tx, id)
    const { attempt, amount } = planRefund(before, earlier, wanted.amount)
    wanted.limit?.(money(amount + returnedBefore(earlier, reviews), before.payment.currency))
    assertAccountFits(capabilitiesOf(deps, attempt), attempt, wanted.account)
    const made = await insertPending(tx, deps, before, attempt, {
      amount,
      kind: 'merchant',
      counted: true,
      reason: wanted.reason,
      transactionIds: await transactionsOf(tx, attempt.id),
      callReference: wanted.callReference,
      account: wanted.account,
    })
    if (!made) throw new Error('inserting a refund with a new id failed')
    await recordAct(tx, { actor, act: 'refund.asked_for', merchantId: before.payment.merchantId, subject: made.id })
    return { refund: made, lease: await leaseRefund(tx, made.id) }
  })
  return lease ? sendRefund(deps, refund, lease) : refund
}

export function capabilitiesOf(
  { providers }: PaymentDependencies,
  { provider }: Pick<Attempt, 'provider'>,
): Capabilities {
  const capabilities = providers.find(provider)?.capabilities
  if (!capabilities) throw new Problem('conflict', `The provider ${provider} is not known any more.`)
  return capabilities
}

/** What people have returned of a payment, at the provider and by hand. */
export function returnedBefore(refunds: Refund[], reviews: Review[]): number {
  return refunds
    .filter(({ kind, status }) => kind === 'merchant' && status !== 'failed')
    .reduce((sum, refund) => sum + refund.amount, returnedByHand(reviews))
}

/** Inserts a refund and reserves its amount on the attempt. */
export async function insertPending(
  tx: Transaction,
  deps: PaymentDependencies,
  before: PaymentState,
  attempt: Pick<Attempt, 'id' | 'place'>,
  { account, ...wanted }: Omit<NewRefund, 'id' | 'state' | 'attemptId'> & { account?: BankAccount | undefined },
): Promise<Refund | undefined> {
  const id = newId('refund', deps.clock.now(), attempt.place)
  const sealedAccount = account && sealAccount(deps.secrets, id, account)
  const made = await insertRefund(tx, { ...wanted, id, state: before, attemptId: attempt.id, sealedAccount })
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

/** Adds a counted refund to the totals of attempt and payment. Refunds of surplus money never count. */
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

/** Starts the work without waiting for the answers, within the rate limits of each provider account. */
export async function startDueRefunds(
  deps: PaymentDependencies,
  limit: number,
  limits: AccountLimits,
): Promise<Started> {
  return startWithin(limits, await claimDueRefunds(deps.database, limit), {
    accountOf: ({ account }) => account,
    work: async ({ refund, lease }) => {
      await sendRefund(deps, refund, lease).catch((err) =>
        deps.log.warn({ err, refundId: refund.id }, 'sending a refund failed; retrying'),
      )
    },
    postpone: (late) => postponeRefunds(deps.database, late),
  })
}

export async function sendRefund(deps: PaymentDependencies, refund: Refund, lease: RefundLease): Promise<Refund> {
  const attempt = await findAttempt(deps.database, refund.attemptId)
  if (!attempt) throw new Error(`attempt ${refund.attemptId} not found`)
  const others = (await refundsOf(deps.database, refund.paymentId)).filter(({ id }) => id !== refund.id)
  const known = await findRefundAccount(deps.database, deps.secrets, refund.id)
  const matched = await matchedReceipts(deps.database, attempt.id, refund.transactionIds)
  const isOnRecord = async (reference: string) =>
    (await findStateByOrder(deps.database, attempt, attempt, reference)) !== undefined ||
    isOrderOfAnother(deps.database, attempt, reference)
  const outcome = await underLease(deps, refund, lease, (isLeaseHeld) =>
    callProvider(deps, attempt, 'refund', (provider) =>
      provider.refund({
        reference: refundReference(refund.id),
        order: handleOf(attempt),
        transactionIds: refund.transactionIds,
        amount: money(refund.amount, refund.currency as Currency),
        reason: refund.reason,
        account: known?.account,
        refundId: refund.providerRefundId ?? undefined,
        otherRefundIds: others.flatMap(({ providerRefundId }) => providerRefundId ?? []),
        recordedAt: refund.createdAt,
        matched: matched && { receipts: matched, isOnRecord },
        isLeaseHeld,
      }),
    ),
  )
  return deps.database.transaction((tx) =>
    recordOutcome(tx, deps, refund, { lease, outcome, sealed: known?.sealed ?? null }),
  )
}

const RENEW_EVERY_MS = 20_000

/**
 * Renews the lease while the provider is called. Some providers have no idempotency key: their adapter first searches for an earlier
 * request, in several calls. Without the lease, two processes could both find none and refund twice.
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

async function recordOutcome(
  tx: Transaction,
  deps: PaymentDependencies,
  wanted: Refund,
  { lease, outcome, sealed }: { lease: RefundLease; outcome: RefundOutcome; sealed: Buffer | null },
): Promise<Refund> {
  const state = await lockPaymentState(tx, wanted.paymentId)
  const refund = await lockRefund(tx, wanted.id)
  if (!refund) throw new Error(`refund ${wanted.id} not found`)
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
      await recordRefundEvent(tx, deps, state, failed, withReturned(state, failed.attemptId, -failed.amount))
      return failed
    }
    default: {
      const wasSent = !('neverSent' in outcome && outcome.neverSent)
      const tried = {
        ...refund,
        tries: refund.tries + (wasSent ? 1 : 0), // a request that was never sent is not a try, so the retry is soon
        providerRefundId: 'refundId' in outcome ? outcome.refundId : refund.providerRefundId,
        needsReview:
          outcome.kind === 'pending' ? reviewAfter(refund, outcome.needsAccount, sealed !== null) : refund.needsReview,
      }
      const { refund: waiting, dueAt } = tryAgain(tried, now)
      const isTaken = outcome.kind === 'pending'
      const isSaved = await saveUnanswered(tx, waiting, lease, { now, dueAt, sealed, isTaken })
      if (!isSaved) return refund
      if (waiting.needsReview !== null && waiting.needsReview !== refund.needsReview)
        await recordRefundEvent(tx, deps, state, waiting, state)
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
  await recordRefundEvent(tx, deps, state, done, withRefunded(state, done))
  return done
}

function recordRefundEvent(
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
