import { type Currency, decimalsOf } from '../../kernel/money.ts'
import {
  all,
  currencyOf,
  decode,
  decoderOf,
  fields,
  Lenient,
  Nullable,
  nameOf,
  parse,
  Required,
  webAddress,
  wholeCard,
  wholeNumber,
  word,
} from '../json-parsers.ts'

/**
 * Parsers of Stripe's JSON, validated at the boundary. They never throw: an invalid required field makes the whole
 * object undefined. Statuses stay text, because new ones may be added. An object may be sent whole, or by its id alone.
 */
const Kind = (kind: string) => Required((value) => (value === kind ? kind : undefined))
const Word = Required(word)
const OptionalWord = Lenient(word)
const OptionalId = Lenient(idOf)
const Amount = Required(wholeNumber)
const Flag = Required((value) => (typeof value === 'boolean' ? value : undefined))
const Time = Required(dateOfSeconds)
/** Our notes: the reference of the order, and on a refund its own. An intent copies its notes to its charges. */
const Notes = Lenient(decoderOf({ reference: OptionalWord, refund: OptionalWord }))
const SUM = { id: Word, status: Word, currency: Required(readCurrency) }
/** `amount_refunded`: refunds that have not failed. `disputed`: it has a dispute, open or closed. */
const RETURNS = { amount_refunded: Amount, disputed: Flag }

const decodeFailure = decoderOf({
  type: Word,
  code: OptionalWord,
  decline_code: OptionalWord,
  param: OptionalWord,
  charge: OptionalId,
})

const decodeCard = decoderOf({ brand: Word, last4: Word, exp_month: Amount, exp_year: Amount })

const decodeTry = decoderOf({
  id: Word,
  created: Lenient(dateOfSeconds),
  ...RETURNS,
  payment_method_details: Lenient((value) => decodeCard(fields(value)?.card)),
})

const decodeIntent = decoderOf({
  object: Kind('payment_intent'),
  ...SUM,
  amount: Amount,
  amount_received: Amount,
  livemode: Flag,
  created: Time,
  latest_charge: Nullable(readTry),
  last_payment_error: Lenient(readFailure),
  cancellation_reason: OptionalWord,
  // Where the customer proves to be the owner of the card.
  next_action: Lenient((value) => linkOf(fields(fields(value)?.redirect_to_url)?.url)),
  setup_future_usage: OptionalWord,
  customer: OptionalId,
  payment_method: OptionalId,
  metadata: Notes,
})

const decodeSession = decoderOf({
  object: Kind('checkout.session'),
  ...SUM,
  amount_total: Amount,
  payment_status: Word,
  livemode: Flag,
  expires_at: Time,
  url: Lenient(linkOf),
  client_reference_id: OptionalWord,
  /** Null until the customer has tried to pay. */
  payment_intent: Nullable((value) => word(value) ?? readIntent(value)),
})

const decodeRefund = decoderOf({
  object: Kind('refund'),
  ...SUM,
  // Their types allow a refund without a status. It has not ended.
  status: Required((value) => (value === null ? 'pending' : word(value))),
  amount: Amount,
  created: Time,
  payment_intent: OptionalId,
  metadata: Notes,
})

const decodeDispute = decoderOf({
  object: Kind('dispute'),
  ...SUM,
  amount: Amount,
  created: Time,
  payment_intent: OptionalId,
  reason: OptionalWord,
  // `due_by` is 0 when the bank takes no answer.
  evidence_details: Lenient((value) => dateOfSeconds(fields(value)?.due_by)),
  // A negative move has taken money from the balance. It may have come back since.
  balance_transactions: Lenient((value) => all(value, (move) => Number(fields(move)?.amount) < 0)),
})

const decodeAnyCharge = decoderOf({ object: Kind('charge'), metadata: Notes })
const decodeCharge = decoderOf({
  ...SUM,
  ...RETURNS,
  amount_captured: Amount,
  created: Time,
  payment_intent: OptionalId,
})

const decodeList = decoderOf({
  object: Kind('list'),
  data: Required((value) => (Array.isArray(value) ? (value as unknown[]) : undefined)),
  has_more: Flag,
})
const decodeListed = decoderOf({ id: Word, client_reference_id: OptionalWord, metadata: Notes })

/** The shape of an event follows the version of the endpoint, so as little as possible is required of it. */
const decodeEventObject = decoderOf({
  object: OptionalWord,
  id: OptionalWord,
  client_reference_id: OptionalWord,
  metadata: Notes,
  payment_status: OptionalWord,
  payment_intent: OptionalId,
  amount_total: Lenient(wholeNumber),
  amount_received: Lenient(wholeNumber),
  currency: Lenient(readCurrency),
})
const decodeEvent = decoderOf({
  object: Kind('event'),
  type: Word,
  created: Time,
  livemode: Lenient((value) => value),
  data: Required((value) => decodeEventObject(fields(value)?.object)),
})

export type StripeSession = NonNullable<ReturnType<typeof readSession>>
export type StripeFailure = NonNullable<ReturnType<typeof readFailure>>
export type StripeError = NonNullable<ReturnType<typeof readError>>
export type StripeRefund = NonNullable<ReturnType<typeof readRefund>>
export type StripeDispute = NonNullable<ReturnType<typeof readDispute>>
export type StripeCharge = NonNullable<ReturnType<typeof readCharge>>
export type StripeTry = NonNullable<ReturnType<typeof readTry>>
export type StripeIntent = NonNullable<ReturnType<typeof readIntent>>
export type StripeEventObject = NonNullable<ReturnType<typeof readEvent>>['object']

export const readSessionText = (text: string) => readSession(parse(text))
export const readIntentText = (text: string) => readIntent(parse(text))
export const readRefundText = (text: string) => readRefund(parse(text))

/** `{ error: { type, … } }`; undefined for any other body, such as the error page of a proxy. */
export function readError(text: string) {
  const error = fields(fields(parse(text))?.error)
  const failure = readFailure(error)
  if (!error || !failure) return undefined
  // What a declined charge has left behind; undefined when it is there and cannot be read.
  return { ...failure, intent: error.payment_intent == null ? null : readIntent(error.payment_intent) }
}

export function readList<T>(text: string, read: (one: unknown) => T | undefined) {
  const list = decodeList(parse(text))
  const data = all(list?.data, read)
  return list && data && { data, hasMore: list.has_more }
}

/** One of a list, with as much of it as finding ours takes: others may be of any kind. */
export function readListed(value: unknown) {
  const listed = decodeListed(value)
  return listed && { id: listed.id, reference: referenceOf(listed) }
}

export function readEvent(body: Buffer) {
  const event = decodeEvent(parse(decode(body)))
  if (!event) return undefined
  const { type, created: at, livemode, data } = event
  return { type, at, livemode, object: { ...data, reference: referenceOf(data) } }
}

/** Ours, as `client_reference_id` of a session and as a note on the others. */
function referenceOf(object: { client_reference_id: string | null; metadata: { reference: string | null } | null }) {
  return object.client_reference_id ?? object.metadata?.reference ?? null
}

export function readRefund(value: unknown) {
  const refund = decodeRefund(value)
  if (!refund) return undefined
  const { id, status, amount, currency, created: createdAt, payment_intent: intentId, metadata } = refund
  const [refundReference, orderReference] = [metadata?.refund ?? null, metadata?.reference ?? null]
  return { id, status, amount, currency, createdAt, intentId, refundReference, orderReference }
}

export function readDispute(value: unknown) {
  const dispute = decodeDispute(value)
  if (!dispute) return undefined
  const { id, status, amount, currency, reason, created: createdAt, evidence_details: respondBy } = dispute
  const tookMoney = dispute.balance_transactions?.includes(true) ?? false
  return { id, status, amount, currency, reason, createdAt, respondBy, tookMoney, intentId: dispute.payment_intent }
}

/** Null for an entry in a currency that none of our orders has: the account is also used for other payments. */
export function unlessForeign<T>(read: (value: unknown) => T | undefined) {
  return (value: unknown): T | null | undefined => {
    const currency = fields(value)?.currency
    return word(currency) && !readCurrency(currency) ? null : read(value)
  }
}

/** What an entry of a list names that cannot be read. */
export function namesIn(value: unknown) {
  const whole = fields(value)
  const one = whole?.object === 'balance_transaction' ? fields(whole.source) : whole
  const isCharge = one?.object === 'charge'
  return {
    transactionId: isCharge ? null : (idOf(one?.payment_intent) ?? null),
    orderReference: nameOf(fields(one?.metadata)?.reference),
  }
}

/** Null for a charge without our metadata: the account is also used for other payments. */
export function readCharge(value: unknown) {
  const any = decodeAnyCharge(value)
  if (!any) return undefined
  const reference = any.metadata?.reference ?? null
  if (reference === null) return null
  const charge = decodeCharge(value)
  if (!charge) return undefined
  const { created: at, amount_captured: captured, payment_intent: intentId, ...rest } = charge
  const { amount_refunded: refunded, disputed: isDisputed, ...sum } = rest
  return { ...sum, at, captured, intentId, refunded, isDisputed, reference }
}

/** Null for none; undefined for one that cannot be read. An id alone says nothing of refunds, and is taken as none. */
function readTry(value: unknown) {
  const id = word(value)
  if (id) return { id, at: null, refunded: 0, isDisputed: false, card: null }
  if (!fields(value)) return null
  const charge = decodeTry(value)
  if (!charge) return undefined
  const { created: at, amount_refunded: refunded, disputed: isDisputed, payment_method_details: card } = charge
  return { id: charge.id, at, refunded, isDisputed, card }
}

export function readSession(value: unknown) {
  const session = decodeSession(value)
  if (!session) return undefined
  const { amount_total: amount, payment_status: paymentStatus, expires_at: expiresAt, url: link, ...rest } = session
  const { id, status, currency, livemode, client_reference_id: reference, payment_intent: intent } = rest
  return { id, status, amount, currency, reference, paymentStatus, livemode, link, expiresAt, intent }
}

export function readIntent(value: unknown) {
  const intent = decodeIntent(value)
  if (!intent) return undefined
  const { id, status, amount, currency, amount_received: received, livemode, created: createdAt } = intent
  const { latest_charge: charge, last_payment_error: lastError, cancellation_reason: cancellationReason } = intent
  const sum = { id, status, amount, currency, received, livemode, createdAt }
  const reference = intent.metadata?.reference ?? null
  const [stepLink, savedCard] = [intent.next_action, savedCardOf(intent)]
  return { ...sum, reference, charge, lastError, cancellationReason, stepLink, savedCard }
}

function readFailure(value: unknown) {
  const failure = decodeFailure(value)
  if (!failure) return undefined
  const { type, code, decline_code: declineCode, param, charge: chargeId } = failure
  return { type, code, declineCode, param, chargeId }
}

/** The card, when it was kept for later. */
function savedCardOf(intent: NonNullable<ReturnType<typeof decodeIntent>>) {
  const card = intent.latest_charge?.card
  const token = `${intent.customer}:${intent.payment_method}`
  if (!card || intent.setup_future_usage !== 'off_session' || !readToken(token)) return null
  const { brand, last4, exp_month: expiryMonth, exp_year: expiryYear } = card
  return wholeCard({ token, brand: BRANDS.get(brand) ?? brand, last4, expiryMonth, expiryYear })
}

/** As people write them; Stripe writes them small. */
const BRANDS = new Map([
  ['visa', 'Visa'],
  ['mastercard', 'Mastercard'],
  ['amex', 'American Express'],
  ['discover', 'Discover'],
  ['diners', 'Diners Club'],
  ['jcb', 'JCB'],
  ['unionpay', 'UnionPay'],
])

/** A card can be charged only together with the customer that it is kept for, so a token is both. */
export function readToken(token: string): { customer: string; paymentMethod: string } | undefined {
  const [, customer, paymentMethod] = /^(cus_\w{1,100}):((?:pm|card)_\w{1,100})$/.exec(token) ?? []
  return customer && paymentMethod ? { customer, paymentMethod } : undefined
}

/** docs.stripe.com/currencies: these are sent whole, … */
const WHOLE = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '))
/** … these in thousandths, and all others in hundredths; even ISK and UGX, which have none. */
const THOUSANDTHS = new Set('BHD JOD KWD OMR TND'.split(' '))

/**
 * Both sides use integers of minor units. A few currencies have other minor units at Stripe than in ISO 4217. There the
 * same number would be another sum, so such a currency is invalid.
 */
export function readCurrency(value: unknown): Currency | undefined {
  const currency = currencyOf(value)
  return currency && digitsAtStripe(currency) === decimalsOf(currency) ? currency : undefined
}

function digitsAtStripe(currency: string): number {
  return WHOLE.has(currency) ? 0 : THOUSANDTHS.has(currency) ? 3 : 2
}

/** The id of what may be there whole, or by its id alone. */
export function idOf(value: unknown): string | undefined {
  return word(value) ?? word(fields(value)?.id)
}

/** Epoch seconds, until the year 9999. */
export function dateOfSeconds(value: unknown): Date | undefined {
  const isTime = Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 253_402_300_800
  return isTime ? new Date((value as number) * 1000) : undefined
}

/** Theirs end in a fragment of hundreds of characters, so they may be longer than others'. */
function linkOf(value: unknown): string | null {
  return webAddress(value, 5_000)
}
