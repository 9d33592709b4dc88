import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { fakeStripe, startFakeStripe } from '../../../test/fakes/stripe/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { Order, OrderHandle } from '../provider.ts'
import { findProvider } from '../registry.ts'
import { stripe } from './adapter.ts'

async function setUp(t: TestContext) {
  const fake = await startFakeStripe(t)
  const { settings, upstream, api } = fake
  const http = httpTo(upstream)
  const connection = stripe.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  const lastAsked = () => {
    const { method, path, headers, body } = api.asked.at(-1) ?? assert.fail('something was asked')
    return { what: `${method} ${path}`, headers, form: Object.fromEntries(new URLSearchParams(body)) }
  }
  /** Changes the answers' text. */
  const swap = (from: string | RegExp, to: string) => {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from, to) })
  }
  return { ...fake, connection, lastAsked, swap }
}

const REFERENCE = 'r'.repeat(32)
const STARTED = new Date()
const minutesLater = (minutes: number) => new Date(STARTED.getTime() + minutes * 60_000)
const order = (changes: Partial<Order> = {}): Order => ({
  reference: REFERENCE,
  amount: money(50_000, 'GBP' as Currency),
  country: 'GB',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://pay.example/return/att_1',
  startedAt: STARTED,
  expiresAt: minutesLater(60),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

const handle = (providerReference = REFERENCE, startedAt = STARTED): OrderHandle => ({
  reference: REFERENCE,
  providerReference,
  channel: 'card',
  startedAt,
})

conformanceSuite(fakeStripe, setUp)

test('stripe is found by its name, and takes cards alone', async (t) => {
  assert.equal(findProvider('stripe'), stripe)
  assert.deepEqual(Object.keys(stripe.capabilities.offers), ['card'])
  const { connection, api } = await setUp(t)
  const account = await connection.start(byTransfer(order()))
  assert.ok(account.kind === 'declined' && account.failure.code === 'provider_error')
  assert.equal(api.asked.length, 0)
})

test('a live key is refused in the sandbox, a test key in live mode, and an empty key in both', () => {
  const pattern = (name: string) => stripe.settings.find((setting) => setting.name === name)?.pattern
  for (const [name, kinds] of [
    ['secretKey', ['sk', 'rk']],
    ['publicKey', ['pk']],
  ] as const) {
    for (const kind of kinds) {
      assert.match(`${kind}_test_51Abcdefgh`, pattern(name)?.sandbox ?? /^$/)
      assert.match(`${kind}_live_51Abcdefgh`, pattern(name)?.live ?? /^$/)
      assert.doesNotMatch(`${kind}_live_51Abcdefgh`, pattern(name)?.sandbox ?? /./)
      assert.doesNotMatch(`${kind}_test_51Abcdefgh`, pattern(name)?.live ?? /./)
    }
  }
  assert.doesNotMatch('sk_test_51Abcdefgh', pattern('publicKey')?.sandbox ?? /./)
  const whole = { secretKey: 'sk_test_51Abcdefgh', publicKey: 'pk_test_51Abcdefgh', webhookSecret: 'whsec_12345678' }
  for (const name of Object.keys(whole)) {
    for (const settings of [
      { ...whole, [name]: '' },
      { ...whole, [name]: undefined as never },
    ]) {
      const account = { mode: 'sandbox' as const, settings, baseURL: 'http://localhost', http: providerHttp() }
      assert.throws(() => stripe.connect(account), /stripe needs the setting/)
    }
  }
})

test('a key that may not do what we need is bad', async (t) => {
  const { connection, upstream } = await setUp(t)
  upstream.garble = () => ({ status: 403, text: '{"error":{"type":"invalid_request_error"}}' })
  assert.equal((await connection.verifyKeys()).kind, 'bad')
})

test('stripe is asked for a page in its own words', async (t) => {
  const { connection, lastAsked } = await setUp(t)
  const expiresAt = minutesLater(120)
  const start = await connection.start(order({ expiresAt }))
  const { what, headers, form } = lastAsked()
  assert.equal(what, 'POST /v1/checkout/sessions')
  assert.equal(headers['stripe-version'], '2026-10-28.endive')
  assert.equal(headers['idempotency-key'], `order-${REFERENCE}`)
  assert.equal(headers['content-type'], 'application/x-www-form-urlencoded')
  assert.deepEqual(form, {
    mode: 'payment',
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'gbp',
    'line_items[0][price_data][unit_amount]': '50000',
    'line_items[0][price_data][product_data][name]': 'Payment to Ada & Sons',
    success_url: 'https://pay.example/return/att_1?session_id={CHECKOUT_SESSION_ID}',
    cancel_url: 'https://pay.example/return/att_1',
    client_reference_id: REFERENCE,
    'metadata[reference]': REFERENCE,
    'payment_intent_data[metadata][reference]': REFERENCE,
    customer_email: 'ada@example.com',
    'allowed_payment_method_types[]': 'card',
    'adaptive_pricing[enabled]': 'false',
    expires_at: String(Math.floor(expiresAt.getTime() / 1000)),
  })
  assert.ok(start.kind === 'link')
  assert.match(start.providerReference, /^cs_test_/)
  assert.equal(start.paidOnce, true)
  assert.equal(start.publicKey, 'pk_test_51FakeFakeFakeFakeFake')
  assert.equal(start.expiresAt.getTime(), Math.floor(expiresAt.getTime() / 1000) * 1000)
})

test('a page is open for 35 minutes at least and a day at most, counted from the start of the attempt', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: STARTED }) // the file may have been loaded minutes ago
  const { connection, lastAsked } = await setUp(t)
  for (const [wished, given] of [
    [-5, 35],
    [30, 35],
    [36, 36],
    [60 * 24 * 7, 60 * 24 - 1],
  ] as const) {
    const reference = `${wished}`.replace('-', 'm').padStart(32, 'x')
    const start = await connection.start(order({ reference, expiresAt: minutesLater(wished) }))
    assert.equal(start.kind, 'link')
    assert.equal(lastAsked().form.expires_at, String(Math.floor(minutesLater(given).getTime() / 1000)))
  }
})

test('the same order is sent with the same body, however much time has passed in between', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: STARTED })
  const { connection, ordersMade } = await setUp(t)
  const short = order({ expiresAt: minutesLater(5) })
  const start = await connection.start(short)
  t.mock.timers.setTime(minutesLater(20).getTime())
  assert.equal(start.kind, 'link')
  assert.deepEqual(await connection.start(short), start)
  assert.equal(ordersMade(), 1)
})

test('the id of a session goes into an address wherever it belongs', async (t) => {
  const { connection, lastAsked } = await setUp(t)
  await connection.start(order({ returnURL: 'https://pay.example/r?a=1#top' }))
  assert.equal(lastAsked().form.success_url, 'https://pay.example/r?a=1&session_id={CHECKOUT_SESSION_ID}#top')
})

test('a card is kept when the customer agreed, and not otherwise; its token is the customer and the card', async (t) => {
  const { connection, customer, lastAsked } = await setUp(t)
  const start = await connection.start(order({ saveCard: true }))
  assert.equal(lastAsked().form.customer_creation, 'always')
  assert.equal(lastAsked().form['payment_intent_data[setup_future_usage]'], 'off_session')
  await customer.payByCard(REFERENCE)
  assert.ok(start.kind === 'link')
  const outcome = await connection.check(handle(start.providerReference))
  assert.ok(outcome.kind === 'paid' && outcome.savedCard)
  assert.match(outcome.savedCard.token, /^cus_\w+:pm_\w+$/)
  assert.deepEqual(
    { ...outcome.savedCard, token: '' },
    { token: '', brand: 'Visa', last4: '4242', expiryMonth: 8, expiryYear: 2036 },
  )
  const again = await connection.chargeSavedCard(order({ reference: 'q'.repeat(32) }), outcome.savedCard.token)
  assert.equal(again.kind, 'paid')

  const other = await connection.start(order({ reference: 'p'.repeat(32) }))
  assert.ok(other.kind === 'link' && lastAsked().form.customer_creation === undefined)
  await customer.payByCard('p'.repeat(32))
  const paid = await connection.check({ ...handle(other.providerReference), reference: 'p'.repeat(32) })
  assert.ok(paid.kind === 'paid' && paid.savedCard === undefined)
})

test('a saved card is asked for with its customer present', async (t) => {
  const { connection, lastAsked, savedCards } = await setUp(t)
  await connection.chargeSavedCard(order(), savedCards.paying)
  const { what, headers, form } = lastAsked()
  assert.equal(what, 'POST /v1/payment_intents')
  assert.equal(headers['idempotency-key'], `order-${REFERENCE}`)
  assert.deepEqual(form, {
    amount: '50000',
    currency: 'gbp',
    customer: 'cus_ada',
    payment_method: 'pm_paying',
    'allowed_payment_method_types[]': 'card',
    confirm: 'true',
    return_url: 'https://pay.example/return/att_1',
    description: 'Payment to Ada & Sons',
    'metadata[reference]': REFERENCE,
    'expand[]': 'latest_charge',
  })
})

test('a token that is not ours is invalid, and Stripe is not called', async (t) => {
  const { connection, api, savedCards } = await setUp(t)
  for (const token of ['', 'pm_paying', 'cus_ada:', 'cus_ada:pm_paying:x', 'cus_ada:pm_pay&amount=1', 'x:y']) {
    const charge = await connection.chargeSavedCard(order(), token)
    assert.ok(charge.kind === 'declined' && charge.failure.code === 'invalid_token', token)
  }
  assert.equal(api.asked.length, 0)
  for (const token of [savedCards.unheardOf, 'cus_nobody:pm_paying']) {
    const charge = await connection.chargeSavedCard(order(), token)
    assert.ok(charge.kind === 'declined' && charge.failure.code === 'invalid_token', token)
  }
})

test('a step leads to the bank and back, and then the money is there', async (t) => {
  const { connection, savedCards, switches } = await setUp(t)
  const charge = await connection.chargeSavedCard(order(), savedCards.askingForAStep)
  assert.ok(charge.kind === 'step')
  assert.match(charge.providerReference, /^pi_/)
  assert.equal((await connection.check(handle(charge.providerReference))).kind, 'pending')
  const { status, headers } = await fetch(charge.link, { method: 'POST', body: 'press=pay', redirect: 'manual' })
  assert.equal(status, 302)
  assert.match(headers.get('location') ?? '', /^https:\/\/pay\.example\/return\/att_1\?payment_intent=pi_.*=succeeded$/)
  assert.equal((await connection.check(handle(charge.providerReference))).kind, 'paid')

  switches.needsTheirScript = true
  const scripted = await connection.chargeSavedCard(order({ reference: 's'.repeat(32) }), savedCards.askingForAStep)
  assert.ok(scripted.kind === 'declined' && scripted.failure.code === 'authentication_failed')
})

test('a step that is not taken is declined', async (t) => {
  const { connection, savedCards } = await setUp(t)
  const charge = await connection.chargeSavedCard(order(), savedCards.askingForAStep)
  assert.ok(charge.kind === 'step')
  await fetch(charge.link, { method: 'POST', body: 'press=cancel', redirect: 'manual' })
  const outcome = await connection.check(handle(charge.providerReference))
  assert.ok(outcome.kind === 'declined' && outcome.failure.code === 'authentication_failed')
})

test('a decline of a saved card is read from what it left behind, and nothing else is', async (t) => {
  const { connection, savedCards, swap, upstream } = await setUp(t)
  let references = 0
  const charge = () =>
    connection.chargeSavedCard(order({ reference: String(++references).padStart(32, 'd') }), savedCards.declining)
  const declined = await charge()
  assert.ok(declined.kind === 'declined')
  assert.deepEqual(declined.failure, {
    code: 'insufficient_funds',
    message: 'There is not enough money on this card or account.',
    providerCode: 'insufficient_funds',
  })
  assert.match(declined.tryId ?? '', /^ch_/)
  const swaps: [string | RegExp, string][] = [
    [/"reference":"d/, '"reference":"x'],
    ['"amount":50000', '"amount":50001'],
    ['"currency":"gbp"', '"currency":"usd"'],
    ['"livemode":false', '"livemode":true'],
    ['"status":"requires_payment_method"', '"status":"succeeded"'],
    ['"status":"requires_payment_method"', '"status":"processing"'],
    ['"object":"payment_intent"', '"object":"x"'],
  ]
  for (const [from, to] of swaps) {
    swap(from, to)
    assert.equal((await charge()).kind, 'unknown', to)
  }
  upstream.garble = ({ status, text }) => {
    const { error } = JSON.parse(text)
    Object.assign(error, { code: 'authentication_required', decline_code: undefined })
    const next_action = { type: 'redirect_to_url', redirect_to_url: { url: 'https://hooks.stripe.com/3ds' } }
    Object.assign(error.payment_intent, { status: 'requires_action', next_action })
    return { status, text: JSON.stringify({ error }) }
  }
  assert.equal((await charge()).kind, 'step')
})

test('an answer about another order, amount, currency or mode is unknown', async (t) => {
  const { connection, savedCards, customer, swap, upstream } = await setUp(t)
  const swaps: [string, string][] = [
    [`"client_reference_id":"${REFERENCE}"`, '"client_reference_id":"another"'],
    ['"amount_total":50000', '"amount_total":49999'],
    ['"currency":"gbp"', '"currency":"usd"'],
    ['"livemode":false', '"livemode":true'],
    ['"url":"http', '"url":"javascript:http'],
  ]
  for (const [from, to] of swaps) {
    swap(from, to)
    assert.equal((await connection.start(order())).kind, 'unknown', to)
  }
  upstream.garble = undefined
  const start = await connection.start(order())
  assert.ok(start.kind === 'link')
  await customer.payByCard(REFERENCE)
  for (const [from, to] of [
    [`"client_reference_id":"${REFERENCE}"`, '"client_reference_id":"another"'],
    ['"client_reference_id":"', '"client_reference":"'],
    [`"id":"${start.providerReference}"`, '"id":"cs_test_another"'],
    ['"livemode":false', '"livemode":true'],
  ] as const) {
    swap(from, to)
    assert.equal((await connection.check(handle(start.providerReference))).kind, 'unknown', to)
  }
  for (const [from, to] of [
    ['"amount":50000', '"amount":49999'],
    ['"reference":"', '"reference":"x'],
    ['"livemode":false', '"livemode":true'],
  ] as const) {
    swap(from, to)
    const charge = await connection.chargeSavedCard(order({ reference: 'c'.repeat(32) }), savedCards.paying)
    assert.equal(charge.kind, 'unknown', to)
  }
})

test('the page takes the customer back with what we put into the addresses', async (t) => {
  const { connection } = await setUp(t)
  const start = await connection.start(order())
  assert.ok(start.kind === 'link')
  const press = async (button: string) =>
    (await fetch(start.link, { method: 'POST', body: `press=${button}`, redirect: 'manual' })).headers.get('location')
  assert.equal(await press('cancel'), 'https://pay.example/return/att_1')
  await press('decline')
  assert.equal((await connection.check(handle(start.providerReference))).kind, 'declined')
  assert.equal(await press('pay'), `https://pay.example/return/att_1?session_id=${start.providerReference}`)
  assert.equal((await connection.check(handle(start.providerReference))).kind, 'paid')
})

test('a refusal is declined, but a key that is in use or stands for something else is unknown', async (t) => {
  const { connection, upstream, savedCards, ordersMade } = await setUp(t)
  const refuse = (status: number, type: string, code: string) => {
    upstream.garble = () => ({ status, text: JSON.stringify({ error: { type, code, message: 'sk_test_51…' } }) })
    return connection.start(order({ reference: `${code}${status}`.replaceAll('_', '').padStart(32, 'e') }))
  }
  for (const status of [400, 401, 403, 404]) {
    const start = await refuse(status, 'invalid_request_error', 'amount_too_small')
    assert.ok(start.kind === 'declined' && start.failure.code === 'provider_error', String(status))
    assert.equal(start.failure.providerCode, 'amount_too_small')
    assert.doesNotMatch(start.failure.message, /sk_test/)
  }
  assert.equal((await refuse(409, 'invalid_request_error', 'lock_timeout')).kind, 'unknown')
  assert.equal((await refuse(409, 'idempotency_error', 'idempotency_key_in_use')).kind, 'unknown')
  assert.equal((await refuse(400, 'idempotency_error', 'x')).kind, 'unknown')
  upstream.garble = undefined
  const before = ordersMade()
  await connection.start(order())
  const charge = await connection.chargeSavedCard(order(), savedCards.paying)
  assert.equal(charge.kind, 'unknown', 'the same reference never stands for two payments')
  assert.equal(ordersMade(), before + 1)
})

test('an error that they keep under our key is unknown each time, and a check tells that nothing is there', async (t) => {
  const { connection, switches, api } = await setUp(t)
  switches.breakNext = 1
  for (let i = 0; i < 2; i++) assert.equal((await connection.start(order())).kind, 'unknown')
  assert.deepEqual(await connection.check(handle()), { kind: 'missing' })
  api.forgetKeys()
  assert.equal((await connection.start(order())).kind, 'link')
})
