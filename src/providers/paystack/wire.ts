import { type Money, money } from '../../kernel/money.ts'
import {
  asWritten,
  currencyOf,
  date,
  decode,
  digitsOf,
  type Fields,
  fields,
  line,
  parse,
  webAddress,
  wholeCard,
  word,
} from '../../kernel/their-json.ts'
import type { SavedCard } from '../provider.ts'
import { fromHundredths } from './amounts.ts'

/**
 * Their JSON, read at the door. What money depends on must be whole, or all of it is undefined. What we do not need is not looked at:
 * `metadata` may be "", 0, null, text or an object, `plan`, `log` and `customer` change their shapes as well.
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
}

export interface PaystackRefund {
  id: string
  transactionId: string
  domain: string
  status: string
  amount: Money
}

export interface PaystackError {
  message: string
  code: string | null
  type: string | null
}

export interface PaystackNotice {
  event: string
  data: Fields
}

/** `data` of an answer that says `status: true`, which only means that the call was understood. */
export function readData(text: string): unknown {
  const answer = fields(parse(text, asWritten))
  return answer?.status === true ? answer.data : undefined
}

/** A refusal; undefined when somebody else has answered in their place. */
export function readError(text: string): PaystackError | undefined {
  const answer = fields(parse(text, asWritten))
  const message = line(answer?.message)
  if (answer?.status !== false || !message) return undefined
  return { message, code: word(answer.code) ?? null, type: word(answer.type) ?? null }
}

export function readTransaction(value: unknown): PaystackTransaction | undefined {
  const transaction = fields(value)
  const id = digits(transaction?.id)
  const reference = word(transaction?.reference)
  const domain = word(transaction?.domain)
  const status = word(transaction?.status)
  const amount = transaction && paidForOrder(transaction)
  if (!transaction || !id || !reference || !domain || !status || !amount) return undefined
  const paidAt = date(transaction.paid_at) ?? date(transaction.paidAt) ?? null
  const createdAt = date(transaction.created_at) ?? date(transaction.createdAt) ?? null
  return {
    id,
    reference,
    domain,
    status,
    amount,
    paidAt,
    at: paidAt ?? date(transaction.transaction_date) ?? createdAt,
    response: line(transaction.gateway_response) ?? line(transaction.message),
    tries: digits(fields(transaction.log)?.attempts) ?? null,
    card: readCard(transaction.authorization),
  }
}

/**
 * Where fees are passed on, `amount` is more than was asked for by just these, and `requested_amount` is the order's. Less than was asked
 * for is what there is.
 */
function paidForOrder(transaction: Fields): Money | undefined {
  const charged = wholeNumber(transaction.amount)
  const requested = transaction.requested_amount == null ? charged : wholeNumber(transaction.requested_amount)
  if (charged === undefined || requested === undefined) return undefined
  return readMoney(Math.min(charged, requested), transaction.currency)
}

function readMoney(hundredths: number | undefined, code: unknown): Money | undefined {
  const currency = currencyOf(code)
  const amount = hundredths === undefined || !currency ? undefined : fromHundredths(hundredths, currency)
  return amount === undefined || !currency ? undefined : money(amount, currency)
}

/** One that cannot be charged again is none either. */
function readCard(value: unknown): SavedCard | null {
  const card = fields(value)
  if (card?.channel !== 'card' || card.reusable !== true) return null
  const token = word(card.authorization_code)
  return wholeCard({
    token: token?.startsWith('AUTH_') ? token : undefined,
    brand: line(card.brand) ?? line(card.card_type),
    last4: word(card.last4),
    expiryMonth: wholeNumber(trimZero(card.exp_month)),
    expiryYear: wholeNumber(card.exp_year),
  })
}

const trimZero = (value: unknown) => (typeof value === 'string' ? value.replace(/^0(?=\d)/, '') : value)

/** The page that takes a card. */
export function readLink(value: unknown): { link: string; reference: string } | undefined {
  const start = fields(value)
  const link = webAddress(start?.authorization_url)
  const reference = word(start?.reference)
  return link && reference ? { link, reference } : undefined
}

/** A saved card for which the bank wants the customer: a link, `paused`, and no status at all. One that is final counts for more. */
export function readPause(value: unknown): { link: string; reference: string } | undefined {
  const charge = fields(value)
  const isFinal = charge?.status === 'success' || charge?.status === 'failed'
  return charge?.paused === true && !isFinal ? readLink(charge) : undefined
}

export function readAccount(value: unknown): PaystackAccount | undefined {
  const account = fields(value)
  const reference = word(account?.reference)
  const status = word(account?.status)
  const number = digitsOfAccount(account?.account_number)
  const bank = line(fields(account?.bank)?.name)
  if (!account || !reference || !status || !number || !bank) return undefined
  return {
    reference,
    status,
    name: line(account.account_name),
    number,
    bank,
    expiresAt: date(account.account_expires_at) ?? null,
    hundredths: wholeNumber(account.amount) ?? null,
  }
}

// As text alone: a number has lost its zeros in front.
const digitsOfAccount = (value: unknown) => (typeof value === 'string' && /^\d{6,20}$/.test(value) ? value : undefined)

/** The transaction is a number in the list, and an object in the answer to a new one. */
export function readRefund(value: unknown): PaystackRefund | undefined {
  const refund = fields(value)
  const id = digits(refund?.id)
  const transactionId = digits(refund?.transaction) ?? digits(fields(refund?.transaction)?.id)
  const domain = word(refund?.domain)
  const status = word(refund?.status)
  const amount = readMoney(wholeNumber(refund?.amount), refund?.currency)
  return id && transactionId && domain && status && amount ? { id, transactionId, domain, status, amount } : undefined
}

/** Whatever has been noted on the refunds of a list; undefined when it is none. */
export function readNotes(value: unknown): { note: string; refund: unknown }[] | undefined {
  if (!Array.isArray(value)) return undefined
  const notes = value.map((refund) => ({ note: line(fields(refund)?.merchant_note) ?? '', refund }))
  return notes.every(({ refund }) => fields(refund)) ? notes : undefined
}

export function readNoticeBody(body: Buffer): PaystackNotice | undefined {
  const notice = fields(parse(decode(body), asWritten))
  const event = word(notice?.event)
  const data = fields(notice?.data)
  return event && data ? { event, data } : undefined
}

/** A transfer that they sent back: names a transaction, and neither reference nor mode. */
export function readRejectedTransfer(data: Fields): { transactionId: string } | undefined {
  const transactionId = digits(fields(data.bank_transfer)?.transaction_id)
  return transactionId ? { transactionId } : undefined
}

/** A refund as a notice tells it: by the payment's reference. The samples have no id, so most of them are told from no other. */
export function readRefundNotice(
  data: Fields,
): { id: string | null; reference: string; domain: string; amount: Money } | undefined {
  const reference = word(data.transaction_reference)
  const domain = word(data.domain)
  const amount = readMoney(wholeNumber(data.amount), data.currency)
  return reference && domain && amount ? { id: digits(data.id) ?? null, reference, domain, amount } : undefined
}

export function readDispute(
  data: Fields,
): { id: string; reference: string; domain: string; resolution: string | null; amount: Money } | undefined {
  const id = digits(data.id)
  const reference = word(fields(data.transaction)?.reference)
  const domain = word(data.domain)
  const amount = readMoney(wholeNumber(data.refund_amount), data.currency)
  if (!id || !reference || !domain || !amount) return undefined
  return { id, reference, domain, resolution: word(data.resolution) ?? null, amount }
}

/** A whole number, written as one: not 1.0, not 1e3. Some come as text. */
function digits(value: unknown): string | undefined {
  const text = digitsOf(value)
  return text && /^(0|[1-9]\d{0,19})$/.test(text) ? text : undefined
}

function wholeNumber(value: unknown): number | undefined {
  const number = Number(digits(value) ?? Number.NaN)
  return Number.isSafeInteger(number) ? number : undefined
}
