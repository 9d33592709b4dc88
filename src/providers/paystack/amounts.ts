import type { Currency, Money } from '../../kernel/money.ts'

/**
 * Paystack counts in hundredths, whatever the currency. So do we, but for a franc that has none: its amounts are sent a hundredfold,
 * and one that is no whole franc cannot be.
 */
const WITHOUT_HUNDREDTHS = new Set(['XOF'])

const factorOf = (currency: string) => (WITHOUT_HUNDREDTHS.has(currency) ? 100 : 1)

export function toHundredths({ amount, currency }: Money): number {
  return amount * factorOf(currency)
}

/** In our minor units; undefined for a part of the smallest one. */
export function fromHundredths(hundredths: number, currency: Currency): number | undefined {
  const factor = factorOf(currency)
  return hundredths % factor === 0 ? hundredths / factor : undefined
}
