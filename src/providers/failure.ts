import type { Failure, FailureCode } from './provider.ts'

/** For merchants, in the API and webhooks. The payment page has texts of its own, in each language. */
const MESSAGES: Record<FailureCode, string> = {
  insufficient_funds: 'There is not enough money on this card or account.',
  card_declined: 'The bank declined this card.',
  card_expired: 'This card has expired.',
  card_not_supported: 'This card cannot be used for this payment.',
  incorrect_pin: 'The PIN was not right.',
  incorrect_otp: 'The code was not right.',
  authentication_failed: 'The bank could not confirm that it was the cardholder.',
  limit_exceeded: 'The amount is above a limit of the card or account.',
  suspected_fraud: 'The bank declined this card.',
  invalid_token: 'This saved card can no longer be used.',
  reversed: 'The payment was reversed. The money goes back to the customer.',
  amount_mismatch: 'The amount or currency that was paid is not the one that was due. A person must review it.',
  transfer_expired: 'The account number expired before a transfer arrived.',
  prompt_expired: 'The request on the phone was not approved in time.',
  subscriber_unknown: 'This phone number has no mobile money account.',
  customer_cancelled: 'The customer cancelled, or left the page before paying.',
  provider_unavailable: 'The provider or the bank could not be reached. Nothing was charged.',
  provider_error: 'The provider rejected the request. Nothing was charged.',
  other: 'The payment did not go through.',
}

export function failureMessage(code: FailureCode): string {
  return MESSAGES[code]
}

export function failureOf(code: FailureCode, providerCode: string | null): Failure {
  return { code, message: MESSAGES[code], providerCode }
}
