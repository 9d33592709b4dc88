import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkSessions } from '../../src/database/check-sessions.ts'
import { connect } from '../../src/database/database.ts'
import { lostConnection } from '../../src/database/failure.ts'
import { sql } from '../../src/database/sql.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { createDatabase, pooledUrl } from '../support/database.ts'
import { eventually } from '../support/paying.ts'
import { openPgbouncer } from '../support/pgbouncer.ts'
import { DidNotStart, startForTest } from '../support/process.ts'

// Part of `npm run gate -- pgbouncer`: what only a real pooler shows.

const { url } = await createDatabase()
const pooled = pooledUrl(url) ?? assert.fail('Run this with: npm run gate -- pgbouncer')
const folder = await mkdtemp(join(tmpdir(), 'manilla-pgbouncer-'))
after(() => rm(folder, { recursive: true, force: true }))
await chmod(folder, 0o711) // under root, PgBouncer runs as user postgres
const env = { SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), DATA_DIR: folder, WEBHOOK_ALLOW_PRIVATE: 'sandbox' }

test('the service does not start with a pooler as its only URL, and says which setting is missing', async () => {
  await assert.rejects(startForTest({ ...env, DATABASE_URL: pooled }), (error) => {
    assert.ok(error instanceof DidNotStart)
    assert.match(error.output, /DATABASE_URL leads to a connection pooler .*set DATABASE_DIRECT_URL/)
    return true
  })
  await assert.rejects(checkSessions({ url, directUrl: pooled }), /DATABASE_DIRECT_URL leads to a connection pooler/)
})

test('a pooler without prepared statements is refused', async () => {
  const program = process.env.PGBOUNCER ?? ''
  const without = await openPgbouncer(program, url, join(folder, 'without'), { max_prepared_statements: 0 })
  after(() => without.stop())
  await assert.rejects(checkSessions({ url: without.url, directUrl: url }), /max_prepared_statements = 200/)
  await assert.rejects(
    checkSessions({ url: pooled, directUrl: url, readUrl: without.url }),
    /DATABASE_READ_URL does not support prepared statements/,
  )
  await checkSessions({ url: pooled, directUrl: url, readUrl: pooled })
})

test('an api and a worker process behind it take a payment and learn of each other', async () => {
  const both = { ...env, DATABASE_URL: pooled, DATABASE_DIRECT_URL: url, RATE_LIMIT: 'off', DATABASE_POOL: '20' }
  const api = await startForTest({ ...both, ROLE: 'api' })
  await startForTest({ ...both, ROLE: 'worker', PUBLIC_URL: api.baseUrl })
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(api.baseUrl + path, {
      method,
      headers: api.headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
  const many = Array.from({ length: 40 }, async (_, index) => {
    const wanted = {
      provider: 'gateway',
      amount: 1_250_000,
      reference: `order-${index}`,
      user: { email: 'ada@example.com' },
    }
    const started = await call('POST', '/payments/v1/payments/initialize', wanted)
    assert.equal(started.status, 200, JSON.stringify(started.body))
    await call('POST', `/sandbox/gateway/charges/${started.body.data.data.reference}`, { card: '4084084084084081' })
    const paid = await eventually(
      () => call('GET', `/payments/v1/payments/order-${index}`),
      ({ body }) => body.data?.status === 'successful',
    )
    assert.equal(paid.body.data.amountPaid, 1_250_000)
  })
  await Promise.all(many)
})

test('a query that is too slow is ended by PostgreSQL, also through the pooler', async () => {
  const database = connect({ url: pooled, isPooled: true })
  after(() => database.close())
  const startedMs = performance.now()
  await assert.rejects(database.rows(sql`select pg_sleep(20)`), (error) => {
    const { cause } = error as { cause?: { code?: string } }
    assert.equal(cause?.code, '57014')
    return true
  })
  assert.ok(performance.now() - startedMs < 10_000)
  assert.deepEqual(await database.rows(sql`select 1 as one`), [{ one: 1 }])
})

test('a session that is cut off in a commit is a lost connection, and the next statement works', async () => {
  const proxy = await startCuttingProxy(url)
  const pooler = await openPgbouncer(process.env.PGBOUNCER ?? '', proxy.url, join(folder, 'cut'))
  after(() => pooler.stop())
  const database = connect({ url: pooler.url, isPooled: true })
  after(() => database.close())
  proxy.cut('committed')
  await assert.rejects(
    database.transaction((tx) => tx.rows(sql`select 1 as one`)),
    lostConnection,
  )
  assert.equal(proxy.cuts(), 1)
  assert.deepEqual(await database.rows(sql`select 1 as one`), [{ one: 1 }])
})
