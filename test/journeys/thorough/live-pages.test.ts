import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect as connectSocket } from 'node:net'
import { after, test } from 'node:test'
import Fastify from 'fastify'
import pg from 'pg'
import { pino } from 'pino'
import { connect, type Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { PAYMENTS_CHANNEL } from '../../../src/events/event-store.ts'
import { livePayments } from '../../../src/http/checkout/live-payments.ts'
import { MAX_STREAMS } from '../../../src/http/server/limits.ts'
import { type PaymentId, uuidOf } from '../../../src/kernel/ids.ts'
import { type EventStream, openEventStream } from '../../support/event-stream.ts'
import { eventually, request, type Shop, startPaying } from '../../support/paying.ts'
import { charge } from '../../support/sandbox-payments.ts'
import { CHECKOUT, startOn } from '../../support/service.ts'
import { untilLimited } from '../../support/until-limited.ts'

const service = await startPaying()
const { database, baseUrl } = service
const databaseUrl = service.databaseUrl as string
const shop = await service.addShop()
const log = pino({ level: 'silent' })

interface Made {
  id: PaymentId
  reference: string
}

const checkout = async (): Promise<Made> => (await shop.call('POST', '/payments/v1/checkouts', CHECKOUT)).body.data

const cancel = ({ reference }: Made, by: Shop['call'] = shop.call) =>
  by('POST', `/payments/v1/payments/${reference}/cancel`)

const follow = ({ id }: Made, at = baseUrl) => openEventStream(`${at}/pay/${id}/live`)
const versions = (stream: EventStream) => stream.messages().map(({ v }) => v)
const UNKNOWN = 'chk_8e1Ch41XiYF5uu1qJFodMjwf'

/** As if another process had changed it, and its notice were lost. */
async function changeUnheard({ id }: { id: PaymentId }, v: number, status = 'pending'): Promise<void> {
  await database.rows(sql`
    update payments set sequence = ${v}, status = ${status}, completed_at = case when ${status} = 'pending' then null else now() end
     where id = ${uuidOf(id)}`)
}

/** Another copy of the service on the same database, with streams of its own. */
async function startOther({ requestTimeoutMs = 30_000, rateLimit = false, ...changes }: Others = {}) {
  const live = livePayments({ database, log, ...changes })
  const app = await startOn(database, { live, rateLimit, requestTimeoutMs })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, live, url }
}

type Others = Partial<Parameters<typeof livePayments>[0]> & { requestTimeoutMs?: number; rateLimit?: boolean }

test('an SSE stream starts with the current state and reports a settlement at once', async () => {
  const { body } = await shop.initialize()
  const { order, data } = { order: body.data.data.reference, data: body.data }
  const id = (await shop.payment(data.reference)).id
  const stream = await openEventStream(`${baseUrl}/pay/${id}/live`)
  assert.equal(stream.status, 200)
  assert.equal(stream.headers['content-type'], 'text/event-stream')
  assert.equal(stream.headers['cache-control'], 'no-store, no-transform')
  assert.equal(stream.headers['x-accel-buffering'], 'no')
  assert.equal(stream.headers['content-encoding'], undefined)
  const first = await stream.until(() => true)
  assert.equal(first.status, 'pending')
  assert.ok(stream.text().startsWith('retry: 2000\n\ndata: {"v":'))

  await charge(shop, order)
  const last = await stream.until(({ status }) => status === 'successful')
  assert.deepEqual(last, (await request(`${baseUrl}/pay/${id}/status`, 'GET')).body)
  assert.deepEqual(
    versions(stream),
    [...new Set(versions(stream))].toSorted((a, b) => a - b),
    'each newer than the last',
  )
})

test('a change made by another process reaches the stream', async () => {
  const others = connect({ url: databaseUrl, poolWaitMs: 10_000 })
  after(() => others.close())
  const other = await startOn(others, { baseUrl: () => baseUrl })
  const otherUrl = await other.listen({ host: '127.0.0.1', port: 0 })
  const made = await checkout()
  const stream = await follow(made)
  await stream.until(({ v }) => v === 0)
  const { status } = await cancel(made, (method, path) => request(otherUrl + path, method, shop.headers))
  assert.equal(status, 200)
  assert.deepEqual(await stream.until(({ v }) => v > 0), { v: 1, status: 'cancelled' })
})

test('creating a checkout sends no notification; later changes notify with the payment id on commit', async () => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  after(() => client.end())
  await client.query(`listen ${PAYMENTS_CHANNEL}`)
  const heard: (string | undefined)[] = []
  client.on('notification', ({ payload }) => heard.push(payload))
  const [untouched, changed] = [await checkout(), await checkout()]
  await cancel(changed)
  await eventually(
    async () => (await client.query('select 1')) && heard,
    (seen) => seen.includes(changed.id),
  )
  assert.ok(!heard.includes(untouched.id))
  assert.deepEqual(heard.filter((id) => id === changed.id).length, 1)
})

test('changes during a lost LISTEN connection are reported after it reconnects', async () => {
  const made = await checkout()
  const stream = await follow(made)
  await stream.until(({ v }) => v === 0)
  await changeUnheard(made, 3)
  const killed = await database.rows(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'manilla-listen' and datname = current_database()`)
  assert.equal(killed.length, 1, 'one connection listens to everything')
  assert.deepEqual(await stream.until(({ v }) => v === 3), { v: 3, status: 'pending' })
  await cancel(made)
  assert.deepEqual(await stream.until(({ v }) => v === 4), { v: 4, status: 'cancelled' })
})

test('a change without a notification is found by the heartbeat', async () => {
  const { url } = await startOther({ heartbeatMs: 100 })
  const made = await checkout()
  const stream = await follow(made, url)
  await stream.until(({ v }) => v === 0)
  await changeUnheard(made, 1)
  await stream.until(({ v }) => v === 1)
})

test('heartbeats keep a stream open beyond the request timeout', async () => {
  const { url } = await startOther({ heartbeatMs: 400, requestTimeoutMs: 1_000 })
  const stream = await follow(await checkout(), url)
  await stream.untilText((text) => text.split('\n:\n\n').length > 6)
})

/** Counts the questions put to a database, and can hold an answer back. */
function watched(): Database & { asked: number; hold: Promise<void> | undefined; fail: boolean } {
  const seen = {
    ...database,
    asked: 0,
    hold: undefined as Promise<void> | undefined,
    fail: false,
    async rows<Row>(statement: Parameters<Database['rows']>[0]) {
      seen.asked++
      const { hold, fail } = seen
      seen.hold = undefined
      seen.fail = false
      if (fail) throw new Error('broken')
      const rows = await database.rows<Row>(statement)
      await hold
      return rows
    },
  }
  return seen
}

test('many changes of many payments are one database query', async () => {
  const counting = watched()
  const { live, url } = await startOther({ database: counting })
  const payments = await Promise.all(Array.from({ length: 20 }, checkout))
  const streams = await Promise.all(
    payments.flatMap((made) => [follow(made, url), follow(made, url), follow(made, url)]),
  )
  await Promise.all(payments.map((made) => changeUnheard(made, 2)))
  const before = counting.asked
  for (let repeat = 0; repeat < 5; repeat++) for (const { id } of payments) live.changed(id)
  await Promise.all(streams.map((stream) => stream.until(({ v }) => v === 2)))
  assert.equal(counting.asked - before, 1)
  live.changed('not an id')
  live.missed()
  await eventually(
    async () => counting.asked - before,
    (asked) => asked === 2,
  )
  for (const stream of streams) assert.deepEqual(versions(stream), [0, 2])
})

test('a page that opens during a change never gets an older state after a newer one', async () => {
  const slow = watched()
  const { live, url } = await startOther({ database: slow })
  const made = await checkout()
  const open = await follow(made, url)
  const held = Promise.withResolvers<void>()
  slow.hold = held.promise
  const before = slow.asked
  const opening = follow(made, url)
  await eventually(
    async () => slow.asked,
    (asked) => asked === before + 1,
  )
  await changeUnheard(made, 5)
  live.changed(made.id)
  await open.until(({ v }) => v === 5)
  held.resolve()
  const late = await opening
  await late.until(() => true)
  await changeUnheard(made, 6)
  live.changed(made.id)
  await late.until(({ v }) => v === 6)
  assert.deepEqual(
    [versions(open), versions(late)],
    [
      [0, 5, 6],
      [5, 6],
    ],
  )
})

test('a failed query is retried', async () => {
  const broken = watched()
  const { live, url } = await startOther({ database: broken })
  const made = await checkout()
  const stream = await follow(made, url)
  await changeUnheard(made, 1)
  broken.fail = true
  live.changed(made.id)
  await stream.until(({ v }) => v === 1)
})

test('a shutdown ends every stream at once, also of a client that does not read', async () => {
  const { app, live, url } = await startOther()
  const made = await checkout()
  const streams = await Promise.all(Array.from({ length: 30 }, () => follow(made, url)))
  const deaf = connectSocket(Number(new URL(url).port), '127.0.0.1')
  deaf.on('error', () => {})
  deaf.write(`GET /pay/${made.id}/live HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(2))
  await eventually(
    async () => live.streams(),
    (count) => count === 31,
  )
  const begun = performance.now()
  await app.close()
  assert.ok(performance.now() - begun < 20_000, 'not when the next heartbeat finds the client gone, after 25 s')
  await Promise.all(streams.map(({ ended }) => ended))
  assert.equal(live.streams(), 0)
  deaf.destroy()
})

test('a client that does not read is disconnected (backpressure)', async () => {
  const live = livePayments({ database, log, heartbeatMs: 50 })
  const app = Fastify()
  const { id } = await checkout()
  let followed = 0
  app.get('/live', async (_, reply) => {
    await live.follow(id, reply)
    followed = live.streams()
    // more than any socket between us holds: hours of messages, as it were
    reply.raw.write(Buffer.alloc(16 * 1024 * 1024))
    return reply
  })
  app.addHook('preClose', async () => live.stop())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  after(() => app.close())
  const deaf = connectSocket(Number(new URL(url).port), '127.0.0.1')
  deaf.pause()
  deaf.on('error', () => {})
  deaf.write('GET /live HTTP/1.1\r\nhost: x\r\n\r\n')
  await eventually(
    async () => [followed, live.streams()],
    ([before, now]) => before === 1 && now === 0,
  )
  deaf.destroy()
})

test('clients that disconnect at any moment leave no stream behind', async () => {
  const { app, live, url } = await startOther({ rateLimit: true })
  const payments = await Promise.all(Array.from({ length: 40 }, checkout))
  const vanish = (made: Made, afterMs: number) =>
    new Promise<void>((resolve) => {
      const call = httpRequest(`${url}/pay/${made.id}/live`, { agent: false }, (response) => response.resume())
      call.on('error', () => {})
      call.once('close', resolve)
      call.end()
      setTimeout(() => call.destroy(), afterMs)
    })
  for (let round = 0; round < 3; round++)
    await Promise.all(
      payments.flatMap((made) => [1, 2, 3].map((each) => vanish(made, round * 10 + each * Math.random() * 10))),
    )
  // One after the other on one connection, without waiting for an answer.
  const [made] = payments as [Made]
  const pipelining = connectSocket(Number(new URL(url).port), '127.0.0.1')
  pipelining.on('error', () => {})
  pipelining.write(`GET /pay/${made.id}/live HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(8))
  await once(pipelining, 'data')
  pipelining.destroy()
  await eventually(
    async () => live.streams(),
    (count) => count === 0,
  )
  await eventually(
    () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count))),
    (count) => count === 0,
  )
  // Nor does the address owe anything for them.
  const again = await Promise.all(Array.from({ length: MAX_STREAMS.perAddressAndPayment }, () => follow(made, url)))
  assert.ok(again.every(({ status }) => status === 200))
})

test('one address may have ten streams of one payment; a closed stream frees its place', async () => {
  const { url } = await startOther({ rateLimit: true })
  const [made, another] = [await checkout(), await checkout()]
  const streams = await Promise.all(Array.from({ length: 10 }, () => follow(made, url)))
  const refused = await follow(made, url)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.equal((await follow(another, url)).status, 200)
  streams[0]?.close()
  await eventually(
    () => follow(made, url),
    ({ status }) => status === 200,
  )
})

test('a process with too many streams answers 503, so that the page polls', async () => {
  const { live, url } = await startOther({ maxStreams: 2 })
  const made = await checkout()
  const [first] = [await follow(made, url), await follow(made, url)]
  const refused = await follow(made, url)
  assert.equal(refused.status, 503)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  first.close()
  await eventually(
    async () => live.streams(),
    (count) => count < 2,
  )
  assert.equal((await follow(made, url)).status, 200)
})

test('the status response is small, not cached, and has its own rate limit', async () => {
  const { url } = await startOther({ rateLimit: true })
  const { id } = await checkout()
  const asked = await request(`${url}/pay/${id}/status`, 'GET')
  assert.deepEqual([asked.status, asked.body], [200, { v: 0, status: 'pending' }])
  assert.equal(asked.headers['cache-control'], 'no-store')

  const socket = connectSocket(Number(new URL(url).port), '127.0.0.1')
  socket.write(`GET /pay/${id}/status HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  assert.match(answer.toString(), /\{"v":0,"status":"pending"\}$/)
  assert.ok(answer.length <= 300, `${answer.length} bytes`)

  const many = await Promise.all(Array.from({ length: 200 }, () => request(`${url}/pay/${id}/status`, 'GET')))
  assert.ok(many.every(({ status }) => status === 200))
  assert.equal((await request(`${url}/pay/${id}`, 'GET')).status, 200)
})

test('an unknown payment is 404 for both, and guessing is rate limited as for pages', async () => {
  const { live, url } = await startOther({ rateLimit: true })
  const since = { startMs: performance.now(), everyMs: 6_000 }
  const guesses: number[] = []
  for (const path of [`/pay/${UNKNOWN}/live`, '/pay/x/live', `/pay/${UNKNOWN}/status`, '/pay/x/status'])
    guesses.push((await request(url + path, 'GET')).status)
  assert.deepEqual(guesses, [404, 404, 404, 404])
  for (let guess = 0; guess < 6; guess++) await request(`${url}/pay/${UNKNOWN}/status`, 'GET')
  const { id } = await checkout()
  for (const path of [`/pay/${id}/status`, `/pay/${id}/live`, `/pay/${id}`])
    await untilLimited(async () => {
      const response = await fetch(url + path)
      await response.body?.cancel() // a stream would not end
      if (response.status !== 429) await request(`${url}/pay/${UNKNOWN}/status`, 'GET')
      return response
    }, since)
  await eventually(
    async () => live.streams(),
    (count) => count === 0,
  )
})

test('a stream accepts GET only', async () => {
  const { id } = await checkout()
  for (const method of ['HEAD', 'POST'])
    assert.equal((await fetch(`${baseUrl}/pay/${id}/live`, { method })).status, 405, method)
})

test('the metrics count the open streams', async () => {
  const { url } = await startOther()
  await follow(await checkout(), url)
  assert.match((await request(`${url}/metrics`, 'GET')).body, /^manilla_live_streams 1$/m)
})
