import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KEYS, startFakeMonnify } from '../../../test/fakes/monnify/fake.ts'
import { httpTo, type Said } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order, OrderHandle, RefundOrder } from '../provider.ts'
import { monnify } from './adapter.ts'

const naira = (kobo: number) => money(kobo, 'NGN' as Currency)

async function setUp(t: TestContext) {
  const fake = await startFakeMonnify(t)
  const http = httpTo(fake.upstream)
  const connection = monnify.connect({ mode: 'live', settings: KEYS, baseURL: fake.upstream.url, http })
  return {
    ...fake,
    connection,
    lastBody: () => fake.asked.findLast(({ method }) => method === 'POST')?.body ?? '',
  }
}

const order = (changes: Partial<Order> = {}): Order => ({
  reference: 'r'.repeat(32),
  amount: naira(500_010),
  country: 'NG',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return?order=1',
  startedAt: new Date(),
  expiresAt: new Date('2036-01-02T03:04:05.678Z'),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

const handle = (changes: Partial<OrderHandle> = {}): OrderHandle => ({
  reference: order().reference,
  providerReference: 'MNFY|17|20260626231846|000001',
  channel: 'card',
  startedAt: new Date('2026-07-01T10:00:00Z'),
  ...changes,
})

const wanted = (changes: Partial<RefundOrder> = {}): RefundOrder => ({
  reference: 'f'.repeat(32),
  order: handle(),
  transactionIds: ['MNFY|17|20260626231846|000001'],
  amount: naira(500_010),
  reason: 'returned',
  ...changes,
})

async function paidCard(t: TestContext) {
  const rig = await setUp(t)
  await rig.connection.start(order())
  await rig.customer.payByCard(order().reference, { save: false })
  return rig
}

test('a refund is asked for in digits, with texts that fit', async (t) => {
  const { connection, lastBody } = await paidCard(t)
  assert.deepEqual(await connection.refund(wanted({ reason: 'x'.repeat(100) })), {
    kind: 'refunded',
    refundId: wanted().reference,
  })
  assert.match(lastBody(), /^\{"refundAmount":5000\.10,/)
  assert.deepEqual(JSON.parse(lastBody()), {
    refundAmount: 5000.1,
    transactionReference: 'MNFY|17|20260626231846|000001',
    refundReference: wanted().reference,
    refundReason: 'x'.repeat(64),
    customerNote: 'Refund',
  })
})

test('a refund whose own answer was lost is found, not given again, although nothing is left to give', async (t) => {
  const { connection, upstream, refundsMade } = await paidCard(t)
  const lost: Said = { status: 502, text: '<html>Bad gateway</html>' }
  upstream.garble = (said) => (said.text.includes('refundStatus') ? lost : said)
  assert.deepEqual(await connection.refund(wanted()), { kind: 'unknown', because: 'it answered 502', errorStatus: 502 })
  assert.equal(refundsMade(), 1)
  // The first look misses it, the refund is refused for being there, and the second look finds it.
  let looks = 0
  const missing: Said = { status: 404, text: '{"requestSuccessful":false,"responseMessage":"","responseCode":"R7"}' }
  upstream.garble = (said) => (said.text.includes('refundStatus') && ++looks === 1 ? missing : said)
  assert.deepEqual(await connection.refund(wanted()), { kind: 'refunded', refundId: wanted().reference })
  // They say that it is there, and never find it.
  upstream.garble = (said) => (said.text.includes('refundStatus') ? missing : said)
  assert.equal((await connection.refund(wanted())).kind, 'unknown')
  assert.equal(refundsMade(), 1)
})

test('a refund is pending until they say that it is done, and refused when they could not give it', async (t) => {
  const { connection, switches } = await paidCard(t)
  switches.refundStatus = 'PENDING'
  assert.deepEqual(await connection.refund(wanted()), { kind: 'pending', refundId: wanted().reference })
  switches.refundStatus = 'COMPLETED'
  assert.deepEqual(await connection.refund(wanted()), { kind: 'refunded', refundId: wanted().reference })
  switches.refundStatus = 'FAILED'
  assert.equal((await connection.refund(wanted())).kind, 'refused')
})

test('a refund of less than a hundred naira is not asked for', async (t) => {
  const { connection, refundsMade } = await paidCard(t)
  assert.equal((await connection.refund(wanted({ amount: naira(9_999) }))).kind, 'refused')
  assert.equal(refundsMade(), 0)
  assert.equal((await connection.refund(wanted({ amount: naira(10_000) }))).kind, 'refunded')
})

test('a refund of another amount or order under the same reference is unknown', async (t) => {
  const { connection } = await paidCard(t)
  await connection.refund(wanted({ amount: naira(20_000) }))
  assert.equal((await connection.refund(wanted())).kind, 'unknown')
  const transactionIds = ['MNFY|17|20260626231846|000009']
  assert.equal((await connection.refund(wanted({ amount: naira(20_000), transactionIds }))).kind, 'unknown')
})

test('a refused key does not turn a refund down: an earlier try may have given it', async (t) => {
  const { connection, upstream } = await paidCard(t)
  upstream.garble = () => ({
    status: 401,
    text: '{"requestSuccessful":false,"responseMessage":"","responseCode":"99"}',
  })
  assert.equal((await connection.refund(wanted())).kind, 'unknown')
})

test('a saved card is refunded by the transaction of its receipt, for its order has no other name', async (t) => {
  const { connection, ledger } = await setUp(t)
  const charge = await connection.chargeSavedCard(order(), 'MNFY_PAYING')
  assert.equal(charge.kind, 'paid')
  const transactionIds = charge.receipts.map(({ transactionId }) => transactionId)
  const unnamed = handle({ providerReference: order().reference })
  assert.equal((await connection.refund(wanted({ order: unnamed, transactionIds }))).kind, 'refunded')
  assert.deepEqual(ledger().givenBack[0]?.reference, order().reference)
  assert.equal((await connection.refund(wanted({ order: unnamed, transactionIds: [] }))).kind, 'refused')
})

test('a refund whose lease has run out is not asked for', async (t) => {
  const { connection, refundsMade } = await paidCard(t)
  assert.equal((await connection.refund({ ...wanted(), isLeaseHeld: () => false })).kind, 'unknown')
  assert.equal(refundsMade(), 0)
  assert.equal((await connection.refund({ ...wanted(), isLeaseHeld: () => true })).kind, 'refunded')
})
