import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KEYS, startFakeMonnify } from '../../../test/fakes/monnify/fake.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order, OrderHandle, RefundOrder } from '../provider.ts'
import { monnify } from './adapter.ts'

const REFERENCE = 'r'.repeat(32)
const naira = (kobo: number) => money(kobo, 'NGN' as Currency)

async function setUp(t: TestContext) {
  const fake = await startFakeMonnify(t)
  const http = httpTo(fake.upstream)
  const connection = monnify.connect({ mode: 'live', settings: KEYS, baseURL: fake.upstream.url, http })
  const { listReversals, lists } = connection
  const { refundAtProvider, customer } = fake
  assert.ok(listReversals && lists?.transactions && lists.refunds && customer.transfer)
  const { transfer } = customer
  return {
    ...fake,
    connection,
    listReversals,
    listTransactions: lists.transactions,
    listRefunds: lists.refunds,
    refundAtProvider,
    transfer,
  }
}

const order = (changes: Partial<Order> = {}): Order => ({
  reference: REFERENCE,
  amount: naira(500_010),
  country: 'NG',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return',
  startedAt: new Date(),
  expiresAt: new Date(Date.now() + 3_600_000),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

async function paid(t: TestContext) {
  const rig = await setUp(t)
  const start = await rig.connection.start(order())
  assert.equal(start.kind, 'link')
  await rig.customer.payByCard(REFERENCE, { save: false })
  const handle = handleOf(start.providerReference)
  const wanted: RefundOrder = {
    reference: 'f'.repeat(32),
    order: handle,
    transactionIds: [start.providerReference],
    amount: naira(100_000),
    reason: null,
  }
  return { ...rig, handle, wanted }
}

const handleOf = (providerReference: string, changes: Partial<OrderHandle> = {}): OrderHandle => ({
  reference: REFERENCE,
  providerReference,
  channel: 'card',
  startedAt: new Date(),
  ...changes,
})

test('a refund that Monnify answers with 403 in its envelope is refused, with the reason', async (t) => {
  const { connection, switches, wanted, refundsMade } = await paid(t)
  switches.refusesRefunds = true
  const outcome = await connection.refund(wanted)
  assert.ok(outcome.kind === 'refused')
  assert.match(outcome.because, /has not enabled refunds for this account \(403\)/)
  assert.equal(refundsMade(), 0)
})

test('a 403 page of a gateway in front of Monnify does not turn a refund down', async (t) => {
  const { connection, upstream, wanted } = await paid(t)
  upstream.garble = () => ({ status: 403, text: '{"timestamp":"2026-01-01","status":403,"error":"Forbidden"}' })
  assert.equal((await connection.refund(wanted)).kind, 'unknown')
})

test('a payment of an account without the refund API is paid, and its returns are unknown', async (t) => {
  const { connection, listReversals, switches, handle } = await paid(t)
  switches.refusesRefunds = true
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'paid' && outcome.receipts[0]?.returned === undefined)
  assert.deepEqual(await listReversals(handle, []), {
    kind: 'unknown',
    because: 'Monnify has not enabled the refund API for this account',
  })
})

test('refunds that were given before the first check are told with the newest transfers', async (t) => {
  const { connection, transfer, refundAtProvider, upstream } = await setUp(t)
  const account = await connection.start(byTransfer(order()))
  assert.equal(account.kind, 'account')
  await transfer(REFERENCE, 300_000)
  await transfer(REFERENCE, 200_010)
  await refundAtProvider(REFERENCE, 250_000)
  const check = () =>
    connection.check(handleOf(account.providerReference, { channel: 'virtual-bank-account', amount: order().amount }))
  const outcome = await check()
  assert.ok(outcome.kind === 'paid')
  assert.deepEqual(
    outcome.receipts.map(({ amount, returned }) => [amount.amount, returned]),
    [
      [300_000, 49_990],
      [200_010, 200_010],
    ],
  )
  upstream.trouble = ({ path }) => (path.startsWith('/api/v1/refunds') ? 'answering 503 after the work' : undefined)
  assert.equal((await check()).kind, 'paid', 'a list that fails stops no payment')
})

test('a pending refund counts in a check, and its status is listed', async (t) => {
  const { connection, listReversals, listRefunds, switches, handle, wanted } = await paid(t)
  for (const [refundStatus, status] of [
    ['PENDING', 'pending'],
    ['FAILED', 'failed'],
    ['COMPLETED', 'successful'],
  ] as const) {
    switches.refundStatus = refundStatus
    await connection.refund(wanted)
    const returns = await listReversals(handle, [])
    assert.ok(returns.kind === 'reversals')
    assert.deepEqual(
      returns.refunds.map((refund) => [refund.refundId, refund.reference, refund.amount, refund.status]),
      [[wanted.reference, wanted.reference, wanted.amount, status]],
    )
    const outcome = await connection.check(handle)
    assert.ok(outcome.kind === 'paid')
    assert.equal(outcome.receipts[0]?.returned, refundStatus === 'FAILED' ? undefined : 100_000)
    const page = await listRefunds(lately(), null)
    assert.ok(page.kind === 'page')
    assert.deepEqual(
      page.entries.map((entry) => [entry.refundId, entry.status, entry.orderReference]),
      [[wanted.reference, status, handle.providerReference]],
    )
  }
})

test('a list of refunds that claims ten million pages is given up after twenty', async (t) => {
  const { connection, listReversals, handle, wanted, upstream } = await paid(t)
  assert.equal((await connection.refund(wanted)).kind, 'refunded')
  let pages = 0
  upstream.garble = (said) => {
    if (!said.text.includes('totalPages')) return said
    pages++
    return { ...said, text: said.text.replace(/"totalPages":\d+/, '"totalPages":9999999') }
  }
  const heapBefore = process.memoryUsage().heapUsed
  const { kind } = await listReversals(handle, [])
  assert.equal(kind, 'unknown')
  assert.equal(pages, 20)
  assert.ok(process.memoryUsage().heapUsed - heapBefore < 40 * 1024 * 1024, 'no list of their numbers')
})

test('refunds are found by our reference alone, and an unknown order is missing', async (t) => {
  const { listReversals, refundAtProvider } = await paid(t)
  const theirs = await refundAtProvider(REFERENCE, 70_000)
  const returns = await listReversals(handleOf(REFERENCE), [])
  assert.ok(returns.kind === 'reversals')
  assert.deepEqual([returns.refunds[0]?.refundId, returns.disputes], [theirs, []])
  const nobody = handleOf('n'.repeat(32), { reference: 'n'.repeat(32) })
  assert.deepEqual(await listReversals(nobody, []), { kind: 'missing' })
})

const DAY_MS = 86_400_000

for (const [refundsIn, pagesRead] of [
  ['newest first', 1],
  ['oldest first', 2],
  ['no order', 9],
] as const) {
  test(`a long list of refunds, ${refundsIn}, is read as far as the refunds of this order can be`, async (t) => {
    const { listReversals, handle, switches, limitPages, asked, refundAtProvider, customer, connection } = await paid(t)
    const other = order({ reference: 'o'.repeat(32) })
    await connection.start(other)
    await customer.payByCard(other.reference, { save: false })
    const refundAt = async (day: number, reference: string, amount: number) => {
      t.mock.timers.enable({ apis: ['Date'], now: handle.startedAt.getTime() + day * DAY_MS })
      const id = await refundAtProvider(reference, amount)
      t.mock.timers.reset()
      return id
    }
    for (let day = 42.5; day > 0; day--) await refundAt(-day, other.reference, 100)
    const ours = [await refundAt(1, REFERENCE, 10_000), await refundAt(2, REFERENCE, 20_000)]
    Object.assign(switches, { refundsIn })
    limitPages?.(5)
    const before = asked.length
    const returns = await listReversals(handle, [])
    assert.ok(returns.kind === 'reversals')
    assert.deepEqual(returns.refunds.map(({ refundId }) => refundId).toSorted(), ours)
    const pages = asked.slice(before).filter(({ path }) => path.startsWith('/api/v1/refunds?'))
    assert.equal(pages.length, pagesRead)
  })
}

test('a list of refunds in no order that is too long to read is unknown', async (t) => {
  const { listReversals, handle, switches, limitPages, refundAtProvider } = await paid(t)
  for (let i = 0; i < 21; i++) await refundAtProvider(REFERENCE, 100)
  switches.refundsIn = 'no order'
  limitPages?.(1)
  assert.equal((await listReversals(handle, [])).kind, 'unknown')
})

test('paid orders are listed with the least that was paid, and a search that is not enabled is unsupported', async (t) => {
  const { connection, listTransactions, transfer, transactionOf, upstream } = await paid(t)
  const references = ['p', 'w', 'o', 'e'].map((letter) => letter.repeat(32))
  for (const reference of references)
    assert.equal((await connection.start(byTransfer(order({ reference })))).kind, 'account')
  const [part = '', whole = '', over = '', ended = ''] = references
  await transfer(part, 300_000)
  await transfer(whole, 300_000)
  await transfer(whole, 200_010)
  await transfer(over, 600_000)
  transactionOf(ended).status = 'EXPIRED'
  transactionOf(REFERENCE).status = 'REVERSED'
  const answer = await listTransactions(lately(), null)
  assert.ok(answer.kind === 'page' && answer.nextCursor === null)
  assert.deepEqual(
    answer.entries.map(({ reference, amount, askFrom, isReversed }) => [reference, amount.amount, askFrom, isReversed]),
    [
      [over, 500_011, 500_011, undefined],
      [whole, 500_010, undefined, undefined],
      [part, 1, 500_010, undefined],
      [REFERENCE, 1, undefined, true],
    ],
  )
  const refusal = '{"requestSuccessful":false,"responseMessage":"","responseCode":"99"}'
  upstream.garble = () => ({ status: 403, text: refusal })
  assert.equal((await listTransactions(lately(), null)).kind, 'unsupported')
  for (const answer of [
    { status: 200, text: '{}' },
    { status: 200, text: refusal },
    { status: 400, text: refusal },
  ]) {
    upstream.garble = () => answer
    assert.equal((await listTransactions(lately(), null)).kind, 'unknown')
  }
})

test('a search and a list of refunds as their library and documents show them are read', async (t) => {
  const { listTransactions, listRefunds, upstream } = await paid(t)
  const say = (one: string) => {
    const page = `{"content":[${one}],"totalElements":1,"totalPages":1,"number":0,"size":5,"first":true,"last":true}`
    const text = `{"requestSuccessful":true,"responseMessage":"success","responseCode":"0","responseBody":${page}}`
    upstream.garble = () => ({ status: 200, text })
  }
  say(`{"customerDTO":{"email":"ada@example.com","name":"Ada Lovelace"},"paymentMethod":"ACCOUNT_TRANSFER",
    "createdOn":"2026-06-27T08:08:11.000+00:00","amount":100.00,"currencyCode":"NGN","paymentDescription":"Test payment",
    "paymentStatus":"PAID","transactionReference":"MNFY|17|20260627090811|000340","merchantName":"Test01",
    "paymentReference":"endpoints-test-1782547690","completed":true,"collectionChannel":"API_NOTIFICATION"}`)
  assert.deepEqual(await listTransactions(lately(), null), {
    kind: 'page',
    entries: [
      {
        ...{ transactionId: 'MNFY|17|20260627090811|000340', reference: 'endpoints-test-1782547690', isOfOrder: true },
        ...{ amount: naira(10_000), at: new Date('2026-06-27T08:08:11Z') },
      },
    ],
    nextCursor: null,
  })
  say(`{"refundReference":"202100op3456","transactionReference":"MNFY|17|20220802033522|000010","refundAmount":100,
    "refundReason":"Order cancelled!","customerNote":"An optional note","refundType":"PARTIAL_REFUND",
    "refundStatus":"COMPLETED","refundStrategy":"MERCHANT_WALLET","comment":"Transaction refund is in progress.",
    "createdOn":"02/08/2022 03:35:22 AM","completedOn":"02/08/2022 03:35:25 AM"}`)
  assert.deepEqual(await listRefunds(lately(), null), {
    kind: 'page',
    entries: [
      {
        ...{ refundId: '202100op3456', reference: '202100op3456', status: 'successful', amount: naira(10_000) },
        at: new Date('2022-08-02T02:35:22Z'),
        ...{ transactionId: 'MNFY|17|20220802033522|000010', orderReference: 'MNFY|17|20220802033522|000010' },
      },
    ],
    nextCursor: null,
  })
})

test('a list of refunds whose filter has no effect is read until its entries are too old', async (t) => {
  const { listRefunds, refundAtProvider, switches, limitPages, handle } = await paid(t)
  for (let day = 30; day > 0; day--) {
    t.mock.timers.enable({ apis: ['Date'], now: handle.startedAt.getTime() - day * DAY_MS })
    await refundAtProvider(REFERENCE, 100)
    t.mock.timers.reset()
  }
  limitPages?.(5)
  const range = { from: new Date(handle.startedAt.getTime() - 5.5 * DAY_MS), to: handle.startedAt }
  const pages = async () => {
    let count = 1
    for (let cursor: string | null = null; ; count++) {
      const page = await listRefunds(range, cursor)
      assert.ok(page.kind === 'page')
      cursor = page.nextCursor
      if (cursor === null) return count
    }
  }
  assert.equal(await pages(), 1)
  switches.ignoresFilters = true
  assert.equal(await pages(), 2)
})

const lately = () => ({ from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) })

test('an account number without names and amounts, as in the API reference, is for the amount of the order', async (t) => {
  const { connection, switches } = await setUp(t)
  switches.bareAccounts = true
  const account = await connection.start(byTransfer(order()))
  assert.ok(account.kind === 'account')
  assert.deepEqual([account.accountNumber, account.amountToTransfer], ['2209149705', 500_010])
})
