import type { Declined, Failure, FailureCode } from '../provider.ts'

/** They have no codes, only sentences of banks and processors. These are the ones that tell something; the first that fits counts. */
const REASONS: [RegExp, FailureCode][] = [
  [/insufficient|not enough (funds|balance)|low balance/i, 'insufficient_funds'],
  [/expired card|card (has |is )?expired|expir(y|ation) date/i, 'card_expired'],
  [/(incorrect|invalid|wrong) pin|pin (is )?(incorrect|invalid|wrong)|pin tries/i, 'incorrect_pin'],
  [/(incorrect|invalid|wrong|expired) otp|otp (is |has )?(incorrect|invalid|wrong|expired)/i, 'incorrect_otp'],
  [/fraud|blacklist|stolen|lost card/i, 'suspected_fraud'],
  [/limit/i, 'limit_exceeded'],
  [/authenticat|3-?d ?s|avs|address verification|vbv|secure ?code/i, 'authentication_failed'],
  [/not permitted|not allowed|not supported|unsupported|restricted/i, 'card_not_supported'],
  [/inoperative|unavailable|time(d)? ?out|system (error|malfunction)/i, 'provider_unavailable'],
  [/cancel/i, 'customer_cancelled'],
  [/honou?r|declin|invalid (transaction|card)|pick ?up/i, 'card_declined'],
]

const MESSAGES: Partial<Record<FailureCode, string>> = {
  insufficient_funds: 'There is not enough money on this card or account.',
  card_expired: 'This card has expired. Use another one.',
  incorrect_pin: 'The PIN was not right.',
  incorrect_otp: 'The code was not right, or came too late.',
  suspected_fraud: 'The bank did not allow this payment. Use another card, or ask your bank.',
  limit_exceeded: 'This is more than the limit of this card or account.',
  authentication_failed: 'The bank could not confirm that it is you.',
  card_not_supported: 'This card cannot be used here. Use another one.',
  provider_unavailable: 'The bank cannot be reached right now. Try again in a moment.',
  customer_cancelled: 'The payment was cancelled.',
  card_declined: 'The bank declined this payment. Use another card, or ask your bank.',
  invalid_token: 'This saved card cannot be used any more. Use another one.',
  provider_error: 'The payment could not be started. Nothing was charged.',
}

/** A try that took no money. */
export function failedTry(tryId: string, reason: string | null, isCancelled: boolean): Declined {
  const code = (isCancelled && 'customer_cancelled') || codeOf(reason) || 'other'
  return { kind: 'declined', failure: failureOf(code, reason ?? (isCancelled ? 'cancelled' : 'failed')), tryId }
}

/** A refusal of the request itself: they have done nothing. */
export function refused(status: number, message: string | null): Declined {
  // Whoever refuses our key has not looked at the card, whatever they call the key: a card is forgotten for what is said of the card alone.
  const isOfKey = status === 401 || status === 403
  const isForgotten = !isOfKey && isForgottenToken(message)
  const code = isForgotten ? 'invalid_token' : (status === 400 && codeOf(message)) || 'provider_error'
  const failure = failureOf(code, message ?? `HTTP ${status}`)
  return { kind: 'declined', failure, tryId: null, ...(isOfKey && { keysRefused: true }) }
}

/** Of an order whose reference they have seen before, so that an earlier try of ours may live. */
export function isDuplicate(message: string | null): boolean {
  return /already exist|duplicate/i.test(message ?? '')
}

export function isNotFound(message: string | null): boolean {
  return /no transaction was found|transaction not found/i.test(message ?? '')
}

/** The list of refunds or chargebacks is empty, said as an error. */
export function isNone(message: string | null): boolean {
  return (
    isNotFound(message) || /no (refund|chargeback)|(refund|chargeback)s? (was |were )?not found/i.test(message ?? '')
  )
}

// Processors call a one-time code a token, too ("Token Not Generated. Customer Not Registered on Token Platform"): that is no saved card.
function isForgottenToken(message: string | null): boolean {
  const text = message ?? ''
  return (
    /token/i.test(text) && /invalid|wrong|expired|not found|not exist|no card/i.test(text) && !/generat/i.test(text)
  )
}

const codeOf = (reason: string | null) => REASONS.find(([pattern]) => pattern.test(reason ?? ''))?.[1]

/** Their sentence is the only code there is, so it is kept; but for what may be somebody's number or address in it, a key or a token. */
function failureOf(code: FailureCode, reason: string): Failure {
  const providerCode = reason
    .replaceAll(/\S*@\S*|flw-\S*|(?=\S{10})\S*\d\S*|\S{20,}|[\d*]{4,}/gi, '…')
    .slice(0, 120)
    .toWellFormed()
  return { code, message: MESSAGES[code] ?? 'The payment did not go through.', providerCode }
}
