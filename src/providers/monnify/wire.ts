import assert from 'node:assert/strict'
import type { Money } from '../../kernel/money.ts'
import {
  all,
  asWritten,
  currencyOf,
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
  word as wordOf,
} from '../json-parsers.ts'

/**
 * Parsers of Monnify's JSON, validated at the boundary. They never throw: an invalid required field makes the whole
 * object undefined. Statuses stay text, because new ones may be added. Amounts are kobo.
 */

// Their ids and codes are short, so the limit is, too.
const word = (value: unknown) => wordOf(value, 200)

const Word = Required(word)
const OptionalWord = Lenient(word)
const Line = Lenient(line)
const Naira = Required(readNaira)
const Time = Lenient(readTime)
/** What a bank wants dialled, with the amount: *901*100.00*6795542937# */
const Dialled = Lenient((value) => (/^\*[\d*.]{3,60}#$/.test(word(value) ?? '') ? word(value) : null))
/** `transactionReference` is theirs, with `|` in it; `paymentReference` is ours. */
const NAMES = { transactionReference: Word, paymentReference: Word }

export const readToken = decoderOf({
  accessToken: Required((value) => wordOf(value, 8_192)), // It goes into a header, and is longer than other words.
  expiresIn: Required(seconds),
})

export const readStart = decoderOf({
  ...NAMES,
  apiKey: OptionalWord,
  // Their links have `|` in them, which a header and a page must not have.
  checkoutUrl: Lenient((value) => webAddress(value)?.replaceAll('|', '%7C')),
})

/** Their sandbox repeats names and amounts; their API reference shows the account alone. */
export const readAccount = decoderOf({
  transactionReference: Nullable(word),
  paymentReference: Nullable(word),
  accountName: Line,
  accountNumber: Required((value) => (/^\d{6,20}$/.test(word(value) ?? '') ? word(value) : undefined)),
  bankName: Required((value) => line(value) ?? undefined),
  accountDurationSeconds: Lenient(seconds),
  amount: Nullable(readNaira),
  totalPayable: Nullable(readNaira),
  ussdPayment: Dialled,
  ussdCode: Dialled, // the same in their API reference
})

/** Each with its code and its name. Templates to dial stand beside them. */
export function readBanks(value: unknown): { code: string; name: string }[] | undefined {
  return all(value, decodeBank)
}
const decodeBank = decoderOf({ code: Word, name: Required((value) => line(value) ?? undefined) })

/** A card without a token is one that cannot be kept, which is the usual case. */
const decodeCard = decoderOf({
  reusable: Nullable((value) => (value === false ? undefined : true)),
  cardToken: Word,
  cardType: Line,
  bin: OptionalWord,
  last4: Word,
  expMonth: Word,
  expYear: Required((value) => /^(?:20)?(\d\d)$/.exec(word(value) ?? '')?.[1]),
})

const decodeTransaction = decoderOf({
  ...NAMES,
  paymentStatus: Word,
  amountPaid: Naira,
  /** With their fee, if the contract has the customer bear it. 0 before anything was paid. */
  totalPayable: Naira,
  /** What the merchant gets of all of it. */
  settlementAmount: Lenient(readNaira),
  currency: Required(currencyOf),
  paymentMethod: OptionalWord,
  paidOn: Time,
  // The single transfers have one name in answers and another in notices; some answers use that of the notices.
  accountPayments: Lenient(readTransfers),
  paymentSourceInformation: Lenient(readTransfers),
  cardDetails: Lenient(readCard),
  // `startedAs` is what we sent when we started it.
  metaData: Lenient((value) => word(fields(value)?.startedAs)),
})

export const readRefund = decoderOf({
  refundReference: Word,
  transactionReference: Word,
  refundStatus: Word,
  refundAmount: Naira,
  createdOn: Time,
})

/** A page of a list. Pages are numbered from 0. */
const pageOf = <T>(readOne: (one: unknown) => T | undefined) =>
  decoderOf({
    content: Required((value) => all(value, readOne)),
    totalPages: Required((value) => (/^\d{1,7}$/.test(digitsOf(value) ?? '') ? Number(digitsOf(value)) : undefined)),
  })

export const readRefundPage = pageOf(readRefund)
export const readFound = decoderOf({
  ...NAMES,
  paymentStatus: Word,
  amount: Naira,
  currencyCode: Lenient(currencyOf),
  createdOn: Time,
})
/** Of a list that other shops use, too: its entries are not read. */
export const readAnyPage = pageOf((one) => one)

export const namesIn = (value: unknown) => ({
  transactionId: null,
  orderReference: nameOf(fields(value)?.paymentReference ?? fields(value)?.transactionReference),
})

const decodeNotice = decoderOf({ eventType: Word, eventData: Lenient(fields) })
const decodeEventNames = decoderOf({ paymentReference: OptionalWord, transactionReference: OptionalWord })

export type MonnifyStart = NonNullable<ReturnType<typeof readStart>>
export type MonnifyTransaction = NonNullable<ReturnType<typeof readTransaction>>
export type MonnifyRefund = NonNullable<ReturnType<typeof readRefund>>
export type MonnifyFound = NonNullable<ReturnType<typeof readFound>>
export type MonnifyRefundPage = NonNullable<ReturnType<typeof readRefundPage>>
export type MonnifyNotice = NonNullable<ReturnType<typeof readNoticeBody>>
export type Envelope = { kind: 'good'; body: unknown } | { kind: 'error'; code: string; body?: undefined }

/**
 * `{ requestSuccessful, responseCode, responseBody }`. Some endpoints leave out the first, and an error may come with
 * HTTP 200; undefined when the two contradict each other, and for any other body, such as the error page of a proxy.
 */
export function readEnvelope(text: string): Envelope | undefined {
  const { requestSuccessful, responseCode, responseBody } = fields(parse(text, asWritten)) ?? {}
  const code = word(digitsOf(responseCode)) // a number in some samples
  if (requestSuccessful !== undefined && typeof requestSuccessful !== 'boolean') return undefined
  if (code === '0') return requestSuccessful === false ? undefined : { kind: 'good', body: responseBody }
  return code && requestSuccessful !== true ? { kind: 'error', code } : undefined
}

export function readTransaction(value: unknown) {
  const transaction = decodeTransaction(value)
  if (!transaction) return undefined
  const { paymentStatus: status, paymentMethod: method, cardDetails: card, metaData: startedAs, ...rest } = transaction
  const { accountPayments, paymentSourceInformation, ...sums } = rest
  // The method decides the ids of the receipts, so money without one is invalid.
  if (sums.amountPaid > 0 && !method) return undefined
  // For a card they put `[]`, `[{}]` or `{}` there.
  const listed = accountPayments?.length === 0 ? paymentSourceInformation : accountPayments
  const transfers = method === 'CARD' ? [] : listed
  return transfers ? { ...sums, status, method, card, startedAs, transfers } : undefined
}

export function readNoticeBody(body: Buffer) {
  const notice = decodeNotice(parse(decode(body), asWritten))
  if (!notice) return undefined
  const { eventType: type, eventData } = notice
  const none = { paymentReference: null, transactionReference: null }
  return { type, ...(decodeEventNames(eventData) ?? none), transaction: readTransaction(eventData), eventData }
}

/** What each transfer brought: a list; or one that is not in a list; or `{}` or nothing, for none. */
function readTransfers(value: unknown): number[] | undefined {
  const one = fields(value)
  const list = one ? (Object.keys(one).length > 0 ? [one] : []) : (value ?? [])
  return all(list, (transfer) => readNaira(fields(transfer)?.amountPaid))
}

function readCard(value: unknown) {
  const card = decodeCard(value)
  if (!card) return null
  const { cardToken: token, cardType, bin, last4, expMonth, expYear } = card
  const brand = cardType ?? brandOf(bin ?? '')
  return wholeCard({ token, brand, last4, expiryMonth: Number(expMonth), expiryYear: 2000 + Number(expYear) })
}

/** They often leave the brand out. These are the three that they take. */
function brandOf(bin: string): string {
  if (bin.startsWith('4')) return 'Visa'
  if (/^(506|507|650)/.test(bin)) return 'Verve'
  return /^(5[1-5]|2[2-7])/.test(bin) ? 'Mastercard' : 'Card'
}

function seconds(value: unknown): number | undefined {
  const digits = digitsOf(value)
  return digits && /^[1-9]\d{0,7}$/.test(digits) ? Number(digits) : undefined
}

/**
 * Monnify uses naira with decimals, we use kobo. Conversion works on digits: 5000.10 * 100 in floating point is
 * 500010.00000000006, and JSON.parse would return floating point numbers.
 */

/** As a number in their JSON: 5000.10. */
export function nairaOf({ amount, currency }: Money): string {
  assert(currency === 'NGN', `monnify takes NGN, not ${currency}`)
  const digits = String(amount).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** A JSON object with an amount, written as digits: `JSON.stringify` has no way to write 5000.10. */
export function jsonWith(name: string, sum: Money, others: Record<string, unknown>): string {
  return `{${JSON.stringify(name)}:${nairaOf(sum)},${JSON.stringify(others).slice(1)}`
}

// "5000", "5000.1", "5000.00", and 1.0E7, which is how Java writes ten million.
const AMOUNT = /^(0|[1-9]\d{0,15})(?:\.(\d{1,20}))?(?:[eE]\+?(\d{1,2}))?$/

/** Kobo. Undefined for a negative amount, a fraction of a kobo, or one above the safe integers. */
export function readNaira(value: unknown): number | undefined {
  const [, whole, fraction = '', exponent = '0'] = AMOUNT.exec(digitsOf(value) ?? '') ?? []
  if (whole === undefined) return undefined
  const places = Number(exponent) + 2
  const shifted = fraction.padEnd(places, '0')
  if (/[1-9]/.test(shifted.slice(places))) return undefined
  const kobo = Number(whole + shifted.slice(0, places))
  return Number.isSafeInteger(kobo) ? kobo : undefined
}

// `25/07/2026 11:20:20 AM`, `2026-11-20 11:28:42.615`, `2026-06-27T09:11:14.596774984`. A zone is read, never seen.
const SLASHES = /^(\d\d?)\/(\d\d?)\/(\d{4}) (\d\d?):(\d\d):(\d\d) ?([AP]M)$/i
const DASHES = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?$/

// Their times have no zone. They appear to be Nigerian time: an hour ahead of UTC, all year.
const ZONE = '+01:00'

/** A time. Null for an invalid one: no decision depends on it. */
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

/** Rejects the 31st of February, which JavaScript reads as the 3rd of March. */
function moment(date: string, time: string, ms: string, zone: string): Date | null {
  const asWritten = `${date}T${time}.${ms}Z`
  const read = new Date(asWritten)
  if (Number.isNaN(read.getTime()) || read.toISOString() !== asWritten) return null
  const at = new Date(`${date}T${time}.${ms}${zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  return Number.isNaN(at.getTime()) ? null : at
}
