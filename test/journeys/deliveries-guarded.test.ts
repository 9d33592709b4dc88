import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import {
  addEndpoint,
  defaultSecretOf,
  deliverySeen,
  ENDPOINTS,
  endLeases,
  makeDue,
  type SeenDelivery,
  startDeliveringService,
  tell,
  triedTimes,
} from '../support/delivering.ts'
import { type Heard, startListener, startTrap, takes } from '../support/listener.ts'
import { eventually, request } from '../support/paying.ts'
import { addMerchant } from '../support/service.ts'

/**
 * What a webhook server or a crash must not do: endless answers, private addresses, lost results, old signatures, mixed
 * order.
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

/** A later event was delivered, so everything that was due before it has been claimed. */
async function engineHasPolled(): Promise<void> {
  const other = await startListener()
  await tell(shop, { webhook: other.url })
  await other.hears(1)
}

/** Same `webhook-id`, same bytes. */
function assertSameMessage(heard: Heard[]): void {
  assert.equal(new Set(heard.map(({ headers }) => headers['webhook-id'])).size, 1)
  assert.equal(new Set(heard.map(({ body }) => body)).size, 1)
}

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
