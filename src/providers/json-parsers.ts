import { type Currency, parseCurrency } from '../kernel/money.ts'

/**
 * What somebody else's server said, read at the door. Nothing here throws, whatever was said, and nothing comes out that a database or a
 * page would not take. What is not as it should be is undefined; where nothing hangs on it, null.
 */
export type Fields = Record<string, unknown>

/** A number as it was written: ids have 64 bits, of which a double keeps 53, and 5000.10 is none that a double could be. */
export class Numeral {
  readonly digits: string
  constructor(digits: string) {
    this.digits = digits
  }
}

export const asWritten = (digits: string): Numeral => new Numeral(digits)

/** Text; none for bytes that are no UTF-8, since a character put in their place was never signed. */
export function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return ''
  }
}

/** JSON. `numberOf` is given the digits of each number as they stand in the text, where a double would not do. */
export function parse(text: string, numberOf?: (digits: string) => unknown): unknown {
  const revive = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? numberOf?.(context?.source ?? '') : value
  try {
    return JSON.parse(text, numberOf && (revive as (key: string, value: unknown) => unknown))
  } catch {
    return undefined
  }
}

export function fields(value: unknown): Fields | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral)
  return isObject ? (value as Fields) : undefined
}

/** A list of which every part can be read: one that cannot may be the one that matters. */
export function all<T>(value: unknown, read: (one: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined
  const parts = value.map((one) => read(one))
  return parts.includes(undefined) ? undefined : (parts as T[])
}

/** An id, a code, a status: something that can be stored and compared. */
export function word(value: unknown, longest = 255): string | undefined {
  return typeof value === 'string' && value.length <= longest && /^[\x21-\x7e]+$/.test(value) ? value : undefined
}

/** A line for people. PostgreSQL takes neither NUL nor half a character, and nobody wants a control character on a page. */
export function line(value: unknown): string | null {
  if (typeof value !== 'string') return null
  return (
    value
      .slice(0, 255)
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, ' ')
      .trim() || null
  )
}

/** A number as its digits, or a text that may hold one: the same thing often comes as both. */
export function digitsOf(value: unknown): string | undefined {
  const digits = value instanceof Numeral ? value.digits : value
  return typeof digits === 'string' ? digits : undefined
}

export function wholeNumber(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

export function currencyOf(value: unknown): Currency | undefined {
  return typeof value === 'string' ? parseCurrency(value) : undefined
}

/** A date with its time and zone. Without the zone it may be hours off, so it is none. */
export function date(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT[\d:.]{5,18}(Z|[+-]\d\d:\d\d)$/.test(value)) return undefined
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** Customers are sent there, so it is a web page or nothing. */
export function webAddress(value: unknown, longest = 2_048): string | null {
  const url = typeof value === 'string' && value.length <= longest ? URL.parse(value) : null
  return url && /^https?:$/.test(url.protocol) ? url.href : null
}

/** A card that cannot be read is no card: the money that came with it counts all the same. */
export function wholeCard(said: {
  token: string | undefined
  brand: string | null | undefined
  last4: string | undefined
  expiryMonth: number | undefined
  expiryYear: number | undefined
}) {
  const { token, brand, last4, expiryMonth, expiryYear } = said
  if (!token || !brand || !last4 || !/^\d{4}$/.test(last4)) return null
  if (!isWithin(expiryMonth, 1, 12) || !isWithin(expiryYear, 2000, 2999)) return null
  return { token, brand, last4, expiryMonth, expiryYear }
}

function isWithin(value: number | undefined, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most
}
