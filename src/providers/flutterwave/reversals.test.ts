import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakeFlutterwave } from '../../../test/fakes/flutterwave/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order, OrderHandle, RefundOrder } from '../provider.ts'
import { flutterwave } from './adapter.ts'

const NGN = 'NGN' as Currency
const R = 'r'.repeat(32)
const HANDLE: OrderHandle = { reference: R, providerReference: 'x', channel: 'card', startedAt: new Date() }

/** NGN 5,000 that were paid by card. */
async function setUp(t: TestContext) {
  const fake = await startFakeFlutterwave(t)
  fake.odd.refundStatus = 'completed-mpgs'
  const { settings, upstream } = fake
  const http = httpTo(upstream)
  const connection = flutterwave.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  const order: Order = {
    ...{ channel: 'card', input: {} },
    ...{ reference: R, amount: money(500_000, NGN), country: 'NG', merchantName: 'Ada & Sons', saveCard: false },
    customer: { email: 'ada@example.com', name: null, phoneNumber: null },
    returnURL: 'https://shop.example/return',
    startedAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
  }
  await connection.start(order)
  await fake.customer.payByCard(R, { save: false })
  const paid = fake.triesOf(R)[0] ?? assert.fail('it was paid')
  const transactionIds = [String(paid.id)]
  const check = async () => {
    const outcome = await connection.check(HANDLE)
    assert.ok(outcome.kind === 'paid', outcome.kind)
    return outcome.receipts.map(({ amount, returned }) => [amount.amount, returned])
  }
  const list = async () => {
    const answer = await connection.listReversals?.(HANDLE, transactionIds)
    assert.ok(answer?.kind === 'reversals', answer?.kind)
    return answer
  }
  const wanted: RefundOrder = {
    ...{ reference: 'f'.repeat(32), order: HANDLE, transactionIds, amount: money(50_000, NGN), reason: null },
  }
  return { ...fake, connection, paid, transactionIds, check, list, wanted }
}

test('a refunded transaction is still successful, so its refunds say what went back', async (t) => {
  const { check, refundAtProvider, odd, connection, wanted, paid } = await setUp(t)
  assert.deepEqual(await check(), [[500_000, undefined]])
  await refundAtProvider(R, 120_000)
  assert.deepEqual(await check(), [[500_000, 120_000]])
  odd.refundStatus = 'failed'
  await connection.refund(wanted)
  assert.deepEqual(await check(), [[500_000, 120_000]], 'a failed refund is none')
  await refundAtProvider(R, 380_000)
  assert.deepEqual(await check(), [[500_000, 500_000]])
  paid.charged = 400_000
  assert.deepEqual(await check(), [[400_000, 400_000]], 'never more than came')
})

for (const status of ['reversed', 'refunded']) {
  test(`a transaction that is ${status} without a refund went back as a whole`, async (t) => {
    const { check, paid } = await setUp(t)
    paid.status = status
    assert.deepEqual(await check(), [[500_000, 500_000]])
  })
}

for (const status of [200, 400, 404] as const) {
  test(`no refund, no chargeback and no transaction may be told by an error with ${status}`, async (t) => {
    const { connection, check, list, odd, wanted } = await setUp(t)
    odd.noneAs = status
    odd.notFoundAs = status
    assert.deepEqual(await check(), [[500_000, undefined]])
    assert.deepEqual(await list(), { kind: 'reversals', refunds: [], disputes: [] })
    const unused = { ...HANDLE, reference: 's'.repeat(32), providerReference: 's'.repeat(32) }
    assert.deepEqual(await connection.check(unused), { kind: 'missing' })
    assert.deepEqual(await connection.listReversals?.(unused, []), { kind: 'missing' })
    assert.deepEqual(await connection.findReference?.('1'), { kind: 'missing' })
    assert.equal((await connection.refund(wanted)).kind, 'refunded', 'there is no earlier one')
  })
}

test('a key that may not list refunds stops no payment, and is told nothing of returns', async (t) => {
  const { connection, check, upstream, transactionIds } = await setUp(t)
  upstream.garble = (said) =>
    said.text.includes('Refunds fetched') ? { status: 403, text: '{"status":"error","message":"Forbidden"}' } : said
  assert.deepEqual(await check(), [[500_000, undefined]])
  assert.equal((await connection.listReversals?.(HANDLE, transactionIds))?.kind, 'unknown')
})

test('a list of refunds that does not come stops no payment', async (t) => {
  const { check, upstream } = await setUp(t)
  upstream.trouble = ({ path }) => (path.startsWith('/v3/refunds') ? 'answering 429' : undefined)
  assert.deepEqual(await check(), [[500_000, undefined]])
})

test('refunds are listed with our reference when the comment is kept, and always with their ids', async (t) => {
  const { connection, list, odd, wanted } = await setUp(t)
  const made = await connection.refund({ ...wanted, reason: 'too small' })
  assert.ok(made.kind === 'refunded')
  const [kept] = (await list()).refunds
  assert.deepEqual([kept?.refundId, kept?.reference], [made.refundId, wanted.reference])
  odd.comments = 'forgotten'
  const [forgotten] = (await list()).refunds
  assert.deepEqual([forgotten?.refundId, forgotten?.reference], [made.refundId, null])
})

test('a refund without a comment that belongs to another refund of ours is not taken for this one', async (t) => {
  const { connection, odd, wanted, refundsMade } = await setUp(t)
  const first = await connection.refund(wanted)
  assert.ok(first.kind === 'refunded')
  odd.comments = 'forgotten'
  const second = { ...wanted, reference: 'g'.repeat(32) }
  assert.equal((await connection.refund(second)).kind, 'unknown', 'it may be this one')
  const told = await connection.refund({ ...second, otherRefundIds: [first.refundId] })
  assert.equal(told.kind, 'refunded')
  assert.equal(refundsMade(), 2)
})

test('how a chargeback stands is told by its status', async (t) => {
  const { list, upstream, disputeAtProvider } = await setUp(t)
  await disputeAtProvider?.(R, { amount: 300_000, reason: 'Product/service not received' })
  for (const [status, expected] of [
    ['initiated', 'open'],
    ['pending', 'open'],
    ['declined', 'open'],
    ['accepted', 'lost'],
    ['lost', 'lost'],
    ['won', 'won'],
  ] as const) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace('"initiated"', `"${status}"`) })
    const { disputes } = await list()
    assert.equal(disputes[0]?.status, expected, status)
  }
})

test('a chargeback as their documents show it is read', async (t) => {
  const { list, upstream, paid } = await setUp(t)
  const sample = {
    ...{ id: 2221, amount: 3000, flw_ref: '0550726510071683619721660', status: 'lost', stage: 'pre-arbitration' },
    ...{ comment: 'Product/service not received', meta: { uploaded_proof: null, history: [] }, settlement_id: 'N/A' },
    ...{ due_date: '2024-08-03T15:59:59.000Z', created_at: '2024-08-01T16:58:20.000Z' },
    ...{ transaction_id: paid.id, tx_ref: 'TEST-1683619718017' },
  }
  const others = { ...sample, id: 2209, transaction_id: 674_630_970 }
  upstream.garble = (said) => {
    if (!said.text.includes('Chargebacks fetched')) return said
    const meta = { page_info: { total: 2, current_page: 1, total_pages: 1, page_size: 20 } }
    const text = JSON.stringify({ status: 'success', message: 'Chargebacks fetched', meta, data: [others, sample] })
    return { status: 200, text }
  }
  assert.deepEqual((await list()).disputes, [
    {
      disputeId: '2221',
      amount: money(300_000, NGN),
      status: 'lost',
      reason: 'Product/service not received',
      respondBy: new Date('2024-08-03T15:59:59.000Z'),
      openedAt: new Date('2024-08-01T16:58:20.000Z'),
    },
  ])
})

test('a total with more than two decimals leaves what was asked for', async (t) => {
  const { check, upstream } = await setUp(t)
  for (const [charged, received] of [
    ['5070.1987', 500_000],
    ['4999.999999999', 500_000],
    ['"5000.0000000000001"', 500_000],
    ['1234.567', 123_457],
  ] as const) {
    upstream.garble = (said) => ({
      ...said,
      text: said.text.replaceAll(/"charged_amount":\d+/g, `"charged_amount":${charged}`),
    })
    assert.deepEqual(await check(), [[received, undefined]], charged)
  }
})

test('a full page that does not say how many follow is not taken for the whole list', async (t) => {
  const { connection, upstream, addTry } = await setUp(t)
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  upstream.garble = ({ status, text }) => {
    const { meta: _, ...said } = JSON.parse(text)
    return { status, text: JSON.stringify(said) }
  }
  assert.equal((await connection.lists?.transactions?.(range, null))?.kind, 'page')
  for (let i = 0; i < 20; i++) addTry(R)
  assert.equal((await connection.lists?.transactions?.(range, null))?.kind, 'unknown')
})

const lately = () => ({ from: new Date('2024-08-01T00:00:00Z'), to: new Date('2024-08-02T00:00:00Z') })

test('lists of refunds and chargebacks as their documents show them are read, without a currency', async (t) => {
  const { connection, upstream } = await setUp(t)
  const say = (data: object[]) => {
    const meta = { page_info: { total: 43, current_page: 1, total_pages: 3, page_size: 20 } }
    upstream.garble = () => ({
      status: 200,
      text: JSON.stringify({ status: 'success', message: 'Fetched', meta, data }),
    })
  }
  const refund = {
    ...{ id: 75_923, amount_refunded: 7500, status: 'completed-mpgs', flw_ref: 'URF_1577867664541_3572735' },
    ...{ comment: `${'f'.repeat(32)}: returned`, settlement_id: 'NEW', meta: '{"source":"availablebalance"}' },
    ...{ created_at: '2024-08-01T16:58:20.000Z', account_id: 73_362, transaction_id: 908_790 },
  }
  const earlier = { ...refund, id: 75_922, created_at: '2024-07-31T16:58:20.000Z' }
  say([refund, earlier])
  assert.deepEqual(await connection.lists?.refunds?.(lately(), null), {
    kind: 'page',
    entries: [
      {
        ...{ refundId: '75923', reference: 'f'.repeat(32), status: 'successful', at: new Date('2024-08-01T16:58:20Z') },
        ...{ transactionId: '908790', orderReference: null, amount: null },
      },
    ],
    nextCursor: '2',
  })
  say([{ ...refund, created_at: null }])
  assert.deepEqual(await connection.lists?.refunds?.(lately(), null), {
    ...{ kind: 'page', entries: [], nextCursor: '2' },
    unreadable: [{ transactionId: '908790', orderReference: null }],
  })
  const chargeback = {
    ...{ id: 2221, amount: 3000, flw_ref: '0550726510071683619721660', status: 'lost', stage: 'pre-arbitration' },
    ...{ comment: 'Product/service not received', meta: { uploaded_proof: null, history: [] }, settlement_id: 'N/A' },
    ...{ due_date: '2024-08-03T15:59:59.000Z', created_at: '2024-08-01T16:58:20.000Z' },
    ...{ transaction_id: 4_315_923, tx_ref: 'TEST-1683619718017' },
  }
  say([chargeback])
  assert.deepEqual(await connection.lists?.disputes?.(lately(), '3'), {
    kind: 'page',
    entries: [
      {
        ...{ disputeId: '2221', status: 'lost', reason: 'Product/service not received', amount: null },
        ...{ respondBy: new Date('2024-08-03T15:59:59Z'), openedAt: new Date('2024-08-01T16:58:20Z') },
        ...{ transactionId: '4315923', orderReference: 'TEST-1683619718017' },
      },
    ],
    nextCursor: null,
  })
})

test('a key that may not list chargebacks has no such list, and an empty list may be told as an error', async (t) => {
  const { connection, upstream, odd } = await setUp(t)
  upstream.garble = () => ({ status: 403, text: '{"status":"error","message":"Forbidden","data":null}' })
  assert.equal((await connection.lists?.disputes?.(lately(), null))?.kind, 'unsupported')
  assert.equal((await connection.lists?.refunds?.(lately(), null))?.kind, 'unknown')
  upstream.garble = undefined
  odd.noneAs = 404
  const none = { kind: 'page', entries: [], nextCursor: null }
  assert.deepEqual(await connection.lists?.refunds?.(lately(), null), none)
  assert.deepEqual(await connection.lists?.disputes?.(lately(), null), none)
})

test('a transaction that is reversed as a whole is listed as reversed', async (t) => {
  const { connection, paid } = await setUp(t)
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  paid.status = 'reversed'
  const answer = await connection.lists?.transactions?.(range, null)
  assert.ok(answer?.kind === 'page')
  assert.deepEqual(
    answer.entries.map(({ isReversed, returned }) => [isReversed, returned]),
    [[true, undefined]],
  )
})

test('a list in the order of time is read no further than its range', async (t) => {
  const { connection, upstream } = await setUp(t)
  const from = Date.now()
  const listed = (minutesAfter: number[]) => {
    const data = minutesAfter.map((minutes, index) => ({
      ...{ id: 100 + index, tx_ref: R, flw_ref: `FLW-${index}`, amount: 5000, charged_amount: 5000, currency: 'NGN' },
      ...{ status: 'successful', payment_type: 'card', created_at: new Date(from + minutes * 60_000).toISOString() },
    }))
    const meta = { page_info: { total_pages: 9 } }
    upstream.garble = () => ({ status: 200, text: JSON.stringify({ status: 'success', message: '', data, meta }) })
  }
  const next = async (...minutesAfter: number[]) => {
    listed(minutesAfter)
    const answer = await connection.lists?.transactions?.(
      { from: new Date(from), to: new Date(from + 3_600_000) },
      null,
    )
    assert.ok(answer?.kind === 'page', answer?.kind)
    return [answer.entries.length, answer.nextCursor]
  }
  assert.deepEqual(await next(30, 20, 10, 5, 0, -1), [5, null])
  assert.deepEqual(await next(30, 20, 10, 5, 0), [5, '2'], 'all of it is in the range')
  assert.deepEqual(await next(30, 20, 10, 0, 5, -1), [5, '2'], 'in another order, more may follow')
  assert.deepEqual(await next(-5, -4, -3, -2, -1), [0, '2'], 'the newest may be last')
  assert.deepEqual(await next(10, -1), [1, '2'], 'two may be in order by chance')
})
