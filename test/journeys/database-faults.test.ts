import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import { connect } from '../../src/database/database.ts'
import { startEmbedded } from '../../src/database/embedded.ts'
import { migrate } from '../../src/database/migrate.ts'
import { sql } from '../../src/database/sql.ts'
import { buildApp } from '../../src/http/app.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { Problem } from '../../src/kernel/problem.ts'
import { credentialVerifier } from '../../src/merchants/verify-credential.ts'
import { paymentCreator } from '../../src/payments/create-payment.ts'
import { createDatabase } from '../support/database.ts'
import { type ServiceProcess, startForTest } from '../support/process.ts'
import { addMerchant, checkout, startService } from '../support/service.ts'

// A PostgreSQL of our own, since these tests stop, freeze and restart it.
const folder = await mkdtemp(join(tmpdir(), 'manilla-faults-'))
let server = await startEmbedded({ dataDir: folder, purpose: 'own' })
await migrate(server.url)
const service = await startForTest({
  DATABASE_URL: server.url,
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  DATA_DIR: join(folder, 'keys'),
  RATE_LIMIT: 'off',
  LOG_LEVEL: 'silent',
})
after(async () => {
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const BODY = JSON.stringify({ amount: 100, country: 'NG', user: { email: 'ada@example.com' } })

interface Seen {
  status: number
  code?: string
  retryAfter: string | null
  tookMs: number
}

async function create({ baseUrl, headers }: ServiceProcess): Promise<Seen> {
  const startedMs = performance.now()
  const response = await fetch(`${baseUrl}/payments/v1/checkouts`, { method: 'POST', headers, body: BODY })
  const { code } = (await response.json()) as { code?: string }
  return {
    status: response.status,
    code,
    retryAfter: response.headers.get('retry-after'),
    tookMs: performance.now() - startedMs,
  }
}

async function ask(path: string): Promise<number> {
  return (await fetch(service.baseUrl + path)).status
}

/** Until the service answers 201 again; how long that took. */
async function untilBack(): Promise<number> {
  const startedMs = performance.now()
  while ((await create(service)).status !== 201) {
    assert.ok(performance.now() - startedMs < 10_000, 'it comes back')
  }
  return performance.now() - startedMs
}

async function postmasterPid(): Promise<number> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query("select pg_read_file('postmaster.pid') as file")
  await client.end()
  return Number(rows[0].file.split('\n')[0])
}

test('C3: while PostgreSQL is down every answer is 503 unavailable with Retry-After; the process stays up and works again within 5 s', async () => {
  assert.equal((await create(service)).status, 201)
  assert.equal(await ask('/readyz'), 200)
  const { port } = new URL(server.url)
  await server.stop()

  for (const seen of await Promise.all(Array.from({ length: 20 }, () => create(service)))) {
    assert.deepEqual([seen.status, seen.code], [503, 'unavailable'])
    assert.ok(Number(seen.retryAfter) >= 1)
  }
  assert.equal(await ask('/readyz'), 503)
  assert.equal(await ask('/healthz'), 200)
  assert.equal(await ask('/pay/chk_1Ch41XiYF5uu1qJFodMjwf'), 503)

  server = await startEmbedded({ dataDir: folder, purpose: 'own', port: Number(port) })
  assert.ok((await untilBack()) < 5_000)
  assert.equal(await ask('/readyz'), 200)
})

test('C3: backends that PostgreSQL ends under load cost no process, and no acknowledged payment', async () => {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  let acknowledged = 0
  const before = (await client.query('select count(*)::int as count from payments')).rows[0].count
  for (let round = 0; round < 5; round++) {
    const calls = Promise.all(Array.from({ length: 40 }, () => create(service)))
    await client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'manilla'")
    for (const { status } of await calls) {
      assert.ok(status === 201 || status === 503, String(status))
      if (status === 201) acknowledged++
    }
  }
  const now = (await client.query('select count(*)::int as count from payments')).rows[0].count
  await client.end()
  assert.ok(now - before >= acknowledged, `${acknowledged} acknowledged, ${now - before} there`)
  assert.equal(await ask('/healthz'), 200)
})

test('C4: a frozen PostgreSQL is given up on by timeout, answered 503, and worked with again when it thaws', async () => {
  const pid = await postmasterPid()
  const backends = await backendPids()
  for (const frozen of [pid, ...backends]) process.kill(frozen, 'SIGSTOP')
  try {
    const calls = Promise.all(Array.from({ length: 5 }, () => create(service)))
    assert.equal(await ask('/healthz'), 200, 'alive all the same')
    assert.equal(await ask('/readyz'), 503)
    for (const seen of await calls) {
      assert.deepEqual([seen.status, seen.code], [503, 'unavailable'])
      assert.ok(seen.tookMs < 10_000, `${seen.tookMs} ms`)
    }
  } finally {
    for (const frozen of [pid, ...backends]) {
      try {
        process.kill(frozen, 'SIGCONT')
      } catch {
        // It ended while it was frozen.
      }
    }
  }
  assert.ok((await untilBack()) < 5_000)
})

async function backendPids(): Promise<number[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query("select pid from pg_stat_activity where application_name = 'manilla'")
  await client.end()
  return rows.map(({ pid }) => pid)
}

test('C5: waiting for a connection is bounded: with all of them taken the next question is 503 within its wait', async () => {
  const { url } = await createDatabase({ empty: true })
  const small = connect({ url, connections: 2, poolWaitMs: 200 })
  after(() => small.close())
  const holding = [1, 2].map(() => small.rows(sql`select pg_sleep(1)`))
  const startedMs = performance.now()
  await assert.rejects(small.row(sql`select 1`), (error) => error instanceof Problem && error.code === 'unavailable')
  assert.ok(performance.now() - startedMs < 900)
  await Promise.all(holding)
})

test('C5: creating payments never takes all connections: they are written together, so reading goes on beside them', async () => {
  const { app, database } = await startService()
  const shop = await addMerchant(database)
  let most = 0
  const watch = setInterval(() => {
    const { total, idle } = database.connections()
    most = Math.max(most, total - idle)
  }, 1)
  await Promise.all(Array.from({ length: 500 }, () => checkout(app, shop)))
  clearInterval(watch)
  assert.ok(most <= 3, `${most} connections in use at once`)
})

test('C6: a transaction that lost a race is done again, up to three times', async () => {
  const { database } = await createDatabase({ empty: true })
  let rounds = 0
  const result = await database.transaction(async (tx) => {
    rounds++
    if (rounds <= 3) await tx.rows(sql`do $$ begin raise exception 'lost' using errcode = '40001'; end $$`)
    return 'done'
  })
  assert.deepEqual([result, rounds], ['done', 4])
  await assert.rejects(
    database.transaction((tx) => tx.rows(sql`do $$ begin raise exception 'lost' using errcode = '40P01'; end $$`)),
    (error) => error instanceof Problem && error.code === 'unavailable',
  )
})

test('C6: two processes that write the same references at once end in one payment each, never in an error', async () => {
  const one = await startService()
  const shop = await addMerchant(one.database)
  const second = connect({ url: one.databaseUrl })
  after(() => second.close())
  const other = await buildApp({
    database: second,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    verifyCredential: credentialVerifier(second),
    createPayment: paymentCreator({ database: second, clock: systemClock }),
    baseUrl: () => 'http://pay.test',
    isStopping: () => false,
    rateLimit: false,
    trustProxy: [],
  })
  after(() => other.close())
  const references = Array.from({ length: 100 }, (_, index) => `race-${index}`)
  const answers = await Promise.all([
    ...references.map((reference) => checkout(one.app, shop, { reference })),
    ...references.toReversed().map((reference) => checkout(other, shop, { reference })),
  ])
  const statuses = answers.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 201).length, 100)
  assert.equal(statuses.filter((status) => status === 409).length, 100)
})

test('a bad row does not cost its neighbours in the same write their payment', async () => {
  const { database } = await createDatabase()
  const create = paymentCreator({ database, clock: systemClock })
  const shop = await addMerchant(database)
  const caller = {
    merchantId: shop.merchantId,
    mode: 'sandbox' as const,
    suspended: false,
    integrations: [{ provider: 'x', channels: [], countries: ['NG'], currencies: ['NGN'] }],
  }
  const wanted = (email: string) =>
    ({
      caller,
      reference: undefined,
      expiresInSeconds: 900,
      idempotency: undefined,
      request: {
        amount: 5,
        currency: 'NGN',
        country: 'NG',
        customerBearsCharge: false,
        user: { email, phoneNumber: null, name: null },
        redirectURL: null,
        webhook: null,
        metadata: {},
      },
    }) as unknown as Parameters<typeof create>[0]
  // No door lets U+0000 in; this is the row that a mistake of ours would send.
  const results = await Promise.allSettled(['a@b.co', 'bad\0@b.co', 'c@d.co'].map((email) => create(wanted(email))))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})
