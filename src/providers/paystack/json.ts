import { type Currency, parseCurrency } from '../../kernel/money.ts'

/** A number of theirs as its digits stand in the text: ids have 64 bits, of which a double keeps 53. */
class Numeral {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Fields = Record<string, unknown>

export function parse(text: string): unknown {
  try {
    return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown)
  } catch {
    return undefined
  }
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' ? new Numeral(context?.source ?? '') : value
}

export function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return ''
  }
}

export function fields(value: unknown): Fields | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral)
  return isObject ? (value as Fields) : undefined
}

/** A whole number, written as one: not 1.0, not 1e3. Some come as text. */
export function digits(value: unknown): string | undefined {
  const text = value instanceof Numeral ? value.text : value
  return typeof text === 'string' && /^(0|[1-9]\d{0,19})$/.test(text) ? text : undefined
}

export function wholeNumber(value: unknown): number | undefined {
  const number = Number(digits(value) ?? Number.NaN)
  return Number.isSafeInteger(number) ? number : undefined
}

/** An id, a code, a status: something that can be stored and compared. */
export function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined
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

export function currencyOf(value: unknown): Currency | undefined {
  return typeof value === 'string' ? parseCurrency(value) : undefined
}

export function date(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT[\d:.]{5,18}(Z|[+-]\d\d:\d\d)$/.test(value)) return undefined
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** Customers are sent there, so it is a web page or nothing. */
export function webAddress(value: unknown): string | undefined {
  const url = typeof value === 'string' && value.length <= 2_048 ? URL.parse(value) : null
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}
