import { type Currency, formatMoney } from '../kernel/money.ts'

/** The names of two sums that must be equal, each with its amount. Null: the provider does not name it. */
export type Equation = [string, number | null, string, number | null]

/** The first equation that does not hold, as a sentence; null when all hold. */
export function differenceIn(currency: Currency, equations: Equation[]): string | null {
  const wrong = equations.find(([, left, , right]) => left !== null && right !== null && left !== right)
  if (!wrong) return null
  const [leftName, left, rightName, right] = wrong
  return `${leftName} is ${show(left ?? 0, currency)}, and ${rightName} is ${show(right ?? 0, currency)}.`
}

const show = (amount: number, currency: Currency) =>
  `${amount < 0 ? '-' : ''}${formatMoney({ amount: Math.abs(amount), currency })}`

/** Of amounts of which one or the other may be null: then the sum is null, too. */
export const less = (from: number | null, ...parts: (number | null)[]): number | null =>
  parts.reduce<number | null>((left, part) => (left === null || part === null ? null : left - part), from)
