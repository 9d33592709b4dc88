import type { Order, RefundOrder } from '../provider.ts'

/** What we ask for, in their words. Brackets make the nesting: `metadata[reference]=…`. */
type Form = Record<string, string | number | boolean>

export const encode = (form: Form) =>
  new URLSearchParams(Object.entries(form).map(([name, value]): [string, string] => [name, String(value)])).toString()

/** The same order always gives the same form: Stripe refuses an idempotency key that comes with another body. */
export function sessionFor(order: Order): Form {
  const { reference, amount, customer, merchantName, returnURL, saveCard } = order
  return {
    mode: 'payment',
    'line_items[0][quantity]': 1,
    'line_items[0][price_data][currency]': amount.currency.toLowerCase(),
    'line_items[0][price_data][unit_amount]': amount.amount,
    'line_items[0][price_data][product_data][name]': titleOf(merchantName),
    success_url: withSessionId(returnURL),
    cancel_url: returnURL,
    client_reference_id: reference,
    // One is not copied to the other, and notices come about both.
    'metadata[reference]': reference,
    'payment_intent_data[metadata][reference]': reference,
    customer_email: customer.email,
    'allowed_payment_method_types[]': 'card',
    // Else Stripe may offer the customer's own currency, at a rate of its own.
    'adaptive_pricing[enabled]': false,
    expires_at: endOf(order),
    ...(saveCard && { customer_creation: 'always', 'payment_intent_data[setup_future_usage]': 'off_session' }),
  }
}

/** The customer is there, on a page of ours: so no `off_session`, and a way back for whoever has to prove something first. */
export function chargeFor(order: Order, card: { customer: string; paymentMethod: string }): Form {
  const { reference, amount, merchantName, returnURL } = order
  return {
    amount: amount.amount,
    currency: amount.currency.toLowerCase(),
    customer: card.customer,
    payment_method: card.paymentMethod,
    'allowed_payment_method_types[]': 'card',
    confirm: true,
    return_url: returnURL,
    description: titleOf(merchantName),
    'metadata[reference]': reference,
    'expand[]': 'latest_charge',
  }
}

export function refundFor({ reference, order, amount, reason }: RefundOrder, intentId: string): Form {
  return {
    payment_intent: intentId,
    amount: amount.amount,
    // By the first we find it again, by the second a notice finds the order.
    'metadata[refund]': reference,
    'metadata[reference]': order.reference,
    // Their own `reason` knows three words and counts one of them as fraud, so ours is a note. A note has 500 characters.
    ...(reason && { 'metadata[reason]': reason.slice(0, 500).toWellFormed() }),
  }
}

const MINUTE_MS = 60_000
const SHORTEST_MS = 35 * MINUTE_MS
const LONGEST_MS = (24 * 60 - 1) * MINUTE_MS

/**
 * Stripe allows 30 minutes to 24 hours from when it receives the call. The bounds are counted from `startedAt`, not from now, so that a repeat
 * sends the same time. The margins allow for clocks that differ and for a call that leaves up to five minutes after the start.
 */
function endOf({ startedAt, expiresAt }: Order): number {
  const started = startedAt.getTime()
  const end = Math.min(Math.max(expiresAt.getTime(), started + SHORTEST_MS), started + LONGEST_MS)
  return Math.floor(end / 1000)
}

/** The customer reads this on their page and perhaps on a receipt. */
const titleOf = (merchantName: string) =>
  merchantName ? `Payment to ${merchantName.slice(0, 200).toWellFormed()}` : 'Payment'

/** They put the id into the template and add nothing by themselves. It is for whoever reads a log; we ask by what we have on disk. */
function withSessionId(returnURL: string): string {
  const [address = '', ...fragment] = returnURL.split('#')
  const joined = `${address}${address.includes('?') ? '&' : '?'}session_id={CHECKOUT_SESSION_ID}`
  return [joined, ...fragment].join('#')
}
