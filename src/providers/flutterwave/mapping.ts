import { CHANNEL_FACTS, type Channel } from '../../kernel/channel.ts'
import { type Money, money } from '../../kernel/money.ts'
import { failureOf } from '../failure.ts'
import {
  type Declined,
  type Failure,
  type FailureCode,
  type ListedRefund,
  type Order,
  type Outcome,
  type Receipt,
  type RefundOrder,
  type RefundOutcome,
  unknown,
} from '../provider.ts'
import type { Refund, Transaction } from './wire.ts'

export type State = 'successful' | 'reversed' | 'pending' | 'failed' | 'cancelled' | 'new to us'

const STATES = new Map<string, State>([
  ['successful', 'successful'],
  ['reversed', 'reversed'],
  ['refunded', 'reversed'],
  ['pending', 'pending'],
  ['pending auth', 'pending'],
  ['success-pending-validation', 'pending'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
])

export const stateOf = ({ status }: Transaction): State => STATES.get(status) ?? 'new to us'

/** Money was taken. A reversed transaction was paid, and the money went back. */
export function isPaid(transaction: Transaction): boolean {
  const state = stateOf(transaction)
  return state === 'successful' || state === 'reversed'
}

/** What went back of transactions, by their ids, in minor units. */
export type Reversed = ReadonlyMap<string, number>

/**
 * All tries of an order as one outcome, in this order: a paid try wins; else a pending one; only when every try has
 * failed is the order declined, with the reason of the last try.
 */
export function outcomeOf(
  tries: Transaction[],
  asked: { channel: Channel; amount?: Money | undefined },
  returned: Reversed = new Map(),
): Outcome {
  const inOrder = tries.toSorted((a, b) => a.at.getTime() - b.at.getTime() || Number(a.id) - Number(b.id))
  const paid = inOrder.filter(isPaid)
  if (paid.length > 0) {
    const receipts = paid.map((one) => receiptOf(one, returned.get(one.id)))
    return isShort(paid, asked) ? { kind: 'pending', receipts } : paidBy(paid, receipts)
  }
  if (inOrder.some((one) => stateOf(one) === 'new to us')) return unknown('it says a status that is new to us')
  const open = inOrder.filter((one) => stateOf(one) === 'pending')
  if (open.length > 0) return waiting(open)
  const last = inOrder.at(-1)
  if (!last) return { kind: 'pending', receipts: [] }
  return failedTry(last)
}

/** `noauth` needs no action of the customer, so Flutterwave is processing it. */
function waiting(open: Transaction[]): Outcome {
  const nobodyIsAsked = open.every(({ authModel }) => authModel?.toLowerCase() === 'noauth')
  return nobodyIsAsked ? { kind: 'processing' } : { kind: 'pending', receipts: [] }
}

/** A transfer may be less than the order. */
function isShort(paid: Transaction[], { channel, amount }: { channel: Channel; amount?: Money | undefined }): boolean {
  if (CHANNEL_FACTS[channel].money === 'whole') return false
  const total = paid.reduce((sum, one) => sum + received(one), 0)
  const wanted = amount?.amount ?? Math.max(...paid.map((one) => one.amount))
  return total < wanted
}

function paidBy(paid: Transaction[], receipts: Receipt[]): Outcome {
  const card = paid.findLast((one) => one.card)?.card
  return { kind: 'paid', receipts, ...(card && { savedCard: card }) }
}

/**
 * What is there for the order: a fee that the customer bears on top is not. Which of the two figures shows a transfer
 * that was too small is not documented, so the smaller one counts.
 */
const received = ({ amount, charged }: Transaction) => Math.min(amount, charged)

/**
 * `refunded`: what the lists of refunds and chargebacks say. A reversed transaction without any went back as a whole.
 */
export function receiptOf(transaction: Transaction, refunded = 0): Receipt {
  const { id: transactionId, currency, at, fee } = transaction
  const amount = received(transaction)
  const isWhole = refunded === 0 && stateOf(transaction) === 'reversed'
  const returned = isWhole ? amount : Math.min(refunded, amount)
  const receipt = { transactionId, idIsProviders: true as const, amount: money(amount, currency), at }
  return { ...receipt, ...(returned > 0 && { returned }), ...(fee !== null && { fee }) }
}

/** Why this is not an answer about this order; undefined when it is. */
export function mismatch({ reference, currency, amount }: Transaction, order: Order): string | undefined {
  if (reference !== order.reference) return 'it answered about another order'
  if (currency !== order.amount.currency) return 'it answered with another currency'
  return amount === order.amount.amount ? undefined : 'it answered with another amount'
}

export function refundOutcomeOf(refund: Refund, wanted: RefundOrder): RefundOutcome {
  if (refund.amount !== wanted.amount.amount) return unknown('it answered with another amount')
  switch (refundStatusOf(refund)) {
    case 'successful':
      return { kind: 'refunded', refundId: refund.id }
    case 'failed':
      return { kind: 'refused', because: 'the provider could not give the money back' }
    case 'pending':
      return { kind: 'pending', refundId: refund.id }
  }
}

/** The customer has the money: the ways that it goes. */
const REFUNDED = new Set([
  ...['bank-transfer', 'momo', 'mpgs', 'offline', 'preauth'].map((way) => `completed-${way}`),
  'successful',
])

/** Plain `completed` is a refund that waits for its disbursement. A status that is new to us is not done. */
export function refundStatusOf({
  status,
  disburseStatus,
}: Pick<Refund, 'status' | 'disburseStatus'>): ListedRefund['status'] {
  if (status === 'failed') return 'failed'
  if (disburseStatus === 'failed') return status === 'completed' ? 'failed' : 'pending'
  const isDisbursed = status === 'completed' && disburseStatus === 'successful'
  return isDisbursed || REFUNDED.has(status) ? 'successful' : 'pending'
}

/** Why they refuse a refund, in our own words; undefined when an earlier try of ours may be the reason. */
export function refundRefusal(message: string | null): string | undefined {
  const text = message ?? ''
  if (/already|duplicate/i.test(text)) return undefined
  if (/balance|insufficient/i.test(text)) return 'the balance at the provider is too small'
  const [, least] = /amount should be above ([A-Z]{3} ?[\d.,]*\d)/i.exec(text) ?? []
  if (least) return `less than Flutterwave refunds: the amount must be above ${least}`
  if (/greater|exceed|more than/i.test(text)) return 'more than is left of the payment'
  return 'the provider refused the refund'
}

const CLOCKS_DIFFER_BY_MS = 5 * 60_000

/**
 * The refund that was made under our reference, among those of its transaction. `maybe`: one that could be ours and
 * does not say. A refund whose id belongs to another refund in our books, or that was made before ours was put on
 * record, is not.
 */
export function findOurs(
  refunds: Refund[],
  { reference, refundId, amount, otherRefundIds = [], recordedAt }: RefundOrder,
): Refund | 'maybe' | undefined {
  const ours = refunds.find(({ id, comment }) => id === refundId || comment?.includes(reference))
  if (ours) return ours
  const isEarlier = ({ at }: Refund) =>
    at !== null && recordedAt !== undefined && at.getTime() < recordedAt.getTime() - CLOCKS_DIFFER_BY_MS
  const isUnclaimed = (refund: Refund) =>
    !refund.comment && !otherRefundIds.includes(refund.id) && !isEarlier(refund) && refund.amount === amount.amount
  return refunds.some(isUnclaimed) ? 'maybe' : undefined
}

const WALLET = '(subscriber|wallet|payer|account ?holder|msisdn|phone number|mobile number|mobile money account)'

/**
 * They have no codes, only sentences of banks, networks and processors. These are the ones that tell something; the
 * first that fits counts. Some write a code of the network in place of a sentence: `PAYER_LIMIT_REACHED`.
 */
const REASONS: [RegExp, FailureCode][] = [
  [/insufficient|not enough (funds|balance)|low balance/i, 'insufficient_funds'],
  [/expired card|card (has |is )?expired|expir(y|ation) date/i, 'card_expired'],
  [/(incorrect|invalid|wrong) pin|pin (is )?(incorrect|invalid|wrong)|pin tries/i, 'incorrect_pin'],
  // The words of M-PESA for a wrong PIN.
  [/initiator information is invalid/i, 'incorrect_pin'],
  [/(incorrect|invalid|wrong|expired) otp|otp (is |has )?(incorrect|invalid|wrong|expired)/i, 'incorrect_otp'],
  [/fraud|blacklist|stolen|lost card/i, 'suspected_fraud'],
  [/limit/i, 'limit_exceeded'],
  // What customers did not do in time. A timeout of a machine is none of theirs.
  [/no response from (the )?(user|customer|subscriber|payer)|ds timeout/i, 'prompt_expired'],
  [/(user|customer|subscriber|payer) (did not|didn.t|cannot be reached|was not reached)/i, 'prompt_expired'],
  [/(prompt|request|approval) (has |was )?(expired|timed? ?out)/i, 'prompt_expired'],
  [/(user|customer|subscriber|payer) (has )?(rejected|declined|refused)/i, 'customer_cancelled'],
  [/(rejected|declined|refused) by (the )?(user|customer|subscriber|payer)/i, 'customer_cancelled'],
  [/not approved|approval rejected/i, 'customer_cancelled'],
  [
    new RegExp(
      `${WALLET} (does |is |was |has |could )?(not? (be )?|in|un)(found|exist|registered|active|valid|known)`,
      'i',
    ),
    'subscriber_unknown',
  ],
  [new RegExp(`(invalid|unknown|unregistered|inactive) ${WALLET}`, 'i'), 'subscriber_unknown'],
  [/authenticat|3-?d ?s|avs|address verification|vbv|secure ?code/i, 'authentication_failed'],
  [/not permitted|not allowed|not supported|unsupported|restricted/i, 'card_not_supported'],
  [/inoperative|unavailable|time(d)? ?out|system (error|malfunction)/i, 'provider_unavailable'],
  [/cancel/i, 'customer_cancelled'],
  [/honou?r|declin|invalid (transaction|card)|pick ?up/i, 'card_declined'],
]

/** A try that took no money. */
function failedTry(one: Transaction): Declined {
  const { id, reason, type } = one
  const isCancelled = stateOf(one) === 'cancelled'
  const isCard = type === null || CARDS.has(type)
  const code = (isCancelled && 'customer_cancelled') || codeOf(reason, isCard) || 'other'
  const failure = redactedFailure(code, reason ?? (isCancelled ? 'cancelled' : 'failed'))
  return { kind: 'declined', failure, tryId: id }
}

/** The ways to pay that are a card, as they name them. A card link can be paid in other ways. */
const CARDS = new Set(['card', 'applepay', 'googlepay'])

/** A refusal of the request itself: they have done nothing. `charged`: what was to be charged. */
export function refused(status: number, message: string | null, charged: 'card' | 'other'): Declined {
  // With a refused key the card was not checked, so a message about a token does not mean the saved card.
  const isOfKey = status === 401 || status === 403
  const isForgotten = !isOfKey && isForgottenToken(message)
  const said = status === 400 ? codeOf(message, charged === 'card') : undefined
  const code = isForgotten ? 'invalid_token' : (said ?? 'provider_error')
  const failure = redactedFailure(code, message ?? `HTTP ${status}`)
  return { kind: 'declined', failure, tryId: null, ...(isOfKey && { keysRefused: true }) }
}

/** Of an order whose reference they have seen before, so that an earlier try of ours may live. */
export function isDuplicate(message: string | null): boolean {
  return /already exist|duplicate/i.test(message ?? '')
}

export function isNotFound(message: string | null): boolean {
  return /no transaction was found|transaction not found/i.test(message ?? '')
}

/** The list of refunds, chargebacks or settlements is empty, said as an error. */
export function isNone(message: string | null): boolean {
  return (
    isNotFound(message) ||
    /no (refund|chargeback|settlement)|(refund|chargeback|settlement)s? (was |were )?not found/i.test(message ?? '')
  )
}

// Processors call a one-time code a token, too ("Token Not Generated. Customer Not Registered on Token Platform"): that
// is no saved card.
function isForgottenToken(message: string | null): boolean {
  const text = message ?? ''
  return (
    /token/i.test(text) && /invalid|wrong|expired|not found|not exist|no card/i.test(text) && !/generat/i.test(text)
  )
}

/** What is told of cards alone tells nothing of a phone or an account. */
function codeOf(reason: string | null, isCard: boolean): FailureCode | undefined {
  const text = (reason ?? '').replaceAll('_', ' ')
  return REASONS.find(([pattern, code]) => pattern.test(text) && (isCard || !code.startsWith('card_')))?.[1]
}

/**
 * The message is the only code there is. It is kept, redacted: e-mail addresses, numbers, keys and tokens become `…`. A
 * long code of a network in capitals stays.
 */
function redactedFailure(code: FailureCode, reason: string): Failure {
  const providerCode = reason
    .replaceAll(/\S*@\S*|[Ff][Ll][Ww]-\S*|(?=\S{10})\S*\d\S*|(?![A-Z_]+(?:\s|$))\S{20,}|[\d*]{4,}/g, '…')
    .slice(0, 120)
    .toWellFormed()
  return failureOf(code, providerCode)
}
