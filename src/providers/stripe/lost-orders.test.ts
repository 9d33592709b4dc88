import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakeStripe } from '../../../test/fakes/stripe/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { OrderHandle } from '../provider.ts'
import { stripe } from './adapter.ts'

const REFERENCE = 'r'.repeat(32)
const AMOUNT = money(1_099, 'USD' as Currency)

/** An order whose first answer was lost: all that we have is our own reference, and when we asked. */
async function setUp(t: TestContext) {
  const fake = await startFakeStripe(t)
  const { settings, upstream, books, api } = fake
  const http = httpTo(upstream)
  const connection = stripe.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  const add = (reference: string) =>
    books.openSession({
      client_reference_id: reference,
      'payment_intent_data[metadata][reference]': reference,
      'line_items[0][price_data][unit_amount]': '1099',
      'line_items[0][price_data][currency]': 'usd',
      expires_at: String(books.now() + 3_600),
    })
  const check = (changes: Partial<OrderHandle> = {}) =>
    connection.check({
      ...{ reference: REFERENCE, providerReference: REFERENCE, channel: 'card', startedAt: new Date() },
      ...changes,
    })
  const pagesAsked = (path: string) => api.asked.filter((asked) => asked.path.startsWith(`${path}?`)).length
  return { ...fake, connection, add, check, pagesAsked }
}

test('a lost session is found among those of that hour, however many pages there are, and so is its money', async (t) => {
  const { add, check, customer, pagesAsked } = await setUp(t)
  add(REFERENCE)
  for (let i = 0; i < 120; i++) add(`other${i}`)
  assert.deepEqual(await check(), { kind: 'pending', receipts: [] })
  assert.equal(pagesAsked('/v1/checkout/sessions'), 3)
  await customer.payByCard(REFERENCE)
  const outcome = await check()
  assert.ok(outcome.kind === 'paid')
  assert.deepEqual(outcome.receipts[0]?.amount, AMOUNT)
})

test('only the time around the start is looked through', async (t) => {
  const { add, check, api } = await setUp(t)
  add(REFERENCE)
  const startedAt = new Date(Date.now() - 50 * 60_000)
  assert.equal((await check({ startedAt })).kind, 'pending', 'sent out late')
  assert.equal((await check({ startedAt: new Date(Date.now() + 5 * 60_000) })).kind, 'pending', 'a clock that is ahead')
  const query = new URL(api.asked[0]?.path ?? '', 'http://x').searchParams
  const started = startedAt.getTime() / 1_000
  assert.ok(Math.abs(Number(query.get('created[gte]')) - (started - 600)) <= 2)
  assert.ok(Math.abs(Number(query.get('created[lte]')) - (started + 3_600)) <= 2)
})

test('a saved card that was charged is found by its note, and is not mistaken for a session', async (t) => {
  const { books, check } = await setUp(t)
  const intent = books.openIntent({ reference: REFERENCE, amount: 1_099 })
  books.succeed(intent)
  const outcome = await check()
  assert.ok(outcome.kind === 'paid' && outcome.receipts[0]?.transactionId === intent.id)
})

test('what is not there is missing only when all was read', async (t) => {
  const { add, check, upstream } = await setUp(t)
  for (let i = 0; i < 60; i++) add(`other${i}`)
  assert.deepEqual(await check(), { kind: 'missing' })
  const spoilers: ((text: string) => string)[] = [
    (text) => text.replace('"has_more":false', '"has_more":true,"data":[]'),
    (text) => text.replace('"has_more":false', '"has_more":null'),
    (text) => text.replace('"has_more":', '"had_more":'),
    (text) => text.replace('"object":"list"', '"object":"search_result"'),
    (text) => text.replace(/"id":"cs_test_\d+"/, '"id":7'),
  ]
  for (const spoil of spoilers) {
    upstream.garble = (said) => ({ ...said, text: spoil(said.text) })
    assert.equal((await check()).kind, 'unknown', spoil.toString())
  }
})

test('with more orders than we look through it is unknown, unless the money is found another way', async (t) => {
  const { add, check, books, pagesAsked } = await setUp(t)
  for (let i = 0; i < 1_001; i++) add(`other${i}`)
  assert.equal((await check()).kind, 'unknown')
  assert.equal(pagesAsked('/v1/checkout/sessions'), 20)
  books.succeed(books.openIntent({ reference: REFERENCE, amount: 1_099 }))
  assert.equal((await check()).kind, 'paid')
})

test('trouble half way through a list is unknown, with what was heard', async (t) => {
  const { add, check, upstream } = await setUp(t)
  for (let i = 0; i < 60; i++) add(`other${i}`)
  let answers = 0
  upstream.garble = (said) => (++answers === 2 ? { status: 503, text: '' } : said)
  assert.deepEqual(await check(), { kind: 'unknown', because: 'it answered 503', errorStatus: 503 })
})

test('sessions of other kinds, without an amount, do not hide ours', async (t) => {
  const { add, check, upstream } = await setUp(t)
  add(REFERENCE)
  add('other')
  upstream.garble = ({ status, text }) => {
    const list = JSON.parse(text)
    if (list.object === 'list') Object.assign(list.data[0], { amount_total: null, currency: null, metadata: null })
    return { status, text: JSON.stringify(list) }
  }
  assert.equal((await check()).kind, 'pending')
})

test('what they gave an id to, and do not know any more, is unknown: the key is of another account', async (t) => {
  const { check } = await setUp(t)
  for (const providerReference of ['cs_test_gone', 'pi_gone']) {
    const outcome = await check({ providerReference })
    assert.ok(outcome.kind === 'unknown' && /another account/.test(outcome.because))
  }
})

test('the order of a transaction is found by its note; what has none is not ours', async (t) => {
  const { connection, books, upstream } = await setUp(t)
  const ours = books.openIntent({ reference: REFERENCE })
  const foreign = books.openIntent({ reference: '' })
  assert.deepEqual(await connection.findReference?.(ours.id), { kind: 'found', reference: REFERENCE })
  assert.deepEqual(await connection.findReference?.(foreign.id), { kind: 'missing' })
  assert.deepEqual(await connection.findReference?.('pi_nobody'), { kind: 'missing' })
  for (const [status, text] of [
    [404, '{}'],
    [401, '{"error":{"type":"invalid_request_error"}}'],
    [200, '{}'],
  ] as const) {
    upstream.garble = () => ({ status, text })
    assert.equal((await connection.findReference?.(ours.id))?.kind, 'unknown')
  }
})
