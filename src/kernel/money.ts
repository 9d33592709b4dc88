import assert from 'node:assert/strict'

/** An amount in the currency's lowest denomination. Made by `money()` alone, so that a fraction or an overflow cannot exist. */
export interface Money {
  readonly amount: number
  readonly currency: Currency
}

export type Currency = string & { readonly kind: 'currency' }

export const MAX_AMOUNT = 999_999_999_999

const KNOWN = new Set(Intl.supportedValuesOf('currency'))

export function money(amount: number, currency: Currency): Money {
  assert(Number.isSafeInteger(amount) && amount >= 0, `not an amount of minor units: ${amount}`)
  return { amount, currency }
}

/** `ngn` is NGN; anything that is not ISO 4217 is undefined. */
export function parseCurrency(text: string): Currency | undefined {
  const code = text.toUpperCase()
  return /^[A-Z]{3}$/.test(code) && KNOWN.has(code) ? (code as Currency) : undefined
}

const LOWEST_DENOMINATION: Record<string, string> = {
  NGN: 'kobo',
  GHS: 'pesewas',
  KES: 'cents',
  ZAR: 'cents',
  USD: 'cents',
}

/** What people call the unit in which we count: "kobo" for NGN. */
export function lowestDenomination(currency: string): string {
  return LOWEST_DENOMINATION[currency] ?? `the lowest denomination of ${currency}`
}

interface Format {
  digits: number
  format: Intl.NumberFormat
  /** A page says its amount several times. */
  last: { amount: number; text: string }
}

const FORMATS = new Map<string, Format>()

function formatOf(currency: Currency, locale: string): Format {
  const name = `${locale} ${currency}`
  let known = FORMATS.get(name)
  if (!known) {
    const format = new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
    const digits = format.resolvedOptions().maximumFractionDigits ?? 2
    known = { digits, format, last: { amount: -1, text: '' } }
    FORMATS.set(name, known)
  }
  return known
}

/** For people to read: ₦12,500.00. Goes through the digits, never through a fraction. */
export function formatMoney(sum: Money, locale = 'en'): string {
  const known = formatOf(sum.currency, locale)
  if (known.last.amount !== sum.amount) {
    const text = known.format.format(plainAmount(sum) as Intl.StringNumericLiteral)
    known.last = { amount: sum.amount, text }
  }
  return known.last.text
}

/** For people to type or paste elsewhere: 12500.00. */
export function plainAmount({ amount, currency }: Money): string {
  const { digits: places } = formatOf(currency, 'en')
  const digits = String(amount).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places)
  return fraction ? `${whole}.${fraction}` : whole
}
