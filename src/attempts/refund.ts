import type { AttemptId, PaymentId, RefundId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import type { Attempt } from './attempt.ts'
import type { Book } from './book.ts'

/** Money that goes back, through the provider that took it. */
export interface Refund {
  id: RefundId
  paymentId: PaymentId
  attemptId: AttemptId
  amount: number
  currency: string
  kind: RefundKind
  status: 'pending' | 'successful' | 'failed'
  reason: string | null
  failure: string | null
  providerRefundId: string | null
  transactionIds: string[]
  tries: number
  createdAt: Date
  resolvedAt: Date | null
}

/** By the merchant; by ourselves, for money beyond the payment; on the provider's side; or by the customer's bank. */
export type RefundKind = 'merchant' | 'surplus' | 'provider' | 'chargeback'

/** Which attempt's money to send back, and how much; never more than came in, pending refunds included. */
export function planRefund(
  book: Book,
  refunds: Refund[],
  wanted: number | undefined,
): { attempt: Attempt; amount: number } {
  const { payment } = book
  if (payment.status === 'pending') {
    throw new Problem(
      'payment_not_completed',
      `Payment ${payment.reference} is still open: there is nothing to refund yet. Cancel it first.`,
    )
  }
  const attempt =
    book.attempts.find(({ status }) => status === 'successful') ??
    book.attempts.findLast(({ amountReceived }) => amountReceived > 0)
  const promised = refunds
    .filter(({ kind, status }) => kind !== 'surplus' && status !== 'failed')
    .reduce((sum, refund) => sum + refund.amount, 0)
  const left = payment.amountPaid - promised
  const amount = wanted ?? left
  if (!attempt || amount > left || amount < 1) {
    throw new Problem(
      'refund_exceeds_payment',
      `${Math.max(0, left)} of ${payment.amountPaid} ${payment.currency} (in the lowest denomination) can still be refunded.`,
      { extra: { refundable: Math.max(0, left) } },
    )
  }
  return { attempt, amount }
}

export function refundView(refund: Refund) {
  const { id, amount, currency, kind, status, reason, failure } = refund
  return {
    id,
    amount,
    currency,
    kind,
    status,
    reason,
    failure,
    createdAt: refund.createdAt.toISOString(),
    resolvedAt: refund.resolvedAt?.toISOString() ?? null,
  }
}

const SECOND = 1_000
const RETRY_AFTER = [10 * SECOND, 60 * SECOND, 600 * SECOND, 3_600 * SECOND, 21_600 * SECOND]

/** When to ask the provider again about a refund that it has not answered, after so many tries. */
export function nextRefundTry(tries: number, now: Date): Date {
  return new Date(now.getTime() + (RETRY_AFTER[Math.min(tries, RETRY_AFTER.length) - 1] as number))
}
