import { type Currency, type Money, money } from '../../kernel/money.ts'
import {
  all,
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
} from '../json-parsers.ts'
import type { SavedCard } from '../provider.ts'

/**
 * Parsers of Paystack's JSON, validated at the boundary. They never throw: an invalid required field makes the whole object undefined. Fields
 * that we do not need are not validated: `metadata` may be "", 0, null, text or an object, and `plan`, `log` and `customer` vary, too.
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
  note: string
  at: Date
  disputeId: string | null
}

export interface PaystackDispute {
  id: string
  transactionId: string
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

export interface PaystackNotice {
  event: string
  data: Fields
}

/** `data` of an answer that says `status: true`, which only means that the call was understood. */
export function readData(text: string): unknown {
  const answer = fields(parse(text, asWritten))
  return answer?.status === true ? answer.data : undefined
}

/** How many pages a list has; undefined when `meta` does not say. */
export function readPageCount(text: string): number | undefined {
  return wholeNumber(fields(fields(parse(text, asWritten))?.meta)?.pageCount)
}

/** The body of a refusal; undefined for any other body, such as the error page of a proxy. */
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
    feesInAmount: transaction.requested_amount == null ? (wholeNumber(transaction.fees) ?? null) : null,
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
    narration: line(account.transaction_reference),
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

/** The merchant notes on the refunds of a list; undefined when it is not a list of objects. */
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

/** A refund notice is a reason to list the refunds of the transaction that it names. Its money is not read. */
export function readRefundNotice(data: Fields): { reference: string; domain: string } | undefined {
  const reference = word(data.transaction_reference)
  const domain = word(data.domain)
  return reference && domain ? { reference, domain } : undefined
}

/** The same for a dispute. `refund_amount` may be null. */
export function readDisputeNotice(data: Fields): { reference: string; domain: string } | undefined {
  const reference = word(fields(data.transaction)?.reference) ?? word(data.merchant_transaction_reference)
  const domain = word(data.domain)
  return reference && domain ? { reference, domain } : undefined
}

/** All refunds of a list; undefined when one of them cannot be read. */
export function readListedRefunds(value: unknown): ListedPaystackRefund[] | undefined {
  return all(value, (one) => {
    const [refund, listed] = [readRefund(one), fields(one)]
    const at = date(listed?.refunded_at) ?? date(listed?.createdAt) ?? date(listed?.created_at)
    if (!refund || !listed || !at) return undefined
    const disputeId = digits(listed.dispute) ?? digits(fields(listed.dispute)?.id) ?? null
    return { ...refund, note: line(listed.merchant_note) ?? '', at, disputeId }
  })
}

export function readDisputes(value: unknown): PaystackDispute[] | undefined {
  return all(value, (one) => {
    const dispute = fields(one)
    const id = digits(dispute?.id)
    const transactionId = digits(fields(dispute?.transaction)?.id) ?? digits(dispute?.transaction)
    const domain = word(dispute?.domain)
    const status = word(dispute?.status)
    const openedAt = date(dispute?.createdAt) ?? date(dispute?.created_at)
    if (!dispute || !id || !transactionId || !domain || !status || !openedAt) return undefined
    const hundredths = dispute.refund_amount == null ? null : wholeNumber(dispute.refund_amount)
    if (hundredths === undefined) return undefined
    return {
      ...{ id, transactionId, domain, status, openedAt, hundredths: hundredths || null },
      resolution: word(dispute.resolution) ?? null,
      category: line(dispute.category),
      dueAt: date(dispute.dueAt) ?? date(dispute.due_at) ?? null,
    }
  })
}

const PAID_STATUSES = new Set(['success', 'reversed', 'reversal-pending'])

/** The paid transactions of a list. Others are left out, whether they can be read or not. */
export function readPaidTransactions(value: unknown): PaystackTransaction[] | undefined {
  if (!Array.isArray(value) || !value.every((one) => word(fields(one)?.status))) return undefined
  return all(
    value.filter((one) => PAID_STATUSES.has(String(fields(one)?.status))),
    readTransaction,
  )
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

/**
 * Paystack counts every currency in hundredths. XOF has no minor unit, so its amounts are multiplied by 100 when sent.
 */
const WITHOUT_HUNDREDTHS = new Set(['XOF'])

const factorOf = (currency: string) => (WITHOUT_HUNDREDTHS.has(currency) ? 100 : 1)

export function toHundredths({ amount, currency }: Money): number {
  return amount * factorOf(currency)
}

/** In our minor units; undefined for a part of the smallest one. */
export function fromHundredths(hundredths: number, currency: Currency): number | undefined {
  const factor = factorOf(currency)
  return hundredths % factor === 0 ? hundredths / factor : undefined
}
