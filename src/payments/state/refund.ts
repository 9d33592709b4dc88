import { type AttemptId, type PaymentId, type RefundId, uuidOf } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Attempt } from './attempt.ts'
import type { PaymentState } from './payment-state.ts'

/** Money that goes back, through the provider that took it. */
export interface Refund {
  id: RefundId
  paymentId: PaymentId
  attemptId: AttemptId
  amount: number
  currency: string
  kind: RefundKind
  /** Of money that counts towards the payment: not what came beyond it. */
  counted: boolean
  status: 'pending' | 'successful' | 'failed'
  reason: string | null
  failure: string | null
  providerRefundId: string | null
  transactionIds: string[]
  tries: number
  /** Why a person has to look at it; null when nobody has to. */
  needsReview: string | null
  createdAt: Date
  resolvedAt: Date | null
}

/** By the merchant; by ourselves, for money beyond the payment; on the provider's side; or by the customer's bank. */
export type RefundKind = 'merchant' | 'surplus' | 'provider' | 'chargeback'

/** What each attempt with money of this payment has left to refund, pending refunds taken off. */
function refundable({ payment, attempts }: PaymentState, refunds: Refund[]): { attempt: Attempt; left: number }[] {
  const winner = attempts.find(({ status }) => status === 'successful')
  return (winner ? [winner] : attempts.filter(isCountable)).map((attempt) => {
    const promised = refunds
      .filter(({ attemptId, counted, status }) => attemptId === attempt.id && counted && status !== 'failed')
      .reduce((sum, refund) => sum + refund.amount, 0)
    const unpromised = (winner ? payment.amountPaid : attempt.amountReceived - attempt.amountReversed) - promised
    // What went back at the provider beyond the payment is not there either.
    return { attempt, left: Math.min(unpromised, attempt.amountReceived - attempt.amountReturned) }
  })
}

function isCountable({ amountReceived, amountReversed }: Attempt): boolean {
  return amountReceived > amountReversed
}

/** The reference that the provider is given: the same on every try, and in its list of refunds where it repeats it. */
export function refundReference(id: RefundId): string {
  return uuidOf(id).replaceAll('-', '')
}

/**
 * Which attempt's money to send back, and how much: never more than came in through it, pending refunds included. A payment that ended
 * unpaid may have parts on several attempts; each is sent back by a refund of its own.
 */
export function planRefund(
  { payment, attempts }: PaymentState,
  refunds: Refund[],
  wanted: number | undefined,
): { attempt: Attempt; amount: number } {
  if (payment.status === 'pending') {
    throw new Problem(
      'payment_not_completed',
      `Payment ${payment.reference} is still open: there is nothing to refund yet. Cancel it first.`,
    )
  }
  if (refunds.filter(({ kind }) => kind === 'merchant').length >= MAX_REFUNDS) {
    throw new Problem('too_many_refunds', `This payment has had ${MAX_REFUNDS} refunds; it takes no more.`)
  }
  const held = refundable({ payment, attempts }, refunds)
  const most = Math.max(0, ...held.map(({ left }) => left))
  const amount = wanted ?? most
  const source = held.findLast(({ left }) => left >= amount)
  if (!source || amount < 1) {
    const total = held.reduce((sum, { left }) => sum + left, 0)
    const inParts = total > most ? ` It came in parts: ${most} at most can go back at once.` : ''
    throw new Problem(
      'refund_exceeds_payment',
      `${total} of ${payment.amountPaid} ${payment.currency} (in the lowest denomination) can still be refunded.${inParts}`,
      { extra: { refundable: most } },
    )
  }
  return { attempt: source.attempt, amount }
}

/** Of one payment, by the merchant. Each is a member of every answer and webhook about the payment. */
const MAX_REFUNDS = 50
const REPEATED_WITHIN_MS = 60_000

/**
 * A second call without a key is more often a repeated click than a second refund. The same amount again, or all of it again when nothing is
 * left, is refused with the first one. A failed refund may be repeated.
 */
export function assertNotRepeated(refunds: Refund[], state: PaymentState, wanted: number | undefined, now: Date): void {
  const recent = refunds.filter(
    ({ kind, status, createdAt }) =>
      kind === 'merchant' && status !== 'failed' && now.getTime() - createdAt.getTime() < REPEATED_WITHIN_MS,
  )
  const repeated =
    wanted === undefined
      ? refundable(state, refunds).every(({ left }) => left === 0) && recent.at(-1)
      : recent.findLast(({ amount }) => amount === wanted)
  if (!repeated) return
  throw new Problem(
    'duplicate_refund',
    `A refund of ${repeated.amount} ${repeated.currency} of this payment was made less than a minute ago. To make a second one on purpose, send "allowDuplicate": true or an Idempotency-Key of its own.`,
    { extra: { existing: refundView(repeated) } },
  )
}

export function refundView(refund: Refund) {
  const { id, paymentId: payment, amount, currency, kind, status, reason, failure, needsReview } = refund
  return {
    id,
    payment,
    amount,
    currency,
    kind,
    status,
    reason,
    failure,
    needsReview,
    createdAt: refund.createdAt.toISOString(),
    resolvedAt: refund.resolvedAt?.toISOString() ?? null,
  }
}

const SECOND = 1_000
const DAY = 86_400 * SECOND
const RETRY_AFTER = [10 * SECOND, 60 * SECOND, 600 * SECOND, 3_600 * SECOND, 21_600 * SECOND]

/** When to ask the provider again about a refund that it has not answered, after so many tries. */
export function nextRefundTry(tries: number, now: Date): Date {
  return new Date(now.getTime() + (RETRY_AFTER[Math.min(Math.max(tries, 1), RETRY_AFTER.length) - 1] as number))
}

const FINISHES_WITHIN_MS = 3 * DAY

/**
 * A refund after one more try that did not finish it, and when to try again. After three days a person has to look; from then on the provider
 * is asked once a day.
 */
export function tryAgain(refund: Refund, now: Date): { refund: Refund; dueAt: Date } {
  if (now.getTime() - refund.createdAt.getTime() < FINISHES_WITHIN_MS)
    return { refund, dueAt: nextRefundTry(refund.tries, now) }
  const needsReview = refund.needsReview ?? 'refund_unfinished: the provider has not finished it within 3 days.'
  return { refund: { ...refund, needsReview }, dueAt: new Date(now.getTime() + DAY) }
}
