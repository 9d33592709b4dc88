import { type Currency, decimalsOf, type Money, plainAmount } from '../../kernel/money.ts'
import {
  all,
  currencyOf,
  date,
  decode,
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

/**
 * Parsers of Flutterwave's JSON, validated at the boundary. They never throw: an invalid required field makes the whole
 * object undefined. Statuses stay text, because new ones may be added. An amount is read with its currency, after the
 * schema: many objects do not name one.
 */
const Id = Required(numeric)
const OptionalId = Lenient(numeric)
const Word = Required(word)
const OptionalWord = Lenient(word)
const Line = Lenient(line)
const Status = Required(phrase)
const Digits = Required(digitsOf)
const Time = Lenient(date)
const Unread = Lenient((value) => value)

const decodeEnvelope = decoderOf({
  status: Required((value) => (value === 'success' || value === 'error' ? value : undefined)),
  message: Line,
  data: Unread,
  meta: Unread,
})

const decodeCard = decoderOf({
  token: Word,
  type: Line,
  last_4digits: Id,
  expiry: Required((value) => /^(\d{1,2})\/(\d{2})$/.exec(word(value) ?? '') ?? undefined),
})

/** One try at paying an order. */
const decodeTransaction = decoderOf({
  id: Id,
  tx_ref: Word,
  flw_ref: OptionalWord,
  payment_type: OptionalWord,
  status: Status,
  currency: Required(currencyOf),
  amount: Digits,
  /** More than `amount` when the customer bears the fee. */
  charged_amount: Nullable(digitsOf),
  app_fee: Lenient(digitsOf),
  merchant_fee: Lenient(digitsOf),
  /** What the merchant gets of it, after fees and taxes. */
  amount_settled: Lenient(digitsOf),
  auth_model: Line,
  processor_response: Line,
  created_at: Time,
  card: Lenient(readCard),
  // Where the customer has to go for a PIN or a code.
  meta: Lenient((value) => webAddress(fields(fields(value)?.authorization)?.redirect)),
})

export const readLink = decoderOf({ link: Required((value) => webAddress(value) ?? undefined) })

/** It never says whose name the account is in. */
const decodeAccount = decoderOf({
  transfer_account: Id,
  transfer_bank: Required((value) => line(value) ?? undefined),
  transfer_amount: Digits,
  transfer_reference: OptionalWord,
  account_expiration: Lenient(moment),
})

const Address = Lenient((value) => webAddress(value))
const decodeAuthorization = decoderOf({
  mode: OptionalWord,
  redirect: Address,
  redirect_url: Address,
  /** What to dial. */
  note: Line,
})

const decodeRefund = decoderOf({
  id: Id,
  // The transaction is `tx_id` in the answer to a refund and `transaction_id` in the list.
  tx_id: Nullable(numeric),
  transaction_id: OptionalId,
  status: Status,
  amount_refunded: Digits,
  // An object in the answer to a refund, the same as text in lists.
  meta: Lenient((value) => phrase(fields(typeof value === 'string' ? parseAsText(value) : value)?.disburse_status)),
  // We send `comments`, the list shows `comment`. The first that is there counts, even if it cannot be read.
  comment: Lenient((value) => (value == null ? null : (line(value) ?? ''))),
  comments: Line,
  created_at: Time,
})

const decodeChargeback = decoderOf({
  id: Id,
  status: Status,
  amount: Digits,
  comment: Line,
  created_at: Required(date),
  due_date: Time,
})

const decodeNotice = decoderOf({
  event: OptionalWord,
  data: Lenient(fields),
  // Accounts with the older setting send flat notices: a charge has `txRef`, a refund `TransactionId` and no reference.
  TransactionId: OptionalId,
  txRef: OptionalWord,
  id: OptionalId,
  'event.type': Line,
})
const decodeNoticeNames = decoderOf({ id: OptionalId, tx_ref: OptionalWord })

export type Envelope = NonNullable<ReturnType<typeof readEnvelope>>
export type Transaction = NonNullable<ReturnType<typeof readTransaction>>
export type Refund = NonNullable<ReturnType<typeof readRefund>>
export type Chargeback = NonNullable<ReturnType<typeof readChargebacks>>[number]

export interface NoticeBody {
  about: 'charge' | 'refund' | 'dispute' | 'something else'
  reference: string | null
  transactionId: string | null
  data: Transaction | undefined
}

/** The envelope of every answer; undefined for any other body, such as the error page of a proxy. */
export function readEnvelope(text: string) {
  const envelope = decodeEnvelope(parseAsText(text))
  if (!envelope) return undefined
  const { status, ...rest } = envelope
  return { isSuccess: status === 'success', ...rest }
}

/** `otherwise`: the time of one that says none, as some of their samples do. */
export function readTransaction(value: unknown, otherwise?: Date) {
  const transaction = decodeTransaction(value)
  const at = transaction?.created_at ?? otherwise
  if (!transaction || !at) return undefined
  const { id, tx_ref: reference, flw_ref: flwRef, payment_type: type, status, currency, card } = transaction
  const amount = minorOf(transaction.amount, currency)
  // The customer's total may have more decimals than money has. What counts is the smaller of the two.
  const charged = nearestMinorOf(transaction.charged_amount ?? transaction.amount, currency)
  if (amount === undefined || charged === undefined) return undefined
  const { auth_model: authModel, processor_response: reason, meta: redirect } = transaction
  const fee = feeOf(transaction, charged, Math.min(amount, charged))
  return { id, reference, flwRef, type, status, currency, amount, charged, fee, authModel, reason, at, card, redirect }
}

/**
 * What the merchant bears of the fees; null where they are not named. VAT and stamp duty are in `amount_settled`, and
 * not always in `app_fee`. An amount of less than half is one in another currency.
 */
function feeOf(
  said: { currency: Currency; app_fee: string | null; merchant_fee: string | null; amount_settled: string | null },
  charged: number,
  received: number,
): number | null {
  const minor = (digits: string | null) => (digits === null ? undefined : nearestMinorOf(digits, said.currency))
  const settled = minor(said.amount_settled)
  if (settled !== undefined && settled <= received && settled * 2 >= received) return received - settled
  const fee = minor(said.app_fee)
  const onTop = charged - received
  return fee === undefined ? null : Math.max(0, fee + (minor(said.merchant_fee) ?? 0) - onTop)
}

/**
 * The transactions of one order in a list. Other orders are skipped. An invalid transaction of this order makes the
 * whole list undefined, so that no money is missed.
 */
export function readTransactions(value: unknown, reference: string): Transaction[] | undefined {
  if (!Array.isArray(value)) return undefined
  return all(
    value.filter((one) => fields(one)?.tx_ref === reference),
    (one) => readTransaction(one),
  )
}

/** Lists have pages of at least so many entries. */
const SHORTEST_PAGE = 10

/** How many pages a list has. Undefined if it does not say, and this page may not be all of it. */
export function readPages({ meta, data }: Pick<Envelope, 'meta' | 'data'>): number | undefined {
  const pages = numeric(fields(fields(meta)?.page_info)?.total_pages)
  if (pages !== undefined) return Number(pages)
  return Array.isArray(data) && data.length >= SHORTEST_PAGE ? undefined : 1
}

/** The page that a list says it is; undefined where it does not say. */
export const pageIn = ({ meta }: Pick<Envelope, 'meta'>) => numeric(fields(fields(meta)?.page_info)?.current_page)

/** Under `meta.authorization`, beside `data` and not in it. */
export function readAccount(meta: unknown, currency: Currency) {
  const account = decodeAccount(fields(meta)?.authorization)
  const amount = account && minorOf(account.transfer_amount, currency)
  if (!account || amount === undefined) return undefined
  const { transfer_account: number, transfer_bank: bank, transfer_reference: transferReference } = account
  return { number, bank, transferReference, amount, expiresAt: account.account_expiration }
}

/** What the customer has to do for a charge: `authorization` is beside `data`, in it, or not there. */
export function readAuthorization({ data, meta }: Pick<Envelope, 'data' | 'meta'>) {
  const inner = fields(data)
  const said = decodeAuthorization(fields(fields(meta)?.authorization ?? fields(inner?.meta)?.authorization))
  const link = said?.redirect ?? said?.redirect_url ?? webAddress(inner?.auth_url)
  return { mode: said?.mode ?? null, link, note: said?.note ?? null }
}

export function readRefund(value: unknown, currency: Currency) {
  const refund = refundIn(value)
  const amount = refund && minorOf(refund.digits, currency)
  return refund && amount !== undefined ? { ...refund, amount } : undefined
}

function refundIn(value: unknown) {
  const refund = decodeRefund(value)
  const transactionId = refund?.tx_id ?? refund?.transaction_id
  if (!refund || !transactionId) return undefined
  const { id, status, meta: disburseStatus, comment, comments, created_at: at, amount_refunded: digits } = refund
  return { id, transactionId, status, disburseStatus, comment: (comment ?? comments) || null, at, digits }
}

/** A refund of any transaction. It names no currency, so its amount is not read. */
export function readAnyRefund(value: unknown) {
  const refund = refundIn(value)
  return refund?.at ? { ...refund, at: refund.at } : undefined
}

export function readRefunds(value: unknown, transactionId: string, currency: Currency): Refund[] | undefined {
  return readOfTransaction(value, transactionId, (one) => readRefund(one, currency))
}

/** They name no currency: it is the transaction's. */
export function readChargebacks(value: unknown, transactionId: string, currency: Currency) {
  return readOfTransaction(value, transactionId, (one) => {
    const chargeback = chargebackIn(one)
    const amount = chargeback && minorOf(chargeback.digits, currency)
    return chargeback && amount !== undefined ? { ...chargeback, transactionId, amount } : undefined
  })
}

function chargebackIn(value: unknown) {
  const chargeback = decodeChargeback(value)
  if (!chargeback) return undefined
  const { id, status, comment, created_at: openedAt, due_date: dueAt, amount: digits } = chargeback
  return { id, status, comment, openedAt, dueAt, digits }
}

/** A chargeback of any transaction, without its amount. */
export function readAnyChargeback(value: unknown) {
  const chargeback = chargebackIn(value)
  const [transactionId, orderReference] = [transactionIdOf(value) ?? null, word(fields(value)?.tx_ref) ?? null]
  return chargeback && { ...chargeback, transactionId, orderReference }
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
function transactionIdOf(value: unknown): string | undefined {
  const entry = fields(value)
  return numeric(entry?.transaction_id ?? entry?.tx_id)
}

const PAID_STATUSES = new Set(['successful', 'reversed', 'refunded'])

/** A transaction of a list, of any order, if it is paid. Others are null, valid or not. */
export function readPaidTransaction(value: unknown): Transaction | null | undefined {
  const status = phrase(fields(value)?.status)
  if (status === undefined) return undefined
  return PAID_STATUSES.has(status) ? readTransaction(value) : null
}

/** What an entry of a list names: a transaction, or what is about one. */
export const namesIn = (value: unknown) => ({
  transactionId: transactionIdOf(value) ?? null,
  orderReference: nameOf(fields(value)?.tx_ref),
})

/** Money that the merchant sent, for a bill among others: whatever it names is no order. */
const PAYOUT: NoticeBody = { about: 'something else', reference: null, transactionId: null, data: undefined }

export function readNoticeBody(body: Buffer, receivedAt: Date): NoticeBody | undefined {
  const json = fields(parseAsText(decode(body)))
  const notice = decodeNotice(json)
  if (!json || !notice) return undefined
  const { event, data, TransactionId: refunded, txRef: reference, id } = notice
  if (event) {
    if (/^(transfer|singlebillpayment)\./i.test(event)) return PAYOUT
    const about = aboutOf(event)
    const names = decodeNoticeNames(data)
    // `id` of a charge is the transaction's. A refund, a chargeback or a payout has an id of its own.
    const transactionId = (about === 'charge' ? names?.id : transactionIdOf(data)) ?? null
    return { about, reference: names?.tx_ref ?? null, transactionId, data: readTransaction(data, receivedAt) }
  }
  if (refunded) return { about: 'refund', reference: null, transactionId: refunded, data: undefined }
  if (!reference) {
    return notice['event.type']?.toLowerCase() === 'transfer' ? PAYOUT : undefined
  }
  const { status, currency, amount, charged_amount, createdAt: created_at } = json
  const flat = { id, tx_ref: reference, status, currency, amount, charged_amount, created_at }
  const charge = readTransaction(flat, receivedAt)
  return { about: charge ? 'charge' : 'something else', reference, transactionId: id, data: charge }
}

function aboutOf(event: string): NoticeBody['about'] {
  if (event === 'charge.completed') return 'charge'
  if (/refund/i.test(event)) return 'refund'
  return /chargeback|dispute/i.test(event) ? 'dispute' : 'something else'
}

function readCard(value: unknown) {
  const card = decodeCard(value)
  if (!card) return null
  const { token, type: brand, last_4digits: last4, expiry } = card
  return wholeCard({ token, brand, last4, expiryMonth: Number(expiry[1]), expiryYear: 2000 + Number(expiry[2]) })
}

/** Numbers become text: amounts come as numbers and as text, and a float would round. */
const parseAsText = (text: string) => parse(text, (digits) => digits)

/** A status: `pending auth` is one. */
export function phrase(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x20-\x7e]{1,100}$/.test(value)
    ? value.trim().toLowerCase() || undefined
    : undefined
}

/** Digits alone, whether they were sent as a number or as text. */
export function numeric(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d{1,20}$/.test(value) ? value : undefined
}

/** Milliseconds since 1970 or a date. A date without its time zone may be an hour off, so it is none. */
function moment(value: unknown): Date | undefined {
  return typeof value === 'string' && /^\d{12,14}$/.test(value) ? new Date(Number(value)) : date(value)
}

/** Flutterwave uses decimal amounts, we use minor units. Conversion works on digits: 19.99 * 100 is 1998.9999…. */
export function majorOf(sum: Money): string {
  return plainAmount(sum)
}

/** Their digits in our units; undefined for what is no amount, or has more decimals than the currency. */
export function minorOf(digits: string, currency: Currency): number | undefined {
  const [, whole, fraction = ''] = /^(\d{1,13})(?:\.(\d{1,20}))?$/.exec(digits) ?? []
  if (whole === undefined) return undefined
  const places = decimalsOf(currency)
  if (fraction.length > places) return undefined
  const minor = Number(whole + fraction.padEnd(places, '0'))
  return Number.isSafeInteger(minor) ? minor : undefined
}

/** The same, rounded to the nearest unit: fees and exchange rates leave more decimals than the currency has. */
function nearestMinorOf(digits: string, currency: Currency): number | undefined {
  const exact = minorOf(digits, currency)
  if (exact !== undefined || !/^\d{1,13}\.\d{1,20}$/.test(digits)) return exact
  const places = decimalsOf(currency)
  const [whole = '', fraction = ''] = digits.split('.')
  const down = minorOf(places === 0 ? whole : `${whole}.${fraction.slice(0, places)}`, currency)
  return down === undefined ? undefined : down + (Number(fraction[places]) >= 5 ? 1 : 0)
}
