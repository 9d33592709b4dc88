import type { Failure, FailureCode } from '../provider.ts'
import type { StripeFailure } from './wire.ts'

/** docs.stripe.com/declines/codes and /error-codes. What is not here and is about a card is `card_declined`. */
const CODES: [FailureCode, string][] = [
  ['insufficient_funds', 'insufficient_funds'],
  ['card_expired', 'expired_card'],
  ['limit_exceeded', 'card_velocity_exceeded withdrawal_count_limit_exceeded amount_too_large'],
  ['incorrect_pin', 'incorrect_pin invalid_pin pin_try_exceeded offline_pin_required online_or_offline_pin_required'],
  [
    'authentication_failed',
    'authentication_required authentication_not_handled payment_intent_authentication_failure mobile_device_authentication_required',
  ],
  ['card_not_supported', 'card_not_supported currency_not_supported transaction_not_allowed service_not_allowed'],
  [
    'suspected_fraud',
    'fraudulent lost_card stolen_card merchant_blacklist pickup_card restricted_card security_violation',
  ],
  ['provider_unavailable', 'processing_error issuer_not_available try_again_later reenter_transaction'],
]
const OURS = new Map(CODES.flatMap(([ours, theirs]) => theirs.split(' ').map((code) => [code, ours] as const)))

/** For the customer. Nobody is told that a card was reported stolen: Stripe asks for that, and so does good sense. */
const MESSAGES: Partial<Record<FailureCode, string>> = {
  insufficient_funds: 'There is not enough money on this card.',
  card_expired: 'This card has expired.',
  limit_exceeded: 'This is above a limit of the card.',
  incorrect_pin: 'The PIN was not right.',
  authentication_failed: 'The bank could not confirm that it was you.',
  card_not_supported: 'This card cannot be used for this payment.',
  suspected_fraud: 'The card was declined. Try another one.',
  provider_unavailable: 'The bank did not answer. Try again in a moment.',
  invalid_token: 'This card is not there any more. Use another one.',
  customer_cancelled: 'The payment page was closed before anything was paid.',
  provider_error: 'The payment could not be started. Nothing was charged.',
  card_declined: 'The card was declined. Try another one.',
}

export function failure(code: FailureCode, providerCode: string): Failure {
  return { code, message: MESSAGES[code] ?? 'The payment did not go through.', providerCode }
}

/** The more exact of their words is kept. */
export function failureOf({ type, code, declineCode, param }: StripeFailure): Failure {
  const theirs = declineCode ?? code ?? type
  if (code === 'resource_missing' && (param === 'payment_method' || param === 'customer')) {
    return failure('invalid_token', theirs)
  }
  const known = OURS.get(declineCode ?? '') ?? OURS.get(code ?? '')
  return failure(known ?? (type === 'card_error' ? 'card_declined' : 'provider_error'), theirs)
}
