import { type Currency, parseCurrency } from '../../kernel/money.ts'
import type { SavedCard } from '../provider.ts'
import { digitsOf, parseExactly, readNaira } from './amounts.ts'
import { readTime } from './times.ts'

/**
 * Their JSON, read at the door. What money depends on must be whole, or all of it is undefined: an answer that we understand by half is one
 * that we do not understand. Amounts are kobo from here on; statuses stay text, for new ones will come.
 */
export interface MonnifyTransaction {
  /** Theirs, with `|` in it. */
  transactionReference: string
  /** Ours. */
  paymentReference: string
  status: string
  amountPaid: number
  /** With their fee, if the contract has the customer bear it. 0 before anything was paid. */
  totalPayable: number
  currency: Currency
  method: string | null
  paidOn: Date | null
  /** What each transfer brought, in no order that we rely on. */
  transfers: number[]
  card: SavedCard | null
  /** What we said of it when we began it. */
  startedAs: string | null
}

export interface MonnifyStart {
  transactionReference: string
  paymentReference: string
  apiKey: string | null
  checkoutURL: string | null
}

export interface MonnifyAccount {
  transactionReference: string
  paymentReference: string
  accountName: string | null
  accountNumber: string
  bankName: string
  lifetimeSeconds: number | null
  amount: number
  totalPayable: number
}

export interface MonnifyRefund {
  refundReference: string
  transactionReference: string
  status: string
  amount: number
}

export interface MonnifyNotice {
  type: string
  paymentReference: string | null
  transactionReference: string | null
  transaction: MonnifyTransaction | undefined
  refund: MonnifyRefund | undefined
}

export type Envelope = { kind: 'good'; body: unknown } | { kind: 'error'; code: string; body?: undefined }

/**
 * `{ requestSuccessful, responseCode, responseBody }`. Some endpoints leave out the first, and an error may come with HTTP 200; undefined
 * when the two contradict each other, or when somebody else has answered in their place.
 */
export function readEnvelope(text: string): Envelope | undefined {
  const { requestSuccessful, responseCode, responseBody } = fields(parseExactly(text)) ?? {}
  const code = word(responseCode)
  if (requestSuccessful !== undefined && typeof requestSuccessful !== 'boolean') return undefined
  if (code === '0') return requestSuccessful === false ? undefined : { kind: 'good', body: responseBody }
  return code && requestSuccessful !== true ? { kind: 'error', code } : undefined
}

export function readToken(value: unknown): { token: string; expiresInSeconds: number } | undefined {
  const body = fields(value)
  const token = body?.accessToken
  const expiresInSeconds = seconds(body?.expiresIn)
  // It goes into a header, and is longer than other words.
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(token) || !expiresInSeconds) return undefined
  return { token, expiresInSeconds }
}

export function readStart(value: unknown): MonnifyStart | undefined {
  const body = fields(value)
  const names = readNames(body)
  return names && { ...names, apiKey: word(body?.apiKey) ?? null, checkoutURL: webAddress(body?.checkoutUrl) }
}

export function readAccount(value: unknown): MonnifyAccount | undefined {
  const body = fields(value)
  const names = readNames(body)
  const accountNumber = word(body?.accountNumber)
  const bankName = line(body?.bankName)
  const amount = readNaira(body?.amount)
  const totalPayable = readNaira(body?.totalPayable)
  if (!body || !names || !accountNumber || !/^\d{6,20}$/.test(accountNumber) || !bankName) return undefined
  if (amount === undefined || totalPayable === undefined) return undefined
  const lifetimeSeconds = seconds(body.accountDurationSeconds) ?? null
  return {
    ...names,
    accountName: line(body.accountName),
    accountNumber,
    bankName,
    lifetimeSeconds,
    amount,
    totalPayable,
  }
}

/** `transfersIn`: answers and notices have the single transfers under different names. */
export function readTransaction(
  value: unknown,
  transfersIn: 'accountPayments' | 'paymentSourceInformation' = 'accountPayments',
): MonnifyTransaction | undefined {
  const body = fields(value)
  const names = readNames(body)
  const status = word(body?.paymentStatus)
  const amountPaid = readNaira(body?.amountPaid)
  const totalPayable = readNaira(body?.totalPayable)
  const currency = typeof body?.currency === 'string' ? parseCurrency(body.currency) : undefined
  if (!body || !names || !status || amountPaid === undefined || totalPayable === undefined || !currency)
    return undefined
  const method = word(body.paymentMethod) ?? null
  // Money is named by how it came, so that must be known.
  if (amountPaid > 0 && !method) return undefined
  // For a card they put `[]`, `[{}]` or `{}` there.
  const transfers = method === 'CARD' ? [] : readTransfers(body[transfersIn])
  if (!transfers) return undefined
  return {
    ...names,
    status,
    amountPaid,
    totalPayable,
    currency,
    method,
    paidOn: readTime(body.paidOn),
    transfers,
    card: readCard(body.cardDetails),
    startedAs: word(fields(body.metaData)?.startedAs) ?? null,
  }
}

export function readRefund(value: unknown): MonnifyRefund | undefined {
  const body = fields(value)
  const refundReference = word(body?.refundReference)
  const transactionReference = word(body?.transactionReference)
  const status = word(body?.refundStatus)
  const amount = readNaira(body?.refundAmount)
  if (!refundReference || !transactionReference || !status || amount === undefined) return undefined
  return { refundReference, transactionReference, status, amount }
}

export function readNoticeBody(body: Buffer): MonnifyNotice | undefined {
  const notice = fields(parseExactly(decode(body)))
  const type = word(notice?.eventType)
  if (!notice || !type) return undefined
  const data = fields(notice.eventData)
  return {
    type,
    paymentReference: word(data?.paymentReference) ?? null,
    transactionReference: word(data?.transactionReference) ?? null,
    transaction: readTransaction(data, 'paymentSourceInformation'),
    refund: readRefund(data),
  }
}

function readNames(body: Record<string, unknown> | undefined) {
  const transactionReference = word(body?.transactionReference)
  const paymentReference = word(body?.paymentReference)
  return transactionReference && paymentReference ? { transactionReference, paymentReference } : undefined
}

/** A list; or one that is not in a list; or `{}` or nothing, for none. */
function readTransfers(value: unknown): number[] | undefined {
  const one = fields(value)
  const list = one ? (Object.keys(one).length > 0 ? [one] : []) : (value ?? [])
  if (!Array.isArray(list)) return undefined
  const amounts = list.map((transfer) => readNaira(fields(transfer)?.amountPaid))
  return amounts.includes(undefined) ? undefined : (amounts as number[])
}

/** A card without a token is one that cannot be kept, which is the usual case. One that cannot be read hides no money. */
function readCard(value: unknown): SavedCard | null {
  const card = fields(value)
  const token = word(card?.cardToken)
  const last4 = word(card?.last4)
  const expiryMonth = Number(word(card?.expMonth))
  const year = word(card?.expYear)
  if (!card || !token || card.reusable === false || !last4 || !/^\d{4}$/.test(last4)) return null
  if (!(expiryMonth >= 1 && expiryMonth <= 12) || !Number.isInteger(expiryMonth)) return null
  if (!year || !/^(20)?\d\d$/.test(year)) return null
  const brand = line(card.cardType) ?? brandOf(word(card.bin) ?? '')
  return { token, brand, last4, expiryMonth, expiryYear: 2000 + (Number(year) % 100) }
}

/** They often leave the brand out. These are the three that they take. */
function brandOf(bin: string): string {
  if (bin.startsWith('4')) return 'Visa'
  if (/^(506|507|650)/.test(bin)) return 'Verve'
  return /^(5[1-5]|2[2-7])/.test(bin) ? 'Mastercard' : 'Card'
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return ''
  }
}

function fields(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

/** An id, a code, a status: something that can be stored and compared. */
function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined
}

/** A line for people. PostgreSQL takes neither NUL nor half a character, and nobody wants a control character on a page. */
function line(value: unknown): string | null {
  if (typeof value !== 'string') return null
  return (
    value
      .slice(0, 255)
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, ' ')
      .trim() || null
  )
}

function seconds(value: unknown): number | undefined {
  const digits = digitsOf(value)
  return digits && /^[1-9]\d{0,7}$/.test(digits) ? Number(digits) : undefined
}

/** Customers are sent there, so it is a web page or nothing. Their links have `|` in them, which a header and a page must not have. */
function webAddress(value: unknown): string | null {
  const url = typeof value === 'string' && value.length <= 2_048 ? URL.parse(value) : null
  return url && /^https?:$/.test(url.protocol) ? url.href.replaceAll('|', '%7C') : null
}
