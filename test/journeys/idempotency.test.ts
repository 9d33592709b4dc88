import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { deleteOldCalls } from '../../src/payments/store/idempotent-calls.ts'
import { addMerchant, call, checkout, startOn, startService, type TestMerchant } from '../support/service.ts'

const { app, database } = await startService()
const shop = await addMerchant(database)

async function countPayments(merchant: TestMerchant): Promise<number> {
  const row = await database.row<{ count: number }>(
    sql`select count(*) as count from payments where merchant_id = ${uuidOf(merchant.merchantId)}`,
  )
  return row?.count ?? 0
}

const key = (value: string) => ({ 'idempotency-key': value })

test('A1: the same call twice makes one payment, and the second answer is the first with Idempotent-Replayed', async () => {
  const own = await addMerchant(database)
  const first = await checkout(app, own, { metadata: { a: '1', b: '2' } }, key('a1'))
  const second = await checkout(app, own, { metadata: { b: '2', a: '1' } }, key('a1')) // the order of keys is not a difference
  assert.equal(first.headers['idempotent-replayed'], undefined)
  assert.equal(second.status, 201)
  assert.equal(second.headers['idempotent-replayed'], 'true')
  assert.deepEqual(second.body, first.body)
  assert.equal(second.headers.location, first.headers.location)
  assert.equal(await countPayments(own), 1)
})

test('A2: the same key with another body is 422 idempotency_key_reused, and nothing changes', async () => {
  const own = await addMerchant(database)
  await checkout(app, own, { reference: 'a2' }, key('a2'))
  for (const changes of [{ reference: 'a2', amount: 7 }, { reference: 'a2-other' }, {}]) {
    const { status, body } = await checkout(app, own, changes, key('a2'))
    assert.deepEqual([status, body.code], [422, 'idempotency_key_reused'])
  }
  assert.equal(await countPayments(own), 1)
})

test('A3: 50 equal calls at once make one payment, and every answer is that payment', async () => {
  const own = await addMerchant(database)
  const answers = await Promise.all(Array.from({ length: 50 }, () => checkout(app, own, {}, key('a3'))))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(answers.map(({ body }) => body.data.id)).size, 1)
  assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
  assert.equal(await countPayments(own), 1)
})

test('A4: without a key a used reference is 409 with the existing payment, also for concurrent calls', async () => {
  const own = await addMerchant(database)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => checkout(app, own, { reference: 'a4', amount: index + 1 })),
  )
  const made = answers.filter(({ status }) => status === 201)
  assert.equal(made.length, 1)
  for (const { status, body } of answers) {
    if (status === 201) continue
    assert.deepEqual([status, body.code], [409, 'duplicate_reference'])
    assert.deepEqual(body.existing, made[0]?.body.data)
  }
  assert.equal(await countPayments(own), 1)
})

test('A6: keys and references of one merchant do not affect another merchant', async () => {
  const other = await addMerchant(database)
  const live = await addMerchant(database, { mode: 'live' })
  const answers = []
  for (const merchant of [shop, other, live])
    answers.push(await checkout(app, merchant, { reference: 'a6' }, key('a6')))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 201, 201],
  )
  assert.deepEqual(
    answers.map(({ headers }) => headers['idempotent-replayed']),
    [undefined, undefined, undefined],
  )
  assert.equal(new Set(answers.map(({ body }) => body.data.id)).size, 3)
})

test('A7: a refused call is not stored under its key; the corrected one works', async () => {
  assert.equal((await checkout(app, shop, { amount: 0 }, key('a7'))).status, 400)
  assert.equal((await checkout(app, shop, { country: 'KE' }, key('a7'))).status, 422)
  const wrong = { ...shop, headers: { ...shop.headers, 'client-secret': 'sec_sandbox_wrong' } }
  assert.equal((await checkout(app, wrong, {}, key('a7'))).status, 401)
  const { status, headers } = await checkout(app, shop, {}, key('a7'))
  assert.deepEqual([status, headers['idempotent-replayed']], [201, undefined])
})

test('a key returns its stored answer even if the integrations have changed since', async () => {
  const own = await addMerchant(database)
  const first = await checkout(app, own, {}, key('promised'))
  await database.rows(sql`update integrations set enabled = false where merchant_id = ${uuidOf(own.merchantId)}`)
  const fresh = await startOn(database)
  const again = await checkout(fresh, own, {}, key('promised'))
  assert.deepEqual([again.status, again.body], [201, first.body])
  assert.equal((await checkout(fresh, own, {}, key('new'))).status, 422)
})

test('a call that was refused for a used reference may be repeated with its key', async () => {
  await checkout(app, shop, { reference: 'taken' })
  for (const _ of [1, 2]) assert.equal((await checkout(app, shop, { reference: 'taken' }, key('late'))).status, 409)
  assert.equal((await checkout(app, shop, { reference: 'free' }, key('late'))).status, 201)
})

test('a replay still carries the reference that was made for the first call', async () => {
  const [first, second] = [await checkout(app, shop, {}, key('made')), await checkout(app, shop, {}, key('made'))]
  assert.equal(first.body.data.reference, second.body.data.reference)
})

for (const [name, value] of Object.entries({
  empty: '',
  'of 256 characters': 'k'.repeat(256),
  'with a control character': 'a\x7fb',
  'beyond ASCII': 'clé',
})) {
  test(`a key that is ${name} is 400`, async () => {
    const { status, body } = await checkout(app, shop, {}, key(value))
    assert.deepEqual([status, body.code], [400, 'invalid_request'])
  })
}

test('a key of 255 characters is accepted', async () => {
  assert.equal((await checkout(app, shop, {}, key('k'.repeat(255)))).status, 201)
})

test('of duplicate JSON members the last one counts, for validation, digest and stored row', async () => {
  const body = '{"amount":0,"amount":700,"country":"NG","user":{"email":"a@b.co"}}'
  const headers = { ...shop.headers, ...key('twice') }
  const first = await call(app, 'POST', '/payments/v1/checkouts', { headers, body })
  assert.equal(first.body.data.amount, 700)
  const plain = { amount: 700, country: 'NG', user: { email: 'a@b.co' } }
  const second = await call(app, 'POST', '/payments/v1/checkouts', { headers, body: plain })
  assert.equal(second.headers['idempotent-replayed'], 'true')
})

test('keys older than 48 hours are deleted in batches; younger ones stay', async () => {
  await database.rows(sql`
    insert into idempotent_calls (place, merchant_id, mode, endpoint, key, digest, reference, running_until, created_at)
    select ${shop.place}::smallint, ${uuidOf(shop.merchantId)}, 'sandbox', 'purge', hours || '-' || n, '', '', now(), now() - hours * interval '1 hour'
      from unnest(array[1, 47, 49, 500]) hours, generate_series(1, 5) n`)
  const before = new Date(Date.now() - 48 * 3_600_000)
  const deleteSome = async () => (await deleteOldCalls(database, before, 8)).length
  assert.deepEqual([await deleteSome(), await deleteSome()], [8, 2])
  const left = await database.row(sql`select count(*) as count from idempotent_calls where endpoint = 'purge'`)
  assert.deepEqual(left, { count: 10 })
})
