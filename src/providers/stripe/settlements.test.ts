import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFakeStripe } from '../../../test/fakes/stripe/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { stripe } from './adapter.ts'
import { linesReader, listedSettlement, readPayout } from './settlements.ts'

async function setUp(t: Parameters<typeof startFakeStripe>[0]) {
  const fake = await startFakeStripe(t)
  const { settings, upstream } = fake
  const { lists } = stripe.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  assert.ok(lists?.settlements && lists.settlementLines)
  const say = (status: number, body: object) => {
    upstream.garble = () => ({ status, text: JSON.stringify(body) })
  }
  return { ...fake, settlements: lists.settlements, settlementLines: lists.settlementLines, say }
}

const seconds = 1_779_235_200 // 2026-05-20
const at = new Date(seconds * 1000)
/** Field by field as in the types of npm `stripe` 23.1.0. */
const payout = {
  ...{
    id: 'po_1',
    object: 'payout',
    amount: 12_345,
    arrival_date: seconds + 86_400,
    automatic: true,
    created: seconds,
  },
  ...{ currency: 'eur', failure_code: null, failure_message: null, reconciliation_status: 'completed', status: 'paid' },
  ...{ reversed_by: null, original_payout: null, trace_id: { status: 'pending', value: null }, type: 'bank_account' },
}
const settlement = {
  ...{ id: 'po_1', currency: 'EUR', status: 'paid', because: null, madeAt: at, expectedOn: '2026-05-21' },
  ...{ paidAt: new Date('2026-05-21T00:00:00Z'), gross: null, fees: null, deductions: null, net: 12_345 },
  ...{ bankReference: null, hasLines: true, difference: null },
}
const settlementOf = (changes: object) => {
  const read = readPayout({ ...payout, ...changes })
  return read && listedSettlement(read)[0]
}

for (const [what, changes, ours] of [
  ['nothing odd', {}, {}],
  ['the reference of the bank', { trace_id: { status: 'supported', value: 'ABC1' } }, { bankReference: 'ABC1' }],
  ['no answer yet to which payments it is for', { reconciliation_status: 'in_progress' }, { hasLines: false }],
  ['a person who made it', { automatic: false, reconciliation_status: 'not_applicable' }, { hasLines: false }],
  ['a way to go', { status: 'in_transit' }, { status: 'pending', paidAt: null }],
  ['a wait', { status: 'pending' }, { status: 'pending', paidAt: null }],
  [
    'a failure after it was paid',
    { status: 'failed', failure_code: 'account_closed' },
    { status: 'failed', paidAt: null, because: 'account_closed' },
  ],
  [
    'an end before it was sent',
    { status: 'canceled' },
    { status: 'failed', paidAt: null, because: 'Stripe says “canceled”' },
  ],
  ['a reversal', { reversed_by: 'po_2' }, { status: 'failed', paidAt: null, because: 'reversed by po_2' }],
  ['a new status', { status: 'on_hold' }, { status: 'pending', paidAt: null, because: 'Stripe says “on_hold”' }],
  ['money that Stripe took from the bank', { amount: -500 }, { net: -500 }],
  ['no date of arrival', { arrival_date: 'soon' }, { expectedOn: null, paidAt: null }],
] as const) {
  test(`stripe: a payout with ${what} is shown as it stands`, () => {
    assert.deepEqual(settlementOf(changes), { ...settlement, ...ours })
  })
}

/** `balance_transaction` of `fixtures3.json` in stripe/openapi, commit f0758b1 (2026-07-29). */
const fixture = {
  ...{ amount: 100, available_on: 1_234_567_890, created: 1_234_567_890, currency: 'usd', exchange_rate: null, fee: 0 },
  ...{
    description: 'My First Test Charge (created for API docs)',
    fee_details: [],
    id: 'txn_1PgaxNB7WZ01zgkWEV3TLf40',
  },
  ...{ net: 100, object: 'balance_transaction', reporting_category: 'charge', source: 'ch_1PgafuB7WZ01zgkWXYmPNZs8' },
  ...{ status: 'available', type: 'charge', balance_type: 'payments' },
}
const lineOf = (changes: object) => linesReader('po_1')({ ...fixture, ...changes })
const line = {
  ...{ id: fixture.id, kind: 'payment', transactionId: null, orderReference: null, gross: 100, fee: 0, net: 100 },
}

test('stripe: the balance transaction of their fixtures is a line, also when its source is an id alone', () => {
  assert.deepEqual(lineOf({}), line)
  assert.equal(fixture.amount - fixture.fee, fixture.net)
})

const ofIntent = { payment_intent: 'pi_1', metadata: { reference: 'r' } }
const names = { transactionId: 'pi_1', orderReference: 'r' }
for (const [category, type, changes, ours] of [
  [
    'charge',
    'payment',
    { fee: 33, net: 67, source: { object: 'charge', id: 'ch_1', ...ofIntent } },
    { kind: 'payment', fee: 33, net: 67, ...names },
  ],
  [
    'charge',
    'charge',
    { source: { object: 'charge', id: 'ch_1', payment_intent: null } },
    { kind: 'payment', transactionId: 'ch_1' },
  ],
  [
    'refund',
    'payment_refund',
    { amount: -40, net: -40, source: { object: 'refund', id: 're_1', ...ofIntent } },
    { kind: 'refund', id: 're_1', gross: -40, net: -40, ...names },
  ],
  [
    'refund_failure',
    'refund_failure',
    { source: { object: 'refund', id: 're_1', ...ofIntent } },
    { kind: 'refund', ...names },
  ],
  [
    'dispute',
    'adjustment',
    {
      amount: -100,
      fee: 1_500,
      net: -1_600,
      source: { object: 'dispute', id: 'du_1', payment_intent: 'pi_1', metadata: {} },
    },
    { kind: 'dispute', gross: -100, fee: 1_500, net: -1_600, transactionId: 'pi_1' },
  ],
  [
    'dispute_reversal',
    'adjustment',
    { source: { object: 'dispute', id: 'du_1', payment_intent: 'pi_1' } },
    { kind: 'dispute', transactionId: 'pi_1' },
  ],
  ['fee', 'stripe_fee', { amount: -7, net: -7, source: null }, { kind: 'fee', gross: -7, net: -7 }],
  ['tax', 'tax_fee', { amount: -7, net: -7 }, { kind: 'fee', gross: -7, net: -7 }],
  ['payout_reversal', 'payout_failure', { source: { object: 'payout', id: 'po_0' } }, { kind: 'adjustment' }],
  ['risk_reserved_funds', 'reserved_funds', { amount: -50, net: -50 }, { kind: 'adjustment', gross: -50, net: -50 }],
  ['constructor', 'new_to_us', {}, { kind: 'adjustment' }],
] as const) {
  test(`stripe: a ${type} of the category ${category} is of the kind ${ours.kind}`, () => {
    assert.deepEqual(lineOf({ type, reporting_category: category, ...changes }), { ...line, ...ours })
  })
}

test('stripe: the row of the payout itself is none of its lines, and one that cannot be read is named', async (t) => {
  const { settlementLines, say } = await setUp(t)
  const own = { ...fixture, id: 'txn_0', type: 'payout', amount: -100, net: -100, source: 'po_1' }
  assert.equal(linesReader('po_1')(own), null)
  assert.equal(linesReader('po_2')(own)?.kind, 'payment', 'of another one it is a line')
  const source = { object: 'charge', id: 'ch_1', ...ofIntent }
  const odd = [{ amount: 1.5 }, { net: '100' }, { currency: 'eur' }, { currency: 'isk' }, { id: 7 }]
  const rows = odd.map((changes) => ({ ...fixture, source, ...changes }))
  say(200, { object: 'list', url: '/v1/balance_transactions', has_more: false, data: [fixture, own, ...rows] })
  const answer = await settlementLines('po_1', null)
  assert.ok(answer.kind === 'page' && answer.nextCursor === null)
  assert.equal(answer.entries.length, 1)
  assert.deepEqual(
    answer.unreadable,
    odd.map(() => ({ transactionId: null, orderReference: 'r' })),
  )
})

test('stripe: payouts in a currency that is none of ours are left out, and others hide none', async (t) => {
  const { settlements, say } = await setUp(t)
  const data = [{ ...payout, currency: 'isk' }, { ...payout, amount: 'much' }, { ...payout, id: 1 }, payout]
  say(200, { object: 'list', url: '/v1/payouts', has_more: false, data })
  const listed = await settlements({ from: at, to: at }, null)
  assert.ok(listed.kind === 'page')
  assert.deepEqual([listed.entries, listed.unreadable?.length], [[settlement], 2])
})

test('stripe: a restricted key that may not read payouts has none, and one that is refused says nothing', async (t) => {
  const { settlements, settlementLines, say, api } = await setUp(t)
  const range = { from: at, to: new Date(at.getTime() + 999) }
  for (const [status, kind] of [
    [403, 'unsupported'],
    [401, 'unknown'],
    [429, 'unknown'],
  ] as const) {
    say(status, { error: { type: 'invalid_request_error', message: 'no' } })
    assert.deepEqual(
      [(await settlements(range, null)).kind, (await settlementLines('po_1', 'txn_1')).kind],
      [kind, kind],
    )
  }
  const [list, lines] = api.asked.slice(-2).map(({ path }) => path)
  assert.equal(list, `/v1/payouts?limit=100&created[gte]=${seconds}&created[lte]=${seconds}`)
  assert.equal(lines, '/v1/balance_transactions?payout=po_1&limit=50&expand[]=data.source&starting_after=txn_1')
})
