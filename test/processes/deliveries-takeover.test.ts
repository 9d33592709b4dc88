import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import { webhookHttp } from '../../src/outbound/webhook-http.ts'
import { startDelivering } from '../../src/webhooks/delivery-loop.ts'
import { createDatabase } from '../support/database.ts'
import { startListener, takes } from '../support/listener.ts'
import { eventually, request } from '../support/paying.ts'
import { startForTest } from '../support/process.ts'

const TAKEOVER_MS = 10_000

/** A real process with a delivery in flight. */
async function withDeliveryInFlight() {
  const { url, database } = await createDatabase()
  const secretKey = randomBytes(32)
  const credentials = {
    SANDBOX_CLIENT_ID: `cid_sandbox_${randomBytes(8).toString('hex')}`,
    SANDBOX_CLIENT_SECRET: `sec_sandbox_${randomBytes(32).toString('hex')}`,
  }
  const env = {
    ...credentials,
    DATABASE_URL: url,
    SECRET_KEY: secretKey.toString('base64'),
    WEBHOOK_ALLOW_PRIVATE: 'sandbox',
    LOG_LEVEL: 'silent',
  }
  const headers = { 'client-id': credentials.SANDBOX_CLIENT_ID, 'client-secret': credentials.SANDBOX_CLIENT_SECRET }
  const listener = await startListener(takes.inSilence)
  const owner = await startForTest(env)
  // A process that has just started on a busy machine may answer 503.
  const call = async (path: string, sent?: unknown) => {
    const ask = () => request(`${owner.baseUrl}/payments/v1${path}`, 'POST', headers, sent)
    return (await eventually(ask, ({ status }) => status < 300)).body.data
  }
  const order = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' }, webhook: listener.url }
  const { reference } = await call('/checkouts', order)
  await call(`/payments/${reference}/cancel`)
  await listener.hears(1)
  return { database, env, secretKey, listener, owner }
}

const kill = async ({ child, exited }: Awaited<ReturnType<typeof startForTest>>) => {
  child.kill('SIGKILL')
  await exited
  return performance.now()
}

test('D5: after kill -9 a surviving worker takes over the deliveries within 10 s, and none while the owner lives', async (t) => {
  const { database, secretKey, listener, owner } = await withDeliveryInFlight()
  const http = webhookHttp()
  const survivor = startDelivering({
    database,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    secrets: secretBox(secretKey),
    http,
    allowPrivate: () => true,
  })
  t.after(() => survivor.stop().then(http.close))
  // Another delivery shows that both workers have polled.
  const other = await startListener()
  await database.rows(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination)
    select place, gen_random_uuid(), event_id, merchant_id, mode, ${other.url}, 'another destination' from deliveries`)
  await other.hears(1)
  assert.equal(listener.heard.length, 1, 'the owner lives, so its delivery is not sent twice')

  listener.answer = takes.well
  const killedAt = await kill(owner)
  await listener.hears(2, TAKEOVER_MS)
  const tookMs = (listener.heard[1]?.at ?? Number.POSITIVE_INFINITY) - killedAt
  t.diagnostic(`the surviving worker took over after ${tookMs.toFixed(0)} ms`)
  assert.ok(tookMs <= TAKEOVER_MS, `${tookMs} ms`)
  assert.equal(listener.heard[0]?.headers['webhook-id'], listener.heard[1]?.headers['webhook-id'])
  assert.equal(listener.heard[0]?.body, listener.heard[1]?.body)
  await eventually(
    () => database.rows(sql`select from deliveries where state = 'waiting'`),
    (waiting) => waiting.length === 0,
  )
  assert.equal(listener.heard.length, 2)
})

test('D5: after kill -9 the restarted worker takes over first tries and retries within 10 s', async (t) => {
  const { database, env, listener, owner } = await withDeliveryInFlight()
  const retried = await startListener(takes.inSilence)
  await database.rows(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, tries)
    select place, gen_random_uuid(), event_id, merchant_id, mode, ${retried.url}, 'a retry', 1 from deliveries`)
  await database.rows(sql`
    insert into delivery_retries (place, destination, merchant_id, mode, is_host, next_due_at)
    select place, destination, merchant_id, mode, true, now() from deliveries where destination = 'a retry'`)
  await retried.hears(1)

  listener.answer = takes.well
  retried.answer = takes.well
  await kill(owner)
  const restarted = await startForTest(env)
  const restartedAt = performance.now()
  await Promise.all([listener.hears(2, TAKEOVER_MS), retried.hears(2, TAKEOVER_MS)])
  const tookMs = Math.max(...[listener, retried].map(({ heard }) => (heard[1]?.at ?? 0) - restartedAt))
  t.diagnostic(`the restarted worker took over after ${tookMs.toFixed(0)} ms`)
  assert.ok(tookMs <= TAKEOVER_MS, `${tookMs} ms`)
  await kill(restarted)
})
