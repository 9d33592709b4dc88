import assert from 'node:assert/strict'
import type { Country } from './country.ts'

/**
 * An amount in the currency's lowest denomination. Only `money()` makes one, so that a fraction or an overflow cannot
 * exist.
 */
export interface Money {
  readonly amount: number
  readonly currency: Currency
}

export type Currency = string & { readonly kind: 'currency' }

/** The currency of a request that names none. */
export const DEFAULT_CURRENCY = 'NGN' as Currency

export const MAX_AMOUNT = 999_999_999_999

const ISO_4217 = new Set(Intl.supportedValuesOf('currency'))

export function money(amount: number, currency: Currency): Money {
  assert(Number.isSafeInteger(amount) && amount >= 0, `not an amount of minor units: ${amount}`)
  return { amount, currency }
}

/** `ngn` is NGN; anything that is not ISO 4217 is undefined. */
export function parseCurrency(text: string): Currency | undefined {
  const code = text.toUpperCase()
  return /^[A-Z]{3}$/.test(code) && ISO_4217.has(code) ? (code as Currency) : undefined
}

/**
 * Names for messages, and the country of a payment whose request names none. It restricts nothing: a currency can be
 * paid when the `capabilities.ts` of a provider has fees and limits for it. `unit` is the lowest denomination, in which
 * amounts are counted.
 */
const CURRENCY_DETAILS: Record<string, { unit: string; country: string }> = {
  NGN: { unit: 'kobo', country: 'NG' },
  GHS: { unit: 'pesewas', country: 'GH' },
  KES: { unit: 'cents', country: 'KE' },
  ZAR: { unit: 'cents', country: 'ZA' },
  XOF: { unit: 'francs', country: 'CI' },
  UGX: { unit: 'shillings', country: 'UG' },
  RWF: { unit: 'francs', country: 'RW' },
  ZMW: { unit: 'ngwee', country: 'ZM' },
  TZS: { unit: 'cents', country: 'TZ' },
  XAF: { unit: 'francs', country: 'CM' },
  USD: { unit: 'cents', country: 'US' },
  EUR: { unit: 'cents', country: 'DE' },
  GBP: { unit: 'pence', country: 'GB' },
}

/** The name of the unit in which amounts are counted: "kobo" for NGN. */
export function lowestDenomination(currency: string): string {
  return CURRENCY_DETAILS[currency]?.unit ?? `the lowest denomination of ${currency}`
}

export function defaultCountry(currency: Currency): Country | undefined {
  return CURRENCY_DETAILS[currency]?.country as Country | undefined
}

interface Format {
  digits: number
  format: Intl.NumberFormat
  /** A page shows its amount several times. */
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

/** For people to read: ₦12,500.00. Formats the digits, never a floating-point fraction. */
export function formatMoney(sum: Money, locale = 'en'): string {
  const known = formatOf(sum.currency, locale)
  if (known.last.amount !== sum.amount) {
    const text = known.format.format(plainAmount(sum) as Intl.StringNumericLiteral)
    known.last = { amount: sum.amount, text }
  }
  return known.last.text
}

/** For problems of the API: 1250000 NGN (₦12,500.00). The dashboard shows the part in parentheses only. */
export function nameBothWays(sum: { amount: number; currency: string }): string {
  const { amount, currency } = sum as Money
  return `${amount} ${currency} (${formatMoney({ amount, currency })})`
}

/** How many decimals the currency has: 2 for NGN, 0 for JPY. */
export const decimalsOf = (currency: Currency): number => formatOf(currency, 'en').digits

/**
 * An amount that a person typed, in the lowest denomination: `12500`, `12,500.00`, `12 500,5`. Undefined for everything
 * else, and for `1.250`, which means two amounts.
 */
export function parseAmount(text: string, currency: Currency): number | undefined {
  const { digits: places } = formatOf(currency, 'en')
  const western = text
    .replaceAll(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replaceAll('\u066b', '.')
    .replaceAll('\u066c', ',')
    .replaceAll(/[\s\u202f']/g, '')
  const plain = /^\d{1,3}(,\d{3})+(\.\d*)?$/.test(western) ? western.replaceAll(',', '') : western
  const [, whole, fraction = ''] = /^(\d{1,12})(?:[.,](\d{0,4}))?$/.exec(plain) ?? []
  if (whole === undefined || fraction.length > places) return undefined
  const amount = Number(whole + fraction.padEnd(places, '0'))
  return amount <= Number.MAX_SAFE_INTEGER ? amount : undefined
}

/** For people to type or paste: 12500.00. */
export function plainAmount({ amount, currency }: Money): string {
  const { digits: places } = formatOf(currency, 'en')
  const digits = String(amount).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places)
  return fraction ? `${whole}.${fraction}` : whole
}
