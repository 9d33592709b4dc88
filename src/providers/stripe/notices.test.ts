import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { startFakeStripe } from '../../../test/fakes/stripe/fake.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import { stripe } from './adapter.ts'

const SECRET = 'whsec_fakefakefakefakefakefakefake'

function connect(mode: Mode = 'sandbox') {
  const settings = { secretKey: 'sk_x', publicKey: 'pk_x', webhookSecret: SECRET }
  return stripe.connect({ mode, settings, baseURL: 'http://localhost', http: providerHttp() })
}

const AT = 1_795_000_000
const v1 = (body: string, t: number | string = AT, secret = SECRET) =>
  createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')

function read(body: string, header: string, receivedAt = new Date(AT * 1000), mode: Mode = 'sandbox') {
  return connect(mode).readNotice({ headers: { 'stripe-signature': header }, body: Buffer.from(body), receivedAt })
}

const event = (type: string, object: object, changes: object = {}) =>
  JSON.stringify({
    ...{ id: 'evt_1', object: 'event', api_version: '2026-10-28.endive', created: AT, livemode: false, type },
    ...{ pending_webhooks: 1, request: { id: null, idempotency_key: null }, data: { object }, ...changes },
  })
const reading = (type: string, object: object, changes: object = {}, mode: Mode = 'sandbox') => {
  const body = event(type, object, changes)
  return read(body, `t=${AT},v1=${v1(body)}`, undefined, mode)
}
const said = (result: ReturnType<typeof read>) => (result.kind === 'notice' ? result.says : result.kind)

test('a signature that was made elsewhere is good here', () => {
  // openssl dgst -sha256 -hmac whsec_fakefakefakefakefakefakefake over "1795000000.{}"
  const known = 'c6556e4d6d959537bdd7054452429baa3ad4807d36312f52878f7917a672b93f'
  assert.equal(v1('{}'), known)
  assert.equal(read('{}', `t=${AT},v1=${known}`).kind, 'unreadable')
})

test('any of several signatures is enough, of the right scheme and with one time', () => {
  const body = event('gift.sent', {})
  const good = v1(body)
  const bad = v1(body, AT, 'whsec_old')
  const kinds: [string, string][] = [
    [`t=${AT},v1=${good}`, 'notice'],
    [`t=${AT},v1=${bad},v1=${good}`, 'notice'],
    [`t=${AT},v1=${good},v1=${bad},v0=${bad}`, 'notice'],
    [`v1=${good},t=${AT}`, 'notice'],
    [`t=${AT},v0=${good}`, 'forged'],
    [`t=${AT},v1=${bad}`, 'forged'],
    [`t=${AT},v1=${good.toUpperCase()}`, 'forged'],
    [`t=${AT},t=${AT},v1=${good}`, 'forged'],
    [`t=${AT + 1},v1=${good}`, 'forged'],
    [`t=,v1=${good}`, 'forged'],
    [`v1=${good}`, 'forged'],
    [`t=${AT}`, 'forged'],
    [`t=${AT},v1=`, 'forged'],
    [`t=${AT},${`v1=${bad},`.repeat(100)}v1=${good}`, 'forged'],
  ]
  for (const [header, kind] of kinds) assert.equal(read(body, header).kind, kind, header.slice(0, 200))
})

test('a signature holds for five minutes to the second', () => {
  const body = event('gift.sent', {})
  const after = (seconds: number) => read(body, `t=${AT},v1=${v1(body)}`, new Date((AT + seconds) * 1000)).kind
  assert.deepEqual([-301, -300, 0, 300, 301].map(after), ['forged', 'notice', 'notice', 'notice', 'forged'])
})

const SESSION = {
  ...{ id: 'cs_test_a1', object: 'checkout.session', payment_status: 'paid', amount_total: 1_099, currency: 'usd' },
  ...{ client_reference_id: 'pay-7f3c', payment_intent: 'pi_1', metadata: {} },
}
const INTENT = {
  ...{ id: 'pi_1', object: 'payment_intent', status: 'succeeded', amount: 1_099, amount_received: 1_099 },
  ...{ currency: 'usd', metadata: { reference: 'pay-7f3c' } },
}
const receipts = [
  { transactionId: 'pi_1', idIsProviders: true, amount: money(1_099, 'USD' as Currency), at: new Date(AT * 1000) },
]

test('money is told twice, of the session and of the intent, in the same words', () => {
  const paid = { kind: 'notice', reference: 'pay-7f3c', says: 'paid', receipts }
  assert.deepEqual(reading('checkout.session.completed', SESSION), paid)
  assert.deepEqual(reading('checkout.session.async_payment_succeeded', SESSION), paid)
  assert.deepEqual(reading('payment_intent.succeeded', INTENT), paid)
})

test('completed is not paid', () => {
  assert.equal(said(reading('checkout.session.completed', { ...SESSION, payment_status: 'unpaid' })), 'processing')
  const nothing = { ...SESSION, payment_status: 'no_payment_required', payment_intent: null }
  assert.equal(said(reading('checkout.session.completed', nothing)), 'other')
})

for (const [type, object, says] of [
  ['checkout.session.async_payment_failed', SESSION, 'failed'],
  ['checkout.session.expired', SESSION, 'other'],
  ['payment_intent.payment_failed', INTENT, 'failed'],
  ['payment_intent.processing', INTENT, 'processing'],
  ['payment_intent.requires_action', INTENT, 'pending'],
  ['payment_intent.canceled', INTENT, 'other'],
  ['gift.sent', INTENT, 'other'],
] as const) {
  test(`${type} says ${says}, of our order, and names no money`, () => {
    assert.deepEqual(reading(type, object), { kind: 'notice', reference: 'pay-7f3c', says, receipts: [] })
  })
}

test('another business of the same account is not ours, and its money neither', () => {
  for (const [type, object] of [
    ['checkout.session.completed', { ...SESSION, client_reference_id: null }],
    ['payment_intent.succeeded', { ...INTENT, metadata: {} }],
  ] as const) {
    assert.deepEqual(reading(type, object), { kind: 'notice', reference: null, says: 'other', receipts: [] })
  }
})

test('an event of the other mode, or that says one thing and shows another, is unreadable', () => {
  const kinds = [
    reading('payment_intent.succeeded', INTENT, { livemode: true }),
    reading('payment_intent.succeeded', INTENT, {}, 'live'),
    reading('payment_intent.succeeded', INTENT, { livemode: undefined }),
    reading('payment_intent.succeeded', INTENT, { object: 'v2.core.event' }),
    reading('payment_intent.succeeded', SESSION),
    reading('checkout.session.completed', INTENT),
    reading('checkout.session.completed', { ...SESSION, payment_intent: null }),
    reading('payment_intent.succeeded', { ...INTENT, amount_received: 0 }),
    reading('payment_intent.succeeded', { ...INTENT, amount_received: 10.99 }),
    reading('refund.updated', INTENT),
    reading('charge.dispute.created', INTENT),
  ]
  for (const { kind } of kinds) assert.equal(kind, 'unreadable')
  assert.equal(said(reading('payment_intent.succeeded', INTENT, { livemode: true }, 'live')), 'paid')
})

const REFUND = {
  ...{ id: 're_1', object: 'refund', amount: 400, currency: 'usd', status: 'succeeded', charge: 'ch_1' },
  ...{ created: AT, payment_intent: 'pi_1', metadata: { refund: 'f1', reference: 'pay-7f3c' } },
}
const CHARGE = {
  ...{ id: 'ch_1', object: 'charge', amount_refunded: 400, payment_intent: 'pi_1' },
  metadata: { reference: 'pay-7f3c' },
}

test('a notice about a refund leads to listing the refunds, at any status, and decides nothing itself', () => {
  const about = { kind: 'notice', says: 'refund', receipts: [], transactionId: 'pi_1' }
  for (const type of ['refund.created', 'refund.updated', 'refund.failed', 'charge.refund.updated']) {
    for (const status of ['succeeded', 'pending', 'requires_action', 'failed', 'canceled']) {
      assert.deepEqual(reading(type, { ...REFUND, status }), { ...about, reference: 'pay-7f3c' })
    }
    const fromDashboard = { ...REFUND, metadata: {} }
    assert.deepEqual(reading(type, fromDashboard), { ...about, reference: null })
  }
  assert.deepEqual(reading('charge.refunded', CHARGE), { ...about, reference: 'pay-7f3c' })
})

test('a notice about a dispute is a reason to list the disputes: a created one is no refund, a won one is not ignored', () => {
  const dispute = {
    ...{ id: 'du_1', object: 'dispute', amount: 1_099, currency: 'usd', payment_intent: 'pi_1' },
    ...{ charge: 'ch_1', reason: 'fraudulent', metadata: {} },
  }
  for (const [type, status] of [
    ['charge.dispute.created', 'needs_response'],
    ['charge.dispute.created', 'warning_needs_response'],
    ['charge.dispute.updated', 'under_review'],
    ['charge.dispute.funds_withdrawn', 'needs_response'],
    ['charge.dispute.funds_reinstated', 'won'],
    ['charge.dispute.closed', 'won'],
    ['charge.dispute.closed', 'lost'],
  ] as const) {
    assert.deepEqual(reading(type, { ...dispute, status }), {
      ...{ kind: 'notice', reference: null, says: 'dispute', receipts: [], transactionId: 'pi_1' },
    })
  }
})

test('what the fake sends is what the adapter reads, in the order in which it happened', async (t: TestContext) => {
  const { customer, takeNotices, books, sessionOf } = await startFakeStripe(t)
  const asked = { client_reference_id: 'r1', 'payment_intent_data[metadata][reference]': 'r1', expires_at: String(AT) }
  books.openSession({
    ...asked,
    'line_items[0][price_data][unit_amount]': '1099',
    'line_items[0][price_data][currency]': 'usd',
  })
  await customer.failByCard('r1')
  await customer.payByCard('r1')
  const intent = sessionOf('r1')?.intent ?? assert.fail('it was paid')
  books.giveBack(intent, 400, { refund: 'f1', reference: 'r1' })
  books.dispute(intent, { amount: 699, reason: 'fraudulent', status: 'warning_needs_response' })
  const notices = takeNotices().map((notice) => connect().readNotice({ ...notice, receivedAt: new Date() }))
  assert.deepEqual(notices.map(said), ['failed', 'paid', 'paid', 'refund', 'refund', 'dispute'])
  assert.deepEqual(takeNotices(), [], 'each is handed out once')
})
