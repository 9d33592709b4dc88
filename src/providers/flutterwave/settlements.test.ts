import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFakeFlutterwave } from '../../../test/fakes/flutterwave/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { flutterwave } from './adapter.ts'
import { receiptOf } from './mapping.ts'
import { listedSettlement, readLines, readSettlement } from './settlements.ts'
import { readTransaction } from './wire.ts'

/**
 * The six settlements of `documentation/settlements.md` in Flutterwave/Node-v3, commit 537f9f4 (2026-06): id, status,
 * gross, fee, refund and net, due on, made at.
 */
const SAMPLES: [number, string, number, number, number, number, string, string][] = [
  [41_748, 'completed', 122_000, 2_108, 0, 119_892, '2020-01-01T04:00:00.000Z', '2020-01-02T01:30:00.000Z'],
  [41_642, 'completed', 24_000, 936, 0, 23_064, '2019-12-31T04:00:00.000Z', '2020-01-01T01:30:00.000Z'],
  [41_497, 'completed', 50_800, 950, 0, 49_850, '2019-12-30T04:00:00.000Z', '2019-12-31T01:30:00.000Z'],
  [41_440, 'pending', 30_620, 620, 20_114, 9_886, '2019-12-31T00:00:00.000Z', '2019-12-31T01:00:01.000Z'],
  [40_018, 'pending', 9_000, 176, 0, 8_824, '2019-11-29T00:00:00.000Z', '2019-11-29T11:50:38.000Z'],
  [38_813, 'pending', 2_826.96, 2_508.96, 0, 318, '2019-10-11T19:12:49.000Z', '2019-10-11T01:00:01.000Z'],
]

const sampleOf = ([id, status, gross, fee, refund, net, due, made]: (typeof SAMPLES)[number]) => ({
  ...{ id, account_id: 73_362, settlement_account: '0031318432', bank_code: '063', due_date: due, status },
  ...{ processed_date: null, is_local: true, currency: 'NGN', gross_amount: gross, app_fee: fee, merchant_fee: 0 },
  ...{ chargeback: 0, refund, stampduty_charge: 0, net_amount: net, transaction_count: 1, processor_ref: null },
  ...{ disburse_ref: status === 'completed' ? 'INSTANT_SETTLEMENT' : null, disburse_message: null, channel: null },
  ...{ destination: 'account', fx_data: null, flag_message: null, meta: [854_542], refund_meta: null },
  ...{ chargeback_meta: null, source_bankcode: null, created_at: made },
})

async function setUp(t: Parameters<typeof startFakeFlutterwave>[0]) {
  const fake = await startFakeFlutterwave(t)
  const { settings, upstream } = fake
  const { lists } = flutterwave.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  assert.ok(lists?.settlements && lists.settlementLines)
  const say = (body: object) => {
    upstream.garble = () => ({ status: 200, text: JSON.stringify({ status: 'success', message: 'fetched', ...body }) })
  }
  return { ...fake, settlements: lists.settlements, settlementLines: lists.settlementLines, say }
}

const page_info = { total: 6, current_page: 1, total_pages: 1, page_size: 20 }
const always = { from: new Date('2019-01-01'), to: new Date('2021-01-01') }
const kobo = (naira: number) => Math.round(naira * 100)

test('flutterwave: the six settlements of their sample are read, and their equation holds', async (t) => {
  const { settlements, say, asked } = await setUp(t)
  say({ meta: { page_info }, data: SAMPLES.map(sampleOf) })
  const entries = SAMPLES.map(([id, status, gross, fee, refund, net, due, made]) => ({
    ...{ id: String(id), currency: 'NGN', status: status === 'completed' ? 'paid' : 'pending', because: null },
    ...{ madeAt: new Date(made), expectedOn: due.slice(0, 10), paidAt: null, gross: kobo(gross), fees: kobo(fee) },
    ...{ deductions: kobo(refund), net: kobo(net), hasLines: true, difference: null },
    bankReference: status === 'completed' ? 'INSTANT_SETTLEMENT' : null,
  }))
  assert.deepEqual(await settlements(always, null), { kind: 'page', entries, nextCursor: null })
  assert.equal(asked.at(-1)?.path, '/v3/settlements?from=2018-12-31&to=2021-01-02&page=1')
})

test('flutterwave: the transactions of settlement 41497 are its lines, with ids as JSON in a text', async (t) => {
  const { settlementLines, say, asked } = await setUp(t)
  // Of the same page: id, charged and settled. All have one `tx_ref`, and a fee of 190.
  const members: [number, number, number][] = [
    [984_411, 10_140, 9_950],
    [984_456, 10_140, 9_950],
    [984_474, 10_190, 10_000],
    [984_513, 10_190, 10_000],
    [984_517, 10_140, 9_950],
  ]
  const transactions = members.map(([id, charged_amount, settlement_amount]) => ({
    ...{ customer_email: 'h0vkard@flw.ext', tx_ref: 'Rave-Pages017117571060', id, charged_amount, app_fee: 190 },
    ...{ merchant_fee: 0, stampduty_charge: 0, settlement_amount, status: 'successful', payment_entity: 'card' },
    ...{ transaction_date: '2019-12-30', currency: 'NGN', card_locale: 'LOCAL', subaccount_settlement: 0 },
  }))
  const sample = { ...sampleOf(SAMPLES[2] ?? assert.fail()), is_local: 1, transactions }
  say({ data: { ...sample, meta: '[906256,906358,906301,906362,906319]', refund_meta: '[]' } })
  const answer = await settlementLines('41497', null)
  assert.ok(answer.kind === 'page' && answer.nextCursor === null && answer.unreadable === undefined)
  assert.deepEqual(answer.entries[0], {
    ...{ id: '984411', kind: 'payment', transactionId: '984411', orderReference: 'Rave-Pages017117571060' },
    ...{ gross: 1_014_000, fee: 19_000, net: 995_000, hasFeeOnTop: true },
  })
  for (const { gross, fee, net } of answer.entries) assert.equal(gross - (fee ?? 0), net)
  assert.deepEqual([sumOf(answer.entries, 'gross'), sumOf(answer.entries, 'net')], [5_080_000, 4_985_000])
  assert.equal(asked.at(-1)?.path, '/v3/settlements/41497')
  say({ data: sample })
  assert.equal((await settlementLines('41498', null)).kind, 'unknown', 'it answered about another settlement')
  for (const changes of [{ transactions: null }, { transactions: undefined }, { currency: 'naira' }]) {
    say({ data: { ...sample, ...changes } })
    assert.equal((await settlementLines('41497', null)).kind, 'unknown')
  }
  say({ data: { ...sample, transactions: [...transactions, { ...transactions[0], id: 1, currency: 'USD' }] } })
  const mixed = await settlementLines('41497', null)
  assert.ok(mixed.kind === 'page')
  assert.deepEqual([mixed.entries.length, mixed.unreadable?.length], [5, 1])
})

const sumOf = (lines: { gross: number; net: number | null }[], name: 'gross' | 'net') =>
  lines.reduce((sum, line) => sum + (line[name] ?? 0), 0)

/** Numbers as their parser hands them over. */
const asRead = (sample: object) =>
  JSON.parse(JSON.stringify(sample), (_, value) => (typeof value === 'number' ? String(value) : value))

/** The fourth of the samples with changes. */
const settlementOf = (changes: object) => {
  const settlement = readSettlement(asRead({ ...sampleOf(SAMPLES[3] ?? assert.fail()), ...changes }))
  return settlement && listedSettlement(settlement)
}

// developer.flutterwave.com/reference/endpoints/settlements has one that is flagged, of 202.8 with a fee of 2.8.
const flagged = { status: 'flagged', gross_amount: 202.8, app_fee: 2.8, refund: 0, net_amount: 200 }
for (const [what, changes, ours] of [
  ['a flag', flagged, { because: 'Flutterwave says “flagged”', gross: 20_280, fees: 280, deductions: 0, net: 20_000 }],
  ['a reason', { status: 'flagged', flag_message: 'KYC is not complete' }, { because: 'KYC is not complete' }],
  ['a new status', { status: 'on hold' }, { because: 'Flutterwave says “on hold”' }],
  [
    'a failure',
    { status: 'failed', disburse_message: 'No such account' },
    { status: 'failed', because: 'No such account' },
  ],
  [
    'a day of payment',
    { status: 'completed', processed_date: '2020-01-01T09:00:00.000Z' },
    { status: 'paid', paidAt: new Date('2020-01-01T09:00:00Z') },
  ],
  [
    'less than its sums',
    { net_amount: 9_000 },
    {
      net: 900_000,
      difference: 'gross_amount - fees - refund - chargeback is ₦9,886.00, and net_amount is ₦9,000.00.',
    },
  ],
  ['less than nothing', { refund: 40_000, net_amount: -10_000 }, { deductions: 4_000_000, net: -1_000_000 }],
  ['stamp duty', { stampduty_charge: 50, net_amount: 9_836 }, { fees: 67_000, net: 983_600 }],
  ['a chargeback', { chargeback: '100.50', net_amount: '9785.50' }, { deductions: 2_021_450, net: 978_550 }],
  ['parts of a kobo', { app_fee: 620.005, net_amount: 9_885.995 }, {}],
  ['nothing but its net', { gross_amount: null, app_fee: undefined }, { gross: null, fees: 0 }],
  ['no day', { due_date: 'soon' }, { expectedOn: null }],
] as const) {
  test(`flutterwave: a settlement with ${what} is shown as it stands`, () => {
    assert.deepEqual(settlementOf(changes), { ...settlementOf({}), ...ours })
  })
}

test('flutterwave: a settlement that cannot be read is named as such, and hides no other', async (t) => {
  const { settlements, say } = await setUp(t)
  const good = sampleOf(SAMPLES[0] ?? assert.fail())
  for (const changes of [
    { id: '1.5' },
    { currency: 1 },
    { net_amount: 'x' },
    { created_at: null },
    { refund: '1e9' },
  ]) {
    say({ meta: { page_info }, data: [{ ...good, ...changes }, good] })
    const listed = await settlements(always, null)
    assert.ok(listed.kind === 'page')
    assert.deepEqual([listed.entries.length, listed.unreadable?.length], [1, 1], JSON.stringify(changes))
  }
  say({ meta: { page_info: { ...page_info, current_page: 2 } }, data: [] })
  assert.deepEqual(await settlements(always, null), { kind: 'unknown', because: 'it answered with another page' })
})

test('flutterwave: what is kept of a line beyond the named fees is a fee, and a line with less is shown as it stands', () => {
  const line = { id: 7, tx_ref: 'r', currency: 'NGN', charged_amount: 100, app_fee: 1.4, settlement_amount: 98.6 }
  const linesOf = (changes: object) =>
    readLines(asRead({ id: 1, currency: 'NGN', transactions: [{ ...line, ...changes }] }), '1', () =>
      assert.fail(),
    )?.[0]
  const usual = {
    id: '7',
    kind: 'payment',
    transactionId: '7',
    orderReference: 'r',
    gross: 10_000,
    fee: 140,
    net: 9_860,
    hasFeeOnTop: true,
  }
  assert.deepEqual(linesOf({}), usual)
  // VAT, as on their page about verifying: 2,500 - 35 - 2.63.
  const withVat = { charged_amount: 2_500, app_fee: 35, settlement_amount: 2_462.37 }
  assert.deepEqual(linesOf(withVat), { ...usual, gross: 250_000, fee: 3_763, net: 246_237 })
  assert.deepEqual(linesOf({ settlement_amount: 99 }), { ...usual, net: 9_900 })
  assert.deepEqual(linesOf({ app_fee: 1.405, settlement_amount: 98.595 }), usual)
  assert.deepEqual(linesOf({ settlement_amount: null }), { ...usual, fee: null, net: null })
})

// `tokenization.md` there: amount, charged, fee, settled. Stamp duty of 50 is in the last alone.
for (const [amount, charged, app_fee, settled, fee] of [
  [3_500, 3_549, 49, 3_450, 5_000],
  [3_500, 3_500, 1_050, 2_450, 105_000],
  [3_000, 3_042, 42, 2_950, 5_000],
  // Their page about verifying: VAT of 2.63 on a fee of 35.
  [2_500, 2_500, 35, 2_462.37, 3_763],
  // What a notice says, which has no such sum.
  [3_500, 3_500, 49, undefined, 4_900],
  [3_500, 3_549, 49, null, 0],
  // Settled in another currency, and fees that cannot be read.
  [3_500, 3_500, 49, 2.3, 4_900],
  [3_500, 3_500, null, null, undefined],
  [3_500, 3_500, 'x', {}, undefined],
] as const) {
  test(`flutterwave: of ${amount}, ${charged} charged and ${settled} settled, the fee is ${fee}`, () => {
    const said = { id: 1, tx_ref: 'r', status: 'successful', currency: 'NGN', amount, charged_amount: charged }
    const transaction = readTransaction(
      asRead({ ...said, app_fee, amount_settled: settled, merchant_fee: 0 }),
      new Date(),
    )
    assert.equal(receiptOf(transaction ?? assert.fail()).fee, fee)
  })
}
