import type { Said } from '../upstream.ts'

/** What the fake says and takes, in Daraja's words. */

export type Body = Record<string, unknown>

export const say = (body: object): Said => ({ status: 200, text: JSON.stringify(body) })

let requests = 0
export const refuse = (status: number, errorCode: string, errorMessage: string): Said => ({
  status,
  text: JSON.stringify({ requestId: `1c5b-4ba8-815c-ac45c57a3db0${++requests}`, errorCode, errorMessage }),
})

const invalid = (field: string) => refuse(400, '400.002.02', `Bad Request - Invalid ${field}`)

type Fields = Record<string, RegExp>

const SHILLINGS = /^[1-9]\d{0,5}$/
const PHONE = /^254[17]\d{8}$/
const CODE = /^\d{5,9}$/
// They refuse http. The suites run on loopback.
const URL = /^(https:\/\/|http:\/\/127\.0\.0\.1:)\S+$/
const SIGNED: Fields = { BusinessShortCode: CODE, Password: /^[\w+/=]+$/, Timestamp: /^20\d{12}$/ }

export const PUSH: Fields = {
  ...SIGNED,
  TransactionType: /^Customer(PayBill|BuyGoods)Online$/,
  ...{ Amount: SHILLINGS, PartyA: PHONE, PartyB: CODE, PhoneNumber: PHONE, CallBackURL: URL },
  ...{ AccountReference: /^[0-9A-Za-z]{1,12}$/, TransactionDesc: /^[\w ]{1,13}$/ },
}
export const QUERY: Fields = { ...SIGNED, CheckoutRequestID: /^ws_CO_\d+$/ }
export const REVERSAL: Fields = {
  ...{ Initiator: /^\S+$/, SecurityCredential: /^[\w+/=]+$/, CommandID: /^TransactionReversal$/ },
  ...{ TransactionID: /^[0-9A-Z]{10}$/, Amount: SHILLINGS, ReceiverParty: CODE, RecieverIdentifierType: /^11$/ },
  ...{ ResultURL: URL, QueueTimeOutURL: URL, Remarks: /^.{2,100}$/ },
}

/** They refuse addresses with these words. */
const OPEN_URL = /^(https:\/\/|http:\/\/127\.0\.0\.1:)(?!.*(mpesa|safaricom))\S+$/i
export const REGISTER: Fields = {
  ...{ ShortCode: CODE, ResponseType: /^(Completed|Cancelled)$/, ConfirmationURL: OPEN_URL, ValidationURL: OPEN_URL },
}
export const STATUS: Fields = {
  ...{ Initiator: /^\S+$/, SecurityCredential: /^[\w+/=]+$/, CommandID: /^TransactionStatusQuery$/ },
  ...{ TransactionID: /^[0-9A-Z]{10}$/, PartyA: CODE, IdentifierType: /^4$/, ResultURL: URL, QueueTimeOutURL: URL },
  ...{ Remarks: /^.{2,100}$/, Occasion: /^.{0,100}$/ },
}

/** Strict: every field, no other, each as documented. */
export function readRequest(text: string, fields: Fields): Record<string, string> | Said {
  const body = JSON.parse(text) as Body
  for (const [name, pattern] of Object.entries(fields)) if (!pattern.test(String(body[name]))) return invalid(name)
  const other = Object.keys(body).find((name) => !Object.hasOwn(fields, name))
  return other ? invalid(other) : (body as Record<string, string>)
}

export const isSaid = (value: Record<string, string> | Said): value is Said => typeof value.status === 'number'

/** With the digits as they stand in the samples: `1.00`, and numbers of 14 digits. */
const literal = (body: object) => Buffer.from(JSON.stringify(body).replaceAll(/"#([\d.]+)"/g, '$1'))
const number = (digits: string) => `#${digits}`

/** A time in Nairobi. */
export const stamp = (at: Date) => new Date(at.getTime() + 10_800_000).toISOString().replaceAll(/\D/g, '').slice(0, 14)

export interface Push {
  checkoutId: string
  merchantId: string
  /** Ours, read in the address of the callback. */
  reference: string
  shillings: number
  phone: string
  callbackURL: string
  /** Undefined while the customer is asked. */
  result: { code: string; says: string } | undefined
  receipt: string
  paidAt: Date | undefined
  startedAt: Date
}

/** A payment to the paybill, or of a prompt: M-PESA confirms both. */
export interface Paid {
  receipt: string
  /** As the customer typed it. */
  account: string
  shillings: number
  at: Date
}

export interface Reversal {
  /** Ours, read in the address of the callback. */
  reference: string
  push: (Paid & { reference: string }) | undefined
  code: string
  says: string
  receipt: string
  url: string
  at: Date
}

export function callbackOf({ checkoutId, merchantId, result, shillings, phone, receipt, paidAt }: Push): Buffer {
  const { code = '0', says = '' } = result ?? {}
  const Item = [
    { Name: 'Amount', Value: number(`${shillings}.00`) },
    { Name: 'MpesaReceiptNumber', Value: receipt },
    { Name: 'TransactionDate', Value: number(stamp(paidAt ?? new Date())) },
    { Name: 'PhoneNumber', Value: number(phone) },
  ]
  return literal({
    Body: {
      stkCallback: {
        ...{ MerchantRequestID: merchantId, CheckoutRequestID: checkoutId },
        ...{ ResultCode: /^\d+$/.test(code) ? number(code) : code, ResultDesc: says },
        ...(paidAt && { CallbackMetadata: { Item } }),
      },
    },
  })
}

export function confirmationOf({ receipt, account, shillings, at }: Paid, shortCode: string): Buffer {
  return literal({
    ...{ TransactionType: 'Pay Bill', TransID: receipt, TransTime: stamp(at), TransAmount: `${shillings}.00` },
    ...{ BusinessShortCode: shortCode, BillRefNumber: account, InvoiceNumber: '', OrgAccountBalance: '49197.00' },
    ...{ ThirdPartyTransID: '', MSISDN: '2547 ***** 126', FirstName: 'NICHOLAS', MiddleName: '', LastName: '' },
  })
}

/** The answer to a question about a receipt number. `paid`: what there is. */
export function statusOf(receipt: string, paid: Paid | undefined, shortCode: string): Buffer {
  const ResultParameter = paid && [
    { Key: 'DebitPartyName', Value: '254708374149 - NICHOLAS JOHN SONGOK' },
    { Key: 'CreditPartyName', Value: `${shortCode} - Safaricom Daraja` },
    { Key: 'OriginatorConversationID', Value: '6b16-43f4-a9f6-8e81ad29eeab2987739' },
    { Key: 'InitiatedTime', Value: number(stamp(paid.at)) },
    { Key: 'CreditPartyCharges' },
    { Key: 'DebitAccountType', Value: 'MMF Account For Customer' },
    { Key: 'TransactionReason' },
    { Key: 'ReasonType', Value: 'Pay Bill Online' },
    { Key: 'TransactionStatus', Value: 'Completed' },
    { Key: 'FinalisedTime', Value: number(stamp(paid.at)) },
    { Key: 'Amount', Value: number(`${paid.shillings}.0`) },
    { Key: 'ConversationID', Value: 'AG_20250117_20503343d9b604c7af7e' },
    { Key: 'ReceiptNo', Value: receipt },
  ]
  return literal({
    Result: {
      ...{ ResultType: number('0'), ResultCode: paid ? number('0') : '2032', ResultDesc: paid ? 'Done.' : 'Unknown.' },
      ...{ OriginatorConversationID: `21dc-4436-${receipt}`, ConversationID: `AG_20250117_${receipt}` },
      TransactionID: `${receipt.slice(0, 3)}0000000`,
      ...(ResultParameter && { ResultParameters: { ResultParameter } }),
      ReferenceData: { ReferenceItem: { Key: 'Occasion' } },
    },
  })
}

export function resultOf({ push, code, says, receipt, at }: Reversal): Buffer {
  const isDone = code === '0'
  const ResultParameter = [
    { Key: 'DebitAccountBalance', Value: 'Utility Account|KES|7722179.62|7722179.62|0.00|0.00' },
    { Key: 'Amount', Value: number(`${push?.shillings ?? 0}.00`) },
    { Key: 'TransCompletedTime', Value: number(stamp(at)) },
    { Key: 'OriginalTransactionID', Value: push?.receipt },
    { Key: 'Charge', Value: number('0.00') },
    { Key: 'CreditPartyPublicName', Value: '254705912645 - NICHOLAS JOHN SONGOK' },
    { Key: 'DebitPartyPublicName', Value: '600992 - Safaricom Daraja 992' },
  ]
  const Value = 'https://internalsandbox.safaricom.co.ke/mpesa/reversalresults/v1/submit'
  return literal({
    Result: {
      ...{ ResultType: number('0'), ResultCode: isDone ? number('0') : code, ResultDesc: says },
      ...{ OriginatorConversationID: `dad6-4c34-8787-${receipt}`, ConversationID: `AG_20211114_${receipt}` },
      ...{ TransactionID: isDone ? receipt : `${receipt.slice(0, 3)}0000000` },
      ...(isDone && { ResultParameters: { ResultParameter } }),
      ReferenceData: { ReferenceItem: { Key: 'QueueTimeoutURL', Value } },
    },
  })
}
