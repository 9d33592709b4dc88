import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { charge } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { database, masterKey } = service
const BANK = { provider: 'gateway-virtual-bank-account' }
const key = (value: string) => ({ 'idempotency-key': value })
let orders = 0
const newReference = () => `AGAIN-${++orders}`

const attemptsOf = async (shop: Shop, reference: string) =>
  (await shop.payment(reference)).attempts.map(({ status }: { status: string }) => status)

test('initialize again with the same reference gets the same attempt and link, with a key and without one', async () => {
  const shop = await service.addShop()
  for (const provider of [{}, BANK]) {
    const reference = newReference()
    const first = await shop.initialize({ reference, ...provider })
    assert.equal(first.status, 200)
    const again = await shop.initialize({ reference, ...provider })
    assert.deepEqual([again.status, again.body], [200, first.body])
    const keyed = await shop.initialize({ reference, ...provider }, key(reference))
    assert.deepEqual([keyed.status, keyed.body], [200, first.body])
    const upper = await shop.initialize({ reference, ...provider, user: { email: 'ADA@Example.com' } })
    assert.deepEqual([upper.status, upper.body], [200, first.body])
    assert.deepEqual(await attemptsOf(shop, reference), ['pending'])
  }
})

test('initialize with another e-mail address than the payment’s is 409 reference_conflict, without data of the user', async () => {
  const shop = await service.addShop()
  const reference = newReference()
  await shop.initialize({ reference })
  const { status, body } = await shop.initialize({ reference, user: { email: 'eve@example.com' } })
  assert.deepEqual([status, body.code], [409, 'reference_conflict'])
  assert.ok(!JSON.stringify(body).includes('ada@'))
  assert.deepEqual(await attemptsOf(shop, reference), ['pending'])
})

test('another channel under the same reference is another attempt, and the first stays the answer for its own', async () => {
  const shop = await service.addShop()
  const reference = newReference()
  const card = await shop.initialize({ reference })
  const bank = await shop.initialize({ reference, ...BANK })
  assert.notEqual(bank.body.data.reference, card.body.data.reference)
  assert.deepEqual((await shop.initialize({ reference })).body, card.body)
  assert.deepEqual(await attemptsOf(shop, reference), ['pending', 'pending'])
})

test('after expired instructions or a failed attempt, initialize starts a new attempt', async () => {
  const shop = await service.addShop()
  const reference = newReference()
  const first = (await shop.initialize({ reference })).body.data
  await charge(shop, first.data.reference, CARD.declined)
  await fetch(`${service.baseUrl}/return/${(await shop.payment(reference)).attempts[0].id}`, { redirect: 'manual' })
  const second = (await shop.initialize({ reference })).body.data
  assert.notEqual(second.reference, first.reference)
  await database.rows(sql`
    update attempts set instructions_expire_at = now() - interval '1 second' where reference = ${second.reference}`)
  const third = (await shop.initialize({ reference })).body.data
  assert.notEqual(third.reference, second.reference)
  assert.deepEqual(await attemptsOf(shop, reference), ['failed', 'pending', 'pending'])
})

test('a repeat with the same key starts a new attempt when the attempt of the interrupted call has failed', async () => {
  const shop = await service.addShop()
  const reference = newReference()
  const first = (await shop.initialize({ reference }, key(reference))).body.data
  await charge(shop, first.data.reference, CARD.declined)
  await fetch(`${service.baseUrl}/return/${(await shop.payment(reference)).attempts[0].id}`, { redirect: 'manual' })
  // The process died before it stored its answer.
  await database.rows(sql`
    update idempotent_calls set answer = null, running_until = now() - interval '1 second' where key = ${reference}`)
  const again = (await shop.initialize({ reference }, key(reference))).body.data
  assert.notEqual(again.reference, first.reference)
  assert.deepEqual(await attemptsOf(shop, reference), ['failed', 'pending'])
})

test('an integration that no longer takes the payment’s country gets no attempt of it', async () => {
  const shop = await service.addShop()
  const reference = newReference()
  const user = { email: 'ada@example.com' }
  const order = { reference, amount: 1_250_000, country: 'NG', user }
  assert.equal((await shop.call('POST', '/payments/v1/checkouts', order)).status, 201)
  const changed = await shop.call('PUT', '/payments/v1/integrations/gateway', { countries: ['GH'] })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  const { status, body } = await shop.initialize({ reference })
  assert.deepEqual([status, body.code], [422, 'provider_not_configured'])
  assert.deepEqual(await attemptsOf(shop, reference), [])
})

test('equal initializes at once in two processes make one attempt and ask the provider once', async () => {
  const shop = await service.addShop()
  const other = await startPaying({ database, masterKey })
  const reference = newReference()
  const elsewhere = (path: string) => `${other.baseUrl}${path}`
  const wanted = { provider: 'gateway', amount: 1_250_000, user: { email: 'ada@example.com' }, reference }
  const ask = (url: string) =>
    fetch(url, {
      method: 'POST',
      headers: { ...shop.headers, 'content-type': 'application/json' },
      body: JSON.stringify(wanted),
    })
  const path = '/payments/v1/payments/initialize'
  const all = await Promise.all(
    Array.from({ length: 10 }, (_, index) => ask(index % 2 ? elsewhere(path) : `${service.baseUrl}${path}`)),
  )
  const seen = new Set<string>()
  for (const answer of all) {
    const body = (await answer.json()) as { code?: string; data?: { reference: string } }
    if (answer.status === 200) seen.add(String(body.data?.reference))
    else assert.deepEqual([answer.status, body.code], [409, 'attempt_in_progress'])
  }
  assert.equal(seen.size, 1)
  assert.deepEqual(await attemptsOf(shop, reference), ['pending'])
  const calls = await database.rows(sql`
    select from provider_calls c join attempts a on a.id = c.attempt_id join payments p on p.id = a.payment_id
     where p.reference = ${reference}`)
  assert.equal(calls.length, 1)
})
