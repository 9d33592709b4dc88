import assert from 'node:assert/strict'
import { after, test as testOf } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { listAuditScopes } from '../../src/payments/store/provider-audit.ts'
import type { AccountLists, ProviderClient, Providers } from '../../src/providers/provider.ts'
import { reconcileDueRuns } from '../../src/reconciliation/reconcile-accounts.ts'
import { askByHand, claimDueRuns, lastCompared } from '../../src/reconciliation/run-store.ts'
import { startFakeFlutterwave } from '../fakes/flutterwave/fake.ts'
import { FAKES } from '../fakes/index.ts'
import { startFakeMonnify } from '../fakes/monnify/fake.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { type At, startProviderWorld } from '../support/provider-world.ts'
import { makeDue, reconcile, runDue, runOf } from '../support/reconciling.ts'

// No worker: nothing is checked or reconciled unless the test does it. Every notice is lost.
const world = await startProviderWorld({ worker: false })
const { database, parts } = world

async function begin(place: At): Promise<{ id: string; reference: string; order: string }> {
  const { body } = await place.initialize()
  const { id, reference } = await place.payment(body.data.reference)
  return { id, reference, order: await place.orderOf(reference) }
}

/** A customer pays, no notice of it comes, and no check is due. */
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

const refundsOf = (place: At) =>
  database.rows<{ amount: number; kind: string; status: string; counted: boolean }>(sql`
    select amount, kind, status, counted from refunds where merchant_id = ${place.shop.merchantUuid} order by created_at, id`)

/** The service with providers that answer some calls so. */
function withClient(changes: (own: ProviderClient) => Partial<ProviderClient>): PaymentDeps {
  const connect: Providers['connect'] = async (...of) => {
    const own = await parts.providers.connect(...of)
    return { ...own, ...changes(own) }
  }
  return { ...parts, providers: { ...parts.providers, connect } }
}

const withLists = (lists: AccountLists) => withClient((own) => ({ lists: { ...own.lists, ...lists } }))

/** Money of an hour ago is in every list. */
const grow = (place: At, hours = 2) =>
  database.rows(sql`
    update receipts set taken_at = taken_at - make_interval(hours => ${hours}) where merchant_id = ${place.shop.merchantUuid}`)

/** An integration that was made long ago, and attempts of an hour before their money. */
async function age(place: At): Promise<void> {
  await database.rows(sql`
    update integrations set created_at = created_at - interval '100 days' where merchant_id = ${place.shop.merchantUuid}`)
  await grow(place)
}

// One after the other: a test makes the runs of its shop due, and works on all that is.
const LISTED = FAKES.filter(({ features }) => features.listsTransactions)
const places = await Promise.all(LISTED.map(({ start }) => world.addProvider(start)))
for (const [index, place] of places.entries()) {
  const { provider, features } = LISTED[index] ?? assert.fail()
  const { fake, shop, amount, payment } = place
  const test = (what: string, run: () => Promise<void>) => testOf(`${provider.capabilities.name}: ${what}`, run)

  test('J6: a payment whose notice was lost is found by the list, and once', async () => {
    const { reference } = await payUnnoticed(place)
    for (const window of ['2 hours', '48 hours', '8 days'] as const) await reconcile(parts, shop, window)
    const { status, amountPaid } = await payment(reference)
    assert.deepEqual([status, amountPaid], ['successful', amount])
    const run = await runOf(database, shop, 'transactions', '2 hours')
    assert.deepEqual([run.booked, run.asked, run.failure], [1, 1, null])
    const later = await runOf(database, shop, 'transactions')
    assert.deepEqual([later.listed, later.agreed, later.booked, later.asked], [1, 1, 0, 0])
    assert.ok(later.finished_at)
  })

  test('a refund of the dashboard whose notice was lost is found', async () => {
    const { reference, order } = await paid(place)
    const part = Math.floor(amount / 4)
    await fake.refundAtProvider(order, part)
    fake.takeNotices()
    await reconcile(parts, shop, '2 hours')
    const { status, amountRefunded } = await payment(reference)
    assert.deepEqual([status, amountRefunded], ['successful', part])
    await reconcile(parts, shop, '48 hours')
    assert.equal((await payment(reference)).amountRefunded, part)
  })

  test('an order that the list names and the provider does not answer is asked for again by the next run', async () => {
    const { reference } = await payUnnoticed(place)
    const check: ProviderClient['check'] = async () => ({ kind: 'unknown', because: 'no answer' })
    await reconcile(
      withClient(() => ({ check })),
      shop,
      '2 hours',
    )
    const [attempt] = (await payment(reference)).attempts
    assert.deepEqual([attempt.status === 'successful', attempt.needsReview], [false, null])
    await reconcile(parts, shop, '2 hours')
    assert.equal((await payment(reference)).status, 'successful')
  })

  test('a run whose list is not answered goes on later, and says so meanwhile', async () => {
    fake.upstream.trouble = 'answering 500 before the work'
    await reconcile(parts, shop, '48 hours')
    fake.upstream.trouble = undefined
    const failed = await runOf(database, shop, 'transactions', '48 hours')
    assert.match(String(failed.failure), /500/)
    assert.ok(failed.due_at > new Date(), 'it is retried later')
    const [compared] = (await lastCompared(database, { merchantId: shop.merchantId, mode: 'sandbox' })).filter(
      ({ kind }) => kind === 'transactions',
    )
    assert.match(String(compared?.failure), /500/)
    await reconcile(parts, shop, '48 hours')
    const done = await runOf(database, shop, 'transactions', '48 hours')
    assert.deepEqual([done.failure, done.started_at], [null, null])
    assert.ok(done.finished_at)
  })

  test('entries of other shops that use the account are counted, and nothing else', async () => {
    await fake.otherShopSells()
    for (const window of ['48 hours', '8 days'] as const) await reconcile(parts, shop, window)
    const run = await runOf(database, shop, 'transactions')
    // Stripe's adapter leaves out charges without our metadata.
    const foreign = place.name === 'stripe' ? 0 : 1
    assert.deepEqual([run.foreign_count, run.asked, run.booked, run.failure], [foreign, 0, 0, null])
    const unmatched = await database.rows(sql`
      select from receipts where merchant_id = ${shop.merchantUuid} and attempt_id is null`)
    assert.equal(unmatched.length, 0)
  })

  if (features.listsDisputes)
    test('J7: a dispute that was closed after its notice was lost is found in the list of half a year', async () => {
      const { reference, order } = await paid(place)
      const id = (await fake.disputeAtProvider?.(order, { amount, reason: 'fraud' })) ?? assert.fail()
      fake.takeNotices()
      const disputeNow = async () =>
        (await shop.call('GET', `/payments/v1/disputes?payment=${reference}`)).body.data[0]?.status
      await reconcile(parts, shop, '180 days')
      assert.equal(await disputeNow(), 'open')
      await fake.closeDispute?.(id, 'lost')
      fake.takeNotices()
      for (let times = 0; times < 2; times++) await reconcile(parts, shop, '180 days')
      assert.deepEqual([await disputeNow(), (await payment(reference)).amountRefunded], ['lost', amount])
    })

  if (features.listsDisputes)
    test('an open dispute that the daily lists do not reach any more is asked for until it is closed', async () => {
      const { reference, order } = await paid(place)
      const id = (await fake.disputeAtProvider?.(order, { amount, reason: 'fraud' })) ?? assert.fail()
      await place.pump()
      for (let asked = 0; asked < 50; asked++) {
        const [dispute] = (await shop.call('GET', `/payments/v1/disputes?payment=${reference}`)).body.data
        if (dispute?.status === 'open') break
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await database.rows(sql`
        update disputes set created_at = created_at - interval '10 days' where merchant_id = ${place.shop.merchantUuid}`)
      await fake.closeDispute?.(id, 'lost')
      fake.takeNotices()
      await reconcile(parts, shop, 'open')
      const [dispute] = (await shop.call('GET', `/payments/v1/disputes?payment=${reference}`)).body.data
      assert.deepEqual([dispute.status, (await payment(reference)).amountRefunded], ['lost', amount])
    })
}

for (const [name, start, reverse] of [
  [
    'Paystack',
    startFakePaystack,
    (fake: Awaited<ReturnType<typeof startFakePaystack>>, order: string) => {
      fake.find(order).status = 'reversed'
    },
  ],
  [
    'Flutterwave',
    startFakeFlutterwave,
    (fake: Awaited<ReturnType<typeof startFakeFlutterwave>>, order: string) => {
      for (const each of fake.triesOf(order)) Object.assign(each, { status: 'reversed' })
    },
  ],
  [
    'Monnify',
    startFakeMonnify,
    (fake: Awaited<ReturnType<typeof startFakeMonnify>>, order: string) => {
      fake.transactionOf(order).status = 'REVERSED'
    },
  ],
] as const)
  testOf(`a reversal without a refund object is booked once: ${name}`, async () => {
    // biome-ignore lint/suspicious/noExplicitAny: each fake goes with its own function
    const place = await world.addProvider<any>(() => start({ after }))
    const { reference, order } = await paid(place)
    reverse(place.fake, order)
    for (const window of ['48 hours', '8 days', '48 hours'] as const) {
      await reconcile(parts, place.shop, window)
      // Of Paystack, the case tells since when it is so.
      await database.rows(sql`
        update cases set opened_at = opened_at - interval '1 day' where merchant_id = ${place.shop.merchantUuid}`)
    }
    const { status, amountPaid, amountRefunded, attempts } = await place.payment(reference)
    assert.deepEqual(
      [status, amountPaid, amountRefunded, attempts[0].needsReview],
      ['successful', place.amount, place.amount, null],
    )
    assert.deepEqual(await refundsOf(place), [
      { amount: place.amount, kind: 'provider', status: 'successful', counted: true },
    ])
  })

testOf('a second payment on a link that was paid days ago is found by the list', async () => {
  const place = await world.addProvider(() => startFakeFlutterwave({ after }))
  const { reference, order } = await paid(place)
  await grow(place, 48)
  place.fake.addTry(order)
  place.fake.takeNotices()
  await reconcile(parts, place.shop, '48 hours')
  const { amountPaid } = await place.payment(reference)
  assert.equal(amountPaid, place.amount)
  const receipts = await database.rows<{ amount: number }>(sql`
    select amount from receipts where merchant_id = ${place.shop.merchantUuid}`)
  assert.deepEqual(receipts, [{ amount: place.amount }, { amount: place.amount }])
})

testOf('transactions on record that the list lacks are asked for by themselves, and the answer decides', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference } = await paid(place)
  await age(place)
  const empty: AccountLists = { transactions: async () => ({ kind: 'page', entries: [], nextCursor: null }) }
  const run = () => runOf(database, place.shop, 'transactions')
  const review = async () => (await place.payment(reference)).attempts[0].needsReview

  await reconcile(withLists(empty), place.shop)
  assert.deepEqual([(await run()).absent, (await run()).asked, await review()], [1, 1, null], 'the order has it')
  const answering = (check: ProviderClient['check']) =>
    withClient((own) => ({ check, lists: { ...own.lists, ...empty } }))
  await reconcile(
    answering(async () => ({ kind: 'unknown', because: 'no answer' })),
    place.shop,
  )
  assert.equal(await review(), null, 'silence is no answer')
  await reconcile(
    answering(async () => ({ kind: 'missing' })),
    place.shop,
  )
  assert.match(await review(), /^(missing_at_provider|contradiction): /)
  const { status, amountPaid, amountRefunded } = await place.payment(reference)
  assert.deepEqual([status, amountPaid, amountRefunded], ['successful', place.amount, 0], 'nothing was changed')
})

testOf('many transactions that the list lacks are one problem of the account, and no order is asked for', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  for (let count = 0; count < 6; count++) await payUnnoticed(place)
  await reconcile(parts, place.shop, '2 hours')
  await age(place)
  let checks = 0
  const deps = withClient((own) => ({
    lists: { transactions: async () => ({ kind: 'page', entries: [], nextCursor: null }) },
    async check(order) {
      checks++
      return own.check(order)
    },
  }))
  await reconcile(deps, place.shop)
  const run = await runOf(database, place.shop, 'transactions')
  assert.match(String(run.failure), /^6 transactions on record are not in the provider’s list/)
  assert.deepEqual([checks, run.finished_at], [0, null])
  await reconcile(parts, place.shop)
  assert.equal((await runOf(database, place.shop, 'transactions')).failure, null)
})

testOf('a refund of ours that fails at the bank after weeks is found in the list of half a year', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference } = await paid(place)
  const asked = await place.shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { amount: 100_000 })
  assert.equal(asked.status, 201, JSON.stringify(asked.body))
  place.fake.takeNotices() // the refund is done, and nobody hears of it
  for (const window of ['180 days', '8 days'] as const) await reconcile(parts, place.shop, window)
  assert.equal((await place.payment(reference)).amountRefunded, 100_000)
  const [refund] = place.fake.refunds
  Object.assign(refund ?? assert.fail(), { status: 'failed' })
  place.fake.find(refund?.sale.reference ?? '').status = 'success'
  await reconcile(parts, place.shop, '180 days')
  assert.equal((await place.payment(reference)).amountRefunded, 0)
  const [ours] = await refundsOf(place)
  assert.deepEqual([ours?.kind, ours?.status], ['merchant', 'failed'])
})

testOf('the same money in the lists of two versions of the keys counts once', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const first = await paid(place)
  const settings = { ...place.fake.settings, publicKey: `pk_test_${'0'.repeat(40)}` }
  await world.setUp(place.shop, { ...place.fake, settings }, 100)
  const second = await payUnnoticed(place)
  await reconcile(parts, place.shop)
  for (const { reference } of [first, second]) {
    const { status, amountPaid, amountRefunded } = await place.payment(reference)
    assert.deepEqual([status, amountPaid, amountRefunded], ['successful', place.amount, 0])
  }
  const versions = await database.rows<{ account: number }>(sql`
    select account from receipts where merchant_id = ${place.shop.merchantUuid} order by id`)
  assert.deepEqual(versions, [{ account: 1 }, { account: 2 }])
  assert.equal((await runOf(database, place.shop, 'transactions')).listed, 4, 'both lists were read')
})

testOf('a run goes on at its cursor after the process died between two pages', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  for (let count = 0; count < 3; count++) await payUnnoticed(place)
  place.fake.limitPages(1)
  await makeDue(database, place.shop)
  await database.rows(sql`
    update reconciliation_runs set due_at = now() + interval '1 hour' where merchant_id = ${place.shop.merchantUuid} and kind <> 'transactions'`)
  assert.equal(await reconcileDueRuns(parts, 10), 1)
  const after1 = await runOf(database, place.shop, 'transactions')
  assert.deepEqual([after1.listed, after1.finished_at], [1, null])
  assert.ok(after1.cursor)
  // Another process takes the next page, and dies with it.
  assert.equal((await claimDueRuns(database, 10)).length, 1)
  await runDue(parts)
  assert.equal((await runOf(database, place.shop, 'transactions')).listed, 1, 'its lease is held')
  await database.rows(sql`
    update reconciliation_runs set leased_until = now() where merchant_id = ${place.shop.merchantUuid}`)
  await runDue(parts)
  const done = await runOf(database, place.shop, 'transactions')
  assert.deepEqual([done.listed, done.booked, done.failure], [3, 3, null])
  assert.ok(done.finished_at)
})

testOf('of two processes, one reads a page', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference } = await payUnnoticed(place)
  await makeDue(database, place.shop)
  let pages = 0
  const deps = withClient((own) => ({
    lists: {
      async transactions(range, cursor) {
        pages++
        return own.lists?.transactions?.(range, cursor) ?? assert.fail()
      },
    },
  }))
  await Promise.all([reconcileDueRuns(deps, 10), reconcileDueRuns(deps, 10), reconcileDueRuns(deps, 10)])
  assert.equal(pages, 1)
  assert.equal((await place.payment(reference)).status, 'successful')
})

testOf('an idle account is not asked in the short window', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  place.fake.asked.length = 0
  await reconcile(parts, place.shop, '2 hours')
  assert.equal(place.fake.asked.length, 0)
  const run = await runOf(database, place.shop, 'transactions', '2 hours')
  assert.deepEqual([run.finished_at, run.started_at], [null, null])
  assert.ok(run.due_at > new Date())
})

testOf('the repair of the audit by hand books a range of any age, and is done once', async () => {
  const place = await world.addProvider(() => startFakePaystack({ after }))
  const { reference } = await payUnnoticed(place)
  const scope =
    (await listAuditScopes(database)).find(({ merchantId }) => merchantId === place.shop.merchantId) ?? assert.fail()
  await askByHand(database, scope, { from: new Date(Date.now() - 3_600_000), to: new Date() })
  await runDue(parts)
  assert.equal((await place.payment(reference)).status, 'successful')
  assert.equal((await database.rows(sql`select from reconciliation_runs where time_window = 'by hand'`)).length, 0)
})
