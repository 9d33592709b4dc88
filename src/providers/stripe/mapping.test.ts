import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { feeOf } from '../../kernel/fee.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { FAILURE_CODES, type Order } from '../provider.ts'
import { capabilities } from './capabilities.ts'
import {
  chargeFor,
  encode,
  failureFrom,
  mismatch,
  outcomeOfIntent,
  outcomeOfSession,
  refundFor,
  sessionFor,
} from './mapping.ts'
import { readCurrency, readIntentText, readSessionText } from './wire.ts'

const CARD_ERROR = { type: 'card_error', code: 'card_declined', decline_code: 'lost_card', charge: 'ch_1' }
const CHARGE = {
  id: 'ch_1',
  object: 'charge',
  created: 1_795_000_060,
  amount_refunded: 0,
  disputed: false,
  payment_method_details: { type: 'card', card: { brand: 'visa', last4: '4242', exp_month: 8, exp_year: 2030 } },
}
const INTENT = {
  ...{ id: 'pi_1', object: 'payment_intent', status: 'requires_payment_method', amount: 1_099, amount_received: 0 },
  ...{ currency: 'usd', created: 1_795_000_000, livemode: false, metadata: { reference: 'r' }, customer: null },
  ...{ latest_charge: null, last_payment_error: null, next_action: null, cancellation_reason: null },
}
const PAID = { ...INTENT, status: 'succeeded', amount_received: 1_099, latest_charge: CHARGE }
const SESSION = {
  ...{ id: 'cs_test_1', object: 'checkout.session', status: 'open', payment_status: 'unpaid', amount_total: 1_099 },
  ...{ currency: 'usd', client_reference_id: 'r', livemode: false, expires_at: 1_795_003_600, payment_intent: null },
  url: 'https://checkout.stripe.com/c/pay/cs_test_1',
}
const RECEIPT = {
  transactionId: 'pi_1',
  idIsProviders: true,
  amount: money(1_099, 'USD' as Currency),
  at: new Date(1_795_000_060_000),
}

const intent = (changes: object) => readIntentText(JSON.stringify({ ...INTENT, ...changes }))
const session = (changes: object) => readSessionText(JSON.stringify({ ...SESSION, ...changes }))

/** In one line: what became of it, and why. */
function told(outcome: ReturnType<typeof outcomeOfIntent>): string {
  return outcome.kind === 'declined'
    ? `declined ${outcome.failure.code} ${outcome.failure.providerCode} ${outcome.tryId}`
    : outcome.kind
}

const INTENTS: [string, object, string][] = [
  ['a fresh one waits', {}, 'pending'],
  ['one that asks for a code waits', { status: 'requires_action' }, 'pending'],
  ['one that asks for a yes waits', { status: 'requires_confirmation' }, 'pending'],
  ['one at work is at work', { status: 'processing' }, 'processing'],
  ['money that is held is not taken', { status: 'requires_capture' }, 'processing'],
  ['money that was taken is there', PAID, 'paid'],
  ['success without money makes no sense', { status: 'succeeded' }, 'unknown'],
  ['money without success makes no sense', { amount_received: 1 }, 'unknown'],
  ['a new word is no verdict', { status: 'requires_luck' }, 'unknown'],
  ['a failed try is declined', { last_payment_error: CARD_ERROR }, 'declined suspected_fraud lost_card ch_1'],
  [
    'a failed try is told by its charge',
    { last_payment_error: CARD_ERROR, latest_charge: 'ch_2' },
    'declined suspected_fraud lost_card ch_2',
  ],
  [
    'without a charge there is no number',
    { last_payment_error: { type: 'invalid_request_error', code: 'payment_intent_authentication_failure' } },
    'declined authentication_failed payment_intent_authentication_failure null',
  ],
  [
    'a cancelled one is over',
    { status: 'canceled', cancellation_reason: 'abandoned' },
    'declined customer_cancelled abandoned null',
  ],
  [
    'one that was cancelled as fraud, too',
    { status: 'canceled', cancellation_reason: 'fraudulent' },
    'declined suspected_fraud fraudulent null',
  ],
  [
    'a try before the end counts',
    { status: 'canceled', last_payment_error: CARD_ERROR },
    'declined suspected_fraud lost_card ch_1',
  ],
]
for (const [name, changes, expected] of INTENTS) {
  test(`an intent of stripe: ${name}`, () => {
    assert.equal(told(outcomeOfIntent(intent(changes) ?? assert.fail('it can be read'))), expected)
  })
}

const failing = { ...INTENT, last_payment_error: CARD_ERROR, latest_charge: 'ch_1' }
const SESSIONS: [string, object, string][] = [
  ['an open page waits', {}, 'pending'],
  ['an open page where somebody is typing waits', { payment_intent: INTENT }, 'pending'],
  ['a decline on an open page is one', { payment_intent: failing }, 'declined suspected_fraud lost_card ch_1'],
  ['paid is paid', { status: 'complete', payment_status: 'paid', payment_intent: PAID }, 'paid'],
  ['a succeeded payment intent is paid, also on an open page', { payment_intent: PAID }, 'paid'],
  ['even on a page that is closed', { status: 'expired', payment_intent: PAID }, 'paid'],
  ['completed is not paid', { status: 'complete', payment_intent: { ...INTENT, status: 'processing' } }, 'processing'],
  ['completed and waiting is with them', { status: 'complete', payment_intent: INTENT }, 'processing'],
  [
    'completed and failed at last is declined',
    { status: 'complete', payment_intent: failing },
    'declined suspected_fraud lost_card ch_1',
  ],
  [
    'paid without money makes no sense',
    { status: 'complete', payment_status: 'paid', payment_intent: INTENT },
    'unknown',
  ],
  ['paid without anything makes no sense', { status: 'complete', payment_status: 'paid' }, 'unknown'],
  ['nothing to pay makes no sense', { status: 'complete', payment_status: 'no_payment_required' }, 'unknown'],
  ['completed without a payment makes no sense', { status: 'complete' }, 'unknown'],
  ['a payment that we are not shown is no verdict', { payment_intent: 'pi_1' }, 'unknown'],
  ['a new word is no verdict', { status: 'paused', payment_intent: INTENT }, 'unknown'],
  ['a closed page takes nothing any more', { status: 'expired' }, 'declined customer_cancelled expired null'],
  [
    'nor does one that was left half way',
    { status: 'expired', payment_intent: { ...INTENT, status: 'canceled' } },
    'declined customer_cancelled expired null',
  ],
  [
    'an earlier decline is reported with its reason',
    { status: 'expired', payment_intent: { ...failing, status: 'canceled' } },
    'declined suspected_fraud lost_card ch_1',
  ],
  [
    'a closed page with a payment at work waits for it',
    { status: 'expired', payment_intent: { ...INTENT, status: 'processing' } },
    'processing',
  ],
]
for (const [name, changes, expected] of SESSIONS) {
  test(`a session of stripe: ${name}`, () => {
    assert.equal(told(outcomeOfSession(session(changes) ?? assert.fail('it can be read'))), expected)
  })
}

test('a receipt is what was really taken, under the id of the intent, when the charge was made', () => {
  const outcome = outcomeOfIntent(intent({ ...PAID, amount_received: 1_098 }) ?? assert.fail())
  assert.deepEqual(outcome, { kind: 'paid', receipts: [{ ...RECEIPT, amount: money(1_098, 'USD' as Currency) }] })
  const unexpanded = outcomeOfIntent(intent({ ...PAID, latest_charge: 'ch_1' }) ?? assert.fail())
  assert.deepEqual(unexpanded, { kind: 'paid', receipts: [{ ...RECEIPT, at: new Date(1_795_000_000_000) }] })
})

test('a card is saved when it was kept for later, whole; a card that cannot be read hides no money', () => {
  const kept = { ...PAID, setup_future_usage: 'off_session', customer: 'cus_1', payment_method: 'pm_1' }
  const savedCard = { token: 'cus_1:pm_1', brand: 'Visa', last4: '4242', expiryMonth: 8, expiryYear: 2030 }
  assert.deepEqual(intent(kept)?.savedCard, savedCard)
  assert.deepEqual(intent({ ...kept, customer: { id: 'cus_1' }, payment_method: { id: 'pm_1' } })?.savedCard, savedCard)
  for (const changes of [
    { setup_future_usage: null },
    { setup_future_usage: 'on_session' },
    { customer: null },
    { payment_method: 'cus_1:pm_1' },
    { latest_charge: 'ch_1' },
    { latest_charge: { ...CHARGE, payment_method_details: { type: 'link' } } },
  ]) {
    const read = intent({ ...kept, ...changes }) ?? assert.fail('it can be read')
    assert.equal(read.savedCard, null, JSON.stringify(changes))
    assert.equal(outcomeOfIntent(read).kind, 'paid')
  }
})

test('what money depends on is whole, or nothing is read', () => {
  const odd = [10.5, '1099', -1, 1e21, null, undefined, Number.NaN]
  for (const value of odd) {
    assert.equal(session({ amount_total: value }), undefined)
    assert.equal(intent({ amount_received: value }), undefined)
    assert.equal(intent({ amount: value }), undefined)
  }
  for (const value of ['xxx', 'us', '', null, 'isk']) {
    assert.equal(session({ currency: value }), undefined)
    assert.equal(intent({ currency: value }), undefined)
  }
  for (const value of ['false', null, 0]) assert.equal(intent({ livemode: value }), undefined)
  assert.equal(session({ payment_intent: { ...PAID, amount_received: '1099' } }), undefined)
  assert.equal(session({ expires_at: 2e15 }), undefined)
})

test('decline codes map to ours, the code of Stripe is kept, and suspected fraud is not shown to the customer', () => {
  const code = (failure: object) =>
    failureFrom({
      type: 'card_error',
      code: 'card_declined',
      declineCode: null,
      param: null,
      chargeId: null,
      ...failure,
    })
  for (const [theirs, ours] of [
    ['generic_decline', 'card_declined'],
    ['do_not_honor', 'card_declined'],
    ['a_code_of_next_year', 'card_declined'],
    ['insufficient_funds', 'insufficient_funds'],
    ['card_velocity_exceeded', 'limit_exceeded'],
    ['expired_card', 'card_expired'],
    ['expired_payment_method', 'card_expired'],
    ['pin_try_exceeded', 'incorrect_pin'],
    ['authentication_required', 'authentication_failed'],
    ['currency_not_supported', 'card_not_supported'],
    ['stolen_card', 'suspected_fraud'],
    ['issuer_not_available', 'provider_unavailable'],
  ] as const) {
    const failure = code({ declineCode: theirs })
    assert.deepEqual([failure.code, failure.providerCode], [ours, theirs])
    assert.ok(FAILURE_CODES.includes(failure.code))
    assert.doesNotMatch(failure.message, /stolen|lost|fraud|_/)
  }
  assert.equal(code({ code: 'incorrect_cvc' }).code, 'card_declined')
  // New in 2026-08-26.dahlia, in place of `card_declined`.
  for (const [theirs, ours] of [
    ['authentication_failure', 'authentication_failed'],
    ['expired_payment_method', 'card_expired'],
    ['payment_method_restricted', 'card_not_supported'],
    ['incorrect_postal_code', 'card_declined'],
    ['capability_not_active', 'provider_error'],
  ] as const)
    assert.equal(code({ code: theirs }).code, ours)
  assert.equal(code({ code: 'expired_card' }).code, 'card_expired')
  assert.equal(
    code({ type: 'invalid_request_error', code: 'resource_missing', param: 'payment_method' }).code,
    'invalid_token',
  )
  assert.equal(
    code({ type: 'invalid_request_error', code: 'resource_missing', param: 'account' }).code,
    'provider_error',
  )
  assert.equal(code({ type: 'api_error', code: null }).providerCode, 'api_error')
})

const order = (amount: number, currency: string): Order => ({
  ...{ channel: 'card', input: {} },
  ...{ reference: 'r', country: 'US', merchantName: '', returnURL: 'https://x.example/', saveCard: false },
  ...{
    amount: money(amount, currency as Currency),
    startedAt: new Date(),
    expiresAt: new Date(),
    customer: { email: 'a@b.c', name: null, phoneNumber: null },
  },
})

test('every amount goes out digit by digit and comes back the same', () => {
  const { currencies } = capabilities
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 99_999_999 }), fc.constantFrom(...currencies), (amount, currency) => {
      const asked = order(amount, currency)
      const form = new URLSearchParams(encode(sessionFor(asked)))
      assert.equal(form.get('line_items[0][price_data][unit_amount]'), String(amount))
      const handle = { reference: 'r', providerReference: 'r', channel: 'card' as const, startedAt: new Date() }
      const refund = { reference: 'f', order: handle, transactionIds: [], amount: asked.amount, reason: null }
      assert.equal(refundFor(refund, 'pi_1').amount, amount)
      const charge = chargeFor(asked, { customer: 'cus_1', paymentMethod: 'pm_1' })
      const answer = session({ amount_total: charge.amount, currency: charge.currency })
      assert.equal(mismatch(answer ?? assert.fail(), asked, 'sandbox'), undefined)
    }),
  )
})

test('a currency counts only where its smallest unit is the same at Stripe and here', () => {
  for (const currency of capabilities.currencies) assert.equal(readCurrency(currency.toLowerCase()), currency)
  for (const same of ['jpy', 'krw', 'xof', 'kwd', 'cad']) assert.ok(readCurrency(same), same)
  // Stripe counts these in hundredths that do not exist.
  for (const other of ['isk', 'ugx']) assert.equal(readCurrency(other), undefined, other)
})

test('a charge fits into eight digits and is worth its fee', () => {
  for (const [currency, { min, max }] of Object.entries(capabilities.limits)) {
    assert.equal(max, 99_999_999)
    const fee = capabilities.offers.card?.[currency]?.fee ?? assert.fail(currency)
    assert.ok(feeOf(fee, min) < min, currency)
  }
})

test('a link of theirs may have 5,000 characters', () => {
  const link = (length: number) => SESSION.url.padEnd(length, 'x')
  assert.equal(session({ url: link(5_000) })?.link, link(5_000))
  assert.equal(session({ url: link(5_001) })?.link, null)
})
