import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { sql } from '../../src/database/sql.ts'
import { newId, uuidOf } from '../../src/kernel/ids.ts'
import {
  addEndpoint,
  deliveriesSeen,
  deliverySeen,
  ENDPOINTS,
  makeDue,
  startDeliveringService,
  tell,
  triedTimes,
} from '../support/delivering.ts'
import { startListener, startTrap, takes } from '../support/listener.ts'
import { request, type Shop } from '../support/paying.ts'
import { type Answer, addMerchant, call, codesOf, startOn } from '../support/service.ts'

const service = await startDeliveringService()
const { database } = service
const engine = service.startEngine()
const EVENTS = '/payments/v1/events'

const patch = (shop: Pick<Shop, 'headers'>, id: string, changes: unknown): Promise<Answer> =>
  request(`${service.baseUrl}${ENDPOINTS}/${id}`, 'PATCH', shop.headers, changes)

const stateOf = async (shop: Shop, eventId: string) => (await deliverySeen(shop, eventId)).state

test('creating an endpoint answers 201 with its secret, which is shown once and stored sealed', async () => {
  const shop = await service.addShop()
  const listener = await startListener()
  const made = await shop.call('POST', ENDPOINTS, { url: listener.url, events: ['payment.cancelled'] })
  assert.equal(made.status, 201)
  const { id, secret, createdAt, ...rest } = made.body.data
  assert.deepEqual(rest, {
    url: listener.url,
    events: ['payment.cancelled'],
    enabled: true,
    disabledReason: null,
    failingSince: null,
  })
  assert.match(id, /^whe_/)
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000)

  const listed = await shop.call('GET', ENDPOINTS)
  assert.equal(listed.status, 200)
  assert.deepEqual(listed.body, { data: [{ id, createdAt, ...rest }], nextCursor: null })
  const rotated = await shop.call('POST', `${ENDPOINTS}/${id}/rotate-secret`)
  assert.notEqual(rotated.body.data.secret, secret)
  await shop.call('POST', '/payments/v1/webhook-secret/rotate')
  await tell(shop, { webhook: listener.url })
  await listener.hears(2)
  for (const known of [secret, rotated.body.data.secret]) assert.deepEqual(await tablesWith(known), [])
})

/** The tables in which a text, or the bytes that it writes in base64, can be read. */
async function tablesWith(secret: string): Promise<string[]> {
  const bare = secret.replace('whsec_', '')
  const forms = [bare, Buffer.from(bare, 'base64').toString('hex'), Buffer.from(secret).toString('hex')]
  const tables = await database.rows<{ name: string }>(
    sql`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  assert.ok(tables.some(({ name }) => name === 'webhook_endpoints'))
  const found: string[] = []
  for (const { name } of tables) {
    const text = `select t::text as line from "${name}" t`
    const lines = await database.rows<{ line: string }>({ name: '', text, values: [] })
    if (lines.some(({ line }) => forms.some((form) => line.includes(form)))) found.push(name)
  }
  return found
}

test('the search for secrets in the tables finds a known text', async () => {
  const shop = await service.addShop('a name like MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  assert.ok(shop)
  assert.deepEqual(await tablesWith('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'), ['merchants'])
})

test('a change affects only the fields that it names; a field that is null stays', async () => {
  const shop = await service.addShop()
  const { secret, ...endpoint } = await addEndpoint(shop, 'http://127.0.0.1:9/a', { events: ['refund.failed'] })
  assert.ok(secret)
  const steps: [unknown, Record<string, unknown>][] = [
    [{}, {}],
    [{ url: 'http://127.0.0.1:9/b' }, { url: 'http://127.0.0.1:9/b' }],
    [{ events: [] }, { events: [] }],
    [{ enabled: false }, { enabled: false, disabledReason: 'Switched off by the merchant.' }],
    [{ url: null, events: null, enabled: null }, {}],
    [{ enabled: true }, { enabled: true, disabledReason: null }],
  ]
  let expected = endpoint
  for (const [changes, difference] of steps) {
    expected = { ...expected, ...difference }
    const changed = await patch(shop, endpoint.id, changes)
    assert.deepEqual([changed.status, changed.body], [200, { data: expected }])
    assert.deepEqual((await shop.call('GET', ENDPOINTS)).body.data, [expected])
  }
})

test('a deleted endpoint is not listed and not found, and nothing is sent to it', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.notNow)
  const { id } = await addEndpoint(shop, listener.url)
  const waiting = await tell(shop)
  await triedTimes(shop, waiting, 1)
  const deleted = await shop.call('DELETE', `${ENDPOINTS}/${id}`)
  assert.deepEqual([deleted.status, deleted.body.data.id, deleted.body.data.enabled], [200, id, false])
  assert.deepEqual((await shop.call('GET', ENDPOINTS)).body.data, [])
  assert.equal(await stateOf(shop, waiting), 'disabled')
  assert.deepEqual(await deliveriesSeen(shop, await tell(shop)), [])
  assert.deepEqual((await shop.call('POST', `${EVENTS}/${waiting}/redeliver`)).body, { data: { deliveries: 0 } })
  for (const answer of [
    await patch(shop, id, { enabled: true }),
    await shop.call('DELETE', `${ENDPOINTS}/${id}`),
    await shop.call('POST', `${ENDPOINTS}/${id}/test`),
    await shop.call('POST', `${ENDPOINTS}/${id}/rotate-secret`),
  ])
    assert.deepEqual([answer.status, answer.body.code], [404, 'not_found'])
  assert.equal(listener.heard.length, 1)
})

test('an endpoint receives the events that it chose; without a choice it receives all', async () => {
  const shop = await service.addShop()
  const [all, failures, cancellations] = [await startListener(), await startListener(), await startListener()]
  await addEndpoint(shop, all.url)
  await addEndpoint(shop, failures.url, { events: ['attempt.failed', 'refund.failed'] })
  const chosen = await addEndpoint(shop, cancellations.url, { events: ['payment.expired'] })
  await patch(shop, chosen.id, { events: ['payment.cancelled'] })
  const started = await shop.initialize({ reference: 'one' })
  await shop.call('POST', `/sandbox/gateway/charges/${started.body.data.data.reference}`, {
    card: '4000 0000 0000 0002',
  })
  await all.hears(1)
  await shop.call('POST', '/payments/v1/payments/one/cancel')
  await Promise.all([all.hears(2), failures.hears(1), cancellations.hears(1)])
  const heardBy = ({ heard }: typeof all) => heard.map(({ body }) => JSON.parse(body).type)
  assert.deepEqual(heardBy(all), ['attempt.failed', 'payment.cancelled'])
  assert.deepEqual(heardBy(failures), ['attempt.failed'])
  assert.deepEqual(heardBy(cancellations), ['payment.cancelled'])
  const places = (await shop.call('GET', `${EVENTS}?payment=one`)).body.data
  const counts = await Promise.all(
    places.map(async ({ id }: { id: string }) => (await deliveriesSeen(shop, id)).length),
  )
  assert.deepEqual(counts, [2, 2])
})

test('a disabled endpoint receives nothing; its waiting deliveries are held, and can be redelivered after it is enabled', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.notNow)
  const { id } = await addEndpoint(shop, listener.url)
  const waiting = await tell(shop)
  await triedTimes(shop, waiting, 1)
  await patch(shop, id, { enabled: false })
  const held = await deliverySeen(shop, waiting)
  assert.deepEqual([held.state, held.nextTryAt], ['disabled', null])
  assert.deepEqual(await deliveriesSeen(shop, await tell(shop)), [])
  assert.deepEqual((await shop.call('POST', `${EVENTS}/${waiting}/redeliver`)).body, { data: { deliveries: 0 } })
  await makeDue(database, waiting)
  engine.wake()

  listener.answer = takes.well
  await patch(shop, id, { enabled: true })
  assert.equal(await stateOf(shop, waiting), 'disabled')
  assert.equal(listener.heard.length, 1)
  assert.deepEqual((await shop.call('POST', `${EVENTS}/${waiting}/redeliver`)).body, { data: { deliveries: 1 } })
  assert.equal((await triedTimes(shop, waiting, 2)).state, 'delivered')
  assert.equal(listener.heard[0]?.body, listener.heard[1]?.body)
})

test('an endpoint that is created disabled receives nothing until it is enabled', async () => {
  const shop = await service.addShop()
  const listener = await startListener()
  const { id, enabled } = await addEndpoint(shop, listener.url, { enabled: false })
  assert.equal(enabled, false)
  assert.deepEqual(await deliveriesSeen(shop, await tell(shop)), [])
  await patch(shop, id, { enabled: true })
  const second = await tell(shop)
  await listener.hears(1)
  assert.equal(JSON.parse(listener.heard[0]?.body ?? '').id, second)
})

test('after a change of the URL, waiting deliveries and redeliveries use the new URL', async () => {
  const shop = await service.addShop()
  const [before, now] = [await startListener(takes.notNow), await startListener()]
  const { id } = await addEndpoint(shop, before.url)
  const waiting = await tell(shop)
  assert.equal((await triedTimes(shop, waiting, 1)).url, before.url)
  await patch(shop, id, { url: now.url })
  await makeDue(database, waiting)
  engine.wake()
  const delivery = await triedTimes(shop, waiting, 2)
  assert.deepEqual([delivery.state, delivery.url], ['delivered', now.url])
})

test('a mode has at most sixteen endpoints, even with concurrent requests; a deletion makes room', async () => {
  const shop = await service.addShop()
  const create = () => shop.call('POST', ENDPOINTS, { url: 'http://127.0.0.1:9/' })
  const answers = await Promise.all(Array.from({ length: 24 }, create))
  const made = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ status, body }) => status === 409 && body.code === 'too_many_endpoints')
  assert.deepEqual([made.length, refused.length], [16, 8])
  assert.equal((await shop.call('GET', ENDPOINTS)).body.data.length, 16)
  await shop.call('DELETE', `${ENDPOINTS}/${made[0]?.body.data.id}`)
  assert.equal((await create()).status, 201)
  assert.equal((await create()).status, 409)
})

test('F2: an endpoint of another merchant or mode answers like one that does not exist', async () => {
  const [owner, stranger] = [await service.addShop(), await service.addShop()]
  const listener = await startListener()
  const { id } = await addEndpoint(owner, listener.url)
  const never = newId('endpoint', new Date())
  const ask = (name: string) =>
    Promise.all([
      patch(stranger, name, { enabled: false }),
      stranger.call('DELETE', `${ENDPOINTS}/${name}`),
      stranger.call('POST', `${ENDPOINTS}/${name}/test`),
      stranger.call('POST', `${ENDPOINTS}/${name}/rotate-secret`),
    ])
  const bare = (answers: Answer[]) =>
    answers.map(({ status, body: { requestId, instance, ...body } }) => [status, body])
  const theirs = bare(await ask(id))
  assert.deepEqual(theirs, bare(await ask(never)))
  assert.deepEqual(theirs, bare(await ask('whe_nonsense')))
  assert.ok(theirs.every(([status]) => status === 404))
  assert.deepEqual((await stranger.call('GET', ENDPOINTS)).body.data, [])
  assert.equal(listener.heard.length, 0)
  assert.equal((await owner.call('GET', ENDPOINTS)).body.data[0].enabled, true)
})

test('all mistakes of a request are reported together, unknown fields included, and nothing is created', async () => {
  const shop = await service.addShop()
  const wrong = await shop.call('POST', ENDPOINTS, {
    url: 'ftp://shop.example/hook',
    events: ['payment.sucessful'],
    enabled: 'yes',
    Enabled: true,
  })
  assert.deepEqual([wrong.status, wrong.body.code], [400, 'invalid_request'])
  assert.deepEqual(codesOf(wrong), {
    '/url': 'invalid_format',
    '/events/0': 'invalid_value',
    '/enabled': 'invalid_type',
    '/Enabled': 'unknown_field',
  })
  const near = await shop.call('POST', ENDPOINTS, { url: 'http://127.0.0.1:9/', event: ['payment.successful'] })
  assert.deepEqual([near.status, near.body.code], [400, 'unknown_field'])
  assert.match(near.body.detail, /did you mean `events`/i)
  for (const body of [{}, { url: null }, { url: '' }, { url: 'https://a:b@shop.example/' }, { url: 5 }]) {
    const answer = await shop.call('POST', ENDPOINTS, body)
    assert.deepEqual([answer.status, Object.keys(codesOf(answer))], [400, ['/url']], JSON.stringify(body))
  }
  const twice = await shop.call('POST', ENDPOINTS, {
    url: 'http://127.0.0.1:9/',
    events: ['refund.failed', 'refund.failed'],
  })
  assert.deepEqual([twice.status, Object.keys(codesOf(twice))], [400, ['/events']])
  const unrelated = await shop.call('POST', ENDPOINTS, { url: 'http://127.0.0.1:9/', colour: 'blue' })
  assert.equal(unrelated.status, 201)
  assert.equal((await shop.call('GET', ENDPOINTS)).body.data.length, 1)
  const { id } = unrelated.body.data
  const changed = await patch(shop, id, { url: 'nowhere', enabled: 1, evnets: [] })
  assert.deepEqual([changed.status, changed.body.code], [400, 'invalid_request'])
  assert.deepEqual(codesOf(changed), {
    '/url': 'invalid_format',
    '/enabled': 'invalid_type',
    '/evnets': 'unknown_field',
  })
})

test('in live mode an endpoint must be https and must not be a private address', async () => {
  const live = await addMerchant(database, { mode: 'live' })
  const create = (url: string) => request(`${service.baseUrl}${ENDPOINTS}`, 'POST', live.headers, { url })
  const plain = await create('http://shop.example/hook')
  assert.deepEqual([plain.status, codesOf(plain)], [400, { '/url': 'https_required' }])
  for (const host of [
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '[::1]',
    '[::ffff:10.0.0.1]',
    'localhost',
    '0x7f.1',
  ]) {
    const answer = await create(`https://${host}/hook`)
    assert.deepEqual([answer.status, codesOf(answer)], [400, { '/url': 'blocked_address' }], host)
  }
  const fine = await create('https://shop.example/hook')
  assert.equal(fine.status, 201)
  const { id } = fine.body.data
  for (const [url, code] of [
    ['http://shop.example/hook', 'https_required'],
    ['https://192.168.1.1/hook', 'blocked_address'],
  ] as const) {
    const answer = await patch(live, id, { url })
    assert.deepEqual([answer.status, codesOf(answer)], [400, { '/url': code }])
  }
  const listed = await request(`${service.baseUrl}${ENDPOINTS}`, 'GET', live.headers)
  assert.deepEqual(
    listed.body.data.map(({ url }: { url: string }) => url),
    ['https://shop.example/hook'],
  )
})

test('a test call is signed like an event and shows the answer, and records no event', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.with(201, {}, 'welcome'))
  const { id, secret } = await addEndpoint(shop, listener.url)
  const test = () => shop.call('POST', `${ENDPOINTS}/${id}/test`)
  const good = await test()
  assert.equal(good.status, 200)
  assert.deepEqual(
    { ...good.body.data, tookMs: 0 },
    { delivered: true, status: 201, error: null, tookMs: 0, answer: 'welcome' },
  )
  const [heard] = listener.heard
  new Webhook(secret).verify(heard?.body ?? '', heard?.headers as Record<string, string>)
  const event = JSON.parse(heard?.body ?? '')
  assert.deepEqual([event.type, event.mode, event.sequence], ['endpoint.test', 'sandbox', 0])

  listener.answer = takes.with(500, {}, 'oh no')
  const bad = (await test()).body.data
  assert.deepEqual([bad.delivered, bad.status, bad.error, bad.answer], [false, 500, null, 'oh no'])
  listener.answer = takes.byReset
  const worse = (await test()).body.data
  assert.deepEqual([worse.delivered, worse.status, worse.answer], [false, null, ''])
  assert.match(worse.error, /^reset: /)
  assert.deepEqual((await shop.call('GET', EVENTS)).body.data, [])
  assert.equal((await shop.call('GET', ENDPOINTS)).body.data[0].failingSince, null)
})

test('D8: a test call to a private address is refused, and no byte arrives', async () => {
  const trap = await startTrap()
  const live = await addMerchant(database, { mode: 'live' })
  const made = await request(`${service.baseUrl}${ENDPOINTS}`, 'POST', live.headers, { url: 'https://shop.example/' })
  const { id } = made.body.data
  await database.rows(
    sql`update webhook_endpoints set url = ${`https://127.0.0.1:${trap.port}/`} where id = ${uuidOf(id)}`,
  )
  const tried = await request(`${service.baseUrl}${ENDPOINTS}/${id}/test`, 'POST', live.headers)
  assert.equal(tried.status, 200)
  assert.match(tried.body.data.error, /^blocked_address: /)
  assert.equal(trap.visits, 0)
})

test('a URL that is allowed although it is private gets test calls as it gets deliveries', async () => {
  const listener = await startListener()
  const app = await startOn(database, { allowPrivate: (_mode, url) => url === listener.url })
  const { headers } = await addMerchant(database)
  const made = await call(app, 'POST', ENDPOINTS, { headers, body: { url: listener.url } })
  const tried = await call(app, 'POST', `${ENDPOINTS}/${made.body.data.id}/test`, { headers })
  assert.equal(tried.body.data.status, 200)
})

test('INV-14: every change of an endpoint or secret is in the audit log, without the secret', async () => {
  const shop = await service.addShop()
  const { id } = await addEndpoint(shop, 'http://127.0.0.1:9/')
  await patch(shop, id, { enabled: false })
  await shop.call('POST', `${ENDPOINTS}/${id}/rotate-secret`)
  await shop.call('POST', '/payments/v1/webhook-secret/rotate')
  await shop.call('DELETE', `${ENDPOINTS}/${id}`)
  const acts = await database.rows(sql`
    select actor, act, subject from audit_log where merchant_id = ${shop.merchantUuid} and act like 'webhook%' order by id`)
  const actor = `credential:${shop.headers['client-id']}`
  assert.deepEqual(acts, [
    { actor, act: 'webhook_endpoint.created', subject: id },
    { actor, act: 'webhook_endpoint.changed', subject: id },
    { actor, act: 'webhook_endpoint.secret_rotated', subject: id },
    { actor, act: 'webhook_secret.rotated', subject: 'sandbox' },
    { actor, act: 'webhook_endpoint.deleted', subject: id },
  ])
})
