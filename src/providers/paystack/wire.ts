import { type Currency, decimalsOf, type Money, money } from '../../kernel/money.ts'
import {
  all,
  asWritten,
  currencyOf,
  date,
  decoderOf,
  digitsOf,
  fields,
  Lenient,
  line,
  Nullable,
  nameOf,
  parse,
  Required,
  webAddress,
  wholeCard,
  word,
} from '../json-parsers.ts'
import type { OfOrder, SavedCard } from '../provider.ts'

/**
 * Parsers of Paystack's JSON, validated at the boundary. They never throw: an invalid required field makes the whole
 * object undefined. Fields that we do not need are not validated: `metadata` may be "", 0, null, text or an object, and
 * `plan`, `log` and `customer` vary, too.
 */
export interface PaystackTransaction {
  id: string
  reference: string
  /** `test` or `live`. */
  domain: string
  /** Text: new ones will come. */
  status: string
  /** For the order, without the fees that the customer paid on top of it. */
  amount: Money
  paidAt: Date | null
  /** When it was paid, or else the best that they say. */
  at: Date | null
  /** Fees in hundredths, when `amount` may contain them: the answer names no `requested_amount`. */
  feesInAmount: number | null
  /** What the merchant bears of the fees, in minor units; null where they are not named. */
  fee: number | null
  /** Why it failed, in the bank's words. */
  response: string | null
  /** How often the customer has tried. */
  tries: string | null
  card: SavedCard | null
}

export interface PaystackAccount {
  reference: string
  status: string
  name: string | null
  number: string
  bank: string
  expiresAt: Date | null
  /** Only some say it, in hundredths. */
  hundredths: number | null
  /** A text that the payer has to type as narration. Only transfers in Kenya have one. */
  narration: string | null
}

export interface PaystackRefund {
  id: string
  transactionId: string
  domain: string
  status: string
  amount: Money
}

/** A refund as the list shows it. */
export interface ListedPaystackRefund extends PaystackRefund {
  orderReference: string | null
  note: string
  at: Date
  disputeId: string | null
}

export interface PaystackDispute {
  id: string
  transactionId: string
  orderReference: string | null
  /** The amount of the transaction, where the list shows it. */
  ofTransaction: Money | null
  domain: string
  status: string
  resolution: string | null
  category: string | null
  /** The disputed part in hundredths; null for the whole transaction. */
  hundredths: number | null
  openedAt: Date
  dueAt: Date | null
}

export interface PaystackError {
  message: string
  code: string | null
  type: string | null
}

const Id = Required(digits)
const Word = Required((value) => word(value))
const Line = Lenient(line)
const Time = Lenient(date)
/** The transaction is a number in lists, and an object in some answers. */
const TransactionId = Required((value) => digits(value) ?? digits(fields(value)?.id))

const decodeFailure = decoderOf({
  status: Required((value) => (value === false ? value : undefined)),
  message: Required((value) => line(value) ?? undefined),
  code: Lenient((value) => word(value)),
  type: Lenient((value) => word(value)),
})

const decodeCard = decoderOf({
  channel: Required((value) => (value === 'card' ? value : undefined)),
  reusable: Required((value) => (value === true ? value : undefined)),
  authorization_code: Required((value) => (word(value)?.startsWith('AUTH_') ? word(value) : undefined)),
  brand: Line,
  card_type: Line,
  last4: Word,
  exp_month: Required((value) => wholeNumber(typeof value === 'string' ? value.replace(/^0(?=\d)/, '') : value)),
  exp_year: Required(wholeNumber),
})

const decodeTransaction = decoderOf({
  id: Id,
  reference: Word,
  domain: Word,
  status: Word,
  amount: Required(wholeNumber),
  requested_amount: Nullable(wholeNumber),
  currency: Required(currencyOf),
  fees: Lenient(wholeNumber),
  paid_at: Time,
  paidAt: Time,
  transaction_date: Time,
  created_at: Time,
  createdAt: Time,
  gateway_response: Line,
  message: Line,
  log: Lenient((value) => digits(fields(value)?.attempts)),
  authorization: Lenient(readCard),
})

const decodeLink = decoderOf({
  authorization_url: Required((value) => webAddress(value) ?? undefined),
  reference: Word,
})

const decodeAccount = decoderOf({
  reference: Word,
  status: Word,
  // As text alone: a number has lost its leading zeros.
  account_number: Required((value) => (typeof value === 'string' && /^\d{6,20}$/.test(value) ? value : undefined)),
  bank: Required((value) => line(fields(value)?.name) ?? undefined),
  account_name: Line,
  account_expires_at: Time,
  amount: Lenient(wholeNumber),
  transaction_reference: Lenient((value) => line(digitsOf(value))),
})

const REFUND = {
  id: Id,
  transaction: TransactionId,
  domain: Word,
  status: Word,
  amount: Required(wholeNumber),
  currency: Required(currencyOf),
}
const decodeRefund = decoderOf(REFUND)
const decodeListedRefund = decoderOf({
  ...REFUND,
  transaction_reference: Lenient((value) => word(value)),
  merchant_note: Line,
  refunded_at: Time,
  createdAt: Time,
  created_at: Time,
  dispute: Lenient((value) => digits(value) ?? digits(fields(value)?.id)),
})

const decodeBank = decoderOf({ id: Id, code: Word, name: Required((value) => line(value) ?? undefined) })

const decodeDispute = decoderOf({
  id: Id,
  transaction: TransactionId,
  domain: Word,
  status: Word,
  resolution: Lenient((value) => word(value)),
  category: Line,
  refund_amount: Nullable(wholeNumber),
  createdAt: Time,
  created_at: Time,
  dueAt: Time,
  due_at: Time,
})

// `data` of some notices is a list: `subscription.expiring_cards`.
/** `data` of an answer with `status: true`, which only means that the call was understood. */
export function readData(text: string): unknown {
  const answer = fields(parse(text, asWritten))
  return answer?.status === true ? answer.data : undefined
}

/** What `meta` of a list says of its pages. Some lists count them, some name the next one. */
export function readPaging(text: string) {
  const meta = fields(fields(parse(text, asWritten))?.meta)
  const next = digitsOf(meta?.next)
  return {
    page: wholeNumber(meta?.page),
    pages: wholeNumber(meta?.pageCount),
    entriesPerPage: wholeNumber(meta?.perPage ?? meta?.per_page),
    next: next === 'null' ? undefined : next || undefined, // so it stands in their sample
  }
}

/** The body of a refusal; undefined for any other body, such as the error page of a proxy. */
export function readError(text: string): PaystackError | undefined {
  const error = decodeFailure(parse(text, asWritten))
  return error && { message: error.message, code: error.code ?? null, type: error.type ?? null }
}

export function readTransaction(value: unknown): PaystackTransaction | undefined {
  const transaction = decodeTransaction(value)
  if (!transaction) return undefined
  const { id, reference, domain, status, currency, amount: charged, requested_amount: requested } = transaction
  // Where fees are passed on, `amount` contains them and `requested_amount` is the order's. A smaller `amount` is what
  // was paid.
  const amount = moneyOf(Math.min(charged, requested ?? charged), currency)
  if (!amount) return undefined
  const paidAt = transaction.paid_at ?? transaction.paidAt ?? null
  const createdAt = transaction.created_at ?? transaction.createdAt ?? null
  return {
    ...{ id, reference, domain, status, amount, paidAt },
    at: paidAt ?? transaction.transaction_date ?? createdAt,
    feesInAmount: requested == null ? (transaction.fees ?? null) : null,
    fee: feeOf(transaction.fees, charged - Math.min(charged, requested ?? charged), currency),
    response: transaction.gateway_response ?? transaction.message ?? null,
    tries: transaction.log ?? null,
    card: transaction.authorization ?? null,
  }
}

/** `onTop`: what the customer paid beyond the order, where fees are passed on. */
function feeOf(fees: number | null, onTop: number, currency: Currency): number | null {
  return fees === null ? null : (fromHundredths(Math.max(0, fees - onTop), currency) ?? null)
}

function moneyOf(hundredths: number, currency: Currency): Money | undefined {
  const amount = fromHundredths(hundredths, currency)
  return amount === undefined ? undefined : money(amount, currency)
}

/** A card that cannot be charged again is not saved. */
function readCard(value: unknown): SavedCard | null {
  const card = decodeCard(value)
  if (!card) return null
  const { authorization_code: token, last4, exp_month: expiryMonth, exp_year: expiryYear } = card
  return wholeCard({ token, brand: card.brand ?? card.card_type, last4, expiryMonth, expiryYear })
}

/** The page that takes a card. */
export function readLink(value: unknown): { link: string; reference: string } | undefined {
  const start = decodeLink(value)
  return start && { link: start.authorization_url, reference: start.reference }
}

/** A charge that waits for the customer. */
export function readPause(value: unknown): { link: string; reference: string } | undefined {
  const charge = fields(value)
  const isFinal = charge?.status === 'success' || charge?.status === 'failed'
  return charge?.paused === true && !isFinal ? readLink(charge) : undefined
}

export function readAccount(value: unknown): PaystackAccount | undefined {
  const account = decodeAccount(value)
  if (!account) return undefined
  return {
    reference: account.reference,
    status: account.status,
    name: account.account_name ?? null,
    number: account.account_number,
    bank: account.bank,
    expiresAt: account.account_expires_at ?? null,
    hundredths: account.amount ?? null,
    narration: account.transaction_reference ?? null,
  }
}

export function readRefund(value: unknown): PaystackRefund | undefined {
  const refund = decodeRefund(value)
  const amount = refund && moneyOf(refund.amount, refund.currency)
  if (!refund || !amount) return undefined
  const { id, transaction: transactionId, domain, status } = refund
  return { id, transactionId, domain, status, amount }
}

/** Banks of a list. `id` names a bank in calls that take an account; `code` is what people know. */
export function readBanks(value: unknown): { id: string; code: string; name: string }[] | undefined {
  return all(value, decodeBank)
}

/** The merchant notes on the refunds of a list; undefined when it is not a list of objects. */
export function readNotes(value: unknown): { note: string; refund: unknown }[] | undefined {
  return all(value, (refund) => {
    const listed = fields(refund)
    return listed && { note: line(listed.merchant_note) ?? '', refund }
  })
}

/** A charge that was declined at once has neither id nor amount. */
export function readFailedCharge(value: unknown): { reference: string; response: string | null } | undefined {
  const charge = fields(value)
  const reference = word(charge?.reference)
  if (!reference || (charge?.status !== 'failed' && charge?.status !== 'timeout')) return undefined
  return { reference, response: line(charge.gateway_response) ?? line(charge.message) }
}

export function readListedRefund(value: unknown): ListedPaystackRefund | undefined {
  const [refund, listed] = [readRefund(value), decodeListedRefund(value)]
  const at = listed?.refunded_at ?? listed?.createdAt ?? listed?.created_at
  if (!refund || !listed || !at) return undefined
  const { transaction_reference: orderReference, merchant_note: note, dispute: disputeId } = listed
  return { ...refund, orderReference, note: note ?? '', at, disputeId }
}

export function readDispute(value: unknown): PaystackDispute | undefined {
  const dispute = decodeDispute(value)
  const openedAt = dispute?.createdAt ?? dispute?.created_at
  if (!dispute || !openedAt) return undefined
  const { id, transaction: transactionId, domain, status } = dispute
  const transaction = fields(fields(value)?.transaction)
  return {
    ...{ id, transactionId, domain, status, openedAt },
    orderReference: word(transaction?.reference) ?? null,
    ofTransaction: readTransaction(transaction)?.amount ?? null,
    hundredths: dispute.refund_amount || null,
    resolution: dispute.resolution ?? null,
    category: dispute.category ?? null,
    dueAt: dispute.dueAt ?? dispute.due_at ?? null,
  }
}

/** All refunds or disputes of a list; undefined when one of them is invalid. */
export const readListedRefunds = (value: unknown) => all(value, readListedRefund)
export const readDisputes = (value: unknown) => all(value, readDispute)

const PAID_STATUSES = new Set(['success', 'reversed', 'reversal-pending'])

/** A transaction of a list, if it is paid. Others are null, valid or not. */
export function readPaidTransaction(value: unknown): PaystackTransaction | null | undefined {
  const status = word(fields(value)?.status)
  if (status === undefined) return undefined
  return PAID_STATUSES.has(status) ? readTransaction(value) : null
}

/** What an entry of a list names: a transaction, or what is about one. */
export function namesIn(value: unknown): OfOrder {
  const one = fields(value)
  const transaction = fields(one?.transaction)
  return {
    transactionId: nameOf(transaction?.id ?? one?.transaction),
    orderReference: nameOf(transaction?.reference ?? one?.transaction_reference ?? one?.reference),
  }
}

/** A whole number, written as one: not 1.0, not 1e3. Some come as text. */
export function digits(value: unknown): string | undefined {
  const text = digitsOf(value)
  return text && /^(0|[1-9]\d{0,19})$/.test(text) ? text : undefined
}

function wholeNumber(value: unknown): number | undefined {
  const number = Number(digits(value) ?? Number.NaN)
  return Number.isSafeInteger(number) ? number : undefined
}

/**
 * The one place for amounts in XOF, which has no minor unit. The two readings: paystack.com/docs/api (Introduction,
 * "Supported currency") counts every currency in hundredths, so that 1 franc is sent as 100; the description of others,
 * github.com/alexasomba/paystack-openapi (2026-06), says that an amount in XOF is sent as it is. We follow the first.
 * Mobile money in XOF is off until the merchant has looked at it with a test key: `xofAmounts` in capabilities.ts.
 */
const factorOf = (currency: Currency) => 10 ** (2 - decimalsOf(currency))

export function toHundredths({ amount, currency }: Money): number {
  return amount * factorOf(currency)
}

/** In our minor units; undefined for a part of the smallest one. */
export function fromHundredths(hundredths: number, currency: Currency): number | undefined {
  const factor = factorOf(currency)
  return hundredths % factor === 0 ? hundredths / factor : undefined
}
