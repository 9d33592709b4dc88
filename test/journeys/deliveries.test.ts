import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import {
  addEndpoint,
  deliveriesSeen,
  deliverySeen,
  ENDPOINTS,
  makeDue,
  type SeenDelivery,
  startDeliveringService,
  tell,
  triedTimes,
} from '../support/delivering.ts'
import { closedPort, type Heard, type Manner, startListener, takes } from '../support/listener.ts'
import { eventually, request } from '../support/paying.ts'

/**
 * Endpoints of every behaviour, and the tries that their merchants see. Full queues are in deliveries-crowded.test.ts.
 */
const service = await startDeliveringService()

const { database } = service

/**
 * Endpoints that never finish their answer. The usual deadline of 15 s would make their tests slow; for the others a
 * busy machine needs it.
 */
const silent = new Set<string>()

const engine = service.startEngine({ deadlineMs: 1_500, isHurried: (url) => silent.has(url) })
const shop = await service.addShop()
const secondsUntil = (time: string | null, after: string) => (Date.parse(time ?? '') - Date.parse(after)) / 1_000

/** Seconds from the last try to the next. */
function waitOf({ nextTryAt, tries }: SeenDelivery): number {
  return secondsUntil(nextTryAt, tries.at(-1)?.at ?? '')
}

const WAITS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]

/**
 * The wait is that after the last try. On a stalled machine it may be the second, although a test waited for the first.
 */
function assertUsualWait(delivery: SeenDelivery, triesBefore = 0): void {
  assertAbout(waitOf(delivery), WAITS[delivery.tries.length - triesBefore - 1] ?? Number.NaN)
}

function assertAbout(seconds: number, expected: number): void {
  // 10 % of jitter, and the time between the two readings of the clock.
  assert.ok(seconds >= expected * 0.9 - 0.1 && seconds <= expected * 1.1 + 0.1, `${seconds} s, not about ${expected} s`)
}

test('D1: a 2xx is a delivery; its time, status, duration and body are recorded, and no try follows', async () => {
  for (const status of [200, 201, 202, 204, 299]) {
    const listener = await startListener(takes.with(status, {}, status === 204 ? '' : `taken with ${status}`))
    const before = Date.now()
    const eventId = await tell(shop, { webhook: listener.url })
    const delivery = await triedTimes(shop, eventId, 1)
    const [only] = delivery.tries
    assert.equal(delivery.state, 'delivered')
    assert.equal(delivery.url, listener.url)
    assert.equal(delivery.endpoint, null)
    assert.equal(delivery.nextTryAt, null)
    assert.deepEqual(
      { ...only, at: '', tookMs: 0 },
      { number: 1, at: '', status, error: null, tookMs: 0, answer: status === 204 ? '' : `taken with ${status}` },
    )
    assert.ok(only && only.tookMs >= 0 && only.tookMs < 15_000)
    assert.ok(Math.abs(Date.parse(only.at) - before) < 60_000)
    await makeDue(database, eventId)
    engine.wake()
    await engineHasPolled()
    assert.equal(listener.heard.length, 1)
  }
})

/** A later event was delivered, so everything that was due before it has been claimed. */
async function engineHasPolled(): Promise<void> {
  const other = await startListener()
  await tell(shop, { webhook: other.url })
  await other.hears(1)
}

const failures: [string, Manner | 'closed' | 'tls', { status: number | null; error: RegExp | null }][] = [
  ['404', takes.with(404, {}, 'no such page'), { status: 404, error: null }],
  ['500', takes.with(500), { status: 500, error: null }],
  ['304', takes.with(304), { status: 304, error: null }],
  ['a reset', takes.byReset, { status: null, error: /^reset: / }],
  ['a silent server', takes.inSilence, { status: null, error: /^timeout: / }],
  ['a closed port', 'closed', { status: null, error: /^refused: / }],
  ['plain text instead of TLS', 'tls', { status: null, error: /^tls: / }],
]

for (const [name, manner, expected] of failures) {
  test(`D2: ${name} is recorded as a failed try, and the next comes after about 5 s`, async () => {
    const listener = typeof manner === 'string' ? undefined : await startListener(manner)
    if (listener && manner === takes.inSilence) silent.add(listener.url)
    const plain = listener?.url ?? (manner === 'closed' ? await closedPort() : (await startListener()).url)
    const webhook = manner === 'tls' ? plain.replace('http:', 'https:') : plain
    const delivery = await triedTimes(shop, await tell(shop, { webhook }), 1)
    const [only] = delivery.tries
    assert.equal(delivery.state, 'waiting')
    assert.equal(only?.status, expected.status)
    if (expected.error) assert.match(only?.error ?? '', expected.error)
    else assert.equal(only?.error, null)
    assertUsualWait(delivery)
  })
}

test('D2: a redirect is a failed try and is never followed', async () => {
  const elsewhere = await startListener()
  for (const status of [301, 302, 303, 307, 308]) {
    const listener = await startListener(takes.with(status, { location: elsewhere.url }))
    const delivery = await triedTimes(shop, await tell(shop, { webhook: listener.url }), 1)
    assert.equal(delivery.state, 'waiting')
    assert.equal(delivery.tries[0]?.status, status)
  }
  assert.equal(elsewhere.connections, 0)
})

test('D2, D4: ten tries with exponential backoff and the same id and bytes, then exhausted; a redelivery starts the waits again', async () => {
  const listener = await startListener(takes.with(500, {}, 'not today'))
  const eventId = await tell(shop, { webhook: listener.url })
  const next = async () => {
    const tries = await makeDue(database, eventId)
    engine.wake()
    return triedTimes(shop, eventId, tries + 1)
  }
  let given = await triedTimes(shop, eventId, 1)
  while (given.tries.length < 10) {
    assert.equal(given.state, 'waiting')
    assertUsualWait(given)
    given = await next()
  }
  assert.equal(given.state, 'exhausted')
  assert.equal(given.nextTryAt, null)
  assert.deepEqual(
    given.tries.map(({ number, status, answer }) => [number, status, answer]),
    Array.from({ length: 10 }, (_, index) => [index + 1, 500, 'not today']),
  )
  assert.equal(listener.heard.length, 10)
  assertSameMessage(listener.heard)

  const again = await shop.call('POST', `/payments/v1/events/${eventId}/redeliver`)
  assert.deepEqual([again.status, again.body], [200, { data: { deliveries: 1 } }])
  const anew = await triedTimes(shop, eventId, 11)
  assert.equal(anew.state, 'waiting')
  assertUsualWait(anew, 10)
  const last = await next()
  assertUsualWait(last, 10)
  listener.answer = takes.well
  const delivered = await next()
  assert.equal(delivered.state, 'delivered')
  assertSameMessage(listener.heard)
})

/** Same `webhook-id`, same bytes. */
function assertSameMessage(heard: Heard[]): void {
  assert.equal(new Set(heard.map(({ headers }) => headers['webhook-id'])).size, 1)
  assert.equal(new Set(heard.map(({ body }) => body)).size, 1)
}

test("D3: 410 ends the delivery to a payment's own webhook, and it can be redelivered", async () => {
  const listener = await startListener(takes.with(410))
  const eventId = await tell(shop, { webhook: listener.url })
  const delivery = await triedTimes(shop, eventId, 1)
  assert.equal(delivery.state, 'exhausted')
  listener.answer = takes.well
  await shop.call('POST', `/payments/v1/events/${eventId}/redeliver`)
  assert.equal((await triedTimes(shop, eventId, 2)).state, 'delivered')
})

test('D2: a redelivery that is requested during a try is made after it, whether the try succeeds or fails', async () => {
  for (const status of [200, 503]) {
    const held: Parameters<Manner>[1][] = []
    const listener = await startListener((_, response) => void held.push(response))
    const eventId = await tell(shop, { webhook: listener.url })
    await listener.hears(1)
    const again = await shop.call('POST', `/payments/v1/events/${eventId}/redeliver`)
    assert.deepEqual(again.body, { data: { deliveries: 1 } })
    listener.answer = takes.well
    // Without the redelivery the next try would come in an hour.
    held[0]?.writeHead(status, { 'retry-after': '3600' }).end()
    await listener.hears(2)
    const delivery = await triedTimes(shop, eventId, 2)
    assert.equal(delivery.state, 'delivered')
    assert.deepEqual(
      delivery.tries.map((each) => each.status),
      [status, 200],
    )
    assertSameMessage(listener.heard)
  }
})

test('D3: 410 disables an endpoint with a reason and an audit entry, and holds its deliveries', async () => {
  const merchant = await service.addShop()
  const listener = await startListener(takes.notNow)
  const endpoint = await addEndpoint(merchant, listener.url)
  const waiting = await tell(merchant)
  await triedTimes(merchant, waiting, 1)
  listener.answer = takes.with(410)
  const last = await tell(merchant)
  await triedTimes(merchant, last, 1)
  const off = await eventually(
    async () => (await merchant.call('GET', ENDPOINTS)).body.data[0],
    ({ enabled }) => !enabled,
  )
  assert.equal(off.id, endpoint.id)
  assert.equal(off.disabledReason, 'It answered 410 Gone.')
  assert.equal((await deliverySeen(merchant, waiting)).state, 'disabled')
  assert.equal((await deliverySeen(merchant, last)).state, 'exhausted')
  const acts = await database.rows(sql`
    select actor, act, subject from audit_log
     where merchant_id = ${merchant.merchantUuid} and act = 'webhook_endpoint.disabled'`)
  assert.deepEqual(acts, [{ actor: 'worker', act: 'webhook_endpoint.disabled', subject: endpoint.id }])
  const silent = await tell(merchant)
  assert.deepEqual(await deliveriesSeen(merchant, silent), [])
})

test('D3: Retry-After on 429 and 503 lengthens the wait, up to an hour, and never shortens it', async () => {
  const cases: [number, string, number | 'usual'][] = [
    [429, '120', 120],
    [503, '120', 120],
    [503, new Date(Date.now() + 600_000).toUTCString(), 600],
    [429, '604800', 3_600],
    [429, '0', 'usual'],
    [500, '120', 'usual'],
    [429, 'soon', 'usual'],
  ]
  for (const [status, retryAfter, expected] of cases) {
    const listener = await startListener(takes.with(status, { 'retry-after': retryAfter }))
    const delivery = await triedTimes(shop, await tell(shop, { webhook: listener.url }), 1)
    assert.equal(delivery.state, 'waiting')
    if (expected === 'usual') assertUsualWait(delivery)
    else assertAbout(waitOf(delivery), expected)
  }
})

test('D4: an endpoint that only failed for five days is disabled; its events are kept and can be redelivered', async () => {
  const merchant = await service.addShop()
  const listener = await startListener(takes.notNow)
  const { id } = await addEndpoint(merchant, listener.url)
  const show = async () => (await merchant.call('GET', ENDPOINTS)).body.data[0]
  const first = await tell(merchant)
  await triedTimes(merchant, first, 1)
  const failing = await eventually(show, ({ failingSince }) => failingSince !== null)
  assert.equal(failing.enabled, true)

  const failsSince = (hours: number) =>
    database.row<{ version: string }>(sql`
      update webhook_endpoints set failing_since = now() - ${hours}::integer * interval '1 hour' where id = ${uuidOf(id)}
      returning xmin::text as version`)
  const written = await failsSince(119)
  const second = await tell(merchant)
  await triedTimes(merchant, second, 1)
  // The endpoint is judged, and its row written, after the try is recorded.
  await eventually(
    () =>
      database.row<{ version: string }>(
        sql`select xmin::text as version from webhook_endpoints where id = ${uuidOf(id)}`,
      ),
    (now) => now?.version !== written?.version,
  )
  await failsSince(121)
  assert.equal((await show()).enabled, true)
  const third = await tell(merchant)
  const off = await eventually(show, ({ enabled }) => !enabled)
  assert.equal(off.disabledReason, 'It has only failed for 5 days.')
  for (const eventId of [first, second, third]) assert.equal((await deliverySeen(merchant, eventId)).state, 'disabled')

  listener.answer = takes.well
  await request(`${service.baseUrl}${ENDPOINTS}/${id}`, 'PATCH', merchant.headers, { enabled: true })
  const back = await show()
  assert.deepEqual([back.enabled, back.disabledReason, back.failingSince], [true, null, null])
  const replayed = await merchant.call('POST', '/payments/v1/events/redeliver', {
    from: new Date(Date.now() - 3_600_000).toISOString(),
  })
  assert.deepEqual(replayed.body, { data: { deliveries: 3 } })
  for (const eventId of [first, second, third]) {
    await eventually(
      () => deliverySeen(merchant, eventId),
      ({ state }) => state === 'delivered',
    )
  }
})

test('D4: a success ends a series of failures', async () => {
  const merchant = await service.addShop()
  const listener = await startListener(takes.notNow)
  const { id } = await addEndpoint(merchant, listener.url)
  await triedTimes(merchant, await tell(merchant), 1)
  await database.rows(
    sql`update webhook_endpoints set failing_since = now() - interval '4 days' where id = ${uuidOf(id)}`,
  )
  listener.answer = takes.well
  await tell(merchant)
  const well = await eventually(
    async () => (await merchant.call('GET', ENDPOINTS)).body.data[0],
    ({ failingSince }) => failingSince === null,
  )
  assert.equal(well.enabled, true)
})

test('a result that the database refused is recorded later, without a second call', async () => {
  const merchant = await service.addShop()
  await engine.stop()
  const listener = await startListener()
  let refusals = 2
  const shaky: Database = {
    ...database,
    rows: (statement) =>
      /delivery_tries/.test(statement.text) && refusals-- > 0
        ? Promise.reject(new Error('the connection was lost'))
        : database.rows(statement),
  }
  const patient = service.startEngine({ database: shaky })
  const eventId = await tell(merchant, { webhook: listener.url })
  const delivery = await triedTimes(merchant, eventId, 1)
  assert.deepEqual([delivery.state, delivery.tries.length, listener.heard.length], ['delivered', 1, 1])
  await patient.stop()
})
