import assert from 'node:assert/strict'
import type { Currency, Money } from '../../kernel/money.ts'
import {
  all,
  asWritten,
  currencyOf,
  decode,
  digitsOf,
  fields,
  line,
  parse,
  webAddress,
  wholeCard,
  word as wordOf,
} from '../json-parsers.ts'
import type { SavedCard } from '../provider.ts'

/**
 * Parsers of Monnify's JSON, validated at the boundary. They never throw: an invalid required field makes the whole object undefined. Statuses
 * stay text, because new ones may be added. Amounts are kobo.
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

/** Their sandbox repeats names and amounts; their API reference shows the account alone. Null for what is not there. */
export interface MonnifyAccount {
  transactionReference: string | null
  paymentReference: string | null
  accountName: string | null
  accountNumber: string
  bankName: string
  lifetimeSeconds: number | null
  amount: number | null
  totalPayable: number | null
}

export interface MonnifyRefund {
  refundReference: string
  transactionReference: string
  status: string
  amount: number
  createdOn: Date | null
}

/** A page of a list. Pages are numbered from 0. */
export interface MonnifyPage<T> {
  content: T[]
  totalPages: number
}

export interface MonnifyNotice {
  type: string
  paymentReference: string | null
  transactionReference: string | null
  transaction: MonnifyTransaction | undefined
}

export type Envelope = { kind: 'good'; body: unknown } | { kind: 'error'; code: string; body?: undefined }

/**
 * `{ requestSuccessful, responseCode, responseBody }`. Some endpoints leave out the first, and an error may come with HTTP 200; undefined
 * when the two contradict each other, and for any other body, such as the error page of a proxy.
 */
export function readEnvelope(text: string): Envelope | undefined {
  const { requestSuccessful, responseCode, responseBody } = fields(parse(text, asWritten)) ?? {}
  const code = word(digitsOf(responseCode)) // a number in some samples
  if (requestSuccessful !== undefined && typeof requestSuccessful !== 'boolean') return undefined
  if (code === '0') return requestSuccessful === false ? undefined : { kind: 'good', body: responseBody }
  return code && requestSuccessful !== true ? { kind: 'error', code } : undefined
}

export function readToken(value: unknown): { token: string; expiresInSeconds: number } | undefined {
  const body = fields(value)
  const token = wordOf(body?.accessToken, 8_192) // It goes into a header, and is longer than other words.
  const expiresInSeconds = seconds(body?.expiresIn)
  return token && expiresInSeconds ? { token, expiresInSeconds } : undefined
}

export function readStart(value: unknown): MonnifyStart | undefined {
  const body = fields(value)
  const names = readNames(body)
  return names && { ...names, apiKey: word(body?.apiKey) ?? null, checkoutURL: linkOf(body?.checkoutUrl) }
}

export function readAccount(value: unknown): MonnifyAccount | undefined {
  const body = fields(value)
  const transactionReference = ifThere(body?.transactionReference, word)
  const paymentReference = ifThere(body?.paymentReference, word)
  const accountNumber = word(body?.accountNumber)
  const bankName = line(body?.bankName)
  const amount = ifThere(body?.amount, readNaira)
  const totalPayable = ifThere(body?.totalPayable, readNaira)
  if (!body || !accountNumber || !/^\d{6,20}$/.test(accountNumber) || !bankName) return undefined
  if (transactionReference === undefined || paymentReference === undefined) return undefined
  if (amount === undefined || totalPayable === undefined) return undefined
  const lifetimeSeconds = seconds(body.accountDurationSeconds) ?? null
  return {
    transactionReference,
    paymentReference,
    accountName: line(body.accountName),
    accountNumber,
    bankName,
    lifetimeSeconds,
    amount,
    totalPayable,
  }
}

export function readTransaction(value: unknown): MonnifyTransaction | undefined {
  const body = fields(value)
  const names = readNames(body)
  const status = word(body?.paymentStatus)
  const amountPaid = readNaira(body?.amountPaid)
  const totalPayable = readNaira(body?.totalPayable)
  const currency = currencyOf(body?.currency)
  if (!body || !names || !status || amountPaid === undefined || totalPayable === undefined || !currency)
    return undefined
  const method = word(body.paymentMethod) ?? null
  // Money is named by how it came, so that must be known.
  if (amountPaid > 0 && !method) return undefined
  // For a card they put `[]`, `[{}]` or `{}` there.
  const transfers = method === 'CARD' ? [] : readTransfers(body)
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
  return { refundReference, transactionReference, status, amount, createdOn: readTime(body?.createdOn) }
}

/** An entry of the search for transactions, with as much of it as finding the transaction takes. */
export function readFound(value: unknown): { name: string; status: string } | undefined {
  const body = fields(value)
  const name = word(body?.transactionReference)
  const status = word(body?.paymentStatus)
  return name && status ? { name, status } : undefined
}

export function readPage<T>(value: unknown, readOne: (one: unknown) => T | undefined): MonnifyPage<T> | undefined {
  const body = fields(value)
  const content = all(body?.content, readOne)
  const totalPages = digitsOf(body?.totalPages)
  if (!content || !totalPages || !/^\d{1,7}$/.test(totalPages)) return undefined
  return { content, totalPages: Number(totalPages) }
}

export function readNoticeBody(body: Buffer): MonnifyNotice | undefined {
  const notice = fields(parse(decode(body), asWritten))
  const type = word(notice?.eventType)
  if (!notice || !type) return undefined
  const data = fields(notice.eventData)
  return {
    type,
    paymentReference: word(data?.paymentReference) ?? null,
    transactionReference: word(data?.transactionReference) ?? null,
    transaction: readTransaction(data),
  }
}

function readNames(body: Record<string, unknown> | undefined) {
  const transactionReference = word(body?.transactionReference)
  const paymentReference = word(body?.paymentReference)
  return transactionReference && paymentReference ? { transactionReference, paymentReference } : undefined
}

/** The single transfers have one name in answers and another in notices; some answers use that of the notices. */
function readTransfers(body: Record<string, unknown>): number[] | undefined {
  const listed = readParts(body.accountPayments)
  return listed?.length === 0 ? readParts(body.paymentSourceInformation) : listed
}

/** A list; or one that is not in a list; or `{}` or nothing, for none. */
function readParts(value: unknown): number[] | undefined {
  const one = fields(value)
  const list = one ? (Object.keys(one).length > 0 ? [one] : []) : (value ?? [])
  return all(list, (transfer) => readNaira(fields(transfer)?.amountPaid))
}

/** A card without a token is one that cannot be kept, which is the usual case. One that cannot be read hides no money. */
function readCard(value: unknown): SavedCard | null {
  const card = fields(value)
  if (!card || card.reusable === false) return null
  const [, year] = /^(?:20)?(\d\d)$/.exec(word(card.expYear) ?? '') ?? []
  return wholeCard({
    token: word(card.cardToken),
    brand: line(card.cardType) ?? brandOf(word(card.bin) ?? ''),
    last4: word(card.last4),
    expiryMonth: Number(word(card.expMonth)),
    expiryYear: 2000 + Number(year),
  })
}

/** They often leave the brand out. These are the three that they take. */
function brandOf(bin: string): string {
  if (bin.startsWith('4')) return 'Visa'
  if (/^(506|507|650)/.test(bin)) return 'Verve'
  return /^(5[1-5]|2[2-7])/.test(bin) ? 'Mastercard' : 'Card'
}

/** Null for what is not there, undefined for what is there and cannot be read. */
function ifThere<T>(value: unknown, readIt: (value: unknown) => T | undefined): T | null | undefined {
  return value === undefined || value === null ? null : readIt(value)
}

// Theirs are short, and so is the limit.
const word = (value: unknown) => wordOf(value, 200)

/** Their links have `|` in them, which a header and a page must not have. */
const linkOf = (value: unknown) => webAddress(value)?.replaceAll('|', '%7C') ?? null

function seconds(value: unknown): number | undefined {
  const digits = digitsOf(value)
  return digits && /^[1-9]\d{0,7}$/.test(digits) ? Number(digits) : undefined
}

/**
 * Monnify uses naira with decimals, we use kobo. Conversion works on digits: 5000.10 * 100 in floating point is 500010.00000000006, and
 * JSON.parse would return floating point numbers.
 */

/** As a number in their JSON: 5000.10. */
export function nairaOf({ amount, currency }: Money): string {
  assert(currency === 'NGN', `monnify takes NGN, not ${currency}`)
  const digits = String(amount).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** A JSON object with an amount in it, which stands there as its digits: `JSON.stringify` has no way to write 5000.10. */
export function jsonWith(name: string, sum: Money, others: Record<string, unknown>): string {
  return `{${JSON.stringify(name)}:${nairaOf(sum)},${JSON.stringify(others).slice(1)}`
}

// "5000", "5000.1", "5000.00", and 1.0E7, which is how Java writes ten million.
const AMOUNT = /^(0|[1-9]\d{0,15})(?:\.(\d{1,20}))?(?:[eE]\+?(\d{1,2}))?$/

/** Kobo. Undefined for what is negative, has a part of a kobo, or cannot be counted. */
export function readNaira(value: unknown): number | undefined {
  const [, whole, fraction = '', exponent = '0'] = AMOUNT.exec(digitsOf(value) ?? '') ?? []
  if (whole === undefined) return undefined
  const places = Number(exponent) + 2
  const shifted = fraction.padEnd(places, '0')
  if (/[1-9]/.test(shifted.slice(places))) return undefined
  const kobo = Number(whole + shifted.slice(0, places))
  return Number.isSafeInteger(kobo) ? kobo : undefined
}

// `25/07/2026 11:20:20 AM`, `2026-11-20 11:28:42.615`, `2026-06-27T09:11:14.596774984`; with a zone only if they ever add one.
const SLASHES = /^(\d\d?)\/(\d\d?)\/(\d{4}) (\d\d?):(\d\d):(\d\d) ?([AP]M)$/i
const DASHES = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?$/

// Their times have no zone. By the look of it they are Nigerian: an hour ahead of UTC, all year.
const ZONE = '+01:00'

/** A moment, as exactly as they tell it; null for what is none, for nothing that counts hangs on it. */
export function readTime(value: unknown): Date | null {
  if (typeof value !== 'string' || value.length > 40) return null
  const [, day = '', month = '', year, hour = '', minute, second, half = ''] = SLASHES.exec(value) ?? []
  if (year) {
    if (Number(hour) < 1 || Number(hour) > 12) return null
    const hours = (Number(hour) % 12) + (half.toUpperCase() === 'PM' ? 12 : 0)
    return moment(`${year}-${two(month)}-${two(day)}`, `${two(String(hours))}:${minute}:${second}`, '000', ZONE)
  }
  const parts = DASHES.exec(value)
  if (!parts) return null
  const [, y, m, d, h, min, s = '00', fraction = '', zone = ZONE] = parts
  return moment(`${y}-${m}-${d}`, `${h}:${min}:${s}`, fraction.slice(0, 3).padEnd(3, '0'), zone)
}

const two = (digits: string) => digits.padStart(2, '0')

/** JavaScript makes the 3rd of March of a 31st of February; we make nothing of it. */
function moment(date: string, time: string, ms: string, zone: string): Date | null {
  const asWritten = `${date}T${time}.${ms}Z`
  const read = new Date(asWritten)
  if (Number.isNaN(read.getTime()) || read.toISOString() !== asWritten) return null
  const at = new Date(`${date}T${time}.${ms}${zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  return Number.isNaN(at.getTime()) ? null : at
}
