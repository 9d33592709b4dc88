import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { newId, type PaymentId, uuidOf } from '../../../src/kernel/ids.ts'
import type { PaymentDeps } from '../../../src/payments/deps.ts'
import { listAuditScopes } from '../../../src/payments/store/provider-audit.ts'
import { matchTransfer } from '../../../src/payments/transfers/handle-transfer.ts'
import type { AccountLists, Providers } from '../../../src/providers/provider.ts'
import { planAccounts } from '../../../src/reconciliation/reconcile-accounts.ts'
import { claimDueRuns, markListed, oldestComparisons, saveFinished } from '../../../src/reconciliation/run-store.ts'
import { startFakeFlutterwave } from '../../fakes/flutterwave/fake.ts'
import { startFakeMonnify } from '../../fakes/monnify/fake.ts'
import { startFakePaystack } from '../../fakes/paystack/fake.ts'
import { fakeStripe } from '../../fakes/stripe/fake.ts'
import { assertAudited } from '../../support/payment-records.ts'
import { type At, startProviderWorld } from '../../support/provider-world.ts'
import { makeDue, reconcile, runOf } from '../../support/reconciling.ts'

// No worker, and every notice is lost: only reconciliation learns of money.
const world = await startProviderWorld({ worker: false })
const { database, parts } = world
const DAY_MS = 86_400_000
const CARD = { callback_url: 'https://shop.example/', channels: ['card'] }

async function paid(place: At): Promise<{ reference: string; order: string }> {
  const { body } = await place.initialize()
  const { id, reference } = await place.payment(body.data.reference)
  const order = await place.orderOf(reference)
  await place.fake.customer.payByCard(order, { save: false })
  place.fake.takeNotices()
  await database.rows(sql`
    update attempts set next_check_at = null where payment_id = ${uuidOf(id as PaymentId)}`)
  await reconcile(parts, place.shop, '2 hours')
  return { reference, order }
}

async function everyWindow(place: At, deps: PaymentDeps = parts): Promise<void> {
  for (const window of ['2 hours', '48 hours', '8 days', '180 days', 'open'] as const)
    for (let times = 0; times < 2; times++) await reconcile(deps, place.shop, window)
}

const grow = (place: At, hours: number) =>
  database.rows(sql`
    update receipts set taken_at = taken_at - make_interval(hours => ${hours}) where merchant_id = ${place.shop.merchantUuid}`)

const ageIntegration = (place: At) =>
  database.rows(sql`
    update integrations set created_at = created_at - interval '100 days' where merchant_id = ${place.shop.merchantUuid}`)

const openCases = (place: At) =>
  database.rows<{ reason: string; summary: string }>(sql`
    select reason, summary from cases where merchant_id = ${place.shop.merchantUuid} and closed_at is null order by id`)

test('Stripe: a partial refund and a lost dispute of one charge agree', async () => {
  const place = await world.addProvider(() => fakeStripe.start({ after }))
  const { reference, order } = await paid(place)
  const part = Math.floor(place.amount / 4)
  await place.fake.refundAtProvider(order, part)
  const dispute = { amount: place.amount - part, reason: 'fraudulent' }
  const id = (await place.fake.disputeAtProvider?.(order, dispute)) ?? assert.fail()
  await place.fake.closeDispute?.(id, 'lost')
  place.fake.takeNotices()
  await everyWindow(place)
  const { amountRefunded, attempts } = await place.payment(reference)
  assert.deepEqual([amountRefunded, attempts[0].needsReview], [place.amount, null])
})

test('a process that finishes a run of another one leaves the marks of that one', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  await paid(place)
  const [{ id }] = (await database.rows<{ id: number }>(sql`
    select id from receipts where merchant_id = ${place.shop.merchantUuid}`)) as [{ id: number }]
  const claim = async () => {
    await makeDue(database, place.shop)
    await database.rows(sql`update reconciliation_runs set leased_until = now() - interval '1 minute'`)
    return (await claimDueRuns(database, 10)).find(({ kind }) => kind === 'transactions') ?? assert.fail()
  }
  const [stalled, other] = [await claim(), await claim()]
  await markListed(database, other, [id])
  const marks = () =>
    database.rows(sql`
    select from reconciliation_listed where merchant_id = ${place.shop.merchantUuid}`)
  await saveFinished(database, stalled, { at: new Date(), dueAt: new Date() })
  assert.equal((await marks()).length, 1)
  await saveFinished(database, other, { at: new Date(), dueAt: new Date() })
  assert.equal((await marks()).length, 0)
})

test('the lists of a removed integration are watched, too', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  await planAccounts({ database })
  await database.rows(sql`
    update reconciliation_runs set mode = 'live', created_at = now() - interval '3 days' where merchant_id = ${place.shop.merchantUuid}`)
  await database.rows(sql`
    update integrations set mode = 'live', enabled = false where merchant_id = ${place.shop.merchantUuid}`)
  const compared = await oldestComparisons(database)
  const windows = ['10 days', '180 days', '48 hours', '60 days', '8 days', 'open']
  assert.deepEqual(compared.map(({ window }) => window).toSorted(), windows)
})

test('Monnify: a reversal of the rest after a partial refund is found', async () => {
  const place = await world.addProvider(() => startFakeMonnify({ after }))
  const { reference, order } = await paid(place)
  await place.fake.refundAtProvider(order, 100_000)
  await everyWindow(place)
  assert.equal((await place.payment(reference)).amountRefunded, 100_000)
  place.fake.transactionOf(order).status = 'REVERSED'
  await everyWindow(place)
  const { amountRefunded } = await place.payment(reference)
  assert.ok(amountRefunded === place.amount || (await openCases(place)).length > 0, `${amountRefunded} is on record`)
})

test('a list that breaks off is not a list that was read', async () => {
  const place = await world.addProvider(() => startFakeMonnify({ after }))
  for (let count = 0; count < 3; count++) await paid(place)
  place.fake.limitPages(1)
  const connect: Providers['connect'] = async (...of) => {
    const own = await parts.providers.connect(...of)
    const transactions: AccountLists['transactions'] = async (range, cursor) =>
      // What the adapter makes of `responseCode: "99"` with 200 or 400.
      cursor === null
        ? (own.lists?.transactions?.(range, cursor) ?? assert.fail())
        : { kind: 'unsupported', because: 'Monnify refused the search for transactions (400)' }
    return { ...own, lists: { ...own.lists, transactions } }
  }
  await reconcile({ ...parts, providers: { ...parts.providers, connect } }, place.shop, '48 hours')
  const run = await runOf(database, place.shop, 'transactions', '48 hours')
  assert.equal(run.finished_at, null, `of 3 entries ${run.listed} was read`)
})

test('refused keys are no reason to think that an account has no disputes', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  place.fake.upstream.garble = () => ({ status: 403, text: '{"status":"error","message":"Forbidden","data":null}' })
  await reconcile(parts, place.shop, '180 days')
  const { unsupported, failure } = await runOf(database, place.shop, 'disputes', '180 days')
  assert.deepEqual([unsupported, failure], [null, 'Flutterwave does not let this key list chargebacks'])
})

test('a reversal of money that a person matched is a case', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { body } = await place.initialize()
  const order = await place.orderOf(body.data.reference)
  await place.fake.customer.payByCard(order, { save: false })
  place.fake.takeNotices()
  // As if the database had been restored from a backup.
  await database.rows(sql`
    update attempts set order_reference = 'gone-' || id, provider_reference = 'gone-' || id where order_reference = ${order}`)
  await reconcile(parts, place.shop, '48 hours')
  const [money] = await database.rows<{ id: number }>(sql`
    select id from receipts where merchant_id = ${place.shop.merchantUuid} and attempt_id is null`)
  const { id, reference } = await place.checkout()
  const scope =
    (await listAuditScopes(database)).find(({ merchantId }) => merchantId === place.shop.merchantId) ?? assert.fail()
  const by = { scope, actor: 'cli:test', note: 'seen' }
  const found = { kind: 'receipt', id: money?.id ?? assert.fail() } as const
  await matchTransfer(parts, by, found, id as PaymentId, place.amount)
  await everyWindow(place)
  assert.deepEqual([(await place.payment(reference)).status, await openCases(place)], ['successful', []])
  place.fake.find(order).status = 'reversed'
  await everyWindow(place)
  const { amountRefunded } = await place.payment(reference)
  assert.deepEqual([amountRefunded, (await openCases(place)).map(({ reason }) => reason)], [0, ['refund_mismatch']])
})

test('a reversal without a refund object is found when it comes after twelve days', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference, order } = await paid(place)
  await ageIntegration(place)
  await grow(place, 12 * 24)
  const sale = place.fake.find(order)
  sale.createdAt = new Date(Date.parse(sale.createdAt) - 12 * DAY_MS).toISOString()
  sale.status = 'reversed'
  await everyWindow(place)
  const { amountRefunded } = await place.payment(reference)
  assert.ok(amountRefunded === place.amount || (await openCases(place)).length > 0, 'nobody knows of it')
})

test('a refund of the dashboard that waits for an account of the customer is no secret', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference, order } = await paid(place)
  place.fake.refundsNeedAccounts?.()
  const { status } = await fetch(`${place.fake.upstream.url}/refund`, {
    method: 'POST',
    headers: { authorization: `Bearer ${place.fake.keys.secretKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ transaction: String(place.fake.find(order).id), amount: 500_000 }),
  })
  assert.equal(status, 200)
  place.fake.takeNotices()
  await everyWindow(place)
  for (const refund of place.fake.refunds)
    refund.createdAt = new Date(Date.parse(refund.createdAt) - 30 * DAY_MS).toISOString()
  await ageIntegration(place)
  await everyWindow(place)
  const { amountRefunded } = await place.payment(reference)
  assert.ok(amountRefunded > 0 || (await openCases(place)).length > 0, 'the money has left the balance')
})

test('an entry of another shop that cannot be read does not stop the comparison', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  const { order } = await paid(place)
  const [own] = place.fake.triesOf(order)
  const foreign = { ...(own?.order ?? assert.fail()), reference: 'Order 12' }
  place.fake.addTry(order, { order: foreign } as never)
  await reconcile(parts, place.shop, '8 days')
  assert.equal((await runOf(database, place.shop, 'transactions')).failure, null)
})

test('an entry of ours that cannot be read stops the comparison', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  const { order } = await paid(place)
  place.fake.upstream.garble = ({ status, text }) => ({ status, text: text.replaceAll('"NGN"', '"naira"') })
  await reconcile(parts, place.shop, '8 days')
  assert.match(
    String((await runOf(database, place.shop, 'transactions')).failure),
    new RegExp(`about ${order}, which is`),
  )
})

test('a list that is late by a day is one case, until a person closes it', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  await reconcile(parts, place.shop, '48 hours')
  const fails = async () => {
    place.fake.upstream.trouble = 'answering 500 before the work'
    for (const window of ['48 hours', '48 hours', '8 days'] as const) await reconcile(parts, place.shop, window)
    return (await openCases(place)).map(({ reason }) => reason)
  }
  assert.deepEqual(await fails(), [])
  await database.rows(sql`
    update reconciliation_runs set compared_to = compared_to - interval '31 hours' where merchant_id = ${place.shop.merchantUuid}`)
  assert.deepEqual(await fails(), ['unanswered'])
  const { body } = await place.shop.call('GET', '/payments/v1/cases')
  const closed = await place.shop.call('POST', `/payments/v1/cases/${body.data[0].id}/close`, { note: 'seen' })
  assert.equal(closed.status, 200)
  assert.deepEqual(await fails(), [], 'it is known')
})

test('a reversal that no list names is recorded after a day, and a person knows of it before', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference, order } = await paid(place)
  place.fake.find(order).status = 'reversed'
  const now = async () => {
    await everyWindow(place)
    return [(await place.payment(reference)).amountRefunded, (await openCases(place)).map(({ reason }) => reason)]
  }
  assert.deepEqual(await now(), [0, ['refund_mismatch']])
  await database.rows(sql`
    update cases set opened_at = opened_at - interval '1 day' where merchant_id = ${place.shop.merchantUuid}`)
  assert.deepEqual(await now(), [place.amount, []])
  // Part of it was a refund of the dashboard, which is listed after that day.
  await place.fake.refundAtProvider(order, 100_000)
  place.fake.takeNotices()
  assert.deepEqual(await now(), [place.amount, ['refund_mismatch']])
  await assertAudited(database, await place.payment(reference))
})

test('a reversal is booked again in its right amount when the list of refunds had lagged', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference, order } = await paid(place)
  await place.fake.refundAtProvider(order, 100_000)
  place.fake.takeNotices()
  const late = place.fake.refunds.splice(0)
  await reconcile(parts, place.shop, '48 hours')
  place.fake.refunds.push(...late)
  await everyWindow(place)
  const { amountRefunded } = await place.payment(reference)
  assert.ok(amountRefunded === 100_000 || (await openCases(place)).length > 0, `${amountRefunded} is on record`)
})

test('an open dispute that the provider does not answer about for a week is a case', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference, order } = await paid(place)
  await place.fake.disputeAtProvider?.(order, { amount: place.amount, reason: 'fraud' })
  place.fake.takeNotices()
  await everyWindow(place)
  await database.rows(sql`
    update disputes set created_at = created_at - interval '20 days' where merchant_id = ${place.shop.merchantUuid}`)
  const needsReview = async () => (await place.payment(reference)).attempts[0].needsReview
  place.fake.upstream.trouble = 'answering 500 before the work'
  await reconcile(parts, place.shop, 'open')
  assert.match(String((await runOf(database, place.shop, 'open', 'open')).failure), /did not answer about 1 orders/)
  assert.equal(await needsReview(), null)
  await database.rows(sql`
    update reconciliation_runs set failed_since = failed_since - interval '7 days' where merchant_id = ${place.shop.merchantUuid}`)
  await reconcile(parts, place.shop, 'open')
  assert.match(await needsReview(), /^unanswered: /)
  place.fake.upstream.trouble = undefined
  await reconcile(parts, place.shop, 'open')
  assert.equal((await runOf(database, place.shop, 'open', 'open')).failure, null)
})

test('a dispute of an account whose keys are refused now has a case', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference, order } = await paid(place)
  const id = (await place.fake.disputeAtProvider?.(order, { amount: place.amount, reason: 'fraud' })) ?? assert.fail()
  place.fake.takeNotices()
  await everyWindow(place)
  const disputesNow = () =>
    database.rows<{ status: string }>(sql`select status from disputes where merchant_id = ${place.shop.merchantUuid}`)
  assert.deepEqual(await disputesNow(), [{ status: 'open' }])
  const other = await startFakePaystack({ after }, { secretKey: `sk_test_${'7'.repeat(40)}` })
  await world.setUp(place.shop, other, 100)
  place.fake.keys.secretKey = `sk_test_${'8'.repeat(40)}`
  await place.fake.closeDispute?.(id, 'lost')
  place.fake.takeNotices()
  await database.rows(sql`
    update disputes set created_at = created_at - interval '20 days' where merchant_id = ${place.shop.merchantUuid}`)
  await everyWindow(place)
  const run = await runOf(database, place.shop, 'disputes', '180 days')
  const { amountRefunded } = await place.payment(reference)
  assert.deepEqual([amountRefunded, await disputesNow()], [0, [{ status: 'open' }]])
  assert.ok(run.failure !== null || (await openCases(place)).length > 0, 'the list counts as read, and nothing is said')
})

test('money of another installation on the same account is foreign', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const reference = uuidOf(newId('payment', new Date(), place.shop.place ?? 0)).replaceAll('-', '')
  const { status } = await fetch(`${place.fake.upstream.url}/transaction/initialize`, {
    method: 'POST',
    headers: { authorization: `Bearer ${place.fake.keys.secretKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...{ email: 'bola@example.com', amount: 70_000, currency: 'NGN', reference }, ...CARD }),
  })
  assert.equal(status, 200)
  await place.fake.customer.payByCard(reference, { save: false })
  place.fake.takeNotices()
  await reconcile(parts, place.shop, '8 days')
  assert.deepEqual(await openCases(place), [])
})
