import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { STATEMENT_SENT } from '../../src/database/database.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { eraseCustomer } from '../../src/payments/erase-customer.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { eventually, request } from '../support/paying.ts'
import { recordsOf } from '../support/payment-records.ts'
import { newEmail, startProviderWorld } from '../support/provider-world.ts'

// The state that this process wrote at the start of an attempt is kept for the notice of success. Another process may have changed it.

const world = await startProviderWorld()
const place = await world.addProvider(startFakePaystack)
const { shop, fake } = place
const checksOf = (order: string) => fake.asked.filter(({ path }) => path.endsWith(`/verify/${order}`)).length

const readsState = (text: string) => text.includes('from payments p left join attempts')

async function start(email = newEmail()) {
  const { status, body } = await place.initialize({ user: { email } })
  assert.equal(status, 200, JSON.stringify(body))
  const { reference, data } = body.data
  return { payment: await shop.payment(reference), order: data.reference as string }
}

test('the notice of success needs no read of a payment that this process has just started', async () => {
  const { payment, order } = await start()
  const sent: string[] = []
  const onStatement = (statement: unknown) => void sent.push((statement as Statement).text)
  await fake.customer.payByCard(order, { save: false })
  STATEMENT_SENT.subscribe(onStatement)
  await place.pump()
  await place.hears(payment.reference, ['payment.successful'])
  STATEMENT_SENT.unsubscribe(onStatement)
  assert.deepEqual(sent.filter(readsState), [])
  assert.equal(checksOf(order), 1)
})

test('a payment that another process has changed since its start is read, and the provider is asked again', async () => {
  const email = newEmail()
  const { payment, order } = await start(email)
  // As another process does it: nothing in the memory of this one changes.
  const scope = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' } as const
  await eraseCustomer(world, 'test', scope, email)
  await fake.customer.payByCard(order, { save: false })
  await place.pump()
  const [told] = await place.hears(payment.reference, ['payment.successful'])
  assert.ok(!JSON.stringify(told).includes(email), 'the webhook does not name the erased customer')
  assert.equal(checksOf(order), 2)
  const { eventTypes, receipts } = await recordsOf(world.database, payment)
  assert.deepEqual(eventTypes, ['attempt.started', 'attempt.pending', 'attempt.successful', 'payment.successful'])
  assert.equal(receipts.length, 1)
})

test('a notice of success after a decline that another process recorded blocks other attempts until the provider agrees', async () => {
  const { payment, order } = await start()
  const { database } = world
  // The decline as another process writes it.
  await database.transaction(async (tx) => {
    await tx.rows(
      sql`update payments set version = version + 1 where place = ${shop.place} and id = ${uuidOf(payment.id)}`,
    )
    await tx.rows(sql`
      update attempts set status = 'failed', resolved_at = now(), failure = '{"code": "declined", "message": "No.", "providerCode": null}'
       where place = ${shop.place} and payment_id = ${uuidOf(payment.id)}`)
  })
  await fake.customer.payByCard(order, { save: false })
  // The provider's list is behind its notices.
  const late = { status: 200, text: JSON.stringify({ status: true, message: 'OK', data: null }) }
  fake.upstream.trouble = ({ path }) => (path.endsWith(`/verify/${order}`) ? { ...late, status: 404 } : undefined)
  await place.pump()
  const blocked = await eventually(
    () => shop.payment(payment.id),
    ({ attempts }) => attempts[0].status === 'processing',
  )
  assert.equal(blocked.status, 'pending')
  fake.upstream.trouble = undefined
})

test('a write of this process makes it forget the state at the start', async () => {
  const { payment, order } = await start()
  assert.equal((await shop.call('POST', `/payments/v1/payments/${payment.id}/cancel`)).status, 200)
  await fake.customer.payByCard(order, { save: false })
  await place.pump()
  const [, told] = await place.hears(payment.reference, ['payment.cancelled', 'payment.successful'])
  assert.equal(told?.data.payment.late, true)
  assert.equal(checksOf(order), 1)
})

test('the provider is asked while the notice is being stored, and its answer is applied after that', async () => {
  const { payment, order } = await start()
  await fake.customer.payByCard(order, { save: false })
  const pumped = await world.database.transaction(async (tx) => {
    await tx.rows(sql`lock table notices in exclusive mode`)
    const work = { done: place.pump() }
    await eventually(
      async () => checksOf(order),
      (checks) => checks === 1,
    )
    assert.equal((await shop.payment(payment.id)).status, 'pending')
    return work
  })
  await pumped.done
  await place.hears(payment.reference, ['payment.successful'])
  assert.equal(checksOf(order), 1)
})

test('a provider that does not know yet, while its notice is being stored, is asked again', async () => {
  const { payment, order } = await start()
  await fake.customer.payByCard(order, { save: false })
  const behind = JSON.stringify({ status: false, message: 'Transaction reference not found', data: null })
  let early = 0
  fake.upstream.trouble = ({ path }) =>
    path.endsWith(`/verify/${order}`) && ++early === 1 ? { status: 404, text: behind } : undefined
  await place.pump()
  await place.hears(payment.reference, ['payment.successful'])
  fake.upstream.trouble = undefined
  assert.equal(early, 2)
})

test('a saved card that cannot be read is not offered, and the payment goes on', async () => {
  const user = { id: `user-${Date.now()}`, email: newEmail() }
  const first = (await place.initialize({ user, saveCard: true })).body.data
  await fake.customer.payByCard(first.data.reference, { save: true })
  await place.pump()
  await place.hears((await shop.payment(first.reference)).reference, ['payment.successful'])
  const broken = await world.database.rows(sql`
    update saved_cards set sealed_token = decode('00', 'hex') where place = ${shop.place} and user_id = ${user.id} returning id`)
  assert.equal(broken.length, 1)
  const { status, body } = await place.initialize({ user })
  assert.equal(status, 200, JSON.stringify(body))
})

test('a customer who returns while the notice is being stored waits for its check, and the provider is asked once', async () => {
  const { payment, order } = await start()
  await fake.customer.payByCard(order, { save: false })
  const storing = Promise.withResolvers<void>()
  const sent: string[] = []
  const onStatement = (statement: unknown) => {
    const { text } = statement as Statement
    sent.push(text)
    if (text.includes('insert into notices')) storing.resolve()
  }
  STATEMENT_SENT.subscribe(onStatement)
  const work = await world.database.transaction(async (tx) => {
    await tx.rows(sql`lock table notices in exclusive mode`)
    const pumped = place.pump()
    await storing.promise
    const returned = request(`${world.baseUrl}/return/${payment.attempts[0].id}`, 'GET')
    assert.equal(await Promise.race([returned, sleep(300, 'waits')]), 'waits')
    return { pumped, returned }
  })
  assert.equal((await work.returned).status, 302)
  await work.pumped
  STATEMENT_SENT.unsubscribe(onStatement)
  assert.deepEqual(sent.filter(readsState), [])
  assert.equal((await shop.payment(payment.id)).status, 'successful')
  assert.equal(checksOf(order), 1)
  const claims = await world.database.rows(
    sql`select from payments where place = ${shop.place} and id = ${uuidOf(payment.id)} and provider_asked_at is not null`,
  )
  assert.deepEqual(claims, [])
})

test('a customer whose notice is stored slowly, and whose provider is silent, waits 4 seconds for both', async () => {
  const { payment, order } = await start()
  const { database } = world
  await fake.customer.payByCard(order, { save: false })
  fake.upstream.trouble = ({ path }) => (path.endsWith(`/verify/${order}`) ? 'silent before the work' : undefined)
  await database.rows(
    sql`create function store_slowly() returns trigger language plpgsql as 'begin perform pg_sleep(3.5); return new; end'`,
  )
  await database.rows(sql`create trigger slow before insert on notices for each row execute function store_slowly()`)
  const storing = Promise.withResolvers<void>()
  const onStatement = (statement: unknown) => {
    if ((statement as Statement).text.includes('insert into notices')) storing.resolve()
  }
  STATEMENT_SENT.subscribe(onStatement)
  const pumped = place.pump()
  await storing.promise
  STATEMENT_SENT.unsubscribe(onStatement)
  const from = performance.now()
  const { status } = await request(`${world.baseUrl}/return/${payment.attempts[0].id}`, 'GET')
  const waitedMs = performance.now() - from
  assert.equal(status, 302)
  assert.ok(waitedMs > 3_400 && waitedMs < 6_000, `waited ${waitedMs} ms`)
  await pumped
  await database.rows(sql`drop trigger slow on notices`)
  await fake.upstream.close() // ends the silent call. This test is the last one.
})
