import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type Stripe from 'stripe'
import { type Currency, money } from '../../src/kernel/money.ts'
import type { Order, RefundOrder } from '../../src/providers/provider.ts'
import { VERSION } from '../../src/providers/stripe/adapter.ts'
import { chargeFor, encode, refundFor, sessionFor } from '../../src/providers/stripe/mapping.ts'
import { linesReader, readPayout } from '../../src/providers/stripe/settlements.ts'
import { readCharge, readDispute, readIntent, readRefund, readSession } from '../../src/providers/stripe/wire.ts'
import { createPayouts } from '../fakes/stripe/payouts.ts'
import { createBooks } from '../fakes/stripe/state.ts'
import { readForm } from './form.ts'

/**
 * The adapter against the types that Stripe publishes with its own library, for what the description of 2023 lacks. The
 * compiler checks the lists and literals here against the types; the tests check that the adapter reads and sends what
 * is listed here, and nothing else.
 */

/** Our version is the one that the types describe. */
const version: NonNullable<Stripe.StripeConfig['apiVersion']> = VERSION

/** Names of fields that `T` has. */
const fieldsOf =
  <T>() =>
  (...names: (keyof T & string)[]): string[] =>
    names

const under = (path: string, names: string[]) => names.map((name) => `${path}.${name}`)

type Card = Stripe.Charge.PaymentMethodDetails.Card
const TRY = fieldsOf<Stripe.Charge>()('id', 'created', 'amount_refunded', 'disputed', 'payment_method_details')
const CARD = fieldsOf<Card>()('brand', 'last4', 'exp_month', 'exp_year')
const INTENT = [
  ...fieldsOf<Stripe.PaymentIntent>()('id', 'object', 'status', 'amount', 'amount_received', 'currency', 'livemode'),
  ...fieldsOf<Stripe.PaymentIntent>()('created', 'metadata', 'latest_charge', 'last_payment_error', 'next_action'),
  ...fieldsOf<Stripe.PaymentIntent>()('cancellation_reason', 'setup_future_usage', 'customer', 'payment_method'),
  'metadata.reference',
  ...under('latest_charge', TRY),
  ...under('latest_charge.payment_method_details', fieldsOf<Stripe.Charge.PaymentMethodDetails>()('card')),
  ...under('latest_charge.payment_method_details.card', CARD),
  ...under(
    'last_payment_error',
    fieldsOf<Stripe.PaymentIntent.LastPaymentError>()('type', 'code', 'decline_code', 'param', 'charge'),
  ),
  ...under('next_action', fieldsOf<Stripe.PaymentIntent.NextAction>()('redirect_to_url')),
  ...under('next_action.redirect_to_url', fieldsOf<Stripe.PaymentIntent.NextAction.RedirectToUrl>()('url')),
]
const SESSION = [
  ...fieldsOf<Stripe.Checkout.Session>()('id', 'object', 'status', 'payment_status', 'amount_total', 'currency'),
  ...fieldsOf<Stripe.Checkout.Session>()('livemode', 'client_reference_id', 'expires_at', 'url', 'payment_intent'),
  ...under('payment_intent', INTENT),
]
const REFUND = [
  ...fieldsOf<Stripe.Refund>()('id', 'object', 'status', 'amount', 'currency', 'created', 'payment_intent', 'metadata'),
  ...['metadata.refund', 'metadata.reference'],
]
const DISPUTE = [
  ...fieldsOf<Stripe.Dispute>()('payment_intent'),
  ...fieldsOf<Stripe.Dispute>()('id', 'object', 'status', 'amount', 'currency', 'created', 'reason'),
  ...fieldsOf<Stripe.Dispute>()('evidence_details', 'balance_transactions'),
  ...under('evidence_details', fieldsOf<Stripe.Dispute.EvidenceDetails>()('due_by')),
  ...under('balance_transactions.0', fieldsOf<Stripe.BalanceTransaction>()('amount')),
]
const CHARGE = [
  ...fieldsOf<Stripe.Charge>()('id', 'object', 'status', 'amount_captured', 'currency', 'created', 'metadata'),
  ...fieldsOf<Stripe.Charge>()('amount_refunded', 'disputed', 'payment_intent'),
  'metadata.reference',
]
const PAYOUT = [
  ...fieldsOf<Stripe.Payout>()('id', 'object', 'status', 'amount', 'currency', 'created', 'arrival_date', 'automatic'),
  ...fieldsOf<Stripe.Payout>()('reconciliation_status', 'failure_code', 'failure_message', 'reversed_by', 'trace_id'),
  ...under('trace_id', fieldsOf<Stripe.Payout.TraceId>()('value')),
]
const LINE = [
  ...fieldsOf<Stripe.BalanceTransaction>()('id', 'object', 'amount', 'fee', 'net', 'currency', 'type', 'source'),
  ...fieldsOf<Stripe.BalanceTransaction>()('reporting_category'),
  ...under('source', fieldsOf<Stripe.Charge>()('payment_intent', 'metadata')),
  'source.metadata.reference',
]

/** A copy that records which of its fields are read. */
function recording(value: unknown, seen: Set<string>, path = ''): unknown {
  if (typeof value !== 'object' || value === null) return value
  const copy = Array.isArray(value) ? [...value] : { ...value }
  for (const [name, member] of Object.entries(value)) {
    const at = path ? `${path}.${name}` : name
    const inner = recording(member, seen, at)
    Object.defineProperty(copy, name, {
      enumerable: true,
      get: () => {
        if (!Array.isArray(value)) seen.add(at)
        return inner
      },
    })
  }
  return copy
}

function samples() {
  const books = createBooks(() => 'https://checkout.stripe.com')
  const asked = { 'line_items[0][price_data][unit_amount]': '1099', 'line_items[0][price_data][currency]': 'usd' }
  const saving = { 'payment_intent_data[setup_future_usage]': 'off_session', customer_creation: 'always' }
  const named = { client_reference_id: 'r', 'payment_intent_data[metadata][reference]': 'r', expires_at: '1795000000' }
  const session = books.openSession({ ...asked, ...saving, ...named })
  books.paySession(session)
  const intent = books.intentOf(session)
  // Fields that no single payment has together.
  Object.assign(intent, { nextAction: { redirect_to_url: { url: 'https://hooks.stripe.com/3ds' } } })
  const lastError = {
    type: 'card_error',
    code: 'card_declined',
    decline_code: 'lost_card',
    param: null,
    charge: 'ch_1',
  }
  Object.assign(intent, { lastError })
  const payouts = createPayouts(books)
  payouts.settle()
  const [payout] = payouts.made
  const [row] = payout?.rows ?? []
  assert.ok(payout && row)
  return {
    payout: payouts.payoutObject(payout),
    line: payouts.rowObject(row, true),
    session: books.sessionObject(session, () => true),
    intent: books.intentObject(intent, () => true),
    charge: books.chargeObject(intent),
    refund: books.refundObject(books.giveBack(intent, 100, { refund: 'f', reference: 'r' })),
    dispute: books.disputeObject(books.dispute(intent, { amount: 999, reason: 'fraudulent' })),
  }
}

for (const [name, read, listed] of [
  ['session', readSession, SESSION],
  ['intent', readIntent, INTENT],
  ['charge', readCharge, CHARGE],
  ['refund', readRefund, REFUND],
  ['dispute', readDispute, DISPUTE],
  ['payout', readPayout, PAYOUT],
  ['line', linesReader('po_1'), LINE],
] as const) {
  test(`every field that is read from a ${name} exists in Stripe's own types`, () => {
    const seen = new Set<string>()
    assert.ok(read(recording(samples()[name], seen)))
    assert.deepEqual([...seen].toSorted(), listed.toSorted())
  })
}

const startedAt = new Date('2026-11-20T10:00:00Z')
const order: Order = {
  channel: 'card',
  input: {},
  reference: 'r'.repeat(32),
  amount: money(1_099, 'USD' as Currency),
  country: 'US',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://pay.example/return/att_1',
  startedAt,
  expiresAt: new Date('2026-11-20T11:00:00Z'),
  saveCard: true,
}

const SESSION_PARAMS: Stripe.Checkout.SessionCreateParams = {
  mode: 'payment',
  line_items: [
    {
      quantity: 1,
      price_data: { currency: 'usd', unit_amount: 1_099, product_data: { name: 'Payment to Ada & Sons' } },
    },
  ],
  success_url: 'https://pay.example/return/att_1?session_id={CHECKOUT_SESSION_ID}',
  cancel_url: 'https://pay.example/return/att_1',
  client_reference_id: order.reference,
  metadata: { reference: order.reference },
  payment_intent_data: { metadata: { reference: order.reference }, setup_future_usage: 'off_session' },
  customer_email: 'ada@example.com',
  allowed_payment_method_types: ['card'],
  adaptive_pricing: { enabled: false },
  expires_at: Math.floor(order.expiresAt.getTime() / 1000),
  customer_creation: 'always',
}

const INTENT_PARAMS: Stripe.PaymentIntentCreateParams = {
  amount: 1_099,
  currency: 'usd',
  customer: 'cus_1',
  payment_method: 'pm_1',
  allowed_payment_method_types: ['card'],
  confirm: true,
  return_url: 'https://pay.example/return/att_1',
  description: 'Payment to Ada & Sons',
  metadata: { reference: order.reference },
  expand: ['latest_charge'],
}

const REFUND_PARAMS: Stripe.RefundCreateParams = {
  payment_intent: 'pi_1',
  amount: 400,
  metadata: { refund: 'f'.repeat(32), reference: order.reference, reason: 'returned' },
}

/** As a form carries it: every value is text. */
function asText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asText)
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, asText(member)]))
}

test("every field that is sent exists in Stripe's own types, of the same API version", () => {
  assert.equal(VERSION, version)
  assert.deepEqual(readForm(encode(sessionFor(order))), asText(SESSION_PARAMS))
  const card = { customer: 'cus_1', paymentMethod: 'pm_1' }
  assert.deepEqual(readForm(encode(chargeFor(order, card))), asText(INTENT_PARAMS))
  const wanted: RefundOrder = {
    reference: 'f'.repeat(32),
    order: { reference: order.reference, providerReference: 'cs_test_1', channel: 'card', startedAt },
    transactionIds: ['pi_1'],
    amount: money(400, 'USD' as Currency),
    reason: 'returned',
  }
  assert.deepEqual(readForm(encode(refundFor(wanted, 'pi_1'))), asText(REFUND_PARAMS))
})

const EVENTS: Stripe.Event['type'][] = [
  ...(['checkout.session.completed', 'checkout.session.expired'] as const),
  ...(['checkout.session.async_payment_succeeded', 'checkout.session.async_payment_failed'] as const),
  ...(['payment_intent.succeeded', 'payment_intent.payment_failed', 'payment_intent.processing'] as const),
  ...(['refund.created', 'refund.updated', 'refund.failed'] as const),
  ...(['charge.dispute.created', 'charge.dispute.updated', 'charge.dispute.closed'] as const),
  ...(['charge.dispute.funds_withdrawn', 'charge.dispute.funds_reinstated'] as const),
]

test('the events that our guide names exist, and the payload style is snapshot', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/providers/stripe.md'), 'utf8')
  const named = [...guide.matchAll(/`((?:checkout\.session|payment_intent|refund|charge)\.[a-z_.]+)`/g)]
  assert.deepEqual([...new Set(named.map(([, name]) => name))].toSorted(), EVENTS.toSorted())
  assert.match(guide, /\*\*Snapshot\*\* as the payload style/)
})
