import type { Said } from '../upstream.ts'

/** How the fake reads and writes JSON: by itself, not by what it is there to test. */
export type Body = Record<string, unknown>

const NAIRA = /^\d+\.\d\d$/
const TEXT = /^"(.|\s)+"$/
const REFERENCE = /^"[A-Za-z0-9-]{1,64}"$/
const THEIRS = /^"MNFY\|\d+\|\d{14}\|\d{6}"$/

const ORDER: Record<string, RegExp | null> = {
  amount: NAIRA,
  customerName: TEXT,
  customerEmail: /^"[^"\s@]+@[^"\s@]+"$/,
  paymentReference: REFERENCE,
  paymentDescription: /^"(.|\s){3,}"$/,
  currencyCode: /^"NGN"$/,
  contractCode: /^"\d+"$/,
}
/** What must be there, as it is written; null for what may be missing. */
export const INIT_FIELDS = {
  ...ORDER,
  paymentMethods: /^\["(CARD|ACCOUNT_TRANSFER)"\]$/,
  redirectUrl: null,
  metaData: null,
}
export const INIT_PAYMENT_FIELDS = { transactionReference: THEIRS, bankCode: null }
export const CHARGE_FIELDS = { ...ORDER, cardToken: TEXT, apiKey: /^"MK_TEST_\w+"$/, metaData: null }
export const REFUND_FIELDS = {
  transactionReference: THEIRS,
  refundReference: REFERENCE,
  refundAmount: NAIRA,
  refundReason: /^"(.|\s){1,64}"$/,
  customerNote: /^"(.|\s){1,16}"$/,
  destinationAccountNumber: null,
  destinationAccountBankCode: null,
}

/**
 * What is wrong with a request, or the request. Amounts are looked at as they are written: kobo, a float or a string
 * are all wrong.
 */
export function readRequest(body: string, fields: Record<string, RegExp | null>): Body | string {
  const asked = JSON.parse(body) as Body
  for (const name of Object.keys(asked)) if (!(name in fields)) return `Unknown field ${name}`
  for (const [name, shape] of Object.entries(fields)) {
    if (!shape) continue
    if (!(name in asked)) return `Missing field ${name}`
    const isAmount = shape === NAIRA
    const written = isAmount ? new RegExp(`"${name}":([^,}]+)`).exec(body)?.[1] : JSON.stringify(asked[name])
    if (!shape.test(written ?? '')) return `Wrong field ${name}`
    if (isAmount) asked[name] = written
    if (name === 'amount' && koboIn(written) < 2_000) return 'Amount below minimum'
  }
  return asked
}

/** Of an amount with two decimals. */
export const koboIn = (naira: unknown) => Number(String(naira).replace('.', ''))

export const text = (asked: Body, name: string) => String(asked[name])

/** A number as it shall be written. */
export const number = (amount: number, decimals: 0 | 2 = 0) => {
  const digits = String(amount).padStart(3, '0')
  return `number:${decimals ? `${digits.slice(0, -2)}.${digits.slice(-2)}` : amount}`
}

export const say = (responseBody: object): Said => ({
  status: 200,
  text: JSON.stringify({
    requestSuccessful: true,
    responseMessage: 'success',
    responseCode: '0',
    responseBody,
  }).replaceAll(/"number:([\d.]+)"/g, '$1'),
})

export const refuse = (status: number, responseCode: string, responseMessage: string): Said => ({
  status,
  text: JSON.stringify({ requestSuccessful: false, responseMessage, responseCode }),
})
