import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, placeOf } from '../../src/kernel/ids.ts'
import { encodePlace } from '../../src/kernel/place.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { findPaymentVersions } from '../../src/payments/store/payments.ts'
import { addEndpoint } from '../support/delivering.ts'
import { openEventStream } from '../support/event-stream.ts'
import { startListener } from '../support/listener.ts'
import { eventually, request, type Shop, startPaying } from '../support/paying.ts'

// Merchants of several places in one process: their work is done together, and their rows are found by place.

const service = await startPaying({ deliver: true })
const { database, baseUrl, parts } = service
const shops = await Promise.all(Array.from({ length: 6 }, () => service.addShop()))
for (const [index, shop] of shops.entries())
  assert.ok(shop.place >= 0 && shop.place <= 1_023, `${index}: ${shop.place}`)

async function createAtOnce(reference?: string) {
  const wanted = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' }, ...(reference && { reference }) }
  const calls = shops.flatMap((shop) => [shop, shop].map((each) => each.call('POST', '/payments/v1/checkouts', wanted)))
  return Promise.all(calls)
}

test('payments of several places that arrive together are all created, each at the place of its merchant', async () => {
  const answers = await createAtOnce()
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  const ids = answers.map(({ body }) => body.data.id as PaymentId)
  assert.deepEqual(
    ids.map(placeOf),
    shops.flatMap(({ place }) => [place, place]),
  )
  assert.equal((await findPaymentVersions(database, ids)).length, ids.length)
  for (const { body } of answers) {
    const page = await fetch(body.data.shortURL, { redirect: 'manual' })
    assert.equal(page.headers.get('location'), body.data.url)
  }
})

test('of two payments with one reference that arrive together, one is created for each merchant', async () => {
  const answers = await createAtOnce('the-same')
  for (let index = 0; index < answers.length; index += 2) {
    const statuses = answers.slice(index, index + 2).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [201, 409])
  }
})

test('an id with the place of another merchant finds nothing', async () => {
  const [shop, other] = [
    shops[0] ?? assert.fail(),
    shops.find(({ place }) => place !== shops[0]?.place) ?? assert.fail(),
  ]
  const wanted = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' } }
  const { id } = (await shop.call('POST', '/payments/v1/checkouts', wanted)).body.data
  const theirs = (await other.call('POST', '/payments/v1/checkouts', wanted)).body.data.id
  const moved = `chk_${theirs.slice(4, 6)}${id.slice(6)}`
  assert.equal((await request(`${baseUrl}/pay/${id}`, 'GET')).status, 200)
  assert.equal((await request(`${baseUrl}/pay/${moved}`, 'GET')).status, 404)
  for (const caller of [shop, other]) {
    assert.equal((await caller.call('GET', `/payments/v1/payments/${moved}`)).status, 404)
  }
})

test('with the place of another merchant, no id or short code opens anything, also while the right one is open', async () => {
  const [shop] = shops as [Shop]
  const { body } = await shop.initialize()
  const payment = await shop.payment(body.data.reference)
  const code: string = payment.shortURL.split('/').at(-1)
  await shop.call('POST', `/payments/v1/payments/${payment.id}/cancel`)
  const [event] = (await shop.call('GET', `/payments/v1/events?payment=${payment.id}`)).body.data
  const stream = await openEventStream(`${baseUrl}/pay/${payment.id}/live`)
  assert.equal(stream.status, 200)
  const place = encodePlace((shop.place + 1) % 1_024)
  const moved = (id: string) => `${id.slice(0, 4)}${place}${id.slice(6)}`
  const paths = [
    `pay/${moved(payment.id)}`,
    `return/${moved(payment.attempts[0].id)}`,
    `s/${code.slice(0, -10)}${place}${code.slice(-8)}`,
  ]
  paths.push(...['live', 'status'].map((page) => `pay/${moved(payment.id)}/${page}`))
  for (const path of paths) {
    const { status } = await fetch(`${baseUrl}/${path}`, { redirect: 'manual', signal: AbortSignal.timeout(30_000) })
    assert.equal(status, 404, path)
  }
  const calls = ['refunds', 'timeline'].map((what) => `payments/${moved(payment.id)}/${what}`)
  calls.push(
    `events/${moved(event.id)}`,
    `events?payment=${moved(payment.id)}`,
    `disputes?payment=${moved(payment.id)}`,
  )
  for (const path of calls) assert.equal((await shop.call('GET', `/payments/v1/${path}`)).status, 404, path)
  for (const path of [`payments/${moved(payment.id)}/cancel`, `events/${moved(event.id)}/redeliver`])
    assert.equal((await shop.call('POST', `/payments/v1/${path}`)).status, 404, path)
})

test('payments of several places expire together, and the results of their webhooks are recorded', async () => {
  const listener = await startListener()
  for (const shop of shops) await addEndpoint(shop, listener.url)
  await database.rows(sql`update payments set expires_at = now() where status = 'pending'`)
  let expired = 0
  for (let count = 1; count > 0; expired += count) count = await expirePayments(parts, 25)
  assert.ok(expired >= 20, `${expired} expired`)
  await listener.hears(expired)
  const states = await eventually(
    () => database.rows<{ state: string; count: number }>(sql`select state, count(*) from deliveries group by state`),
    (rows) => rows.length === 1,
  )
  assert.deepEqual(states, [{ state: 'delivered', count: expired }])
  const places = await database.rows(sql`
    select from deliveries d join merchants m on m.id = d.merchant_id
      join delivery_tries t on t.place = m.place and t.delivery_id = d.id where d.place = m.place`)
  assert.equal(places.length, expired)
})
