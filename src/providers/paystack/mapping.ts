import type { Channel } from '../../kernel/channel.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Money } from '../../kernel/money.ts'
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
  unknown,
} from '../provider.ts'
import { type PaystackError, type PaystackRefund, type PaystackTransaction, toHundredths } from './wire.ts'

/**
 * Translates the provider's answers into ours. Pure; README.md has the tables. `returned`: what the refunds and
 * disputes of a reversed transaction add up to; the transaction itself does not tell a part from the whole.
 */
export function outcomeOf(transaction: PaystackTransaction, channel: Channel, returned?: number): Outcome {
  switch (transaction.status) {
    case 'success':
      return paid(transaction)
    case 'reversed':
    case 'reversal-pending':
      // A transfer that was never taken has no such date.
      if (!transaction.paidAt) return unknown('it says reversed, and not when it was paid')
      return returned === undefined ? unknown('it says reversed, and not how much of it') : paid(transaction, returned)
    case 'failed':
    case 'timeout':
      return { kind: 'declined', failure: declineOf(transaction.response, channel), tryId: transaction.tries }
    case 'pending':
    case 'processing':
    case 'queued':
      return CHANNELS[channel].whilePending
    case 'abandoned': // also the status of a link that was not opened yet
    case 'ongoing':
    case 'pending_bank_transfer':
    case 'send_pin':
    case 'send_otp':
    case 'send_phone':
    case 'send_birthday':
    case 'send_address':
    case 'open_url':
    case 'pay_offline':
      return { kind: 'pending', receipts: [] }
    default:
      // Not pending: that would let the customer try another way, while this one may be taking money.
      return unknown('it says a status that is new to us')
  }
}

export const isReversed = ({ status }: PaystackTransaction) => status === 'reversed' || status === 'reversal-pending'

function paid(transaction: PaystackTransaction, returned?: number): Outcome {
  const { amount, at, card } = transaction
  if (amount.amount === 0) return unknown('it says paid, and names no money')
  if (!at) return unknown('it says paid, and not when')
  return { kind: 'paid', receipts: [receiptOf(transaction, at, returned)], ...(card && { savedCard: card }) }
}

export function receiptOf({ id: transactionId, amount, fee }: PaystackTransaction, at: Date, returned = 0): Receipt {
  const receipt = { transactionId, idIsProviders: true as const, amount, at }
  return { ...receipt, ...(returned > 0 && { returned }), ...(fee !== null && { fee }) }
}

/**
 * The answer to a charge has no `requested_amount`. When fees are passed on to the customer, `amount` contains them.
 */
export function withoutFees(transaction: PaystackTransaction, ordered: Money): PaystackTransaction {
  const { amount, feesInAmount } = transaction
  const isFeeOnTop =
    feesInAmount !== null &&
    amount.currency === ordered.currency &&
    toHundredths(amount) - feesInAmount === toHundredths(ordered)
  return isFeeOnTop ? { ...transaction, amount: ordered, fee: 0 } : transaction
}

const DOMAINS: Record<Mode, string> = { sandbox: 'test', live: 'live' }

/** One host, one set of paths for play money and real money: only this word tells them apart. */
export const isOfMode = ({ domain }: { domain: string }, mode: Mode) => domain === DOMAINS[mode]

/** Why this transaction is not an answer about this order; undefined when it is. */
export function mismatch(
  transaction: PaystackTransaction,
  mode: Mode,
  order: Pick<Order, 'reference' | 'amount'>,
): string | undefined {
  if (transaction.reference !== order.reference) return 'it answered about another order'
  if (!isOfMode(transaction, mode)) return 'it answered in another mode'
  if (transaction.amount.currency !== order.amount.currency) return 'it answered with another currency'
  if (transaction.amount.amount !== order.amount.amount) return 'it answered with another amount'
  return undefined
}

export function refundOutcomeOf(
  refund: PaystackRefund,
  mode: Mode,
  wanted: RefundOrder,
  transactionId: string,
): RefundOutcome {
  if (refund.transactionId !== transactionId) return unknown('it answered about another payment')
  if (!isOfMode(refund, mode)) return unknown('it answered in another mode')
  const { amount, currency } = refund.amount
  if (currency !== wanted.amount.currency || amount !== wanted.amount.amount) {
    return unknown('it answered with another amount')
  }
  switch (refund.status) {
    case 'processed':
      return { kind: 'refunded', refundId: refund.id }
    case 'failed':
      return { kind: 'refused', because: 'the provider could not give the money back' }
    case 'needs-attention':
      return { kind: 'pending', refundId: refund.id, needsAccount: 'Paystack lacks the bank account of the customer' }
    default:
      return { kind: 'pending', refundId: refund.id }
  }
}

const MINUTE = 60_000
/** Where accounts for one order exist. In Kenya it is Pesalink: the payer types a narration, and has 25 minutes. */
const ACCOUNTS = new Map([
  ['NGN', { leastMs: 15 * MINUTE, mostMs: 8 * 60 * MINUTE, hasNarration: false }],
  ['KES', { leastMs: 15 * MINUTE, mostMs: 25 * MINUTE, hasNarration: true }],
])

/**
 * Undefined for a currency without accounts. Paystack silently changes a time outside these bounds. They are counted
 * from `startedAt` and not from now, so that a repeat of the call sends the same body.
 */
export function accountTerms({ startedAt, expiresAt, amount }: Order) {
  const terms = ACCOUNTS.get(amount.currency)
  if (!terms) return undefined
  const { leastMs, mostMs, hasNarration } = terms
  const ahead = expiresAt.getTime() - startedAt.getTime()
  return { hasNarration, expiresAt: new Date(startedAt.getTime() + Math.min(Math.max(ahead, leastMs), mostMs)) }
}

type Words = [RegExp, FailureCode][]

const FUNDS: Words[number] = [/insufficient|not sufficient|not enough|low[ _]balance/i, 'insufficient_funds']
const LIMIT: Words[number] = [/limit|exceed/i, 'limit_exceeded']
const CANCELLED: Words[number] = [/cancel/i, 'customer_cancelled']
const UNAVAILABLE: Words[number] = [/inoperative|unavailable|timed?[ -]?out|malfunction/i, 'provider_unavailable']

// There is no list of codes: the words in `gateway_response` are those of many banks and networks. The first that fits
// counts.
const CARD_WORDS: Words = [
  FUNDS,
  [/card.*expired|expired.*card|^expired$/i, 'card_expired'],
  [/\bpin\b/i, 'incorrect_pin'],
  [/\botp\b/i, 'incorrect_otp'],
  [/token not generated|not registered|authenticat|3-?d ?secure|unable to verify/i, 'authentication_failed'],
  LIMIT,
  [/fraud|stolen|lost card|pick-? ?up|blacklist/i, 'suspected_fraud'],
  [/not permitted|not supported|not allowed|not enabled/i, 'card_not_supported'],
  CANCELLED,
  UNAVAILABLE,
  [/decline|honou?r|restricted|invalid card|no such card/i, 'card_declined'],
]

/** Of a request on the phone: "DS timeout user cannot be reached", "PAYER_NOT_FOUND", "Request cancelled by user". */
const PHONE_WORDS: Words = [
  FUNDS,
  [/unregistered|not[ _]registered|invalid (phone|mobile|msisdn|subscriber)/i, 'subscriber_unknown'],
  [/(payer|subscriber|holder|customer|wallet|msisdn|number)[ _](is |was )?not[ _]found/i, 'subscriber_unknown'],
  [/(incorrect|invalid|wrong|expired) (otp|voucher)|(otp|voucher).*(incorrect|invalid|expired)/i, 'incorrect_otp'],
  [/expired|\bin time\b|(user|customer|payer|approval) timed?[ -]?out/i, 'prompt_expired'],
  [/timed?[ -]?out.*(user|customer|payer|approv)/i, 'prompt_expired'],
  [/\bpin\b/i, 'incorrect_pin'],
  LIMIT,
  [/cancel|approval[ _]rejected|(user|customer|payer) (declined|rejected|refused)/i, 'customer_cancelled'],
  [/(declined|rejected|refused) by (the )?(user|customer|payer|subscriber)/i, 'customer_cancelled'],
  UNAVAILABLE,
]

const BANK_WORDS: Words = [
  FUNDS,
  [/\bpin\b/i, 'incorrect_pin'],
  [/\botp\b/i, 'incorrect_otp'],
  LIMIT,
  CANCELLED,
  UNAVAILABLE,
]

const AT_WORK: Outcome = { kind: 'processing' }
const WAITING: Outcome = { kind: 'pending', receipts: [] }

interface ChannelTerms {
  /** `pending` of a card is a bank at work. All others wait for the customer, who may approve late. */
  whilePending: Outcome
  words: Words
  otherwise: FailureCode
}

const CHANNELS: Record<Channel, ChannelTerms> = {
  // Without a word that we know it is a card's decline, which is what nearly all of them are.
  card: { whilePending: AT_WORK, words: CARD_WORDS, otherwise: 'card_declined' },
  'virtual-bank-account': { whilePending: WAITING, words: [[/expired/i, 'transfer_expired']], otherwise: 'other' },
  'mobile-money': { whilePending: WAITING, words: PHONE_WORDS, otherwise: 'other' },
  ussd: { whilePending: WAITING, words: BANK_WORDS, otherwise: 'other' },
  bank: { whilePending: WAITING, words: BANK_WORDS, otherwise: 'other' },
  qr: { whilePending: WAITING, words: BANK_WORDS, otherwise: 'other' },
}

/** A charge that did not go through. */
export function declineOf(response: string | null, channel: Channel): Failure {
  const { words, otherwise } = CHANNELS[channel]
  const code = words.find(([fitting]) => fitting.test(response ?? ''))?.[1] ?? otherwise
  return failureOf(code, response === null || mayTellTooMuch(response) ? 'failed' : response)
}

export const failedCharge = ({ response }: { response: string | null }, channel: Channel): Declined => ({
  kind: 'declined',
  failure: declineOf(response, channel),
  tryId: null,
})

/** Nothing was asked for, or the customer has got nothing to pay with. */
export const declined = (providerCode: string): Declined => ({
  kind: 'declined',
  failure: failureOf('provider_error', providerCode),
  tryId: null,
})

/** A request that was turned down: nothing was done. */
export function refusalOf(
  { code, type, message }: PaystackError,
  status: number,
  call: 'charge' | 'start' | 'prompt',
): Failure {
  // "Authorization code is invalid", "Email does not match Authorization code. …": it was never theirs, was given back,
  // or is another's.
  const isForgotten = call === 'charge' && status === 400 && /authori[sz]ation[ _]code/i.test(message)
  // Their message is left out: some quote what we sent.
  return failureOf(isForgotten ? 'invalid_token' : 'provider_error', code ?? type ?? `http_${status}`)
}

/** An address, a long number, a key or a token has no place among codes. */
const mayTellTooMuch = (text: string) => /@|\d{6}|AUTH_|\S{20}/.test(text)
