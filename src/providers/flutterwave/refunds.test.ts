import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakeFlutterwave } from '../../../test/fakes/flutterwave/fake.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order, ProviderHttp, RefundOrder } from '../provider.ts'
import { flutterwave } from './adapter.ts'

const NGN = 'NGN' as Currency
const REFERENCE = 'f'.repeat(32)

/** An order of NGN 1,500.00 that was paid, in so many parts, and a refund that is wanted of it. */
async function setUp(t: TestContext, parts = [150_000]) {
  const fake = await startFakeFlutterwave(t)
  fake.odd.refundStatus = 'completed-mpgs'
  const { settings, upstream } = fake
  const account = { mode: 'sandbox' as const, settings, baseURL: upstream.url, http: httpTo(upstream) }
  const connection = flutterwave.connect(account)
  const order: Order = {
    reference: 'r'.repeat(32),
    amount: money(150_000, NGN),
    country: 'NG',
    customer: { email: 'ada@example.com', name: null, phoneNumber: null },
    merchantName: 'Ada & Sons',
    returnURL: 'https://shop.example/return',
    startedAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
    channel: 'card',
    input: {},
    saveCard: false,
  }
  await connection.start(byTransfer(order))
  const ids = parts.map((amount) => fake.addTry(order.reference, { amount, charged: amount, type: 'bank_transfer' }).id)
  const wanted: RefundOrder = {
    reference: REFERENCE,
    order: {
      reference: order.reference,
      providerReference: 'x',
      channel: 'virtual-bank-account',
      startedAt: new Date(),
    },
    transactionIds: ids.map(String),
    amount: money(50_000, NGN),
    reason: 'Returned \ud800',
  }
  fake.asked.length = 0
  const posts = () => fake.asked.filter(({ method }) => method === 'POST')
  /** Only what is asked for is in trouble: what we look up is not. */
  const losePosts = () => {
    const { request } = account.http
    const broken = { ...account, http: { ...account.http, request: loseAnswers(request) } }
    return flutterwave.connect(broken)
  }
  return { ...fake, connection, wanted, transactionIds: wanted.transactionIds, posts, losePosts }
}

function loseAnswers(request: ProviderHttp['request']): typeof request {
  return async (call) => {
    const answer = await request(call)
    return call.method === 'POST' ? { kind: 'unknown', because: 'the answer was lost' } : answer
  }
}

test('a refund is asked for in naira, of one transaction, with our reference in the comment', async (t) => {
  const { connection, wanted, asked } = await setUp(t)
  const outcome = await connection.refund(wanted)
  assert.equal(outcome.kind, 'refunded')
  const [id] = wanted.transactionIds
  assert.deepEqual(
    asked.map(({ method, path }) => `${method} ${path}`),
    [`GET /v3/refunds?id=${id}`, `POST /v3/transactions/${id}/refund`],
  )
  assert.deepEqual(JSON.parse(asked[1]?.body ?? ''), { amount: '500.00', comments: `${REFERENCE}: Returned \ufffd` })
})

test('a refund whose answer was lost is found again, and not asked for twice', async (t) => {
  const { connection, wanted, posts, losePosts, refundsMade, ledger } = await setUp(t)
  assert.equal((await losePosts().refund(wanted)).kind, 'unknown')
  const refundId = ledger().givenBack[0]?.id
  assert.deepEqual(await connection.refund(wanted), { kind: 'refunded', refundId })
  assert.equal(refundsMade(), 1)
  assert.equal(posts().length, 1)
})

test('a refund that they accepted is known by its id, and not asked for again when it is not listed', async (t) => {
  const { connection, wanted, odd, upstream, refundsMade } = await setUp(t)
  odd.refundStatus = 'completed'
  const first = await connection.refund(wanted)
  assert.ok(first.kind === 'pending' && first.refundId !== null)
  const { refundId } = first
  upstream.garble = (said) => ({ ...said, text: '{"status":"success","message":"Refunds fetched","data":[]}' })
  assert.equal((await connection.refund({ ...wanted, refundId })).kind, 'unknown')
  upstream.garble = undefined
  odd.comments = 'forgotten'
  assert.deepEqual(await connection.refund({ ...wanted, refundId }), first)
  assert.equal(refundsMade(), 1)
})

test('another refund of the same amount is another refund', async (t) => {
  const { connection, wanted, refundsMade } = await setUp(t)
  const first = await connection.refund(wanted)
  const second = await connection.refund({ ...wanted, reference: 'g'.repeat(32) })
  assert.ok(first.kind === 'refunded' && second.kind === 'refunded')
  assert.notEqual(first.refundId, second.refundId)
  assert.equal(refundsMade(), 2)
})

test('a refund is not sent while earlier refunds cannot be listed', async (t) => {
  const { connection, wanted, posts, upstream } = await setUp(t)
  for (const said of [
    { status: 403, text: '{"status":"error","message":"Forbidden","data":null}' },
    { status: 404, text: '{"status":"error","message":"Not found","data":null}' },
    { status: 200, text: '{"status":"success","message":"Refunds fetched","data":null}' },
    { status: 200, text: '{"status":"success","message":"Refunds fetched","data":[{"id":1}]}' },
  ]) {
    upstream.garble = () => said
    assert.equal((await connection.refund(wanted)).kind, 'unknown')
  }
  assert.equal(posts().length, 0)
})

test('a refund of the same amount that does not say whose it is may be ours, so it is not asked for again', async (t) => {
  const { connection, wanted, losePosts, odd, refundsMade } = await setUp(t)
  await losePosts().refund(wanted)
  odd.comments = 'forgotten'
  assert.equal((await connection.refund(wanted)).kind, 'unknown')
  assert.equal(refundsMade(), 1)
  assert.equal((await connection.refund({ ...wanted, amount: money(10_000, NGN) })).kind, 'refunded')
})

test('a refund that was made before ours was put on record is not ours', async (t) => {
  const { connection, wanted, losePosts, odd, refundsMade } = await setUp(t)
  await losePosts().refund(wanted)
  odd.comments = 'forgotten'
  const recordedAt = new Date(Date.now() + 3_600_000)
  const another = { ...wanted, reference: 'g'.repeat(32) }
  assert.equal((await connection.refund({ ...another, recordedAt: new Date() })).kind, 'unknown')
  await connection.refund({ ...another, recordedAt })
  assert.equal(refundsMade(), 2)
})

test('ours is found on a later page, and too many pages are too many', async (t) => {
  const { connection, wanted, odd, refundsMade } = await setUp(t)
  const first = await connection.refund({ ...wanted, amount: money(100, NGN) })
  for (let i = 0; i < 3; i++) {
    await connection.refund({ ...wanted, reference: `g${i}`.padEnd(32, 'g'), amount: money(100, NGN) })
  }
  odd.pageSize = 1
  assert.deepEqual(await connection.refund({ ...wanted, amount: money(100, NGN) }), first)
  odd.pageSize = 20
  for (let i = 0; i < 2; i++) {
    await connection.refund({ ...wanted, reference: `h${i}`.padEnd(32, 'h'), amount: money(100, NGN) })
  }
  odd.pageSize = 1
  assert.equal((await connection.refund({ ...wanted, amount: money(100, NGN) })).kind, 'unknown')
  assert.equal(refundsMade(), 6)
})

for (const [status, kind] of [
  ['completed', 'pending'], // waits for its disbursement
  ['completed-mpgs', 'refunded'],
  ['completed-bank-transfer', 'refunded'],
  ['completed-momo', 'refunded'],
  ['completed-offline', 'refunded'],
  ['completed-preauth', 'refunded'],
  ['completed-elsewhere', 'pending'],
  ['complete', 'pending'],
  ['successful', 'refunded'],
  ['processing', 'pending'],
  ['pending-momo', 'pending'],
  ['pending', 'pending'],
  ['new', 'pending'],
  ['failed', 'refused'],
] as const) {
  test(`a refund that is ${status} is ${kind}, in its answer and in the list`, async (t) => {
    const { connection, wanted, odd } = await setUp(t)
    odd.refundStatus = status
    const first = await connection.refund(wanted)
    assert.equal(first.kind, kind)
    assert.deepEqual(await connection.refund(wanted), first)
  })
}

test('a refund to a card may take 15 working days before a person looks at it', () => {
  const { refundTakesDays = 3 } = flutterwave.capabilities
  assert.ok(refundTakesDays >= (15 / 5) * 7)
})

test('a refund is completed only when its disbursement is: what they list later decides', async (t) => {
  const { connection, wanted, odd, takeNotices } = await setUp(t)
  odd.refundStatus = 'completed'
  const asked = await connection.refund(wanted)
  assert.equal(asked.kind, 'pending')
  takeNotices()
  assert.equal((await connection.refund(wanted)).kind, 'refunded')
})

for (const [disbursed, kind, listed] of [
  ['failed', 'refused', 'failed'],
  ['successful', 'refunded', 'successful'],
] as const)
  test(`the disbursement decides about a refund that is "completed": ${disbursed}, as an object and as text`, async (t) => {
    const { connection, wanted, odd, upstream, transactionIds } = await setUp(t)
    const list = async () => {
      const answer = await connection.listReversals?.(wanted.order, transactionIds)
      return answer?.kind === 'reversals' ? answer.refunds.map(({ status }) => status) : answer
    }
    const meta = { source: 'ledgerbalance', disburse_ref: 'CC-REFD-1', disburse_status: disbursed }
    for (const written of [meta, JSON.stringify(meta)]) {
      upstream.garble = ({ status, text }) => ({
        status,
        text: text.replaceAll('"meta":"{}"', `"meta":${JSON.stringify(written)}`),
      })
      odd.refundStatus = 'completed'
      if ((await list())?.toString() === '') await connection.refund(wanted)
      assert.equal((await connection.refund(wanted)).kind, kind)
      assert.deepEqual(await list(), [listed])
    }
  })

for (const [status, message, kind, because] of [
  [400, 'Refund amount cannot be greater than transaction amount', 'refused', 'more than is left of the payment'],
  [400, 'Amount should be above NGN100', 'refused', 'less than Flutterwave refunds: the amount must be above NGN100'],
  [400, 'Invalid amount', 'refused', 'the provider refused the refund'],
  [400, 'Insufficient balance to process refund', 'refused', 'the balance at the provider is too small'],
  [404, 'No transaction was found for this id', 'refused', 'the provider refused the refund'],
  [400, 'This transaction has already been refunded', 'unknown', 'it may have given this back before'],
  [401, 'Invalid authorization key', 'unknown', 'it answered 401 with what we cannot read'],
  [409, 'Conflict', 'unknown', 'it answered 409 with what we cannot read'],
] as const) {
  test(`a refund that hears ${status} "${message}" is ${kind}`, async (t) => {
    const { connection, wanted, upstream } = await setUp(t)
    const no = { status, text: JSON.stringify({ status: 'error', message, data: null }) }
    upstream.garble = (said) => (said.text.includes('Refunds fetched') ? said : no)
    const unsent = status === 401 && { neverSent: true }
    assert.deepEqual(await connection.refund(wanted), { kind, because, ...unsent })
  })
}

test('an answer about another transaction or another amount is unknown', async (t) => {
  const { connection, wanted, upstream } = await setUp(t)
  const [id] = wanted.transactionIds
  for (const [from, to] of [
    [`"tx_id":${id}`, '"tx_id":1'],
    ['"amount_refunded":500', '"amount_refunded":500.01'],
    ['"amount_refunded":500', '"amount_refunded":500.001'],
  ] as const) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from, to) })
    const outcome = await connection.refund({ ...wanted, reference: to.replaceAll(/\W/g, '').padEnd(32, 'x') })
    assert.equal(outcome.kind, 'unknown', to)
  }
})

test('of money that came in parts, the newest that is large enough gives the refund; if none is, a person must', async (t) => {
  const { connection, wanted, posts } = await setUp(t, [100_000, 40_000, 60_000, 20_000])
  assert.equal((await connection.refund(wanted)).kind, 'refunded')
  assert.equal(posts()[0]?.path, `/v3/transactions/${wanted.transactionIds[2]}/refund`)
  assert.equal((await connection.refund({ ...wanted, reference: 'g'.repeat(32) })).kind, 'refunded')
  assert.equal(
    posts()[1]?.path,
    `/v3/transactions/${wanted.transactionIds[0]}/refund`,
    'of the third too little is left',
  )
  const all = await connection.refund({ ...wanted, reference: 'h'.repeat(32), amount: money(150_000, NGN) })
  assert.equal(all.kind, 'refused')
  assert.equal(posts().length, 2)
  assert.equal((await connection.refund({ ...wanted, transactionIds: [] })).kind, 'refused')
})

test('a refund is not requested after its lease has run out', async (t) => {
  const { connection, wanted, posts } = await setUp(t)
  assert.equal((await connection.refund({ ...wanted, isLeaseHeld: () => false })).kind, 'unknown')
  assert.equal(posts().length, 0)
  assert.equal((await connection.refund({ ...wanted, isLeaseHeld: () => true })).kind, 'refunded')
})
