import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../../src/kernel/ids.ts'
import type { PaymentDeps } from '../../../src/payments/deps.ts'
import { sendDueRefunds } from '../../../src/payments/refunds/refund-payment.ts'
import { processWaitingNotices } from '../../../src/payments/settle/receive-notice.ts'
import type { AccountLists, Providers } from '../../../src/providers/provider.ts'
import { startFakeFlutterwave } from '../../fakes/flutterwave/fake.ts'
import { startFakeMonnify } from '../../fakes/monnify/fake.ts'
import { startFakePaystack } from '../../fakes/paystack/fake.ts'
import { letPass } from '../../support/payment-records.ts'
import { type At, at, startProviderWorld } from '../../support/provider-world.ts'
import { reconcile, runOf } from '../../support/reconciling.ts'

// Reconciliation of money that changes in the weeks after it came. No worker: nothing is checked, reconciled or
// refunded unless the test does it.
const world = await startProviderWorld({ worker: false })
const { database, parts } = world

async function begin(place: At) {
  const { body } = await place.initialize()
  const { id, reference } = await place.payment(body.data.reference)
  return { id, reference, order: await place.orderOf(reference) }
}

async function payUnnoticed(place: At) {
  const payment = await begin(place)
  await place.fake.customer.payByCard(payment.order, { save: false })
  place.fake.takeNotices()
  await database.rows(sql`
    update attempts set next_check_at = null where payment_id = ${uuidOf(payment.id as PaymentId)}`)
  return payment
}

async function paid(place: At) {
  const payment = await payUnnoticed(place)
  await reconcile(parts, place.shop, '2 hours')
  assert.equal((await place.payment(payment.reference)).status, 'successful')
  return payment
}

const openCases = async (place: At) =>
  (await place.shop.call('GET', '/payments/v1/cases?status=open')).body.data
    .map(({ reason, subject }: { reason: string; subject: { kind: string } }) => `${subject.kind} ${reason}`)
    .toSorted()

const refundsOf = (place: At) =>
  database.rows<{ amount: number; kind: string; status: string }>(sql`
    select amount, kind, status from refunds where merchant_id = ${place.shop.merchantUuid} order by created_at, id`)

/** As if all of it had happened so many days earlier. */
async function age(place: At, days: number): Promise<void> {
  const { merchantUuid } = place.shop
  await database.rows(sql`
    update integrations set created_at = created_at - interval '100 days' where merchant_id = ${merchantUuid}`)
  await database.rows(sql`
    update receipts set taken_at = taken_at - make_interval(days => ${days}) where merchant_id = ${merchantUuid}`)
  await database.rows(sql`
    update attempts set created_at = created_at - make_interval(days => ${days}) where merchant_id = ${merchantUuid}`)
}

function withLists(lists: AccountLists): PaymentDeps {
  const connect: Providers['connect'] = async (...of) => {
    const own = await parts.providers.connect(...of)
    return { ...own, lists: { ...own.lists, ...lists } }
  }
  return { ...parts, providers: { ...parts.providers, connect } }
}

const EMPTY: AccountLists = { transactions: async () => ({ kind: 'page', entries: [], nextCursor: null }) }

test('J2: money that makes up for a reversed payment is not sent back by itself', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  const { id, reference, order } = await paid(place)
  for (const each of place.fake.triesOf(order)) Object.assign(each, { status: 'reversed' })
  await reconcile(parts, place.shop, '48 hours')
  assert.equal((await place.payment(reference)).amountRefunded, place.amount, 'the first money is gone')
  place.fake.addTry(order)
  place.fake.takeNotices()
  await reconcile(parts, place.shop, '48 hours')
  await letPass(database, { id }, 61)
  await sendDueRefunds(parts, 100)
  assert.equal(place.fake.refundsMade(), 0, 'the provider was asked to send it back')
  assert.deepEqual(await refundsOf(place), [{ amount: place.amount, kind: 'provider', status: 'successful' }])
  assert.notDeepEqual(await openCases(place), [], 'a person decides')
})

test('surplus stays when the money that paid the payment goes back before the surplus is sent', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  const { id, order } = await paid(place)
  place.fake.addTry(order)
  place.fake.takeNotices()
  await reconcile(parts, place.shop, '48 hours')
  const surplus = { amount: place.amount, kind: 'surplus' }
  assert.deepEqual(await refundsOf(place), [{ ...surplus, status: 'pending' }])
  Object.assign(place.fake.triesOf(order)[0] ?? assert.fail(), { status: 'reversed' })
  await letPass(database, { id }, 61)
  await sendDueRefunds(parts, 100)
  assert.equal(place.fake.refundsMade(), 0)
  assert.deepEqual(await refundsOf(place), [{ ...surplus, status: 'failed' }])
  assert.deepEqual(await openCases(place), ['attempt surplus', 'refund refund_failed'])
})

test('a list that lacks many transactions on record is a case of the account until a person closes it', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  for (let count = 0; count < 6; count++) await payUnnoticed(place)
  await reconcile(parts, place.shop, '2 hours')
  await age(place, 3)
  await reconcile(withLists(EMPTY), place.shop)
  assert.deepEqual(await openCases(place), ['account missing_at_provider'])
  await reconcile(withLists(EMPTY), place.shop, '48 hours')
  assert.deepEqual(await openCases(place), ['account missing_at_provider'], 'the short window has nothing of it')
  await age(place, 6)
  await reconcile(withLists(EMPTY), place.shop)
  assert.deepEqual(await openCases(place), ['account missing_at_provider'], 'they are older than the window')
})

test('after a return to earlier keys, payments of the keys between are compared', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  const { shop, fake } = place
  await paid(place)
  await world.setUp(shop, { ...fake, settings: { ...fake.settings, secretHash: 'the-hash-between' } }, 100)
  const { reference, order } = await paid(place)
  await world.setUp(shop, fake, 100)
  await reconcile(parts, shop)
  const needsReview = async () => (await place.payment(reference)).attempts[0].needsReview
  const falseCase = await needsReview()
  await age(place, 2)
  await reconcile(parts, shop)
  const { failure } = await runOf(database, shop, 'transactions')
  await fake.refundAtProvider(order, 100_000)
  fake.takeNotices()
  await reconcile(parts, shop, '180 days')
  const { amountRefunded } = await place.payment(reference)
  assert.deepEqual({ falseCase, failure, amountRefunded }, { falseCase: null, failure: null, amountRefunded: 100_000 })
})

test('a refund of a second account with the ids of one of the first is its own money', async () => {
  const place = await world.addProvider(() => startFakeMonnify({ after }))
  const other = await startFakeMonnify({ after })
  const { shop } = place
  const second = at(world, shop, other)
  const first = await paid(place)
  await world.setUp(shop, other, 100)
  const later = await paid(second)
  for (const [account, payment] of [
    [place, first],
    [second, later],
  ] as const) {
    await account.fake.refundAtProvider(payment.order, 100_000)
    account.fake.takeNotices()
    for (const window of ['48 hours', '8 days'] as const) await reconcile(parts, shop, window)
    assert.equal((await place.payment(payment.reference)).amountRefunded, 100_000)
  }
  const ids = await database.rows<{ ids: string; names: string }>(sql`
    select count(distinct provider_refund_id)::text as ids, count(*)::text as names from refunds where merchant_id = ${shop.merchantUuid}`)
  assert.deepEqual(ids, [{ ids: '1', names: '2' }], 'both accounts number them alike')
})

test('J6: a reversal that is under way for longer than the window is a case', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { order } = await paid(place)
  place.fake.find(order).status = 'reversal-pending'
  await reconcile(parts, place.shop, '48 hours')
  assert.deepEqual(await openCases(place), [], 'the next run asks again')
  await reconcile(parts, place.shop)
  await age(place, 9)
  for (const window of ['48 hours', '8 days', '180 days', 'open'] as const)
    await reconcile(withLists(EMPTY), place.shop, window)
  assert.deepEqual(await openCases(place), ['attempt unanswered'], 'no list has it any more')
})

test('a notice that other keys have signed is kept until the money that it names is on record', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  const { shop, fake } = place
  await world.setUp(shop, { ...fake, settings: { ...fake.settings, secretHash: 'the-hash-before' } }, 100)
  const { order } = await paid(place)
  await world.setUp(shop, fake, 100)
  fake.addTry(order) // the link is charged a second time
  fake.upstream.trouble = 'reset before the work'
  await place.pump()
  const stateAfterTry = async () => {
    await database.rows(sql`update notices set due_at = now() where merchant_id = ${shop.merchantUuid}`)
    await processWaitingNotices(parts, 100)
    return database.rows<{ state: string }>(sql`select state from notices where merchant_id = ${shop.merchantUuid}`)
  }
  assert.deepEqual(await stateAfterTry(), [{ state: 'waiting' }])
  fake.upstream.trouble = undefined
  assert.deepEqual(await stateAfterTry(), [{ state: 'done' }])
})
