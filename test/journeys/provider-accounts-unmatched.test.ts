import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type MerchantId, type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { lockUnmatched } from '../../src/payments/store/transfers.ts'
import { closeTransfer, matchTransfer } from '../../src/payments/transfers/handle-transfer.ts'
import { type FakePaystack, startFakePaystack } from '../fakes/paystack/fake.ts'
import { eventually, request, type Shop } from '../support/paying.ts'
import { becomes } from '../support/provider-journey.ts'
import { type At, at, noticeUrl, startProviderWorld } from '../support/provider-world.ts'

const world = await startProviderWorld()
const { database, parts } = world
const PAYSTACK = '/payments/v1/integrations/paystack'
const newSecretKey = () => `sk_test_${randomBytes(20).toString('hex')}`

/** Two accounts of one merchant at one provider: the first is set up, the second is what the merchant changes to. */
async function twoAccounts(): Promise<{ shop: Shop; first: At<FakePaystack>; second: At<FakePaystack> }> {
  const shop = await world.addShop('Adaeze Kitchen', { bare: true })
  const [first, second] = await Promise.all([
    startFakePaystack({ after }, { secretKey: newSecretKey() }),
    startFakePaystack({ after }, { secretKey: newSecretKey() }),
  ])
  await setKeys(shop, first)
  return { shop, first: at(world, shop, first), second: at(world, shop, second) }
}

async function setKeys(shop: Shop, { settings, upstream, keys }: FakePaystack): Promise<void> {
  const body = { settings: { ...settings, secretKey: keys.secretKey }, baseURL: upstream.url }
  const { status, body: answer } = await shop.call('PUT', PAYSTACK, body)
  assert.equal(status, 200, JSON.stringify(answer))
}

/** A payment with a link at the provider that is set up now. */
async function start({ initialize, payment, orderOf }: At<FakePaystack>, changes: Record<string, unknown> = {}) {
  const { status, body } = await initialize(changes)
  assert.equal(status, 200, JSON.stringify(body))
  const { id, reference } = await payment(body.data.reference)
  return { id: id as PaymentId, reference: reference as string, order: await orderOf(reference) }
}

/** The worker's check of the payment's only attempt. */
async function check(id: PaymentId): Promise<void> {
  const [attempt] = (await findPaymentStateById(database, id))?.attempts ?? []
  assert.ok(attempt)
  await checkAttempt(parts, attempt, { source: 'check' })
}

/**
 * Keys of one account at the provider were rotated because they leaked. Whoever has the old ones reports a transaction
 * of a customer as money of an order that we do not know. `match` and `close` are what a member would do with it then.
 */
async function leakedKey() {
  const { shop, first } = await twoAccounts()
  const { fake } = first
  const leaked = fake.keys.secretKey
  const current = newSecretKey()
  fake.keys.secretKey = current
  await setKeys(shop, fake)
  const paid = await start(first)
  const other = await start(first)
  await fake.customer.payByCard(paid.order, { save: false })
  const [notice] = fake.takeNotices()
  assert.ok(notice)
  const unmatched = () =>
    database.rows<{ id: number; account: number }>(sql`
      select id, account from receipts where merchant_id = ${uuidOf(shop.merchantId)} and attempt_id is null order by id`)
  /** Reports the transaction. Returns the ids of all unmatched money after it. */
  const report = async (key: string, order: string, amount = first.amount) => {
    const body = notice.body
      .toString()
      .replaceAll(paid.order, order)
      .replaceAll(`"amount":${first.amount}`, `"amount":${amount}`)
    const signature = createHmac('sha512', key).update(body).digest('hex')
    const headers = { ...notice.headers, 'x-paystack-signature': signature }
    const { length } = await unmatched()
    assert.equal((await request(noticeUrl(world, shop, 'paystack'), 'POST', headers, body)).status, 200)
    const rows = await eventually(unmatched, (found) => found.length > length)
    return rows.map(({ id }) => id)
  }
  const scope = { place: shop.place, merchantId: shop.merchantId as MerchantId, mode: 'sandbox' as const }
  const by = { scope, actor: 'member', note: 'twice' }
  const match = (id = 0, payment = other) => matchTransfer(parts, by, { kind: 'receipt', id }, payment.id, first.amount)
  const close = (id = 0, act: 'noted' | 'returned_by_hand' = 'noted', amount = first.amount) =>
    closeTransfer(parts, by, { kind: 'receipt', id }, act, amount)
  const statuses = async () =>
    Promise.all([paid, other].map(async ({ reference }) => (await first.payment(reference)).status))
  return { scope, first, fake, paid, other, leaked, current, report, match, close, statuses }
}

/** The order at the provider is of no payment that is on record here. */
const forgetOrder = ({ id }: { id: PaymentId }) =>
  database.rows(sql`
    update attempts set order_reference = 'gone-' || id, provider_reference = 'gone-' || id where payment_id = ${uuidOf(id)}`)

test('a transaction that is counted is not handled again when the old key reports it', async () => {
  const { paid, leaked, report, match, close, statuses } = await leakedKey()
  await check(paid.id)
  assert.deepEqual(await statuses(), ['successful', 'pending'])
  const [record] = await report(leaked, 'an-order-of-nobody')
  await assert.rejects(match(record), /on record twice/)
  await assert.rejects(close(record, 'returned_by_hand'), /on record twice/)
  await close(record)
  assert.deepEqual(await statuses(), ['successful', 'pending'])
})

test('a transaction of an order with the new keys is not matched when the old key reports it first', async () => {
  for (const isOldRefused of [true, false]) {
    const { fake, paid, leaked, current, report, match, statuses } = await leakedKey()
    const [record] = await report(leaked, 'an-order-of-nobody')
    // The fake accepts one key at a time. A provider may accept both for some days.
    if (!isOldRefused) fake.keys.secretKey = leaked
    await assert.rejects(match(record), /paid this for payment/)
    fake.keys.secretKey = current
    await check(paid.id)
    assert.deepEqual(await statuses(), ['successful', 'pending'])
  }
})

test('a transaction that is counted is not returned by hand when the old key reports it with another amount', async () => {
  const { first, paid, leaked, report, close } = await leakedKey()
  await check(paid.id)
  const less = first.amount - 1_000
  const [record] = await report(leaked, 'an-order-of-nobody', less)
  await assert.rejects(close(record, 'returned_by_hand', less), /on record twice/)
  await close(record, 'noted', less)
})

test('what was returned by hand of a transaction that the old key reported does not pay its payment', async () => {
  const { first, paid, leaked, report, close, statuses } = await leakedKey()
  const [record] = await report(leaked, 'an-order-of-nobody')
  await close(record, 'returned_by_hand')
  await check(paid.id)
  assert.deepEqual(await statuses(), ['pending', 'pending'])
  const state = await findPaymentStateById(database, paid.id)
  const [attempt] = state?.attempts ?? []
  assert.deepEqual([attempt?.amountReceived, attempt?.amountReturned], [first.amount, first.amount])
  assert.match(state?.cases[0]?.summary ?? '', /^reversed: .* other keys/)
})

test('what was returned by hand of an equal transaction id with another amount, under other keys, is other money', async () => {
  const { first, paid, leaked, report, close, statuses } = await leakedKey()
  const amount = first.amount - 1_000
  const [record] = await report(leaked, 'an-order-of-nobody', amount)
  await close(record, 'returned_by_hand', amount)
  await check(paid.id)
  assert.deepEqual(await statuses(), ['successful', 'pending'])
})

test('a transaction of another payment is matched with that payment only, also when the current key reports it', async () => {
  const { first, paid, current, report, match, statuses } = await leakedKey()
  const [record] = await report(current, 'an-order-of-nobody')
  await assert.rejects(match(record), /paid this for payment/)
  await match(record, paid)
  await check(paid.id)
  assert.deepEqual(await statuses(), ['successful', 'pending'])
  const [row] = await database.rows(sql`
    select count(*)::integer as receipts, sum(amount_paid)::integer as paid from receipts r join payments p on p.id = r.payment_id
     where p.id = ${uuidOf(paid.id)}`)
  assert.deepEqual(row, { receipts: 1, paid: first.amount })
})

test('a transaction of another merchant with the same account at the provider is not matched', async () => {
  const { first, fake, paid, current, report, match, statuses } = await leakedKey()
  const neighbour = at(world, await world.addShop('Bola Fabrics', { bare: true }), fake)
  await setKeys(neighbour.shop, fake)
  // The order is the neighbour's.
  const theirs = await start(neighbour)
  await forgetOrder(paid)
  await database.rows(sql`
    update attempts set order_reference = ${paid.order}, provider_reference = ${paid.order} where payment_id = ${uuidOf(theirs.id)}`)
  const [record] = await report(current, 'an-order-of-nobody')
  await assert.rejects(match(record), /another merchant/)
  assert.deepEqual(await statuses(), ['pending', 'pending'])
  await check(theirs.id)
  const { status, amountPaid } = await neighbour.payment(theirs.reference)
  assert.deepEqual([status, amountPaid], ['successful', first.amount])
})

test('money that was matched under refused keys is refunded with the current ones, which know its transaction', async () => {
  const { first, fake, paid, other, leaked, report, match, statuses } = await leakedKey()
  await forgetOrder(paid)
  const [record] = await report(leaked, 'an-order-of-nobody')
  await match(record)
  assert.deepEqual(await statuses(), ['pending', 'successful'])
  const path = `/payments/v1/payments/${other.reference}/refunds`
  const { status, body } = await first.shop.call('POST', path, { amount: 1_000 })
  assert.deepEqual([status, fake.refundsMade()], [201, 1], JSON.stringify(body))
})

test('money is not refunded with current keys that do not know its order, although they have an equal transaction id', async () => {
  const { shop, first, second } = await twoAccounts()
  const { reference, order } = await start(first)
  await first.fake.customer.payByCard(order, { save: false })
  await first.pump()
  await becomes(first, reference, 'successful')
  await setKeys(shop, second.fake)
  const fresh = await start(second)
  await second.fake.customer.payByCard(fresh.order, { save: false })
  first.fake.keys.secretKey = newSecretKey()
  await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { amount: 1_000 })
  assert.deepEqual([first.fake.refundsMade(), second.fake.refundsMade()], [0, 0])
})

/** Money of an order that is not on record, under the first keys, and a payment that it can be matched with. */
async function unmatchedOfFirst() {
  const { shop, first, second } = await twoAccounts()
  const gone = await start(first)
  const other = await start(first)
  await first.fake.customer.payByCard(gone.order, { save: false })
  const [notice] = first.fake.takeNotices()
  assert.ok(notice)
  await forgetOrder(gone)
  const body = notice.body.toString().replaceAll(gone.order, 'an-order-of-nobody')
  const signature = createHmac('sha512', first.fake.keys.secretKey).update(body).digest('hex')
  const headers = { ...notice.headers, 'x-paystack-signature': signature }
  assert.equal((await request(noticeUrl(world, shop, 'paystack'), 'POST', headers, body)).status, 200)
  const unmatched = () =>
    database.rows<{ id: number; amount: number }>(sql`
      select id, amount from receipts where merchant_id = ${uuidOf(shop.merchantId)} and attempt_id is null`)
  const [record] = await eventually(unmatched, (found) => found.length > 0)
  const scope = { place: shop.place, merchantId: shop.merchantId as MerchantId, mode: 'sandbox' as const }
  const by = { scope, actor: 'member', note: 'seen' }
  return { ...{ shop, first, second, other, by }, record: record ?? assert.fail() }
}

test('matched money is not refunded with the keys of another account that has an equal transaction id', async () => {
  for (const isForgotten of [false, true]) {
    const { shop, first, second, other, record, by } = await unmatchedOfFirst()
    await matchTransfer(parts, by, { kind: 'receipt', id: record.id }, other.id, record.amount)
    assert.equal((await first.payment(other.reference)).status, 'successful')
    await setKeys(shop, second.fake)
    const fresh = await start(second)
    await second.fake.customer.payByCard(fresh.order, { save: false })
    if (isForgotten) await forgetOrder(fresh)
    first.fake.keys.secretKey = newSecretKey()
    await shop.call('POST', `/payments/v1/payments/${other.reference}/refunds`, { amount: 1_000 })
    assert.deepEqual([first.fake.refundsMade(), second.fake.refundsMade()], [0, 0], `forgotten: ${isForgotten}`)
  }
})

test('money of a new account is never reversed in silence, when an equal id of the old one was returned by hand', async () => {
  for (const more of [1_000, 0]) {
    const { shop, second, record, by } = await unmatchedOfFirst()
    await closeTransfer(parts, by, { kind: 'receipt', id: record.id }, 'returned_by_hand', record.amount)
    await setKeys(shop, second.fake)
    const fresh = await start(second, { amount: record.amount + more })
    await second.fake.customer.payByCard(fresh.order, { save: false })
    await check(fresh.id)
    const { status, attempts } = await second.payment(fresh.reference)
    if (more > 0) assert.equal(status, 'successful')
    else assert.match(attempts[0].needsReview, /^reversed: .* other keys/)
  }
})

test('while one record of a transaction is handled, the record of it under other keys is locked', async () => {
  const { scope, leaked, current, report } = await leakedKey()
  await report(leaked, 'an-order-of-nobody')
  const records = await report(current, 'another-order-of-nobody')
  assert.equal(records.length, 2)
  for (const record of records)
    await database.transaction(async (tx) => {
      await lockUnmatched(tx, scope, record)
      const free = sql`select id from receipts where place = ${scope.place} and id = any(${records}::bigint[]) for update skip locked`
      assert.deepEqual(await database.rows(free), [])
    })
})

test('a transaction of an unknown order that both keys reported is matched once, also by two members at once', async () => {
  for (const isAtOnce of [false, true]) {
    const { first, paid, leaked, current, report, match, close } = await leakedKey()
    await forgetOrder(paid)
    await report(leaked, 'an-order-of-nobody')
    const [old, recent] = await report(current, 'another-order-of-nobody')
    if (isAtOnce) {
      const third = await start(first)
      const results = await Promise.allSettled([match(old), match(recent, third)])
      assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    } else {
      await close(old)
      await match(recent)
      await assert.rejects(match(old))
    }
  }
})
