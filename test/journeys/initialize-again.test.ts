import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { doorInTrouble } from '../support/door-in-trouble.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { charge } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { database, masterKey } = service
const BANK = { provider: 'gateway-virtual-bank-account' }
const key = (value: string) => ({ 'idempotency-key': value })
let orders = 0
const newReference = () => `AGAIN-${++orders}`

const shop = await service.addShop()

const INITIALIZE = '/payments/v1/payments/initialize'

const countPayments = async () =>
  (await database.row<{ count: number }>(sql`select count(*) as count from payments`))?.count

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

test('the same key and body are answered with the first answer, and say so', async () => {
  const wanted = { reference: newReference() }
  const first = await shop.initialize(wanted, key('replayed'))
  assert.equal(first.headers['idempotent-replayed'], undefined)
  const again = await shop.initialize(wanted, key('replayed'))
  assert.deepEqual([again.status, again.headers['idempotent-replayed']], [200, 'true'])
  assert.deepEqual(again.body, first.body)
  assert.deepEqual(Object.keys(again.body.data), Object.keys(first.body.data))
  assert.equal((await shop.payment(wanted.reference)).attempts.length, 1)
})

test('a replay without a reference of the merchant’s is the same payment', async () => {
  const before = Number(await countPayments())
  const [first, again] = [await shop.initialize({}, key('made')), await shop.initialize({}, key('made'))]
  assert.deepEqual(again.body, first.body)
  assert.equal(await countPayments(), before + 1)
})

test('the same key with another body is 422 idempotency_key_reused', async () => {
  await shop.initialize({}, key('reused'))
  const { status, body } = await shop.initialize({ amount: 7 }, key('reused'))
  assert.deepEqual([status, body.code], [422, 'idempotency_key_reused'])
})

test('twenty concurrent calls with one key make one payment with one attempt; early repeats get 409', async () => {
  const before = Number(await countPayments())
  const all = await Promise.all(Array.from({ length: 20 }, () => shop.initialize({}, key('at once'))))
  const done = all.filter(({ status }) => status === 200)
  const early = all.filter(({ status }) => status === 409)
  assert.equal(done.length + early.length, 20)
  assert.ok(done.length >= 1 && early.length >= 1, `${done.length} and ${early.length}`)
  assert.equal(new Set(done.map(({ body }) => body.data.reference)).size, 1)
  for (const { body, headers } of early) {
    assert.deepEqual([body.code, body.retryable, headers['retry-after']], ['idempotency_in_progress', true, '1'])
  }
  assert.equal(await countPayments(), before + 1)
})

test('twenty at once with one reference and no key: one payment and one attempt, the same for all who are answered', async () => {
  const reference = newReference()
  const all = await Promise.all(Array.from({ length: 20 }, () => shop.initialize({ reference })))
  const started = all.filter(({ status }) => status === 200)
  for (const { status, body } of all) {
    if (status !== 200) assert.deepEqual([status, body.code], [409, 'attempt_in_progress'])
  }
  const { attempts } = await shop.payment(reference)
  assert.equal(attempts.length, 1)
  assert.ok(started.length >= 1)
  for (const { body } of started) assert.equal(body.data.reference, attempts[0].reference)
})

test('a refusal is not kept under the key: the corrected call works', async () => {
  const wrong = [{ amount: 0 }, { provider: 'paypal' }, { currency: 'EUR' }, { redirectUrl: 'x' }]
  for (const changes of wrong) assert.ok((await shop.initialize(changes, key('corrected'))).status >= 400)
  const { status, headers } = await shop.initialize({}, key('corrected'))
  assert.deepEqual([status, headers['idempotent-replayed']], [200, undefined])
})

test('a key belongs to one endpoint, one merchant and one mode', async () => {
  const other = await service.addShop()
  const body = { provider: 'gateway', amount: 900, country: 'NG', user: { email: 'a@b.co' } }
  const answers = [
    await shop.call('POST', '/payments/v1/checkouts', body, key('shared')),
    await shop.call('POST', INITIALIZE, body, key('shared')),
    await other.call('POST', INITIALIZE, body, key('shared')),
  ]
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers['idempotent-replayed']]),
    [
      [201, undefined],
      [200, undefined],
      [200, undefined],
    ],
  )
})

test('after a 504 the same key continues with the same payment, and starts nothing while the outcome is unknown', async (t) => {
  const door = await doorInTrouble(t, service)
  door.upstream.trouble = 'silent before the work'
  const before = Number(await countPayments())
  const first = await door.initialize(shop, {}, key('silent'))
  assert.equal(first.status, 504)
  const second = await shop.initialize({}, key('silent'))
  assert.deepEqual([second.status, second.body.code], [409, 'attempt_in_progress'])
  assert.equal(second.body.attempt, first.body.attempt)
  assert.equal(await countPayments(), before + 1)
  assert.equal((await shop.payment(first.body.attempt)).attempts.length, 1)
})

test('after a 502 the same key continues with the same payment and a new attempt', async (t) => {
  const door = await doorInTrouble(t, service)
  door.upstream.garble = () => ({ status: 422, text: '{"type":"urn:manilla:problem:no","code":"no","detail":"No."}' })
  const before = Number(await countPayments())
  const first = await door.initialize(shop, {}, key('refused'))
  assert.equal(first.status, 502)
  const second = await shop.initialize({}, key('refused'))
  assert.deepEqual([second.status, second.headers['idempotent-replayed']], [200, undefined])
  const { attempts } = await shop.payment(first.body.attempt)
  assert.deepEqual(
    attempts.map(({ reference, status }: Record<string, string>) => [reference, status]),
    [
      [first.body.attempt, 'failed'],
      [second.body.data.reference, 'pending'],
    ],
  )
  assert.equal(await countPayments(), before + 1)
  assert.deepEqual((await shop.initialize({}, key('refused'))).body, second.body)
})

test('a key never creates a second payment, even if the first has ended', async (t) => {
  const door = await doorInTrouble(t, service)
  door.upstream.garble = () => ({ status: 422, text: '{"type":"urn:manilla:problem:no","code":"no","detail":"No."}' })
  const first = await door.initialize(shop, {}, key('ended'))
  assert.equal(first.status, 502)
  const { id } = await shop.payment(first.body.attempt)
  assert.equal((await shop.call('POST', `/payments/v1/payments/${id}/cancel`)).status, 200)
  const before = await countPayments()
  for (const _ of [1, 2]) {
    const { status, body } = await shop.initialize({}, key('ended'))
    assert.deepEqual([status, body.code], [409, 'payment_cancelled'])
  }
  assert.equal(await countPayments(), before)
})

for (const [channel, provider] of [
  ['card', 'gateway'],
  ['account', 'gateway-virtual-bank-account'],
] as const) {
  test(`A5: a call that died after its attempt was started answers the instructions of that attempt again: ${channel}`, async () => {
    const reference = newReference()
    const wanted = { provider, reference }
    const first = await shop.initialize(wanted, key(`died-${channel}`))
    assert.equal(first.status, 200)
    // As the process leaves it that dies between the provider's answer and ours; and a minute passes.
    await database.rows(sql`
      update idempotent_calls set answer = null, running_until = now() - interval '1 second',
             created_at = created_at - interval '1 minute'
       where merchant_id = ${shop.merchantUuid} and key = ${`died-${channel}`}`)
    const again = await shop.initialize(wanted, key(`died-${channel}`))
    assert.deepEqual([again.status, again.body], [200, first.body])
    assert.equal((await shop.payment(reference)).attempts.length, 1)
    const third = await shop.initialize(wanted, key(`died-${channel}`))
    assert.deepEqual([third.headers['idempotent-replayed'], third.body], ['true', first.body])
  })
}
