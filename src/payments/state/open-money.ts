import type { AttemptId, RefundId } from '../../kernel/ids.ts'
import type { Attempt } from './attempt.ts'
import type { PaymentState } from './payment-state.ts'
import type { Refund } from './refund.ts'
import { beyondDue } from './reversed-money.ts'

/**
 * Money that does not add up, for the list of the dashboard.
 *
 * - unmatched: a receipt that belongs to no known attempt
 * - underpaid: an attempt holds less than was due, and its payment is not paid
 * - overpaid: the attempt that paid the payment holds more than was due
 * - surplus: another attempt of a paid payment holds money, because its refund failed or a person must decide first
 * - late: a payment that was paid after it had ended
 */
export type MoneyKind = 'unmatched' | 'underpaid' | 'overpaid' | 'surplus' | 'late'

/** What a person did. `reviewed`: with a payment that needed a review. */
export type ReviewAct = 'matched' | 'returned' | 'returned_by_hand' | 'noted' | 'reviewed'

export interface Review {
  kind: MoneyKind | 'payment'
  act: ReviewAct
  attemptId: AttemptId | null
  amount: number
  /** What the attempt had received: more money opens it again. */
  received: number | null
  refundId: RefundId | null
}

export interface OpenMoney {
  kind: Exclude<MoneyKind, 'unmatched'>
  amount: number
  attempt: Attempt
}

/** The money of an attempt that is not handled yet. Undefined if there is none. */
export function openMoneyOf(state: PaymentState, attempt: Attempt, reviews: Review[]): OpenMoney | undefined {
  const { payment } = state
  const own = reviews.filter(({ attemptId }) => attemptId === attempt.id)
  const isPaid = attempt.status === 'successful'
  const amount = beyondDue(state, attempt)
  const isNoted = own.some(({ act, received }) => act === 'noted' && received === attempt.amountReceived)
  if (amount === 0 || isNoted) return undefined
  const kind = isPaid ? 'overpaid' : payment.status === 'successful' ? 'surplus' : 'underpaid'
  return { kind, amount, attempt }
}

/** The money of a late payment, until a member returns or accepts it. */
export function lateMoneyOf(
  { payment, attempts }: PaymentState,
  reviews: Review[],
  refunds: Refund[],
): OpenMoney | undefined {
  const attempt = attempts.find(({ status }) => status === 'successful')
  if (!payment.late || !attempt) return undefined
  const isDone = reviews
    .filter(({ kind }) => kind === 'late')
    .some(({ refundId }) => refunds.find(({ id }) => id === refundId)?.status !== 'failed')
  const returning = refunds
    .filter(({ counted, status }) => counted && status !== 'failed')
    .reduce((sum, refund) => sum + refund.amount, 0)
  const amount = payment.amountPaid - returning
  return isDone || amount <= 0 ? undefined : { kind: 'late', amount, attempt }
}

/**
 * The refunds that people decided: they asked for them, or named the bank account that they go to. Automatic refunds of
 * surplus and those of the provider are not among them.
 */
export function refundsByPeople(refunds: Refund[], reviews: Pick<Review, 'act' | 'refundId'>[]): Refund[] {
  const returned = new Set(reviews.filter(({ act }) => act === 'returned').map(({ refundId }) => refundId))
  return refunds.filter(({ id, kind, hasAccount }) => kind === 'merchant' || hasAccount || returned.has(id))
}

export function returnedByHand(reviews: Pick<Review, 'act' | 'amount'>[]): number {
  return reviews.filter(({ act }) => act === 'returned_by_hand').reduce((sum, { amount }) => sum + amount, 0)
}

/**
 * The part of open money that goes back at once: whether it counts as refunded of the payment, and how much it is.
 */
export function splitReversal(
  { payment }: PaymentState,
  { kind, amount, attempt }: OpenMoney,
  refunds: Refund[],
): { counted: boolean; amount: number } {
  if (kind === 'surplus') return { counted: false, amount }
  if (kind !== 'overpaid') return { counted: true, amount }
  // The excess may be surplus whose refund failed. It never counted towards the payment.
  const gone = refunds
    .filter(({ attemptId, counted, status }) => attemptId === attempt.id && !counted && status !== 'failed')
    .reduce((sum, refund) => sum + refund.amount, 0)
  const uncounted = attempt.amountReceived - payment.amountPaid - gone
  return uncounted > 0 ? { counted: false, amount: Math.min(amount, uncounted) } : { counted: true, amount }
}
