import { type Currency, type Money, money, plainAmount } from '../../kernel/money.ts'

/**
 * They count in naira with decimals, we in kobo. Between the two there are digits only, never a fraction: 19.99 * 100 is 1998.9999…,
 * a kobo lost.
 */
export function majorOf(sum: Money): string {
  return plainAmount(sum)
}

/** Their digits in our units; undefined for what is no amount, or has more decimals than the currency. */
export function minorOf(digits: unknown, currency: Currency): number | undefined {
  const match = typeof digits === 'string' ? /^(\d{1,13})(?:\.(\d{1,20}))?$/.exec(digits) : null
  if (!match) return undefined
  const [, whole = '', fraction = ''] = match
  const places = decimalsOf(currency)
  if (fraction.length > places) return undefined
  const minor = Number(whole + fraction.padEnd(places, '0'))
  return Number.isSafeInteger(minor) ? minor : undefined
}

/** The same, rounded to the nearest unit when there are more decimals than the currency has: fees and exchange rates leave such amounts. */
export function nearestMinorOf(digits: unknown, currency: Currency): number | undefined {
  const exact = minorOf(digits, currency)
  if (exact !== undefined || typeof digits !== 'string' || !/^\d{1,13}\.\d{1,20}$/.test(digits)) return exact
  const places = decimalsOf(currency)
  const [whole = '', fraction = ''] = digits.split('.')
  const down = minorOf(places === 0 ? whole : `${whole}.${fraction.slice(0, places)}`, currency)
  return down === undefined ? undefined : down + (Number(fraction[places]) >= 5 ? 1 : 0)
}

function decimalsOf(currency: Currency): number {
  return plainAmount(money(0, currency)).split('.')[1]?.length ?? 0
}
