import type { Currency } from '../../kernel/money.ts'
import {
  all,
  currencyOf,
  type Fields,
  fields,
  parse,
  webAddress,
  wholeCard,
  wholeNumber,
  word,
} from '../json-parsers.ts'
import type { SavedCard } from '../provider.ts'

/**
 * Parsers of Stripe's JSON, validated at the boundary. They never throw: an invalid required field makes the whole object undefined. Statuses
 * stay text, because new ones may be added.
 */
export interface StripeSession {
  id: string
  /** Ours, as `client_reference_id`. */
  reference: string | null
  status: string
  paymentStatus: string
  amount: number
  currency: Currency
  livemode: boolean
  link: string | null
  expiresAt: Date
  /** Null until the customer has tried to pay; the id alone where it was not asked for whole. */
  intent: StripeIntent | string | null
}

export interface StripeIntent {
  id: string
  /** Ours, as a note. */
  reference: string | null
  status: string
  amount: number
  received: number
  currency: Currency
  livemode: boolean
  createdAt: Date
  /** The last try, paid or failed. */
  charge: StripeTry | null
  lastError: StripeFailure | null
  cancellationReason: string | null
  /** Where the customer proves to be the owner of the card. */
  stepLink: string | null
  /** The card, when it was kept for later. */
  savedCard: SavedCard | null
}

/** A charge as part of an intent. The members beside the id are there when the charge was asked for whole. */
export interface StripeTry {
  id: string
  at: Date | null
  /** Refunds of it that have not failed, in minor units of the intent's currency. */
  refunded: number
  /** It has a dispute, open or closed. */
  isDisputed: boolean
}

/** A charge in a list of them. */
export interface StripeCharge extends StripeTry {
  at: Date
  status: string
  intentId: string | null
  /** Ours: an intent copies its notes to its charges. */
  reference: string
  captured: number
  currency: Currency
}

export interface StripeDispute {
  id: string
  status: string
  amount: number
  currency: Currency
  reason: string | null
  respondBy: Date | null
  createdAt: Date
  /** The dispute has taken money from the balance. It may have come back since. */
  tookMoney: boolean
}

export interface StripeFailure {
  type: string
  code: string | null
  declineCode: string | null
  param: string | null
  chargeId: string | null
}

export interface StripeError extends StripeFailure {
  /** What a declined charge has left behind; undefined when it is there and cannot be read. */
  intent: StripeIntent | null | undefined
}

export interface StripeRefund {
  id: string
  status: string
  amount: number
  currency: Currency
  createdAt: Date
  intentId: string | null
  /** Our notes: the refund's own reference, and that of its order. */
  refundReference: string | null
  orderReference: string | null
}

/** One of a list, with as much of it as finding ours takes: others may be of any kind. */
export interface StripeListed {
  id: string
  reference: string | null
}

export const readSessionText = (text: string) => readSession(parse(text))
export const readIntentText = (text: string) => readIntent(parse(text))
export const readRefundText = (text: string) => readRefund(parse(text))

/** `{ error: { type, … } }`; undefined for any other body, such as the error page of a proxy. */
export function readError(text: string): StripeError | undefined {
  const error = fields(fields(parse(text))?.error)
  const failure = readFailure(error)
  if (!error || !failure) return undefined
  const { payment_intent: intent } = error
  return { ...failure, intent: intent === undefined || intent === null ? null : readIntent(intent) }
}

export function readList<T>(
  text: string,
  read: (one: unknown) => T | undefined,
): { data: T[]; hasMore: boolean } | undefined {
  const list = fields(parse(text))
  const data = all(list?.data, read)
  if (list?.object !== 'list' || !data || typeof list.has_more !== 'boolean') return undefined
  return { data, hasMore: list.has_more }
}

export function readListed(value: unknown): StripeListed | undefined {
  const object = fields(value)
  const id = word(object?.id)
  return object && id ? { id, reference: word(object.client_reference_id) ?? noteOf(object, 'reference') } : undefined
}

export function readRefund(value: unknown): StripeRefund | undefined {
  const refund = fields(value)
  // Their types allow a refund without a status. It has not ended.
  const sum = readSum(refund, 'refund', 'amount', 'pending')
  const createdAt = dateOfSeconds(refund?.created)
  if (!refund || !sum || !createdAt) return undefined
  return {
    ...sum,
    createdAt,
    intentId: idOf(refund.payment_intent) ?? null,
    refundReference: noteOf(refund, 'refund'),
    orderReference: noteOf(refund, 'reference'),
  }
}

export function readDispute(value: unknown): StripeDispute | undefined {
  const dispute = fields(value)
  const sum = readSum(dispute, 'dispute', 'amount')
  const createdAt = dateOfSeconds(dispute?.created)
  if (!dispute || !sum || !createdAt) return undefined
  const { balance_transactions: moves } = dispute
  return {
    ...sum,
    createdAt,
    reason: word(dispute.reason) ?? null,
    // 0 when the bank takes no answer.
    respondBy: dateOfSeconds(fields(dispute.evidence_details)?.due_by) ?? null,
    tookMoney: Array.isArray(moves) && moves.some((move) => Number(fields(move)?.amount) < 0),
  }
}

/** Null for a charge without our metadata: the account is also used for other payments. */
export function readCharge(value: unknown): StripeCharge | null | undefined {
  const charge = fields(value)
  if (charge?.object !== 'charge') return undefined
  const reference = noteOf(charge, 'reference')
  if (reference === null) return null
  const sum = readSum(charge, 'charge', 'amount_captured')
  const at = dateOfSeconds(charge.created)
  const returns = readReturns(charge)
  if (!sum || !at || !returns) return undefined
  const { amount: captured, ...rest } = sum
  return { ...rest, ...returns, captured, at, reference, intentId: idOf(charge.payment_intent) ?? null }
}

function readReturns(charge: Fields): Pick<StripeTry, 'refunded' | 'isDisputed'> | undefined {
  const refunded = wholeNumber(charge.amount_refunded)
  const { disputed } = charge
  return refunded === undefined || typeof disputed !== 'boolean' ? undefined : { refunded, isDisputed: disputed }
}

/** Null for none; undefined for one that cannot be read. An id alone says nothing of refunds, and is taken as none. */
function readTry(value: unknown): StripeTry | null | undefined {
  const charge = fields(value)
  const id = idOf(value)
  if (!id) return charge ? undefined : null
  if (!charge) return { id, at: null, refunded: 0, isDisputed: false }
  const returns = readReturns(charge)
  return returns && { id, at: dateOfSeconds(charge.created) ?? null, ...returns }
}

export function readSession(value: unknown): StripeSession | undefined {
  const session = fields(value)
  const sum = readSum(session, 'checkout.session', 'amount_total')
  if (!session || !sum) return undefined
  const paymentStatus = word(session.payment_status)
  const expiresAt = dateOfSeconds(session.expires_at)
  const { livemode, payment_intent: given } = session
  const intent = given === null || given === undefined ? null : (word(given) ?? readIntent(given))
  if (!paymentStatus || !expiresAt || typeof livemode !== 'boolean' || intent === undefined) return undefined
  const reference = word(session.client_reference_id) ?? null
  return { ...sum, reference, paymentStatus, livemode, link: linkOf(session.url), expiresAt, intent }
}

export function readIntent(value: unknown): StripeIntent | undefined {
  const intent = fields(value)
  const sum = readSum(intent, 'payment_intent', 'amount')
  if (!intent || !sum) return undefined
  const received = wholeNumber(intent.amount_received)
  const createdAt = dateOfSeconds(intent.created)
  const { livemode } = intent
  const charge = readTry(intent.latest_charge)
  if (received === undefined || !createdAt || typeof livemode !== 'boolean' || charge === undefined) return undefined
  return {
    ...sum,
    reference: noteOf(intent, 'reference'),
    received,
    livemode,
    createdAt,
    charge,
    lastError: readFailure(intent.last_payment_error) ?? null,
    cancellationReason: word(intent.cancellation_reason) ?? null,
    stepLink: linkOf(fields(fields(intent.next_action)?.redirect_to_url)?.url),
    savedCard: intent.setup_future_usage === 'off_session' ? readCard(intent) : null,
  }
}

/** What all of them have, if it is of the kind that it should be. Only the amount has several names. */
function readSum(object: Fields | undefined, kind: string, amountIn: string, statusIfNull?: string) {
  const id = word(object?.id)
  const given = object?.status
  const status = given === null ? statusIfNull : word(given)
  const amount = wholeNumber(object?.[amountIn])
  const currency = readCurrency(object?.currency)
  if (object?.object !== kind || !id || !status || amount === undefined || !currency) return undefined
  return { id, status, amount, currency }
}

function readFailure(value: unknown): StripeFailure | undefined {
  const failure = fields(value)
  const type = word(failure?.type)
  if (!failure || !type) return undefined
  return {
    type,
    code: word(failure.code) ?? null,
    declineCode: word(failure.decline_code) ?? null,
    param: word(failure.param) ?? null,
    chargeId: idOf(failure.charge) ?? null,
  }
}

function readCard(intent: Fields): SavedCard | null {
  const card = fields(fields(fields(intent.latest_charge)?.payment_method_details)?.card)
  const brand = word(card?.brand)
  return wholeCard({
    token: tokenOf(idOf(intent.customer), idOf(intent.payment_method)),
    brand: brand && (BRANDS.get(brand) ?? brand),
    last4: word(card?.last4),
    expiryMonth: wholeNumber(card?.exp_month),
    expiryYear: wholeNumber(card?.exp_year),
  })
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
function tokenOf(customer: string | undefined, paymentMethod: string | undefined): string | undefined {
  const token = `${customer}:${paymentMethod}`
  return readToken(token) ? token : undefined
}

export function readToken(token: string): { customer: string; paymentMethod: string } | undefined {
  const [, customer, paymentMethod] = /^(cus_\w{1,100}):((?:pm|card)_\w{1,100})$/.exec(token) ?? []
  return customer && paymentMethod ? { customer, paymentMethod } : undefined
}

/** docs.stripe.com/currencies: these are sent whole, … */
const WHOLE = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '))
/** … these in thousandths, and all others in hundredths; even ISK and UGX, which have none. */
const THOUSANDTHS = new Set('BHD JOD KWD OMR TND'.split(' '))

/**
 * Integers of minor units on both sides. But a few currencies have other minor units at Stripe than everywhere else, and there the same
 * number would be another sum: such a currency is one that we cannot read.
 */
export function readCurrency(value: unknown): Currency | undefined {
  const currency = currencyOf(value)
  return currency && digitsAtStripe(currency) === digitsHere(currency) ? currency : undefined
}

function digitsAtStripe(currency: string): number {
  return WHOLE.has(currency) ? 0 : THOUSANDTHS.has(currency) ? 3 : 2
}

function digitsHere(currency: string): number | undefined {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
}

/** The id of what may be there whole, or by its id alone. */
export function idOf(value: unknown): string | undefined {
  return word(value) ?? word(fields(value)?.id)
}

/** Our note on an object of theirs. */
export function noteOf(object: Fields, name: string): string | null {
  return word(fields(object.metadata)?.[name]) ?? null
}

/** Epoch seconds, until the year 9999. */
export function dateOfSeconds(value: unknown): Date | undefined {
  const isTime = Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 253_402_300_800
  return isTime ? new Date((value as number) * 1000) : undefined
}

/** Theirs end in a fragment of hundreds of characters, so they may be longer than others'. */
export const linkOf = (value: unknown) => webAddress(value, 5_000)
