/**
 * Vendure counts every currency with the same number of decimals (`MoneyStrategy.precision`, 2 by default). Manilla counts in the lowest
 * denomination of the currency: ₦12.50 is 1250 in both, 500 CFA francs are 50000 in Vendure and 500 in Manilla.
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
