import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { connect, type Database } from '../../src/database/database.ts'
import { startEmbedded } from '../../src/database/embedded.ts'
import { migrate } from '../../src/database/migrate.ts'
import { sql } from '../../src/database/sql.ts'
import { integrationCache } from '../../src/integrations/integration-cache.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Country } from '../../src/kernel/country.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { Problem } from '../../src/kernel/problem.ts'
import { type CreatePayment, createPayment, paymentBatch } from '../../src/payments/start/create-payment.ts'
import { createDatabase } from '../support/database.ts'
import { type ServiceProcess, startProcess } from '../support/process.ts'
import { addMerchant, call, checkout, startOn, startService, type TestMerchant } from '../support/service.ts'

// A PostgreSQL of our own, since these tests stop, freeze and restart it.
const folder = await mkdtemp(join(tmpdir(), 'manilla-faults-'))
let server = await startEmbedded({ dataDir: folder, purpose: 'own' })
await migrate(server.url)
const service = await startProcess({
  DATABASE_URL: server.url,
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  DATA_DIR: join(folder, 'keys'),
  RATE_LIMIT: 'off',
  LOG_LEVEL: 'silent',
})
after(async () => {
  service.child.kill('SIGTERM')
  const code = await service.exited
  await server.stop()
  await rm(folder, { recursive: true, force: true })
  assert.equal(code, 0, 'all of this did not keep it from ending well')
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
  assert.equal(await ask('/pay/chk_8e1Ch41XiYF5uu1qJFodMjwf'), 503)

  server = await startEmbedded({ dataDir: folder, purpose: 'own', port: Number(port) })
  assert.ok((await untilBack()) < 5_000)
  assert.equal(await ask('/readyz'), 200)
})

test('C3: when PostgreSQL ends backends under load, no process dies and no acknowledged payment is lost', async () => {
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

test('C4: a frozen PostgreSQL ends in a timeout and 503, and is used again when it continues', async () => {
  const pid = await postmasterPid()
  const backends = await freeze(pid)
  try {
    const calls = Promise.all(Array.from({ length: 600 }, () => create(service))) // more than two groups of them
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
        // The process ended while it was frozen.
      }
    }
  }
  assert.ok((await untilBack()) < 5_000)
})

/** Freezes the server first, so that no connection is added while they are counted. */
async function freeze(postmaster: number): Promise<number[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  process.kill(postmaster, 'SIGSTOP')
  const { rows } = await client.query(
    "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
  )
  await client.end()
  const backends = rows.map((row) => Number(row.pid))
  for (const backend of backends) process.kill(backend, 'SIGSTOP')
  return backends
}

test('C5: waiting for a connection is bounded: with all of them in use the next query is 503 within its wait', async () => {
  const { url } = await createDatabase({ empty: true })
  const small = connect({ url, connections: 2, poolWaitMs: 200 })
  after(() => small.close())
  const holding = [1, 2].map(() => small.rows(sql`select pg_sleep(1)`))
  const startedMs = performance.now()
  await assert.rejects(small.row(sql`select 1`), (error) => error instanceof Problem && error.code === 'unavailable')
  assert.ok(performance.now() - startedMs < 900)
  await Promise.all(holding)
})

test('C5: creating payments never takes all connections, because they are written in batches; reads continue', async () => {
  const { app, database } = await startService()
  const shop = await addMerchant(database)
  let most = 0
  const checks = setInterval(() => {
    const { total, idle } = database.connections()
    most = Math.max(most, total - idle)
  }, 1)
  await Promise.all(Array.from({ length: 500 }, () => checkout(app, shop)))
  clearInterval(checks)
  assert.ok(most <= 3, `${most} connections in use at once`)
})

test('C6: a transaction with a serialization failure or deadlock is repeated, up to three times', async () => {
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
  const other = await startOn(second)
  const references = Array.from({ length: 100 }, (_, index) => `race-${index}`)
  const answers = await Promise.all([
    ...references.map((reference) => checkout(one.app, shop, { reference })),
    ...references.toReversed().map((reference) => checkout(other, shop, { reference })),
  ])
  const statuses = answers.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 201).length, 100)
  assert.equal(statuses.filter((status) => status === 409).length, 100)
})

test('C6: two processes that write the same keys in opposite order end in one payment each, never in an error', async () => {
  const { database, url } = await createDatabase()
  const shop = await addMerchant(database)
  const second = connect({ url })
  after(() => second.close())
  const [one, other] = [createDependencies(database), createDependencies(second)]
  const keys = Array.from({ length: 100 }, (_, index) => `key-${index}`)
  const results = await Promise.allSettled([
    ...keys.map((key) => createPayment(one, wantedBy(shop, { key }))),
    ...keys.toReversed().map((key) => createPayment(other, wantedBy(shop, { key }))),
  ])
  assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(['fulfilled']))
  const row = await database.row<{ count: number }>(sql`select count(*) as count from payments`)
  assert.equal(row?.count, 100)
})

test('C6: a create that conflicts at every repeat is 503, never a bare 500', async () => {
  const { app, database } = await startService()
  const shop = await addMerchant(database)
  await database.rows(
    sql`create function lose() returns trigger language plpgsql as $$ begin raise exception 'lost' using errcode = '40001'; end $$`,
  )
  await database.rows(sql`create trigger lose before insert on payments for each row execute function lose()`)
  const { status, body } = await checkout(app, shop)
  assert.deepEqual([status, body.code], [503, 'unavailable'])
})

test('C8: a migration that adds a column does not disturb the version that runs beside it', async () => {
  const { app, database } = await startService()
  const shop = await addMerchant(database)
  const read = () => call(app, 'GET', '/payments/v1/payments/before', { headers: shop.headers })
  await checkout(app, shop, { reference: 'before' })
  assert.equal((await read()).status, 200)
  await database.rows(sql`alter table payments add column added_later text`)
  for (let time = 0; time < 5; time++) assert.equal((await read()).status, 200)
  assert.equal((await checkout(app, shop)).status, 201)
  assert.equal((await call(app, 'GET', '/payments/v1/payments', { headers: shop.headers })).body.data.length, 2)
})

test('a PostgreSQL that only reads, such as a demoted primary, is 503 and not ready', async () => {
  const { app, database, databaseUrl } = await startService()
  const shop = await addMerchant(database)
  await database.rows(sql`select 1`)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `alter database "${new URL(databaseUrl).pathname.slice(1)}" set default_transaction_read_only = on`,
  )
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await client.end()
  const { status, body } = await checkout(app, shop)
  assert.deepEqual([status, body.code], [503, 'unavailable'])
  assert.equal((await call(app, 'GET', '/readyz')).status, 503)
})

test('INV-1: our connections commit to disk, whatever the default of the database is', async () => {
  const { database, url } = await createDatabase({ empty: true })
  await database.rows(
    sql`do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`,
  )
  const fresh = connect({ url })
  after(() => fresh.close())
  assert.deepEqual(await fresh.row(sql`show synchronous_commit`), { synchronous_commit: 'on' })
})

function wantedBy(
  { place, merchantId }: TestMerchant,
  { key, email = 'a@b.co' }: { key?: string; email?: string } = {},
): CreatePayment {
  return {
    caller: {
      ...{ actor: 'test', place, merchantId },
      ...{ mode: 'sandbox', suspended: false, merchantName: 'Test' },
    },
    reference: undefined,
    expiresInSeconds: 900,
    idempotency: key === undefined ? undefined : { key, digest: Buffer.alloc(32) },
    request: {
      amount: 5,
      currency: 'NGN' as Currency,
      country: 'NG' as Country,
      customerBearsCharge: false,
      user: { id: null, email, phoneNumber: null, name: null },
      redirectURL: null,
      webhook: null,
      metadata: {},
    },
  }
}

test('an invalid row does not fail the other payments of its batch', async () => {
  const { database } = await createDatabase()
  const dependencies = createDependencies(database)
  const shop = await addMerchant(database)
  // No route accepts U+0000. This is the row that a defect of ours would send.
  const results = await Promise.allSettled(
    ['a@b.co', 'bad\0@b.co', 'c@d.co'].map((email) => createPayment(dependencies, wantedBy(shop, { email }))),
  )
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

function createDependencies(on: Database) {
  return { database: on, clock: systemClock, integrationCache: integrationCache(on), paymentBatch: paymentBatch(on) }
}
