import { type Currency, type Money, money, plainAmount } from '../../kernel/money.ts'
import {
  all,
  currencyOf,
  date,
  decode,
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
 * Parsers of Flutterwave's JSON, validated at the boundary. They never throw: an invalid required field makes the whole object undefined. Statuses
 * stay text, because new ones may be added.
 */
export interface Envelope {
  isSuccess: boolean
  message: string | null
  data: unknown
  meta: unknown
}

/** One try at paying an order. */
export interface Transaction {
  id: string
  /** `tx_ref`: ours. */
  reference: string
  status: string
  currency: Currency
  /** What was asked for. */
  amount: number
  /** What was taken: more when the customer bears the fee. */
  charged: number
  authModel: string | null
  reason: string | null
  at: Date
  card: SavedCard | null
  /** Where the customer has to go for a PIN or a code. */
  redirect: string | null
}

export interface BankAccount {
  number: string
  bank: string
  transferReference: string | null
  amount: number
  expiresAt: Date | null
}

export interface Refund {
  id: string
  transactionId: string
  status: string
  amount: number
  comment: string | null
  at: Date | null
}

export interface Chargeback {
  id: string
  transactionId: string
  status: string
  amount: number
  comment: string | null
  openedAt: Date
  dueAt: Date | null
}

export interface NoticeBody {
  about: 'charge' | 'refund' | 'dispute' | 'something else'
  reference: string | null
  transactionId: string | null
  data: Transaction | undefined
}

/** The envelope of every answer; undefined for any other body, such as the error page of a proxy. */
export function readEnvelope(text: string): Envelope | undefined {
  const envelope = fields(parseAsText(text))
  const status = envelope?.status
  if (!envelope || (status !== 'success' && status !== 'error')) return undefined
  const { message, data, meta } = envelope
  return { isSuccess: status === 'success', message: line(message), data, meta }
}

/** `otherwise`: the time of one that says none, as some of their samples do. */
export function readTransaction(value: unknown, otherwise?: Date): Transaction | undefined {
  const transaction = fields(value)
  const id = numeric(transaction?.id)
  const reference = word(transaction?.tx_ref)
  const status = phrase(transaction?.status)
  const currency = currencyOf(transaction?.currency)
  const at = date(transaction?.created_at) ?? otherwise
  if (!transaction || !id || !reference || !status || !currency || !at) return undefined
  const amount = minorOf(transaction.amount, currency)
  // The customer's total may have more decimals than money has. What counts is the smaller of the two.
  const charged = nearestMinorOf(transaction.charged_amount ?? transaction.amount, currency)
  if (amount === undefined || charged === undefined) return undefined
  return {
    id,
    reference,
    status,
    currency,
    amount,
    charged,
    authModel: line(transaction.auth_model),
    reason: line(transaction.processor_response),
    at,
    card: readCard(transaction.card),
    redirect: webAddress(fields(fields(transaction.meta)?.authorization)?.redirect),
  }
}

/**
 * The transactions of one order in a list. Other orders are skipped. An invalid transaction of this order makes the whole list undefined, so
 * that no money is missed.
 */
export function readTransactions(value: unknown, reference: string): Transaction[] | undefined {
  if (!Array.isArray(value)) return undefined
  return all(
    value.filter((one) => fields(one)?.tx_ref === reference),
    (one) => readTransaction(one),
  )
}

/** How many pages a list has. */
export function readPages(meta: unknown): number {
  return Number(numeric(fields(fields(meta)?.page_info)?.total_pages) ?? 1)
}

export function readLink(data: unknown): string | undefined {
  return webAddress(fields(data)?.link) ?? undefined
}

/** Under `meta.authorization`, beside `data` and not in it. It never says whose name the account is in. */
export function readAccount(meta: unknown, currency: Currency): BankAccount | undefined {
  const account = fields(fields(meta)?.authorization)
  const number = numeric(account?.transfer_account)
  const bank = line(account?.transfer_bank)
  const amount = minorOf(account?.transfer_amount, currency)
  if (!account || !number || !bank || amount === undefined) return undefined
  const transferReference = word(account.transfer_reference) ?? null
  return { number, bank, transferReference, amount, expiresAt: moment(account.account_expiration) ?? null }
}

/** In the answer to a refund the transaction is `tx_id`, in the list `transaction_id`. */
export function readRefund(value: unknown, currency: Currency): Refund | undefined {
  const refund = fields(value)
  const id = numeric(refund?.id)
  const transactionId = numeric(refund?.tx_id ?? refund?.transaction_id)
  const status = phrase(refund?.status)
  const amount = minorOf(refund?.amount_refunded, currency)
  if (!refund || !id || !transactionId || !status || amount === undefined) return undefined
  const at = date(refund.created_at) ?? null
  return { id, transactionId, status, amount, comment: line(refund.comment ?? refund.comments), at }
}

export function readRefunds(value: unknown, transactionId: string, currency: Currency): Refund[] | undefined {
  return readOfTransaction(value, transactionId, (one) => readRefund(one, currency))
}

/** They name no currency: it is the transaction's. */
export function readChargebacks(value: unknown, transactionId: string, currency: Currency): Chargeback[] | undefined {
  return readOfTransaction(value, transactionId, (one) => {
    const chargeback = fields(one)
    const id = numeric(chargeback?.id)
    const status = phrase(chargeback?.status)
    const amount = minorOf(chargeback?.amount, currency)
    const openedAt = date(chargeback?.created_at)
    if (!chargeback || !id || !status || amount === undefined || !openedAt) return undefined
    const dueAt = date(chargeback.due_date) ?? null
    return { id, transactionId, status, amount, comment: line(chargeback.comment), openedAt, dueAt }
  })
}

/** One that names no transaction may be of this one. */
function readOfTransaction<T>(value: unknown, transactionId: string, read: (one: unknown) => T | undefined) {
  if (!Array.isArray(value)) return undefined
  const ofIt = value.filter((one) => {
    const said = transactionIdOf(one)
    return said === undefined || said === transactionId
  })
  return all(ofIt, read)
}

/** The transaction that an entry of a list of refunds or chargebacks is about. */
export function transactionIdOf(value: unknown): string | undefined {
  const entry = fields(value)
  return numeric(entry?.transaction_id ?? entry?.tx_id)
}

const PAID_STATUSES = new Set(['successful', 'reversed', 'refunded'])

/** The paid transactions of a list, of any order. Others are skipped, valid or not. */
export function readPaidTransactions(value: unknown): Transaction[] | undefined {
  if (!Array.isArray(value) || !value.every((one) => phrase(fields(one)?.status))) return undefined
  return all(
    value.filter((one) => PAID_STATUSES.has(phrase(fields(one)?.status) ?? '')),
    (one) => readTransaction(one),
  )
}

export function readNoticeBody(body: Buffer, receivedAt: Date): NoticeBody | undefined {
  const notice = fields(parseAsText(decode(body)))
  if (!notice) return undefined
  const event = word(notice.event)
  if (!event) return readFlatNotice(notice, receivedAt)
  const data = fields(notice.data)
  const about = aboutOf(event)
  // `id` of a charge is the transaction's. A refund, a chargeback or a payout has an id of its own.
  const transactionId = about === 'charge' ? numeric(data?.id) : transactionIdOf(data)
  return {
    about,
    reference: word(data?.tx_ref) ?? null,
    transactionId: transactionId ?? null,
    data: readTransaction(data, receivedAt),
  }
}

function aboutOf(event: string): NoticeBody['about'] {
  if (event === 'charge.completed') return 'charge'
  if (/refund/i.test(event)) return 'refund'
  return /chargeback|dispute/i.test(event) ? 'dispute' : 'something else'
}

/**
 * Accounts with the older setting send notices without an envelope: a charge with `txRef`, and a refund in PascalCase, which names the
 * transaction alone.
 */
function readFlatNotice(notice: Fields, receivedAt: Date): NoticeBody | undefined {
  const refunded = numeric(notice.TransactionId)
  if (refunded) return { about: 'refund', reference: null, transactionId: refunded, data: undefined }
  const reference = word(notice.txRef)
  if (!reference) return undefined
  const { id, status, currency, amount, charged_amount, createdAt } = notice
  const charge = { id, tx_ref: reference, status, currency, amount, charged_amount, created_at: createdAt }
  const data = readTransaction(charge, receivedAt)
  return { about: data ? 'charge' : 'something else', reference, transactionId: numeric(id) ?? null, data }
}

function readCard(value: unknown): SavedCard | null {
  const card = fields(value)
  const [, month, year] = /^(\d{1,2})\/(\d{2})$/.exec(word(card?.expiry) ?? '') ?? []
  return wholeCard({
    token: word(card?.token),
    brand: line(card?.type),
    last4: numeric(card?.last_4digits),
    expiryMonth: Number(month),
    expiryYear: 2000 + Number(year),
  })
}

/** Numbers come out as text: they write amounts as numbers here and as text there, and a float would round. */
const parseAsText = (text: string) => parse(text, (digits) => digits)

/** A status: `pending auth` is one. */
function phrase(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x20-\x7e]{1,100}$/.test(value) ? value.trim().toLowerCase() : undefined
}

/** Digits alone, whether they were sent as a number or as text. */
function numeric(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? value : undefined
}

/** Milliseconds since 1970 or a date. A date without its time zone may be an hour off, so it is none. */
function moment(value: unknown): Date | undefined {
  return typeof value === 'string' && /^\d{12,14}$/.test(value) ? new Date(Number(value)) : date(value)
}

/**
 * Flutterwave uses decimal amounts, we use minor units. Conversion works on digits: 19.99 * 100 in floating point is 1998.9999….
 */
export function majorOf(sum: Money): string {
  return plainAmount(sum)
}

/** Their digits in our units; undefined for what is no amount, or has more decimals than the currency. */
export function minorOf(digits: unknown, currency: Currency): number | undefined {
  const match = typeof digits === 'string' ? /^(\d{1,13})(?:\.(\d{1,20}))?$/.exec(digits) : null
  if (!match) return undefined
  const [, whole = '', fraction = ''] = match
  const places = decimalsOf(currency)
  if (fraction.length > places) return undefined
  const minor = Number(whole + fraction.padEnd(places, '0'))
  return Number.isSafeInteger(minor) ? minor : undefined
}

/** The same, rounded to the nearest unit when there are more decimals than the currency has: fees and exchange rates leave such amounts. */
export function nearestMinorOf(digits: unknown, currency: Currency): number | undefined {
  const exact = minorOf(digits, currency)
  if (exact !== undefined || typeof digits !== 'string' || !/^\d{1,13}\.\d{1,20}$/.test(digits)) return exact
  const places = decimalsOf(currency)
  const [whole = '', fraction = ''] = digits.split('.')
  const down = minorOf(places === 0 ? whole : `${whole}.${fraction.slice(0, places)}`, currency)
  return down === undefined ? undefined : down + (Number(fraction[places]) >= 5 ? 1 : 0)
}

function decimalsOf(currency: Currency): number {
  return plainAmount(money(0, currency)).split('.')[1]?.length ?? 0
}
