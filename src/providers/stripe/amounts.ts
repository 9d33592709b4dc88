import type { Currency } from '../../kernel/money.ts'
import { currencyOf } from '../json-parsers.ts'

/** docs.stripe.com/currencies: these are sent whole, … */
const WHOLE = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF'.split(' '))
/** … these in thousandths, and all others in hundredths; even ISK and UGX, which have none. */
const THOUSANDTHS = new Set('BHD JOD KWD OMR TND'.split(' '))

/**
 * Integers of minor units on both sides. But a few currencies have other minor units at Stripe than everywhere else, and there the same
 * number would be another sum: such a currency is one that we cannot read.
 */
export function readCurrency(value: unknown): Currency | undefined {
  const currency = currencyOf(value)
  return currency && digitsAtStripe(currency) === digitsHere(currency) ? currency : undefined
}

function digitsAtStripe(currency: string): number {
  return WHOLE.has(currency) ? 0 : THOUSANDTHS.has(currency) ? 3 : 2
}

function digitsHere(currency: string): number | undefined {
  return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
}
