import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { insertReview } from '../../src/payments/store/reviews.ts'
import { FIRST_PAGE, listTransfers } from '../../src/payments/store/transfers.ts'
import { closeTransfer } from '../../src/payments/transfers/handle-transfer.ts'
import { startFakeFlutterwave } from '../fakes/flutterwave/fake.ts'
import { type Between, startBetween } from '../support/between.ts'
import { eventually, startPaying } from '../support/paying.ts'
import {
  assertAudited,
  closeInstructions,
  type Json,
  letPass,
  paidTransaction,
  recordAt,
  recordsOf,
} from '../support/payment-records.ts'
import { reconcile } from '../support/reconciling.ts'
import { atProvider, refund } from '../support/returns.ts'
import { AMOUNT, charge, isPaid, ledger, start, TRANSFER, transfer } from '../support/sandbox-payments.ts'

// Refunds and returns: what went back is on record, and what should not stay has a case.

const service = await startPaying()
const { database } = service

async function check({ parts }: Between, { id }: { id: string }): Promise<void> {
  await makeChecksDue(database, id as PaymentId)
  await checkDueAttempts(parts, 100)
}

async function paidByCard(between: Between) {
  const { payment, order } = await start(between.shop)
  await charge(between.shop, order)
  await check(between, payment)
  assert.ok(isPaid(await between.shop.payment(payment.id)))
  return { payment, order }
}

const casesOf = async ({ shop }: Pick<Between, 'shop'>, { id }: { id: string }): Promise<Json[]> =>
  (await shop.call('GET', `/payments/v1/cases?payment=${id}&status=open`)).body.data

const reasonsOf = async (between: Pick<Between, 'shop'>, payment: { id: string }) =>
  (await casesOf(between, payment)).map(({ reason }) => reason).sort()

async function stateOf({ id }: { id: string }) {
  return (await findPaymentStateById(database, id as PaymentId)) ?? assert.fail()
}

/** The lines of money that does not add up. */
const transfersOf = async (payment: { id: string }) =>
  (await listTransfers(database, (await stateOf(payment)).payment, FIRST_PAGE, 10)).transfers

/** One link was charged twice, and the refund of the second charge failed. */
async function heldSurplus(between: Between) {
  const { shop, upstream } = between
  const { payment, order } = await paidByCard(between)
  const record = await recordAt(service, shop, order)
  const transactions = [...record.transactions, paidTransaction({ amount: AMOUNT })]
  const twice = { status: 200, text: JSON.stringify({ data: { ...record, amount: 2 * AMOUNT, transactions } }) }
  upstream.garble = () => twice
  await check(between, payment)
  // The second charge is not named again.
  upstream.garble = () => ({ status: 200, text: JSON.stringify({ data: record }) })
  await letPass(database, payment, 61)
  await sendDueRefunds(between.parts, 100)
  upstream.garble = undefined
  return { payment, order }
}

test('J14: surplus stays a case when the merchant refunds what was due', async (t) => {
  const between = await startBetween(t, service)
  const { payment } = await heldSurplus(between)
  assert.deepEqual((await recordsOf(database, payment)).refunds, [
    { amount: AMOUNT, kind: 'surplus', status: 'failed' },
  ])
  const acts = (await casesOf(between, payment)).map(({ reason, suggestions }: Json) => [reason, suggestions])
  assert.deepEqual(acts.sort(), [
    ['refund_failed', ['return', 'close']],
    ['surplus', ['refund', 'close']],
  ])
  const line = { kind: 'overpaid', amount: AMOUNT, received: 2 * AMOUNT }
  assert.partialDeepStrictEqual(await transfersOf(payment), [line])
  const made = await refund(between.shop, payment.id)
  assert.deepEqual([made.status, made.body.data.amount, made.body.data.kind], [201, AMOUNT, 'merchant'])
  const { attempts, amountRefunded } = await between.shop.payment(payment.id)
  assert.deepEqual([attempts[0].amountReceived, amountRefunded], [2 * AMOUNT, AMOUNT], 'half of it is still there')
  assert.ok((await reasonsOf(between, payment)).includes('surplus'))
  assert.partialDeepStrictEqual(await transfersOf(payment), [line])
})

test('surplus that a person matched stays, too, when the provider denies the money that paid the payment', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream, parts } = between
  const first = await start(shop, { ...TRANSFER, reference: 'matched-surplus' })
  await transfer(shop, first.accountNumber, 1_000)
  await check(between, first.payment)
  await closeInstructions(database, 'matched-surplus')
  const second = await start(shop, { reference: 'matched-surplus' })
  await charge(shop, second.order)
  await check(between, first.payment)
  const rows = await database.rows<{ id: number }>(sql`
    select r.id from receipts r join attempts a on a.id = r.attempt_id where a.id = ${uuidOf(first.attempt.id)}`)
  const { payment } = await stateOf(first.payment)
  const matched = { kind: 'unmatched' as const, act: 'matched' as const, receiptId: rows[0]?.id ?? assert.fail() }
  const nothing = { attemptId: null, received: null, refundId: null, note: null }
  const about = { scope: payment, paymentId: payment.id, amount: 1_000, currency: 'NGN', actor: 'test', at: new Date() }
  await database.transaction(async (tx) => insertReview(tx, { ...matched, ...nothing, ...about }))
  const record = await recordAt(service, shop, second.order)
  const denied = JSON.stringify({ data: { ...record, status: 'pending', amount: 0, transactions: [] } })
  upstream.garble = (said) => (said.text.includes(second.order) ? { status: 200, text: denied } : said)
  await letPass(database, first.payment, 61)
  await sendDueRefunds(parts, 100)
  assert.equal((await ledger(shop, first.order)).refunded, 0)
  assert.deepEqual((await recordsOf(database, first.payment)).refunds, [
    { amount: 1_000, kind: 'surplus', status: 'failed' },
  ])
})

/** A transfer of 1000 too much, which a person has returned in cash. `before`: what happened until then. */
async function returnedByHand(between: Between, before: (order: string) => Promise<unknown>) {
  const { shop, parts } = between
  const { payment, order, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT + 1_000)
  await check(between, payment)
  await before(order)
  const state = await stateOf(payment)
  const by = { scope: state.payment, actor: 'test', note: 'In cash.' }
  const { id } = state.attempts[0] ?? assert.fail()
  await closeTransfer(parts, by, { kind: 'attempt', id, paymentId: state.payment.id }, 'returned_by_hand', 1_000)
  return { payment, order }
}

const goneOf = async (payment: { id: string }) =>
  (await recordsOf(database, payment)).refunds.map(({ amount, kind }: Json) => [kind, amount])

test('J15: a return by hand is not a refund of another amount that was made at the provider', async (t) => {
  const between = await startBetween(t, service)
  const { shop, parts } = between
  const { payment } = await returnedByHand(between, (order) =>
    atProvider(shop, '/refunds', { reference: order, amount: 400 }),
  )
  await reconcile(parts, shop, '48 hours')
  assert.deepEqual(await goneOf(payment), [
    ['provider', 1_000],
    ['provider', 400],
  ])
  for (const window of ['8 days', '180 days'] as const) await reconcile(parts, shop, window)
  assert.deepEqual(await reasonsOf(between, payment), [])
})

test('a return by hand is not the money of a lost dispute', async (t) => {
  const between = await startBetween(t, service)
  const { shop, parts } = between
  const { payment } = await returnedByHand(between, async (order) => {
    const { id } = await atProvider(shop, '/disputes', { reference: order, amount: 1_000 })
    await atProvider(shop, `/disputes/${id}/close`, { outcome: 'lost' }, 200)
  })
  await reconcile(parts, shop, '48 hours')
  assert.deepEqual(await goneOf(payment), [
    ['provider', 1_000],
    ['chargeback', 1_000],
  ])
})

/** A refund of 10 000 at a provider without idempotency keys, which its list does not have for a day. */
async function lostRefund() {
  const flutterwave = await startFakeFlutterwave({ after })
  flutterwave.odd.refundStatus = 'completed-mpgs'
  const shop = await service.addShop()
  const integration = { settings: flutterwave.settings, baseURL: flutterwave.upstream.url }
  await shop.call('PUT', '/payments/v1/integrations/flutterwave', integration)
  await eventually(
    () => shop.initialize({ provider: 'flutterwave', reference: 'lost' }),
    ({ status }) => status === 200,
  )
  const payment = await shop.payment('lost')
  const order = uuidOf(payment.attempts[0].id).replaceAll('-', '')
  await flutterwave.customer.payByCard(order, { save: false })
  await makeChecksDue(database, payment.id)
  await checkDueAttempts(service.parts, 100)
  // The list has the refunds of others only, and the answer to ours is lost.
  let [isLost, isSilent] = [true, true]
  const isOfOthers = ({ comment }: Json) => comment === 'Product out of stock.'
  flutterwave.upstream.garble = (said) => {
    if (!said.text.includes('Refunds fetched')) return isSilent ? { status: 500, text: '{}' } : said
    const answer = JSON.parse(said.text)
    const data = answer.data.filter((each: Json) => !isLost || isOfOthers(each))
    return { ...said, text: JSON.stringify({ ...answer, data }) }
  }
  const { id } = (await refund(shop, 'lost', { amount: 10_000 })).body.data
  isSilent = false
  const list = () => {
    isLost = false
  }
  const end = () => shop.call('POST', `/payments/v1/refunds/${id}/end`, { note: 'Not in their dashboard.' })
  return { flutterwave, shop, payment, order, id, list, end }
}

test('J16: a refund that was asked for and lost is ended by a person, and is made in the dashboard instead', async () => {
  const { flutterwave, shop, payment, order, id, end } = await lostRefund()
  assert.deepEqual([(await end()).status, (await end()).body.code], [409, 'conflict'], 'it may still be listed')
  await letPass(database, payment, 86_400)
  await sendDueRefunds(service.parts, 100)
  const [lost] = await casesOf({ shop }, payment)
  assert.deepEqual([lost?.subject.id, lost?.reason, lost?.suggestions], [id, 'unanswered', ['end_refund', 'close']])
  await flutterwave.refundAtProvider(order, 10_000)
  await reconcile(service.parts, shop, '48 hours')
  assert.deepEqual(await goneOf(payment), [['merchant', 10_000]], 'which of both it is cannot be known')
  const ended = await end()
  assert.deepEqual([ended.status, ended.body.data.status], [200, 'failed'])
  assert.deepEqual([(await end()).status, (await shop.payment('lost')).amountRefunded], [409, 0])
  const actor = `credential:${shop.headers['client-id']}`
  assert.deepEqual(await database.rows(sql`select actor, act from audit_log where subject = ${id} order by id`), [
    { actor, act: 'refund.asked_for' },
    { actor, act: 'refund.ended' },
  ])
  assert.deepEqual(await reasonsOf({ shop }, payment), ['refund_failed'])
  await reconcile(service.parts, shop, '48 hours')
  assert.equal((await shop.payment('lost')).amountRefunded, 10_000)
  assert.deepEqual(await reasonsOf({ shop }, payment), [])
  await assertAudited(database, payment)
})

test('a refund that a person has ended is successful, if the provider lists it after all', async () => {
  const { shop, payment, id, list, end } = await lostRefund()
  await letPass(database, payment, 86_400)
  await sendDueRefunds(service.parts, 100)
  assert.equal((await end()).status, 200)
  list()
  await reconcile(service.parts, shop, '48 hours')
  assert.equal((await shop.call('GET', `/payments/v1/refunds/${id}`)).body.data.status, 'successful')
  assert.deepEqual(await reasonsOf({ shop }, payment), [])
  await assertAudited(database, payment)
})
