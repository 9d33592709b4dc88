import { isMisspellingOf, resembles } from '../../kernel/misspelling.ts'
import { type Mistake, pointerPart } from '../../kernel/problem.ts'
import type { App } from './framework.ts'

// Bounds the comparisons for a body with thousands of fields.
const MAX_FIELDS = 200
const MAX_SHOWN = 60

/**
 * Every parameter of a query that the route's schema does not name is refused: a misspelt filter would list everything,
 * and `?amount=` of a refund would be ignored.
 */
export function refuseUnknownParameters(app: App): void {
  app.addHook('onRoute', (route) => {
    const querystring = route.schema?.querystring ?? { type: 'object', properties: {} }
    route.schema = { ...route.schema, querystring: { ...querystring, additionalProperties: false } }
  })
}

/** Names in the APIs of Paystack, Flutterwave, Monnify and Stripe, and ours for the same. */
const FOREIGN_NAMES: readonly (readonly [theirs: string, ours: string])[] = [
  ['callback_url', 'redirectURL'],
  ['callbackUrl', 'redirectURL'],
  ['return_url', 'redirectURL'],
  ['success_url', 'redirectURL'],
  ['webhook_url', 'webhook'],
  ['notification_url', 'webhook'],
  ['email', 'user.email'],
  ['customerEmail', 'user.email'],
  ['customer_email', 'user.email'],
  ['customer_email', 'email'],
  ['phone', 'user.phoneNumber'],
  ['phone_number', 'user.phoneNumber'],
  ['first_name', 'user.name'],
  ['last_name', 'user.name'],
  ['firstName', 'user.name'],
  ['lastName', 'user.name'],
  ['customerName', 'user.name'],
  ['customer_name', 'user.name'],
  ['phone', 'phoneNumber'],
  ['first_name', 'name'],
  ['last_name', 'name'],
  ['customer', 'user'],
  ['ref', 'reference'],
  ['tx_ref', 'reference'],
  ['trxref', 'reference'],
  ['paymentReference', 'reference'],
  ['client_reference_id', 'reference'],
  ['currencyCode', 'currency'],
  ['custom_fields', 'metadata'],
  ['meta', 'metadata'],
  ['metaData', 'metadata'],
  ['expires_in', 'expiresIn'],
  ['customer_note', 'reason'],
  ['merchant_note', 'reason'],
  ['refundReason', 'reason'],
  ['refundAmount', 'amount'],
  ['perPage', 'limit'],
  ['per_page', 'limit'],
  ['page_size', 'limit'],
  ['page', 'cursor'],
  ['starting_after', 'cursor'],
]

/**
 * Unknown fields are ignored, for forward compatibility. A likely misspelling such as `redirectUrl` is refused,
 * because ignoring it would lose the merchant's redirect.
 */
export function misspelledFields(body: Record<string, unknown>, known: readonly string[], pointer = ''): Mistake[] {
  return Object.keys(body)
    .slice(0, MAX_FIELDS)
    .flatMap((field) => {
      if (known.includes(field)) return []
      return nearestOf(field, known, isMisspellingOf) ? [unknownField('field', field, known, pointer)] : []
    })
}

/** Every unknown field, for a body in which an ignored one would change what is done. */
export function unknownFields(body: Record<string, unknown>, known: readonly string[]): Mistake[] {
  return Object.keys(body)
    .filter((field) => !known.includes(field))
    .slice(0, MAX_FIELDS)
    .map((field) => unknownField('field', field, known, ''))
}

export function unknownField(
  kind: 'field' | 'parameter',
  name: string,
  known: readonly string[],
  pointer: string,
): Mistake {
  const meant = nearestOf(name, known, resembles)
  const hint = meant ? `; did you mean \`${meant}\`?` : known.length > 0 ? `. There are ${known.join(', ')}.` : '.'
  const message = `There is no ${kind} \`${name.slice(0, MAX_SHOWN)}\`${hint}`
  return { pointer: `${pointer}/${pointerPart(name)}`, code: 'unknown_field', message }
}

function nearestOf(field: string, known: readonly string[], isNear: typeof resembles): string | undefined {
  const isKnown = (ours: string) => known.includes(ours.split('.', 1)[0] ?? '')
  const foreign = FOREIGN_NAMES.find(([theirs, ours]) => theirs === field && isKnown(ours))
  return foreign?.[1] ?? known.find((name) => isNear(field, name))
}
