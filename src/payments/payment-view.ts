import { maskPhoneNumber } from '../kernel/phone-number.ts'
import type { Links } from './links.ts'
import { type Attempt, isRetryable } from './state/attempt.ts'
import { type Case, needsReviewOf } from './state/case.ts'
import type { PaymentState } from './state/payment-state.ts'
import { type Refund, refundView } from './state/refund.ts'

/** A payment as merchants see it, in API answers and in webhooks. */
export function viewOf({ payment, attempts, cases }: PaymentState, refunds: Refund[], links: Links) {
  const { id, reference, mode, status, late, amount, currency, country, customerBearsCharge, user } = payment
  const paidWith = attempts.find((attempt) => attempt.status === 'successful')
  return {
    id,
    reference,
    mode,
    status,
    late,
    amount,
    currency,
    country,
    customerBearsCharge,
    fee: paidWith?.fee ?? null,
    feeCharged: paidWith?.feeCharged ?? null,
    amountCharged: paidWith?.amountCharged ?? null,
    amountPaid: payment.amountPaid,
    amountRefunded: payment.amountRefunded,
    user,
    redirectURL: payment.redirectURL,
    webhook: payment.webhook,
    metadata: payment.metadata,
    link: payment.link,
    url: links.payment(id),
    shortURL: links.short(payment.shortCode),
    attempts: attempts.map((attempt) => attemptView(attempt, cases)),
    refunds: refunds.map(refundView),
    createdAt: payment.createdAt.toISOString(),
    expiresAt: payment.expiresAt.toISOString(),
    completedAt: payment.completedAt?.toISOString() ?? null,
  }
}

export type PaymentView = ReturnType<typeof viewOf>

export function attemptView(attempt: Attempt, cases: Case[]) {
  const { id, reference, number, provider, channel, status, amountCharged, fee, failure, providerReference } = attempt
  return {
    id,
    reference,
    number,
    provider,
    channel,
    status,
    amountCharged,
    fee,
    feeCharged: attempt.feeCharged,
    amountReceived: attempt.amountReceived,
    failure: failure && {
      code: failure.code,
      message: failure.message,
      retryable: isRetryable(failure),
      providerCode: failure.providerCode,
    },
    needsReview: needsReviewOf(cases, id),
    providerReference,
    paidFrom: paidFrom(attempt),
    instructions: instructionsView(attempt),
    createdAt: attempt.createdAt.toISOString(),
    resolvedAt: attempt.resolvedAt?.toISOString() ?? null,
  }
}

function instructionsView({ instructions, instructionsExpireAt }: Attempt) {
  if (!instructions) return null
  // The saved card is internal to the checkout page, `paidOnce` to the check schedule, `personalId` to the adapter.
  const none = { savedCard: undefined, paidOnce: undefined, personalId: undefined }
  const { kind, savedCard, paidOnce, personalId, ...details } = { ...none, ...instructions }
  return { ...details, expiresAt: instructionsExpireAt?.toISOString() ?? null }
}

/** What the customer gave for the channel, as it may be shown. */
function paidFrom({ input }: Attempt) {
  if (!input) return null
  const { phoneNumber, network = null, bank = null } = input
  return { phoneNumber: phoneNumber ? maskPhoneNumber(phoneNumber) : null, network, bank }
}
