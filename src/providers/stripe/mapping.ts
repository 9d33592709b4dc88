import type { Mode } from '../../kernel/mode.ts'
import { money } from '../../kernel/money.ts'
import { failureOf } from '../failure.ts'
import {
  type Declined,
  type Failure,
  type FailureCode,
  type Order,
  type Outcome,
  type Receipt,
  type RefundOrder,
  type RefundOutcome,
  type SavedCardCharge,
  unknown,
} from '../provider.ts'
import type { StripeError, StripeFailure, StripeIntent, StripeRefund, StripeSession } from './wire.ts'

/** Translates the provider's answers into ours. Pure; README.md has the tables. */
export function outcomeOfSession({ status, paymentStatus, intent }: StripeSession): Outcome {
  if (typeof intent === 'string') return unknown('it did not say how the money stands')
  if (!intent) return outcomeWithoutIntent(status, paymentStatus)
  // Money is with the intent, so that has the last word. The session knows whether the page is still open.
  const outcome = outcomeOfIntent(intent)
  if (paymentStatus === 'paid' && outcome.kind !== 'paid') return unknown('it says paid, and names no money')
  switch (status) {
    case 'open':
      return outcome
    case 'complete':
      return outcome.kind === 'pending' ? { kind: 'processing' } : outcome
    case 'expired':
      // After a failed try the reason is that failure, else that the session expired.
      return outcome.kind === 'pending' || (outcome.kind === 'declined' && !intent.lastError) ? closed() : outcome
    default:
      return outcome.kind === 'paid' ? outcome : unknown('a status of a session that is new to us')
  }
}

/** Before the first try to pay. */
function outcomeWithoutIntent(status: string, paymentStatus: string): Outcome {
  if (paymentStatus !== 'unpaid') return unknown('it says paid, and names no money')
  if (status === 'open') return { kind: 'pending', receipts: [] }
  return status === 'expired' ? closed() : unknown('it says complete, and names no payment')
}

/** The page takes no card any more, and none was charged. */
function closed(): Declined {
  return { kind: 'declined', failure: failureOf('customer_cancelled', 'expired'), tryId: null }
}

export function outcomeOfIntent(intent: StripeIntent): Outcome {
  const { status, received, lastError, cancellationReason } = intent
  if (status !== 'succeeded' && received > 0) return unknown('it names money, and does not say succeeded')
  switch (status) {
    case 'succeeded':
      return received > 0 ? paid(intent) : unknown('it says succeeded, and names no money')
    case 'processing':
    case 'requires_capture': // authorized, not captured: the capture mode was changed in the dashboard
      return { kind: 'processing' }
    case 'requires_action':
    case 'requires_confirmation':
      return { kind: 'pending', receipts: [] }
    case 'requires_payment_method':
      return lastError ? declined(lastError, intent) : { kind: 'pending', receipts: [] }
    case 'canceled':
      return lastError ? declined(lastError, intent) : cancelled(cancellationReason)
    default:
      return unknown('a status of an intent that is new to us')
  }
}

/** The one intent that is paid, once, is the transaction; a charge of it is one try. */
function paid(intent: StripeIntent): Outcome {
  const { id, received, currency, createdAt, charge, savedCard } = intent
  const returned = Math.min(received, charge?.refunded ?? 0)
  const receipt: Receipt = {
    transactionId: id,
    idIsProviders: true,
    amount: money(received, currency),
    at: charge?.at ?? createdAt,
    ...(returned > 0 && { returned }),
  }
  return { kind: 'paid', receipts: [receipt], ...(savedCard && { savedCard }) }
}

function cancelled(reason: string | null): Declined {
  const code = reason === 'fraudulent' ? 'suspected_fraud' : 'customer_cancelled'
  return { kind: 'declined', failure: failureOf(code, reason ?? 'canceled'), tryId: null }
}

function declined(error: StripeFailure, intent: StripeIntent | null): Declined {
  return { kind: 'declined', failure: failureFrom(error), tryId: intent?.charge?.id ?? error.chargeId }
}

/** A saved card that was charged, or that waits for its owner. */
export function chargeOf(intent: StripeIntent): SavedCardCharge {
  const outcome = outcomeOfIntent(intent)
  if (outcome.kind !== 'pending' || intent.status !== 'requires_action') return outcome
  const { id, stepLink } = intent
  if (stepLink) return { kind: 'step', link: stepLink, providerReference: id }
  // It can be completed only by Stripe's script with the client secret, which we never expose.
  return { kind: 'declined', failure: failureOf('authentication_failed', 'use_stripe_sdk'), tryId: null }
}

/** A refusal of the request itself, or of the card: 402 leaves an intent behind, which must not have taken money. */
export function refusalOf(error: StripeError, order: Order, mode: Mode): SavedCardCharge {
  const { intent } = error
  if (intent === undefined) return unknown('it refused, with a payment that we cannot read')
  if (!intent) return declined(error, null)
  const wrong = mismatch(intent, order, mode)
  if (wrong) return unknown(wrong)
  switch (intent.status) {
    case 'requires_action':
      return chargeOf(intent)
    case 'requires_payment_method':
    case 'canceled':
      return declined(error, intent)
    default:
      return unknown('it refused, and its payment goes on')
  }
}

/** Why this is not an answer about this order; undefined when it is. */
export function mismatch(
  answer: Pick<StripeSession, 'reference' | 'currency' | 'amount' | 'livemode'>,
  order: Pick<Order, 'reference' | 'amount'>,
  mode: Mode,
): string | undefined {
  if (answer.reference !== order.reference) return 'it answered about another order'
  if (answer.currency !== order.amount.currency) return 'it answered with another currency'
  if (answer.amount !== order.amount.amount) return 'it answered with another amount'
  return otherMode(answer.livemode, mode)
}

export function otherMode(livemode: boolean, mode: Mode): string | undefined {
  return livemode === (mode === 'live') ? undefined : 'it answered from the other mode'
}

export function refundOutcomeOf(refund: StripeRefund, wanted: RefundOrder, intentId: string): RefundOutcome {
  if (refund.refundReference !== wanted.reference || refund.intentId !== intentId) {
    return unknown('it answered about another refund')
  }
  if (refund.currency !== wanted.amount.currency || refund.amount !== wanted.amount.amount) {
    return unknown('it answered with another amount')
  }
  switch (refund.status) {
    case 'succeeded':
      return { kind: 'refunded', refundId: refund.id }
    case 'failed':
    case 'canceled':
      return { kind: 'refused', because: `the refund is ${refund.status}` }
    case 'pending':
    case 'requires_action':
      return { kind: 'pending', refundId: refund.id }
    default:
      return unknown('a status of a refund that is new to us')
  }
}

/** docs.stripe.com/declines/codes and /error-codes. What is not here and is about a card is `card_declined`. */
const CODES: [FailureCode, string][] = [
  ['insufficient_funds', 'insufficient_funds'],
  ['card_expired', 'expired_card expired_payment_method'],
  [
    'limit_exceeded',
    'card_velocity_exceeded withdrawal_count_limit_exceeded amount_too_large card_decline_rate_limit_exceeded',
  ],
  ['incorrect_pin', 'incorrect_pin invalid_pin pin_try_exceeded offline_pin_required online_or_offline_pin_required'],
  [
    'authentication_failed',
    'authentication_required authentication_failure authentication_not_handled payment_intent_authentication_failure mobile_device_authentication_required',
  ],
  [
    'card_not_supported',
    'card_not_supported currency_not_supported transaction_not_allowed service_not_allowed payment_method_restricted',
  ],
  ['provider_error', 'capability_not_active'],
  [
    'suspected_fraud',
    'fraudulent lost_card stolen_card merchant_blacklist pickup_card restricted_card security_violation',
  ],
  ['provider_unavailable', 'processing_error issuer_not_available try_again_later reenter_transaction'],
]
const OURS = new Map(CODES.flatMap(([ours, theirs]) => theirs.split(' ').map((code) => [code, ours] as const)))

/** Messages for the customer. As Stripe requires, they do not say that a card was reported stolen. */
/** The more exact of their words is kept. */
export function failureFrom({ type, code, declineCode, param }: StripeFailure): Failure {
  const theirs = declineCode ?? code ?? type
  if (code === 'resource_missing' && (param === 'payment_method' || param === 'customer')) {
    return failureOf('invalid_token', theirs)
  }
  const known = OURS.get(declineCode ?? '') ?? OURS.get(code ?? '')
  return failureOf(known ?? (type === 'card_error' ? 'card_declined' : 'provider_error'), theirs)
}

/** What we ask for, in their words. Brackets make the nesting: `metadata[reference]=…`. */
type Form = Record<string, string | number | boolean>

export const encode = (form: Form) =>
  new URLSearchParams(Object.entries(form).map(([name, value]): [string, string] => [name, String(value)])).toString()

/** The same order always gives the same form: Stripe refuses an idempotency key that comes with another body. */
export function sessionFor(order: Order): Form {
  const { reference, amount, customer, merchantName, returnURL, saveCard } = order
  return {
    mode: 'payment',
    'line_items[0][quantity]': 1,
    'line_items[0][price_data][currency]': amount.currency.toLowerCase(),
    'line_items[0][price_data][unit_amount]': amount.amount,
    'line_items[0][price_data][product_data][name]': titleOf(merchantName),
    success_url: withSessionId(returnURL),
    cancel_url: returnURL,
    client_reference_id: reference,
    // One is not copied to the other, and notices come about both.
    'metadata[reference]': reference,
    'payment_intent_data[metadata][reference]': reference,
    customer_email: customer.email,
    'allowed_payment_method_types[]': 'card',
    // Else Stripe may offer the customer's own currency, at a rate of its own.
    'adaptive_pricing[enabled]': false,
    expires_at: endOf(order),
    ...(saveCard && { customer_creation: 'always', 'payment_intent_data[setup_future_usage]': 'off_session' }),
  }
}

/** The customer is there, on a page of ours: so no `off_session`, and a return URL for authentication. */
export function chargeFor(order: Order, card: { customer: string; paymentMethod: string }): Form {
  const { reference, amount, merchantName, returnURL } = order
  return {
    amount: amount.amount,
    currency: amount.currency.toLowerCase(),
    customer: card.customer,
    payment_method: card.paymentMethod,
    'allowed_payment_method_types[]': 'card',
    confirm: true,
    return_url: returnURL,
    description: titleOf(merchantName),
    'metadata[reference]': reference,
    'expand[]': 'latest_charge',
  }
}

export function refundFor({ reference, order, amount, reason }: RefundOrder, intentId: string): Form {
  return {
    payment_intent: intentId,
    amount: amount.amount,
    // By the first we find it again, by the second a notice finds the order.
    'metadata[refund]': reference,
    'metadata[reference]': order.reference,
    // Their own `reason` knows three words and counts one of them as fraud, so ours is a note. A note has 500
    // characters.
    ...(reason && { 'metadata[reason]': reason.slice(0, 500).toWellFormed() }),
  }
}

const MINUTE_MS = 60_000
const SHORTEST_MS = 35 * MINUTE_MS
const LONGEST_MS = (24 * 60 - 1) * MINUTE_MS

/**
 * Stripe allows 30 minutes to 24 hours from when it receives the call. The bounds are counted from `startedAt`, not
 * from now, so that a repeat sends the same time. The margins allow for clocks that differ and for a call that leaves
 * up to five minutes after the start.
 */
function endOf({ startedAt, expiresAt }: Order): number {
  const started = startedAt.getTime()
  const end = Math.min(Math.max(expiresAt.getTime(), started + SHORTEST_MS), started + LONGEST_MS)
  return Math.floor(end / 1000)
}

/** The customer reads this on their page and perhaps on a receipt. */
const titleOf = (merchantName: string) =>
  merchantName ? `Payment to ${merchantName.slice(0, 200).toWellFormed()}` : 'Payment'

/** Stripe replaces the placeholder by the session id. It is for logs only; checks use the stored reference. */
function withSessionId(returnURL: string): string {
  const [address = '', ...fragment] = returnURL.split('#')
  const joined = `${address}${address.includes('?') ? '&' : '?'}session_id={CHECKOUT_SESSION_ID}`
  return [joined, ...fragment].join('#')
}
