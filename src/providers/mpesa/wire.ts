import { type Currency, type Money, money } from '../../kernel/money.ts'
import {
  asWritten,
  decode,
  decoderOf,
  digitsOf,
  fields,
  Lenient,
  line,
  parse,
  Required,
  word,
} from '../json-parsers.ts'

/**
 * Parsers of Daraja's JSON, validated at the boundary. They never throw: an invalid required field makes the whole
 * object undefined. Codes are numbers in some answers and text in others, so they are read as text.
 */
export const SHILLING = 'KES' as Currency

const Word = Required((value) => word(digitsOf(value)))
const OptionalWord = Lenient((value) => word(digitsOf(value)))
const Line = Lenient(line)
const Unread = Lenient((value) => value)

const read = (text: string) => parse(text, asWritten)

const decodeToken = decoderOf({ access_token: Word, expires_in: Required(seconds) })
export function readToken(text: string) {
  const said = decodeToken(read(text))
  return said && { token: said.access_token, seconds: said.expires_in }
}

const decodeError = decoderOf({ errorCode: Word, errorMessage: Line })
/** A refusal of the gateway. The message names a field of the request, never its value. */
export function readError(text: string) {
  const said = decodeError(read(text))
  return said && { code: said.errorCode, message: said.errorMessage ?? '' }
}

const decodeAccepted = decoderOf({ ResponseCode: Word })
/** Of a reversal: it was accepted, and its result comes in a callback. */
export const readAccepted = (text: string) => decodeAccepted(read(text))?.ResponseCode

const decodePush = decoderOf({ ResponseCode: Word, CheckoutRequestID: OptionalWord })
export function readPush(text: string) {
  const said = decodePush(read(text))
  return said && { code: said.ResponseCode, checkoutId: said.CheckoutRequestID }
}

const decodeQuery = decoderOf({
  ...{ ResponseCode: Word, MerchantRequestID: Word, CheckoutRequestID: Word, ResultCode: Word, ResultDesc: Line },
})
export function readQuery(text: string) {
  const said = decodeQuery(read(text))
  if (said?.ResponseCode !== '0') return undefined
  return { requestId: said.MerchantRequestID, checkoutId: said.CheckoutRequestID, code: said.ResultCode }
}

export interface StkCallback {
  requestId: string
  checkoutId: string
  code: string
  amount: Money | undefined
  receipt: string | undefined
  at: Date | undefined
}

export type Callback =
  | ({ kind: 'stk' } & StkCallback)
  | ({ kind: 'result' } & ResultCallback)
  | ({ kind: 'paybill' } & PaybillCallback)

const decodeStk = decoderOf({
  MerchantRequestID: Word,
  CheckoutRequestID: Word,
  ResultCode: Word,
  CallbackMetadata: Unread,
})
const decodeItem = decoderOf({ Name: Word, Value: Unread })

export interface ResultCallback {
  code: string
  /** Of the transaction that the request made. */
  transactionId: string | undefined
  /** Of the transaction that was reversed. */
  originalId: string | undefined
  amount: Money | undefined
  /** Of the transaction that was asked for. */
  asked: {
    receipt: string | undefined
    state: string | undefined
    creditParty: string | undefined
    at: Date | undefined
  }
}

export interface PaybillCallback {
  receipt: string
  shortCode: string
  /** As the customer typed it. */
  account: string
  amount: Money
  at: Date
}

const decodeResult = decoderOf({ ResultCode: Word, TransactionID: OptionalWord, ResultParameters: Unread })
const decodePaybill = decoderOf({
  ...{ TransID: Word, TransTime: Word, TransAmount: Word, BusinessShortCode: Word },
  BillRefNumber: Lenient((value) => line(digitsOf(value))),
})
const decodeParameter = decoderOf({ Key: Word, Value: Unread })

export function readCallback(body: Buffer): Callback | undefined {
  const root = fields(read(decode(body)))
  const stk = decodeStk(fields(root?.Body)?.stkCallback)
  if (stk) {
    const items = named(fields(stk.CallbackMetadata)?.Item, (entry) => {
      const item = decodeItem(entry)
      return item && [item.Name, item.Value]
    })
    return {
      ...{ kind: 'stk', requestId: stk.MerchantRequestID, checkoutId: stk.CheckoutRequestID, code: stk.ResultCode },
      amount: shillings(items.get('Amount')),
      receipt: receiptNumber(items.get('MpesaReceiptNumber')),
      at: nairobiTime(items.get('TransactionDate')),
    }
  }
  const paybill = decodePaybill(root)
  if (paybill) return paybillOf(paybill)
  const result = decodeResult(root?.Result)
  if (!result) return undefined
  const parameters = named(fields(result.ResultParameters)?.ResultParameter, (entry) => {
    const parameter = decodeParameter(entry)
    return parameter && [parameter.Key, parameter.Value]
  })
  return {
    ...{ kind: 'result', code: result.ResultCode, transactionId: receiptNumber(result.TransactionID) },
    originalId: receiptNumber(parameters.get('OriginalTransactionID')),
    amount: shillings(parameters.get('Amount')),
    asked: {
      receipt: receiptNumber(parameters.get('ReceiptNo')),
      state: line(parameters.get('TransactionStatus')) ?? undefined,
      creditParty: line(parameters.get('CreditPartyName')) ?? undefined,
      at: nairobiTime(parameters.get('FinalisedTime')) ?? nairobiTime(parameters.get('InitiatedTime')),
    },
  }
}

function paybillOf(said: NonNullable<ReturnType<typeof decodePaybill>>): Callback | undefined {
  const [receipt, amount, at] = [receiptNumber(said.TransID), shillings(said.TransAmount), nairobiTime(said.TransTime)]
  if (!receipt || !amount || !at) return undefined
  return {
    ...{ kind: 'paybill', receipt, amount, at },
    shortCode: said.BusinessShortCode,
    account: said.BillRefNumber ?? '',
  }
}

/** A list of names and values. One entry may stand without its list. What cannot be read is left out. */
function named(value: unknown, pair: (entry: unknown) => [string, unknown] | undefined): Map<string, unknown> {
  const entries = Array.isArray(value) ? value : [value]
  return new Map(entries.map(pair).filter((each) => each !== undefined))
}

/** `200`, `1.00`, `1.0`: with cents or without. */
function shillings(value: unknown): Money | undefined {
  const [, whole, cents = ''] = /^(\d{1,10})(?:\.(\d{1,2}))?$/.exec(digitsOf(value) ?? '') ?? []
  return whole === undefined ? undefined : money(Number(whole) * 100 + Number(cents.padEnd(2, '0')), SHILLING)
}

function receiptNumber(value: unknown): string | undefined {
  const text = digitsOf(value)
  return text && /^[0-9A-Z]{6,20}$/i.test(text) ? text : undefined
}

/** `3599` or `"3599"`. */
function seconds(value: unknown): number | undefined {
  const digits = digitsOf(value) ?? ''
  return /^\d{1,7}$/.test(digits) ? Number(digits) : undefined
}

const HOUR_MS = 3_600_000
/** Kenya has no summer time. */
const AHEAD_MS = 3 * HOUR_MS

/** `20191219102115` is a time in Nairobi. */
function nairobiTime(value: unknown): Date | undefined {
  const text = digitsOf(value) ?? ''
  if (!/^20\d{12}$/.test(text)) return undefined
  const iso = text.replace(/(....)(..)(..)(..)(..)(..)/, '$1-$2-$3T$4:$5:$6Z')
  const at = new Date(iso)
  return Number.isNaN(at.getTime()) ? undefined : new Date(at.getTime() - AHEAD_MS)
}

export function timestampOf(at: Date): string {
  return new Date(at.getTime() + AHEAD_MS).toISOString().replaceAll(/\D/g, '').slice(0, 14)
}
