import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakeStripe } from '../../../test/fakes/stripe/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { ProviderCall, ProviderHttp, RefundOrder } from '../provider.ts'
import { stripe } from './adapter.ts'

const order = {
  reference: 'r'.repeat(32),
  providerReference: 'cs_test_1',
  channel: 'card' as const,
  startedAt: new Date(),
}

/** Something that was paid, and a refund of a part of it. */
async function setUp(t: TestContext) {
  const fake = await startFakeStripe(t)
  const { settings, upstream, books } = fake
  const way = httpTo(upstream)
  const lossy: { loses: (call: ProviderCall) => boolean } = { loses: () => false }
  const http: ProviderHttp = {
    async request(call) {
      const answer = await way.request(call)
      return lossy.loses(call) ? { kind: 'unknown', because: 'lost on the way' } : answer
    },
  }
  const connection = stripe.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  const intent = books.openIntent({ reference: order.reference, amount: 1_099 })
  books.succeed(intent)
  const amount = money(400, 'USD' as Currency)
  const wanted: RefundOrder = { reference: 'f'.repeat(32), order, transactionIds: [intent.id], amount, reason: null }
  return { ...fake, connection, lossy, intent, wanted }
}

test('a refund is asked for with a key and notes of ours', async (t) => {
  const { connection, wanted, api, intent } = await setUp(t)
  await connection.refund({ ...wanted, reason: `Returned. ${'x'.repeat(600)}` })
  const [looked, asked] = api.asked
  assert.equal(`${looked?.method} ${looked?.path}`, `GET /v1/refunds?limit=100&payment_intent=${intent.id}`)
  assert.equal(`${asked?.method} ${asked?.path}`, 'POST /v1/refunds')
  assert.equal(asked?.headers['idempotency-key'], `refund-${wanted.reference}`)
  const { 'metadata[reason]': reason, ...form } = Object.fromEntries(new URLSearchParams(asked?.body))
  assert.deepEqual(form, {
    payment_intent: intent.id,
    amount: '400',
    'metadata[refund]': wanted.reference,
    'metadata[reference]': order.reference,
  })
  assert.equal(reason?.length, 500)
})

test('a refund whose answer was lost is found, even when its key is forgotten', async (t) => {
  const { connection, wanted, api, lossy, refundsMade } = await setUp(t)
  lossy.loses = ({ method }) => method === 'POST'
  assert.equal((await connection.refund(wanted)).kind, 'unknown')
  assert.equal(refundsMade(), 1)
  lossy.loses = () => false
  api.forgetKeys()
  assert.equal((await connection.refund(wanted)).kind, 'refunded')
  assert.equal(refundsMade(), 1)
})

test('two refunds of one payment are two', async (t) => {
  const { connection, wanted, refundsMade } = await setUp(t)
  const first = await connection.refund(wanted)
  const second = await connection.refund({ ...wanted, reference: 'g'.repeat(32) })
  assert.ok(first.kind === 'refunded' && second.kind === 'refunded' && first.refundId !== second.refundId)
  assert.equal(refundsMade(), 2)
  const third = await connection.refund({ ...wanted, reference: 'h'.repeat(32) })
  assert.deepEqual(third, { kind: 'refused', because: 'amount_too_large' })
})

test('a refund is not sent while earlier refunds cannot be listed', async (t) => {
  const { connection, wanted, lossy, upstream, refundsMade } = await setUp(t)
  lossy.loses = ({ method }) => method === 'GET'
  assert.equal((await connection.refund(wanted)).kind, 'unknown')
  lossy.loses = () => false
  upstream.garble = (said) => ({ ...said, text: said.text.replace('"has_more":false', '"has_more":true') })
  assert.equal((await connection.refund(wanted)).kind, 'unknown', 'there are more of them than we have seen')
  assert.equal(refundsMade(), 0)
})

for (const [theirs, ours] of [
  ['succeeded', 'refunded'],
  ['pending', 'pending'],
  ['requires_action', 'pending'],
  ['failed', 'refused'],
  ['canceled', 'refused'],
  ['thinking', 'unknown'],
] as const) {
  test(`a refund that is ${theirs} is ${ours}, at once and when it is asked for again`, async (t) => {
    const { connection, wanted, books, api } = await setUp(t)
    books.odd.refundStatus = theirs
    const first = await connection.refund(wanted)
    assert.equal(first.kind, ours)
    api.forgetKeys()
    assert.deepEqual(await connection.refund(wanted), first)
  })
}

test('a pending refund that ends is seen the next time', async (t) => {
  const { connection, wanted, books } = await setUp(t)
  books.odd.refundStatus = 'pending'
  const pending = await connection.refund(wanted)
  assert.ok(pending.kind === 'pending' && pending.refundId)
  const [refund] = books.refunds
  if (refund) refund.status = 'succeeded'
  assert.deepEqual(await connection.refund(wanted), { kind: 'refunded', refundId: pending.refundId })
})

test('a refund of another sum or payment than was asked for is unknown', async (t) => {
  const { connection, wanted, upstream } = await setUp(t)
  for (const [from, to] of [
    ['"amount":400', '"amount":401'],
    ['"currency":"usd"', '"currency":"eur"'],
    ['"refund":"fff', '"refund":"xff'],
    ['"payment_intent":"pi_', '"payment_intent":"pi_9'],
    ['"status":"succeeded"', '"status":7'],
  ] as const) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from, to) })
    assert.equal((await connection.refund(wanted)).kind, 'unknown', to)
  }
  upstream.garble = undefined
  const other = { ...wanted, amount: money(399, 'USD' as Currency) }
  assert.equal((await connection.refund(other)).kind, 'unknown', 'the reference stands for another sum')
})

test('a refused or busy key does not turn a refund down: an earlier try may have given it', async (t) => {
  const { connection, wanted, upstream, books } = await setUp(t)
  const refuse = (status: number, type: string) => {
    upstream.garble = (said) =>
      said.text.startsWith('{"object":"list"') ? said : { status, text: JSON.stringify({ error: { type, code: 'x' } }) }
    books.refunds.length = 0
    return connection.refund(wanted)
  }
  for (const status of [401, 403, 409]) assert.equal((await refuse(status, 'invalid_request_error')).kind, 'unknown')
  assert.equal((await refuse(400, 'idempotency_error')).kind, 'unknown')
  assert.deepEqual(await refuse(400, 'invalid_request_error'), { kind: 'refused', because: 'x' })
})

test('without a transaction there is nothing to give back', async (t) => {
  const { connection, wanted, api } = await setUp(t)
  assert.equal((await connection.refund({ ...wanted, transactionIds: [] })).kind, 'refused')
  assert.equal(api.asked.length, 0)
})

test('a refund whose lease has run out is not asked for', async (t) => {
  const { connection, wanted, refundsMade } = await setUp(t)
  assert.equal((await connection.refund({ ...wanted, isLeaseHeld: () => false })).kind, 'unknown')
  assert.equal(refundsMade(), 0)
  assert.equal((await connection.refund({ ...wanted, isLeaseHeld: () => true })).kind, 'refunded')
})
