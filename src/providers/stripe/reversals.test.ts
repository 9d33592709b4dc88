import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakeStripe } from '../../../test/fakes/stripe/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order, OrderHandle } from '../provider.ts'
import { stripe } from './adapter.ts'

const REFERENCE = 'r'.repeat(32)
const usd = (amount: number) => money(amount, 'USD' as Currency)
const seconds = (at: number) => new Date(at * 1000)

async function setUp(t: TestContext) {
  const fake = await startFakeStripe(t)
  const { settings, upstream } = fake
  const http = httpTo(upstream)
  const connection = stripe.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  const { listReversals, lists } = connection
  assert.ok(listReversals && lists?.transactions)
  return { ...fake, connection, listReversals, listTransactions: lists.transactions }
}

async function paid(t: TestContext) {
  const rig = await setUp(t)
  const start = await rig.connection.start(order())
  assert.ok(start.kind === 'link')
  await rig.customer.payByCard(REFERENCE)
  const handle = handleOf(start.providerReference)
  return { ...rig, handle, intent: rig.intentFor(REFERENCE) }
}

const order = (changes: Partial<Order> = {}): Order => ({
  reference: REFERENCE,
  amount: usd(1_099),
  country: 'US',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://pay.example/return/att_1',
  startedAt: new Date(),
  expiresAt: new Date(Date.now() + 3_600_000),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

const handleOf = (providerReference: string): OrderHandle => ({
  reference: REFERENCE,
  providerReference,
  channel: 'card',
  startedAt: new Date(),
})

test('a payment that was refunded before we first look is paid and given back', async (t) => {
  const { connection, handle, refundAtProvider } = await paid(t)
  await refundAtProvider(REFERENCE, 400)
  const part = await connection.check(handle)
  assert.ok(part.kind === 'paid' && part.receipts[0]?.returned === 400)
  await refundAtProvider(REFERENCE, 699)
  const whole = await connection.check(handle)
  assert.ok(whole.kind === 'paid' && whole.receipts[0]?.returned === 1_099)
})

test('a lost dispute is money given back; an open or a won one is not, and trouble is unknown', async (t) => {
  const { connection, handle, disputeAtProvider, closeDispute, upstream } = await paid(t)
  const returned = async () => {
    const outcome = await connection.check(handle)
    return outcome.kind === 'paid' ? outcome.receipts[0]?.returned : outcome.kind
  }
  assert.equal(await returned(), undefined)
  const first = await disputeAtProvider(REFERENCE, { amount: 300, reason: 'duplicate' })
  assert.equal(await returned(), undefined)
  await closeDispute(first, 'won')
  assert.equal(await returned(), undefined)
  const second = await disputeAtProvider(REFERENCE, { amount: 1_000, reason: 'fraudulent' })
  await closeDispute(second, 'lost')
  assert.equal(await returned(), 1_000)
  upstream.trouble = ({ path }) => (path.startsWith('/v1/disputes') ? 'answering 503 after the work' : undefined)
  assert.equal(await returned(), 'unknown')
})

test('refunds are listed with their statuses, ours by our reference and those of the dashboard without one', async (t) => {
  const { connection, listReversals, handle, intent, books, refundAtProvider } = await paid(t)
  const transactionIds = [intent.id]
  assert.deepEqual(await listReversals(handle, transactionIds), { kind: 'reversals', refunds: [], disputes: [] })
  const wanted = { reference: 'f'.repeat(32), order: handle, transactionIds, amount: usd(100), reason: null }
  const ours = await connection.refund(wanted)
  const theirs = await refundAtProvider(REFERENCE, 200)
  for (const status of ['pending', 'requires_action', 'failed', 'canceled']) {
    books.odd.refundStatus = status
    books.giveBack(intent, 10, {})
  }
  const answer = await listReversals(handle, transactionIds)
  assert.ok(ours.kind === 'refunded' && answer.kind === 'reversals')
  const made = books.refunds.map(({ created }) => created)
  assert.deepEqual(
    answer.refunds.toReversed().map(({ reference, amount, status, at }) => [reference, amount.amount, status, at]),
    [
      [wanted.reference, 100, 'successful', seconds(made[0] ?? 0)],
      [null, 200, 'successful', seconds(made[1] ?? 0)],
      ...['pending', 'pending', 'failed', 'failed'].map((status, i) => [null, 10, status, seconds(made[i + 2] ?? 0)]),
    ],
  )
  assert.deepEqual([answer.refunds.at(-1)?.refundId, answer.refunds.at(-2)?.refundId], [ours.refundId, theirs])
})

test('a refund without a status has not ended', async (t) => {
  const { listReversals, handle, intent, refundAtProvider, upstream } = await paid(t)
  await refundAtProvider(REFERENCE, 100)
  upstream.garble = (said) => ({ ...said, text: said.text.replace('"status":"succeeded"', '"status":null') })
  const answer = await listReversals(handle, [intent.id])
  assert.ok(answer.kind === 'reversals' && answer.refunds[0]?.status === 'pending')
})

test('disputes are listed with their deadline, and each status of Stripe means open, won or lost', async (t) => {
  const { listReversals, handle, intent, books } = await paid(t)
  const dispute = books.dispute(intent, { amount: 1_099, reason: 'product_not_received' })
  const listed = async () => {
    const answer = await listReversals(handle, [intent.id])
    return answer.kind === 'reversals' ? answer.disputes : assert.fail(answer.kind)
  }
  assert.deepEqual(await listed(), [
    {
      disputeId: dispute.id,
      amount: usd(1_099),
      status: 'open',
      reason: 'product_not_received',
      respondBy: seconds(dispute.created + 7 * 86_400),
      openedAt: seconds(dispute.created),
    },
  ])
  for (const [status, moves, expected] of [
    ['under_review', [-1_099], 'open'],
    ['warning_needs_response', [], 'open'],
    ['appeal_needs_response', [-1_099], 'lost'],
    ['appeal_under_review', [-1_099], 'lost'],
    ['something_new', [-1_099], 'open'],
    ['warning_closed', [], 'won'],
    ['won', [-1_099, 1_099], 'won'],
    ['prevented', [], 'won'],
    ['prevented', [-1_099], 'lost'],
    ['lost', [-1_099], 'lost'],
  ] as const) {
    Object.assign(dispute, { status, moves: [...moves] })
    assert.equal((await listed())[0]?.status, expected, status)
  }
})

test('a dispute without a deadline has none', async (t) => {
  const { listReversals, handle, intent, books, upstream } = await paid(t)
  books.dispute(intent, { amount: 1_099, reason: 'fraudulent' })
  for (const dueBy of ['0', 'null']) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(/"due_by":\d+/, `"due_by":${dueBy}`) })
    const answer = await listReversals(handle, [intent.id])
    assert.ok(answer.kind === 'reversals' && answer.disputes[0]?.respondBy === null)
  }
})

test('the returns of an order are found by session, intent or reference', async (t) => {
  const { listReversals, handle, intent, refundAtProvider, connection } = await paid(t)
  await refundAtProvider(REFERENCE, 400)
  for (const name of [handle.providerReference, intent.id, REFERENCE]) {
    const answer = await listReversals(handleOf(name), [])
    assert.ok(answer.kind === 'reversals' && answer.refunds.length === 1, name)
  }
  const unpaid = await connection.start(order({ reference: 'u'.repeat(32) }))
  assert.ok(unpaid.kind === 'link')
  const open = { ...handleOf(unpaid.providerReference), reference: 'u'.repeat(32) }
  assert.deepEqual(await listReversals(open, []), { kind: 'reversals', refunds: [], disputes: [] })
  const nobody = { ...handleOf('n'.repeat(32)), reference: 'n'.repeat(32) }
  assert.deepEqual(await listReversals(nobody, []), { kind: 'missing' })
})

test('a list that is not whole is unknown', async (t) => {
  const { listReversals, handle, intent, refundAtProvider, upstream, limitPages } = await paid(t)
  for (let i = 0; i < 12; i++) await refundAtProvider(REFERENCE, 10)
  limitPages(2)
  const all = await listReversals(handle, [intent.id])
  assert.ok(all.kind === 'reversals' && all.refunds.length === 12)
  limitPages(1)
  assert.equal((await listReversals(handle, [intent.id])).kind, 'unknown', 'more pages than are read')
  limitPages(100)
  for (const [from, to] of [
    [/"amount":10,/, '"amount":"10",'],
    [/"created":\d+/, '"created":null'],
    [/"has_more":false/, '"has_more":null'],
    [/^.*$/, '{"error":{"type":"invalid_request_error","code":"resource_missing"}}'],
  ] as const) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from, to) })
    assert.equal((await listReversals(handle, [intent.id])).kind, 'unknown', to)
  }
})

test('every paid order of a range is listed once, with what went back of it, and no other business of the account', async (t) => {
  const { connection, listTransactions, savedCards, books, handle, intent, limitPages } = await paid(t)
  const saved = order({ reference: 's'.repeat(32) })
  await connection.chargeSavedCard(saved, savedCards.paying)
  await connection.chargeSavedCard(order({ reference: 'd'.repeat(32) }), savedCards.declining)
  const other = books.openIntent({ amount: 700, currency: 'isk' })
  books.succeed(other)
  Object.assign(other, { reference: undefined })
  books.giveBack(intent, 99, {})
  books.closeDispute(books.dispute(intent, { amount: 1_000, reason: 'fraudulent' }), 'lost')
  limitPages(1)
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  const seen = []
  let cursor: string | null = null
  do {
    const page = await listTransactions(range, cursor)
    assert.ok(page.kind === 'page', page.kind)
    seen.push(...page.entries)
    cursor = page.nextCursor
  } while (cursor !== null)
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'paid')
  const { returned, ...receipt } = outcome.receipts[0] ?? assert.fail()
  assert.equal(returned, 1_099)
  assert.deepEqual(
    seen.find(({ reference }) => reference === REFERENCE),
    { ...receipt, reference: REFERENCE, isReversed: true },
  )
  assert.deepEqual(seen.map(({ reference, amount }) => [reference, amount.amount]).toSorted(), [
    [REFERENCE, 1_099],
    [saved.reference, 1_099],
  ])
  books.odd.refundStatus = 'pending'
  const wanted = books.intents.find(({ reference }) => reference === saved.reference) ?? assert.fail('it was charged')
  books.giveBack(wanted, 500, {})
  limitPages(100)
  const again = await listTransactions(range, null)
  assert.ok(again.kind === 'page')
  const pending = again.entries.find(({ reference }) => reference === saved.reference)
  assert.equal(pending?.returned, 500, 'as in a check, with refunds that are under way')
  const yesterday = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() - 3_600_000) }
  assert.deepEqual(await listTransactions(yesterday, null), { kind: 'page', entries: [], nextCursor: null })
})

test('a refund as Stripe shows it is read, and what is for no payment intent or in no currency of ours is not ours', async (t) => {
  const { connection, upstream } = await paid(t)
  const sample = {
    ...{ amount: 100, balance_transaction: null, charge: 'ch_1PgafuB7WZ01zgkWXYmPNZs8', created: 1_234_567_890 },
    ...{ currency: 'usd', id: 're_1Pgc72B7WZ01zgkWqPvrRrPE', metadata: {}, object: 'refund', payment_intent: null },
    ...{ reason: null, receipt_number: null, status: 'succeeded', transfer_reversal: null },
  }
  const ours = { ...sample, id: 're_2', payment_intent: 'pi_1', metadata: { refund: 'f', reference: REFERENCE } }
  const foreign = { ...ours, id: 're_3', currency: 'isk' }
  upstream.garble = () => ({
    status: 200,
    text: JSON.stringify({ object: 'list', url: '/v1/refunds', has_more: true, data: [sample, ours, foreign] }),
  })
  const range = { from: new Date(1_234_567_000_000), to: new Date(1_234_568_000_000) }
  assert.deepEqual(await connection.lists?.refunds?.(range, null), {
    kind: 'page',
    entries: [
      {
        ...{
          refundId: 're_2',
          reference: 'f',
          amount: usd(100),
          status: 'successful',
          at: new Date(1_234_567_890_000),
        },
        ...{ transactionId: 'pi_1', orderReference: REFERENCE },
      },
    ],
    nextCursor: 're_3',
  })
})

test('a start with keys that Stripe refuses says so', async (t) => {
  const { connection, switches, upstream, savedCards } = await setUp(t)
  switches.secretKey = 'sk_test_another'
  for (const said of [await connection.start(order()), await connection.chargeSavedCard(order(), savedCards.paying)]) {
    assert.ok(said.kind === 'declined' && said.keysRefused)
  }
  const error = { type: 'invalid_request_error', message: 'The provided key does not have the required permissions' }
  upstream.garble = () => ({ status: 403, text: JSON.stringify({ error }) })
  const start = await connection.start(order())
  assert.ok(start.kind === 'declined' && start.keysRefused)
  upstream.garble = () => ({ status: 400, text: JSON.stringify({ error }) })
  const invalid = await connection.start(order())
  assert.ok(invalid.kind === 'declined' && !invalid.keysRefused)
})
