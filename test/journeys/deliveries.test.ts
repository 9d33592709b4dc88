import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import {
  addEndpoint,
  defaultSecretOf,
  deliveriesSeen,
  deliverySeen,
  ENDPOINTS,
  endLeases,
  makeDue,
  type SeenDelivery,
  startDeliveringService,
  tell,
  triedTimes,
} from '../support/delivering.ts'
import { closedPort, type Heard, type Manner, startListener, startTrap, takes } from '../support/listener.ts'
import { eventually, request } from '../support/paying.ts'
import { addMerchant } from '../support/service.ts'

/** Endpoints of every behaviour, and the tries that their merchants see. Full queues are in deliveries-crowded.test.ts. */
const service = await startDeliveringService()
const { database } = service
/** Endpoints that never finish their answer. The usual deadline of 15 s would make their tests slow; for the others a busy machine needs it. */
const silent = new Set<string>()
const engine = service.startEngine({ deadlineMs: 1_500, isHurried: (url) => silent.has(url) })
const shop = await service.addShop()

const secondsUntil = (time: string | null, after: string) => (Date.parse(time ?? '') - Date.parse(after)) / 1_000

/** Seconds from the last try to the next. */
function waitOf({ nextTryAt, tries }: SeenDelivery): number {
  return secondsUntil(nextTryAt, tries.at(-1)?.at ?? '')
}

const WAITS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]

/** The wait is that after the last try. On a stalled machine it may be the second, although a test waited for the first. */
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

test('D6: an answer that arrives byte by byte is cut off at the deadline', async () => {
  let cut = 0
  const drips = takes.byDrips()
  const listener = await startListener((heard, response) => {
    response.once('close', () => cut++)
    drips(heard, response)
  })
  silent.add(listener.url)
  const delivery = await triedTimes(shop, await tell(shop, { webhook: listener.url }), 1)
  assert.equal(delivery.state, 'waiting')
  assert.match(delivery.tries[0]?.error ?? '', /^timeout: /)
  assert.equal(delivery.tries[0]?.status, null)
  const took = delivery.tries[0]?.tookMs ?? 0
  assert.ok(took >= 1_400 && took < 15_000, `${took} ms, not the usual 15 s`)
  await eventually(
    async () => cut,
    (times) => times >= 1,
  )
})

test('D6: of an endless answer 64 KiB are read and 2 KiB kept, its status counts, and the connection is cut', async () => {
  let cut: (bytes: number) => void = () => {}
  const written = new Promise<number>((resolve) => {
    cut = resolve
  })
  const listener = await startListener(takes.withoutEnd((bytes) => cut(bytes)))
  const delivery = await triedTimes(shop, await tell(shop, { webhook: listener.url }), 1)
  assert.equal(delivery.state, 'delivered')
  assert.equal(delivery.tries[0]?.status, 200)
  assert.equal(delivery.tries[0]?.answer, 'x'.repeat(2_048))
  // The kernel's buffers take more than the service reads.
  assert.ok((await written) < 16 * 1024 * 1024)
})

test('D6: at most 2 KiB of an answer are kept, cut between characters and without control characters', async () => {
  const listener = await startListener(takes.with(500, {}, `\u001b[2J\u0000${'₦'.repeat(1_000)}`))
  const delivery = await triedTimes(shop, await tell(shop, { webhook: listener.url }), 1)
  const answer = delivery.tries[0]?.answer ?? ''
  assert.ok(Buffer.byteLength(answer) <= 2_048 && Buffer.byteLength(answer) > 2_000)
  assert.match(answer, /^\ufffd\[2J\ufffd₦+$/)
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

test('D5: a delivery whose result was not recorded is sent again after the lease: same id and bytes, new timestamp and signature', async () => {
  const merchant = await service.addShop()
  await engine.stop()
  const listener = await startListener()
  // For the database the process dies right after the endpoint answered 200.
  const broken: Database = {
    ...database,
    rows: (statement) =>
      /delivery_tries|gone_workers/.test(statement.text)
        ? Promise.reject(new Error('the process has died'))
        : database.rows(statement),
    transaction: () => Promise.reject(new Error('the process has died')),
  }
  const dying = service.startEngine({ database: broken })
  const eventId = await tell(merchant, { webhook: listener.url })
  await listener.hears(1)
  await dying.stop()
  assert.deepEqual((await deliverySeen(merchant, eventId)).tries, [])

  // Otherwise its lease of 6 s might end before the next engine has polled.
  await database.rows(sql`update delivery_workers set alive_until = now() + interval '1 hour'`)
  const clock = { now: () => new Date(systemClock.now().getTime() + 31_000) }
  const next = service.startEngine({ clock })
  await engineHasPolled()
  assert.equal(listener.heard.length, 1) // the lease of the first engine is still valid
  await endLeases(database, eventId)
  next.wake()
  const delivery = await triedTimes(merchant, eventId, 1)
  assert.equal(delivery.state, 'delivered')
  await listener.hears(2)
  assertSameMessage(listener.heard)
  const [first, second] = listener.heard.map(({ headers }) => headers)
  assert.ok(Number(second?.['webhook-timestamp']) - Number(first?.['webhook-timestamp']) >= 31)
  assert.notEqual(first?.['webhook-signature'], second?.['webhook-signature'])
  const judge = new Webhook(await defaultSecretOf(service, merchant))
  for (const { body, headers } of listener.heard) judge.verify(body, headers as Record<string, string>)
  await next.stop()
})

test('D8: a webhook URL with a private address is refused when it is saved, together with all other mistakes', async () => {
  const live = await addMerchant(database, { mode: 'live' })
  for (const [path, more] of [
    ['/checkouts', { country: 'NG' }],
    ['/payments/initialize', { provider: 'gateway' }],
  ] as const) {
    for (const webhook of ['https://127.0.0.1/hook', 'https://[::ffff:10.0.0.1]/hook', 'https://localhost/hook']) {
      const body = { amount: 0, user: { email: 'ada@example.com' }, webhook, ...more }
      const { status, body: problem } = await request(
        `${service.baseUrl}/payments/v1${path}`,
        'POST',
        live.headers,
        body,
      )
      const codes = problem.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
      assert.deepEqual([status, codes], [400, ['/amount invalid_minimum', '/webhook blocked_address']], webhook)
    }
  }
})

test('D8: a webhook to a private address fails with blocked_address, and no byte arrives', async () => {
  const trap = await startTrap()
  const strict = service.startEngine({ allowPrivate: () => false })
  const seen = async (webhook: string) => {
    const body = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' }, webhook }
    const ask = (method: string, path: string, sent?: unknown) =>
      request(`${service.baseUrl}/payments/v1${path}`, method, shop.headers, sent)
    const made = await ask('POST', '/checkouts', body)
    await ask('POST', `/payments/${made.body.data.reference}/cancel`)
    const events = await ask('GET', `/events?payment=${made.body.data.reference}`)
    const path = `/events/${events.body.data[0].id}`
    return eventually(
      async () => (await ask('GET', path)).body.data.deliveries[0] as SeenDelivery,
      ({ tries }) => tries.length > 0,
    )
  }
  for (const host of ['127.0.0.1', 'localhost', '2130706433']) {
    const webhook = `http://${host}:${trap.port}/hook`
    const delivery = await seen(webhook)
    assert.equal(delivery.state, 'waiting')
    assert.match(delivery.tries[0]?.error ?? '', /^blocked_address: /, webhook)
    assert.equal(delivery.tries[0]?.status, null)
  }
  assert.deepEqual([trap.visits, trap.bytes], [0, 0])
  await strict.stop()
})

test('D9: after a rotation both secrets sign for 24 h, then the new one, for request webhooks and endpoints', async () => {
  const merchant = await service.addShop()
  const rotating = service.startEngine()
  const [own, configured] = [await startListener(), await startListener()]
  const endpoint = await addEndpoint(merchant, configured.url)
  await tell(merchant, { webhook: own.url })
  await Promise.all([own.hears(1), configured.hears(1)])
  const old = { own: await defaultSecretOf(service, merchant), configured: endpoint.secret as string }

  const rotations = {
    own: await merchant.call('POST', '/payments/v1/webhook-secret/rotate'),
    configured: await merchant.call('POST', `${ENDPOINTS}/${endpoint.id}/rotate-secret`),
  }
  for (const { status, body } of Object.values(rotations)) {
    assert.equal(status, 200)
    const hours = (Date.parse(body.data.previousValidUntil) - Date.now()) / 3_600_000
    assert.ok(hours > 23.9 && hours <= 24)
  }
  const fresh = { own: rotations.own.body.data.secret, configured: rotations.configured.body.data.secret }
  await tell(merchant, { webhook: own.url })
  await Promise.all([own.hears(2), configured.hears(2)])
  await database.rows(sql`update webhook_secrets set previous_until = previous_until - interval '24 hours'`)
  await database.rows(sql`update webhook_endpoints set previous_until = previous_until - interval '24 hours'`)
  await tell(merchant, { webhook: own.url })
  await Promise.all([own.hears(3), configured.hears(3)])

  const accepts = (secret: string, { body, headers }: Heard): boolean => {
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  }
  for (const [listener, before, after] of [
    [own, old.own, fresh.own],
    [configured, old.configured, fresh.configured],
  ] as const) {
    assert.deepEqual(
      listener.heard.map((heard) => [accepts(before, heard), accepts(after, heard)]),
      [
        [true, false],
        [true, true],
        [false, true],
      ],
    )
    assert.deepEqual(
      listener.heard.map(({ headers }) => String(headers['webhook-signature']).split(' ').length),
      [1, 2, 1],
    )
  }
  assert.ok(!accepts(old.own, configured.heard[0] as Heard), 'each endpoint has a secret of its own')
  await rotating.stop()
})

test('D10: a late event has a lower sequence and shows the payment as it was then', async () => {
  const merchant = await service.addShop()
  const carrying = service.startEngine()
  const listener = await startListener((heard, response) => {
    const isFirstFailure = JSON.parse(heard.body).type === 'attempt.failed' && listener.heard.length === 1
    const behave = isFirstFailure ? takes.notNow : takes.well
    behave(heard, response)
  })
  const pay = async (card: string) => {
    const started = await merchant.initialize({ reference: 'order-7', webhook: listener.url })
    await merchant.call('POST', `/sandbox/gateway/charges/${started.body.data.data.reference}`, { card })
  }
  await pay('4000 0000 0000 9995')
  await listener.hears(1)
  await pay('4084 0840 8408 4081')
  await listener.hears(2)
  const [failed] = (await merchant.call('GET', '/payments/v1/events?payment=order-7&type=attempt.failed')).body.data
  await triedTimes(merchant, failed.id, 1)
  await makeDue(database, failed.id)
  carrying.wake()
  await listener.hears(3)

  const events = listener.heard.map(({ body }) => JSON.parse(body))
  assert.deepEqual(
    events.map(({ type }) => type),
    ['attempt.failed', 'payment.successful', 'attempt.failed'],
  )
  const [first, success, late] = events
  assert.deepEqual(late, first)
  assert.ok(success.sequence > late.sequence)
  assert.deepEqual(
    [late.data.payment.status, late.data.payment.amountPaid, late.data.payment.attempts.length],
    ['pending', 0, 1],
  )
  assert.deepEqual([success.data.payment.status, success.data.payment.attempts.length], ['successful', 2])
  await carrying.stop()
})
