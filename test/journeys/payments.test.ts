import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import { linksOn } from '../../src/payments/links.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { type Answer, addMerchant, BASE_URL, call, checkout, startService } from '../support/service.ts'

const { app, database } = await startService()
const shop = await addMerchant(database)
const stranger = await addMerchant(database)

const get = (path: string, merchant = shop) =>
  call(app, 'GET', `/payments/v1/payments${path}`, { headers: merchant.headers })
const cancel = (name: string, merchant = shop) =>
  call(app, 'POST', `/payments/v1/payments/${name}/cancel`, { headers: merchant.headers })
const eventsOf = (reference: string) =>
  database.rows<{ type: string; sequence: number }>(
    sql`select e.type, e.sequence from events e join payments p on p.id = e.payment_id where p.reference = ${reference} order by e.sequence`,
  )

test('a payment is found by its reference and by its id', async () => {
  const { body } = await checkout(app, shop, { reference: 'by-name' })
  for (const name of ['by-name', body.data.id]) assert.equal((await get(`/${name}`)).body.data.id, body.data.id)
})

test('a reference that looks like the id of another payment does not hide it', async () => {
  const first = (await checkout(app, shop)).body.data
  const second = (await checkout(app, shop, { reference: first.id, amount: 777 })).body.data
  assert.equal((await get(`/${first.id}`)).body.data.id, first.id)
  assert.equal((await get(`/${second.id}`)).body.data.amount, 777)
})

test("F2: another merchant's payment is answered exactly as one that never was", async () => {
  const { body } = await checkout(app, shop, { reference: 'mine' })
  const strip = ({ status, body: { requestId, instance, ...rest } }: Answer) => ({ status, ...rest })
  const never = strip(await get('/chk_8e1Ch41XiYF5uu1qJFodMjwf', stranger))
  assert.equal(never.status, 404)
  assert.deepEqual(strip(await get('/mine', stranger)), never)
  assert.deepEqual(strip(await get(`/${body.data.id}`, stranger)), never)
  assert.deepEqual(strip(await cancel('mine', stranger)), never)
  assert.equal((await get('/mine')).body.data.status, 'pending')
})

test('a name in an invalid format is 404', async () => {
  for (const name of ['%00', '%ff', '%E2%98%83', '%20', 'x'.repeat(101), "'%20or%201=1", '..%2F..%2Fetc', 'chk_0OIl']) {
    const { status } = await get(`/${name}`)
    assert.ok(status === 404 || status === 400, `${name}: ${status}`)
  }
})

test('the list is newest first, in pages that meet without gap or overlap', async () => {
  const own = await addMerchant(database)
  const made: string[] = []
  for (let index = 0; index < 7; index++) made.unshift((await checkout(app, own)).body.data.id)
  const seen: string[] = []
  let cursor: string | null = ''
  for (let page = 0; cursor !== null; page++) {
    assert.ok(page < 4, 'the pages end')
    const { body }: Answer = await get(`?limit=3${cursor && `&cursor=${cursor}`}`, own)
    assert.ok(body.data.length <= 3)
    seen.push(...body.data.map(({ id }: { id: string }) => id))
    cursor = body.nextCursor
  }
  assert.deepEqual(new Set(seen), new Set(made))
  assert.equal(seen.length, 7)
  const times = (await get('?limit=100', own)).body.data.map(({ createdAt }: { createdAt: string }) => createdAt)
  assert.deepEqual(times, times.toSorted().reverse())
})

test('the list is filtered by status, by e-mail in any case and by time', async () => {
  const own = await addMerchant(database)
  await checkout(app, own, { reference: 'one', user: { email: 'One@Example.com' } })
  await checkout(app, own, { reference: 'two', user: { email: 'two@example.com' } })
  await cancel('two', own)
  const references = async (query: string) =>
    (await get(query, own)).body.data.map(({ reference }: { reference: string }) => reference)
  assert.deepEqual(await references('?status=cancelled'), ['two'])
  assert.deepEqual(await references('?status=pending'), ['one'])
  assert.deepEqual(await references('?email=ONE@example.COM'), ['one'])
  const { createdAt } = (await get('/two', own)).body.data
  assert.deepEqual(await references(`?from=${createdAt}`), ['two'])
  assert.deepEqual(await references(`?to=${createdAt}`), ['one'])
  assert.deepEqual(await references('?from=2020-01-01&to=2020-12-31'), [])
})

for (const query of [
  'limit=0',
  'limit=101',
  'limit=-1',
  'limit=abc',
  'limit=',
  'limit=1&limit=2',
  'cursor=abc',
  'cursor=',
  'status=paid',
  'from=yesterday',
  'from=2026-13-45',
  'from=2026-02-30',
  'to=%00',
]) {
  test(`${query} is 400 and says where`, async () => {
    const { status, body } = await get(`?${query}`)
    assert.deepEqual([status, body.code, body.errors[0].pointer], [400, 'invalid_request', `/${query.split('=')[0]}`])
  })
}

test('an e-mail filter with odd characters finds nothing and breaks nothing', async () => {
  for (const email of ['%00', '%25', "'", '%F0%9F%92%A9', '%ED%A0%80']) {
    const { status } = await get(`?email=${email}`)
    assert.ok(status === 200 || status === 400, `${email}: ${status}`)
  }
})

test('cancel makes a pending payment cancelled, with its event in the same transaction', async () => {
  await checkout(app, shop, { reference: 'given-up' })
  const { status, body } = await cancel('given-up')
  assert.deepEqual([status, body.data.status], [200, 'cancelled'])
  assert.ok(Date.parse(body.data.completedAt) >= Date.parse(body.data.createdAt))
  assert.deepEqual(await eventsOf('given-up'), [{ type: 'payment.cancelled', sequence: 1 }])
})

test('a cancelled payment cannot be cancelled again: 409 payment_cancelled, and no second event', async () => {
  await checkout(app, shop, { reference: 'once-only' })
  const answers = await Promise.all(Array.from({ length: 10 }, () => cancel('once-only')))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)])
  assert.ok(answers.every(({ status, body }) => status === 200 || body.code === 'payment_cancelled'))
  assert.equal((await eventsOf('once-only')).length, 1)
})

test('cancel needs no body, and takes an empty one that calls itself JSON', async () => {
  await checkout(app, shop, { reference: 'no-body' })
  const headers = { ...shop.headers, 'content-type': 'application/json' }
  assert.equal((await call(app, 'POST', '/payments/v1/payments/no-body/cancel', { headers, body: '' })).status, 200)
})

test('an overdue payment expires once, with its event, even with several workers', async () => {
  await checkout(app, shop, { reference: 'too-late', expiresIn: 900 })
  await checkout(app, shop, { reference: 'in-time', expiresIn: 900 })
  const parts = { database, clock: systemClock, links: linksOn(() => BASE_URL), secrets: secretBox(Buffer.alloc(32)) }
  await database.rows(sql`update payments set expires_at = now() - interval '1 second' where reference = 'too-late'`)
  const counts = await Promise.all(Array.from({ length: 4 }, () => expirePayments(parts, 10)))
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    1,
  )
  assert.equal((await get('/too-late')).body.data.status, 'expired')
  assert.equal((await get('/in-time')).body.data.status, 'pending')
  assert.deepEqual(await eventsOf('too-late'), [{ type: 'payment.expired', sequence: 1 }])
  assert.equal((await cancel('too-late')).body.code, 'payment_expired')
})

test('events cannot be rewritten', async () => {
  await assert.rejects(database.rows(sql`update events set sequence = 9`), /append-only/)
  await assert.rejects(database.rows(sql`delete from events`), /append-only/)
})
