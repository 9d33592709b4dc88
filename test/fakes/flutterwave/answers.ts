import { type Currency, decimalsOf } from '../../../src/kernel/money.ts'
import { capabilities } from '../../../src/providers/flutterwave/capabilities.ts'
import type { Said } from '../upstream.ts'

/** What the documents ask for, and nothing else. `of`: the currency of a body that names none. */
export function accept(
  body: string,
  needed: string[],
  allowed: string[],
  of?: Currency,
): Record<string, unknown> | string {
  const fields = JSON.parse(body)
  const missing = needed.find((name) => fields[name] === undefined)
  if (missing) return `${missing} is required`
  const unheardOf = Object.keys(fields).find((name) => !needed.includes(name) && !allowed.includes(name))
  if (unheardOf) return `${unheardOf} is not allowed`
  const { amount, tx_ref: reference, currency = of } = fields
  if (currency !== undefined && !capabilities.currencies.includes(currency)) return 'currency is invalid'
  const places = decimalsOf((currency ?? 'NGN') as Currency)
  // Kobo, or a float, would be taken for naira.
  const right = places === 0 ? /^\d+$/ : new RegExp(`^\\d+\\.\\d{${places}}$`)
  if (amount !== undefined && (typeof amount !== 'string' || !right.test(amount)))
    return `amount must be text with ${places} decimals`
  if (reference !== undefined && !/^[\w.=-]{1,100}$/.test(reference))
    return 'tx_ref has characters that are not allowed'
  return fields
}

export const DUPLICATE =
  'Transaction Reference already exist. Try again in 2 minutes time to use the same ref for a new transaction'
export const NOT_FOUND = 'No transaction was found for this id'

export const succeed = (message: string, more: object): Said => ({
  status: 200,
  text: JSON.stringify({ status: 'success', message, ...more }),
})

export const refuse = (status: number, message: string): Said => ({
  status,
  text: JSON.stringify({ status: 'error', message, data: null }),
})
