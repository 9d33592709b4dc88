import type { Payment } from '@manilla/client'

/**
 * Vendure counts every currency with the same number of decimals (`MoneyStrategy.precision`, 2 by default). Manilla
 * counts in the lowest denomination of the currency: ₦12.50 is 1250 in both, 500 CFA francs are 50000 in Vendure and
 * 500 in Manilla.
 */
export function toLowestDenomination(amount: number, currency: string, precision: number): number {
  return shift(amount, digitsOf(currency) - precision)
}

export function fromLowestDenomination(amount: number, currency: string, precision: number): number {
  return shift(amount, precision - digitsOf(currency))
}

function shift(amount: number, digits: number): number {
  return digits < 0 ? Math.round(amount / 10 ** -digits) : amount * 10 ** digits
}

function digitsOf(currency: string): number {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2
}

/**
 * What is left of the amount of a successful payment, without what was refunded or is about to be. An excess of the
 * customer, and surplus, may go back without that.
 */
export function amountLeft({ amount, amountCharged, amountPaid, amountRefunded, refunds }: Payment): number {
  const excess = amountPaid - (amountCharged ?? amount)
  const pending = refunds.filter(({ kind, status }) => kind !== 'surplus' && status === 'pending')
  const returned = pending.reduce((sum, refund) => sum + refund.amount, amountRefunded)
  return Math.max(0, amount - Math.max(0, returned - excess))
}
