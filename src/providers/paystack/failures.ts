import type { Failure, FailureCode } from '../provider.ts'
import type { PaystackError } from './wire.ts'

/** For customers, in our own words: the bank's are for people at banks. */
const MESSAGES = {
  insufficient_funds: 'There is not enough money on this card.',
  card_declined: 'The bank declined this card.',
  card_expired: 'This card has expired.',
  card_not_supported: 'This card does not allow this kind of payment.',
  incorrect_pin: 'The PIN was not right.',
  incorrect_otp: 'The code was not right.',
  authentication_failed: 'The bank could not confirm that it was you.',
  limit_exceeded: 'This is more than the card may be charged.',
  suspected_fraud: 'The bank declined this card.',
  invalid_token: 'This saved card can no longer be used.',
  transfer_expired: 'The account number was open no longer.',
  customer_cancelled: 'The payment was cancelled.',
  provider_unavailable: 'The bank could not be reached.',
  provider_error: 'The payment could not be started. Nothing was charged.',
  other: 'The payment did not go through.',
} satisfies Partial<Record<FailureCode, string>>

// There is no list of codes: the words in `gateway_response` are those of many banks. The first that fits counts.
const WORDS: [RegExp, keyof typeof MESSAGES][] = [
  [/insufficient|not sufficient/i, 'insufficient_funds'],
  [/card.*expired|expired.*card|^expired$/i, 'card_expired'],
  [/\bpin\b/i, 'incorrect_pin'],
  [/\botp\b/i, 'incorrect_otp'],
  [/token not generated|not registered|authenticat|3-?d ?secure|unable to verify/i, 'authentication_failed'],
  [/limit|exceeds/i, 'limit_exceeded'],
  [/fraud|stolen|lost card|pick-? ?up|blacklist/i, 'suspected_fraud'],
  [/not permitted|not supported|not allowed|not enabled/i, 'card_not_supported'],
  [/cancel/i, 'customer_cancelled'],
  [/inoperative|unavailable|time[d -]?out|system malfunction/i, 'provider_unavailable'],
  [/decline|honou?r|restricted|invalid card|no such card/i, 'card_declined'],
]

/** A charge that did not go through. Without a word that we know it is a card's decline, which is what nearly all of them are. */
export function declineOf(response: string | null, channel: 'card' | 'virtual-bank-account'): Failure {
  const words = response ?? ''
  const code = channel === 'card' ? cardCodeOf(words) : /expired/i.test(words) ? 'transfer_expired' : 'other'
  return failure(code, response === null || mayTellTooMuch(response) ? 'failed' : response)
}

const cardCodeOf = (words: string) => WORDS.find(([fitting]) => fitting.test(words))?.[1] ?? 'card_declined'

/** A request that was turned down: nothing was done. */
export function refusalOf({ code, type, message }: PaystackError, status: number, call: 'charge' | 'start'): Failure {
  // "Authorization code is invalid", "Email does not match Authorization code. …": it was never theirs, was given back, or is another's.
  const isForgotten = call === 'charge' && status === 400 && /authori[sz]ation[ _]code/i.test(message)
  // Their message is left out: some quote what we sent.
  return failure(isForgotten ? 'invalid_token' : 'provider_error', code ?? type ?? `http_${status}`)
}

export function failure(code: keyof typeof MESSAGES, providerCode: string): Failure {
  return { code, message: MESSAGES[code], providerCode }
}

/** An address, a long number, a key or a token has no place among codes. */
const mayTellTooMuch = (text: string) => /@|\d{6}|AUTH_|\S{20}/.test(text)
