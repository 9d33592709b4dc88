import assert from 'node:assert/strict'
import { test } from 'node:test'
import { naira, order, paidCard, setUp, unknown } from '../../../test/fakes/paystack/rig.ts'
import type { Outcome } from '../provider.ts'
import { listedLine, listedSettlement, readLine, readSettlement } from './settlements.ts'
import { readTransaction } from './wire.ts'

/**
 * The fifteen settlements of `src/api/settlements/list/response.json` in PaystackOSS/doc-code-snippets, commit 94af513
 * (2026-02): id, status, processed, fees, amount, day, made at.
 */
const SAMPLES: [number, string, number, number, number, string, string][] = [
  [3_090_024, 'success', 1_000, 5, 995, '2022-11-09', '01:04:08'],
  [2_856_168, 'success', 10_000, 390, 9_610, '2022-09-02', '01:14:11'],
  [2_276_794, 'success', 5_000, 25, 4_975, '2022-02-26', '01:24:27'],
  [2_255_771, 'success', 38_550, 194, 38_356, '2022-02-19', '01:23:31'],
  [2_246_373, 'success', 25_000, 125, 24_875, '2022-02-16', '01:24:09'],
  [2_234_251, 'success', 1, 1, 0, '2022-02-12', '01:20:50'],
  [2_046_406, 'success', 15_517, 78, 15_439, '2021-12-07', '01:25:18'],
  [1_986_550, 'pending', 5_000, 25, 4_975, '2021-11-16', '01:17:49'],
  [1_955_844, 'success', 30_000, 450, 29_550, '2021-11-05', '01:14:28'],
  [1_913_601, 'pending', 10_000, 150, 9_850, '2021-10-21', '01:05:22'],
  [1_897_850, 'success', 7_000, 35, 6_965, '2021-10-15', '01:03:17'],
  [1_875_499, 'success', 35_000, 1_365, 33_635, '2021-10-06', '01:21:08'],
  [1_856_831, 'success', 10_000, 390, 9_610, '2021-09-29', '01:17:33'],
  [1_319_048, 'success', 5_000, 75, 4_925, '2021-02-10', '01:03:25'],
  [1_060_807, 'success', 20_000, 300, 19_700, '2020-09-30', '01:12:49'],
]

const sampleOf = ([id, status, total_processed, total_fees, amount, day, time]: (typeof SAMPLES)[number]) => ({
  ...{ id, domain: 'live', status, currency: 'NGN', integration: 463_433, total_amount: amount },
  ...{ effective_amount: amount, total_fees, total_processed, deductions: null },
  ...{ settlement_date: `${day}T00:00:00.000Z`, settled_by: null },
  ...{ createdAt: `${day}T${time}.000Z`, updatedAt: `${day}T${time}.000Z` },
})

const meta = { total: 15, skipped: 0, perPage: 50, page: 1, pageCount: 1 }
const always = { from: new Date('2020-01-01'), to: new Date('2023-01-01') }

test('paystack: the fifteen settlements of their sample are read, and their equations hold', async (t) => {
  const { connection, say, asked } = await setUp(t)
  // In test mode they have none; these are of live mode.
  const data = SAMPLES.map((sample) => ({ ...sampleOf(sample), domain: 'test' }))
  say(200, {
    status: true,
    message: 'Settlements retrieved',
    data: [...data, sampleOf(SAMPLES[0] ?? assert.fail())],
    meta,
  })
  const listed = await connection.lists?.settlements?.(always, null)
  const entries = SAMPLES.map(([id, status, gross, fees, net, day, time]) => ({
    ...{ id: String(id), currency: 'NGN', status: status === 'success' ? 'paid' : 'pending', because: null },
    ...{ madeAt: new Date(`${day}T${time}Z`), expectedOn: day, paidAt: null },
    ...{ gross, fees, deductions: 0, net, bankReference: null, hasLines: true, difference: null },
  }))
  assert.deepEqual(listed, { kind: 'page', entries, nextCursor: null })
  const query = 'subaccount=none&from=2019-12-31T00%3A00%3A00.000Z&to=2023-01-02T00%3A00%3A00.000Z'
  assert.equal(asked.at(-1)?.path, `/settlement?${query}&perPage=100&page=1`)
})

test('paystack: the transaction of their sample is a line, which is the whole of settlement 2856168', () => {
  // `src/api/settlements/transactions/response.json`, shortened.
  const sample = {
    ...{ id: 2_067_030_515, domain: 'live', status: 'success', reference: 'da8ed5u8sz6yn95', amount: 10_000 },
    ...{
      paid_at: '2022-09-01T10:36:37.000Z',
      created_at: '2022-09-01T10:26:02.000Z',
      channel: 'card',
      currency: 'NGN',
    },
    ...{ fees: 390, fees_split: null, plan: {}, split: {}, subaccount: {}, requested_amount: 10_000 },
  }
  const [settlement] = settlementOf({})
  const [line] = listedLine(readLine(asRead(sample)) ?? assert.fail())
  const named = { id: '2067030515', transactionId: '2067030515', orderReference: 'da8ed5u8sz6yn95' }
  assert.deepEqual(line, { ...named, kind: 'payment', gross: 10_000, fee: 390, net: 9_610 })
  assert.equal(settlement?.net, line?.net)
  assert.equal(readTransaction(asRead(sample))?.fee, 390)
})

/** Numbers as their parser hands them over. */
const asRead = (sample: object) =>
  JSON.parse(JSON.stringify(sample), (_, value) => (typeof value === 'number' ? String(value) : value))

/** Settlement 2856168 with changes. */
const settlementOf = (changes: object) => {
  const settlement = readSettlement(asRead({ ...sampleOf(SAMPLES[1] ?? assert.fail()), ...changes }))
  return settlement ? listedSettlement(settlement) : []
}

for (const [what, changes, ours] of [
  ['deductions that are named', { deductions: 610, effective_amount: 9_000 }, { deductions: 610, net: 9_000 }],
  [
    'less than its sums, and no deductions',
    { effective_amount: 9_000 },
    {
      ...{ deductions: 610, net: 9_000 },
      difference: 'total_amount - deductions is ₦96.10, and effective_amount is ₦90.00.',
    },
  ],
  [
    'fees that are not its own',
    { total_fees: 400 },
    { fees: 400, difference: 'total_processed - total_fees is ₦96.00, and total_amount is ₦96.10.' },
  ],
  [
    'more deducted than there was',
    { deductions: 10_610, effective_amount: -1_000 },
    { deductions: 10_610, net: -1_000 },
  ],
  ['deductions in words', { deductions: 'refund' }, {}],
  ['no total', { total_amount: undefined }, { deductions: null }],
  ['a processing one', { status: 'processing' }, { status: 'pending' }],
  ['a failed one', { status: 'failed' }, { status: 'failed' }],
  ['a new status', { status: 'on_hold' }, { status: 'pending', because: 'Paystack says “on_hold”' }],
  ['no day', { settlement_date: 'soon' }, { expectedOn: null }],
  ['francs', { currency: 'XOF' }, { currency: 'XOF', gross: 100, fees: null, net: 96, deductions: null }],
] as const) {
  test(`paystack: a settlement with ${what} is shown as it stands`, () => {
    const usual = { ...settlementOf({})[0] }
    const said = { ...changes, ...(what === 'francs' && { effective_amount: 9_600, total_amount: 9_610 }) }
    assert.deepEqual(settlementOf(said)[0], { ...usual, ...ours })
  })
}

test('paystack: a settlement or a line that cannot be read is named, and hides no other', async (t) => {
  const { connection, say, fromLive } = { ...(await setUp(t)), fromLive: sampleOf(SAMPLES[0] ?? assert.fail()) }
  const good = { ...fromLive, domain: 'test' }
  for (const changes of [
    { id: 1.5 },
    { currency: 'naira' },
    { effective_amount: '9.95' },
    { createdAt: null },
    { status: 1 },
  ]) {
    say(200, { status: true, data: [{ ...good, ...changes }, good], meta })
    const listed = await connection.lists?.settlements?.(always, null)
    assert.ok(listed?.kind === 'page')
    assert.deepEqual([listed.entries.length, listed.unreadable?.length], [1, 1])
  }
  const line = { id: 7, domain: 'test', reference: 'r', currency: 'NGN', amount: 1_000, fees: 15 }
  say(200, { status: true, data: [line, { ...line, id: 8, amount: 'x' }], meta })
  const lines = await connection.lists?.settlementLines?.('3090024', null)
  assert.ok(lines?.kind === 'page')
  assert.deepEqual(lines.unreadable, [{ transactionId: null, orderReference: 'r' }])
  say(200, { status: true, data: [], meta: { ...meta, page: 2 } })
  assert.deepEqual(await connection.lists?.settlements?.(always, null), unknown('it answered with another page'))
})

test('paystack: a line without fees has no net, and money may go back by one', () => {
  const line = { id: 7, domain: 'test', reference: 'r', currency: 'NGN', amount: -1_000, fees: null }
  assert.deepEqual(listedLine(readLine(asRead(line)) ?? assert.fail())[0]?.net, null)
  assert.equal(listedLine(readLine(asRead({ ...line, fees: 0 })) ?? assert.fail())[0]?.net, -1_000)
})

test('paystack: fees that the customer paid beyond the order are in no line, as in no receipt', () => {
  const line = { id: 7, domain: 'test', reference: 'r', currency: 'NGN', amount: 507_614, requested_amount: 500_000 }
  const [listed] = listedLine(readLine(asRead({ ...line, fees: 7_614 })) ?? assert.fail())
  assert.deepEqual([listed?.gross, listed?.fee, listed?.net], [500_000, 0, 500_000])
})

test('paystack: the fee of a payment is what the merchant bears, and one that cannot be read is left out', async (t) => {
  const rig = await paidCard(t)
  const feeOf = (outcome: Outcome) => (outcome.kind === 'paid' ? outcome.receipts[0]?.fee : outcome.kind)
  const check = async () => feeOf(await rig.connection.check(rig.wanted.order))
  assert.equal(await check(), 150)
  for (const fees of [null, '', -5, 1.5, {}, 'x']) {
    rig.alter({ fees })
    assert.equal(await check(), undefined, String(fees))
  }
  // Their fees are passed on: the customer paid them beyond the order.
  rig.alter({ fees: 7_614, amount: 507_614, requested_amount: 500_000 })
  assert.equal(await check(), 0)
  rig.alter({ fees: 150, amount: 500_000, requested_amount: null })
  assert.equal(await check(), 150)
  assert.deepEqual(order().amount, naira(500_000))
})
