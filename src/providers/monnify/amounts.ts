import assert from 'node:assert/strict'
import type { Money } from '../../kernel/money.ts'
import { digitsOf } from '../json-parsers.ts'

/**
 * They speak naira with decimals, we speak kobo. Everything here goes through the digits: 5000.10 * 100 is 500010.00000000006, and
 * JSON.parse has turned digits into such a fraction before anybody can ask.
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
