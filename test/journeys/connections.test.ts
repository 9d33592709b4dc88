import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { checkSessions } from '../../src/database/check-sessions.ts'
import { connect } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, uuidOf } from '../../src/kernel/ids.ts'
import { money } from '../../src/kernel/money.ts'
import { OperatorError } from '../../src/kernel/operator-error.ts'
import type { Problem } from '../../src/kernel/problem.ts'
import { settleAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { findAttempt } from '../../src/payments/store/attempts.ts'
import { createDatabase } from '../support/database.ts'
import { eventually, startPaying } from '../support/paying.ts'

const { url, database: admin } = await createDatabase()

const client = new pg.Client({ connectionString: url })
client.on('error', () => {}) // the database is dropped before this connection ends
await client.connect()
after(() => client.end())

/** A role whose sessions would answer before the data is on disk, and have no timeouts. */
async function addRole(): Promise<{ name: string; roleUrl: string }> {
  const name = `role_${randomBytes(4).toString('hex')}`
  await client.query(`create role ${name} login password 'secret'`)
  await client.query(`alter role ${name} set synchronous_commit = off`)
  const roleUrl = new URL(url)
  roleUrl.username = name
  roleUrl.password = 'secret'
  return { name, roleUrl: roleUrl.href }
}

test('a pooled DATABASE_URL without timeouts is refused, and the text has the statements that repair it', async () => {
  const { name, roleUrl } = await addRole()
  const urls = { url: roleUrl, directUrl: url }
  const refusal = await checkSessions(urls).then(
    () => assert.fail('it was accepted'),
    (error: unknown) => (error instanceof OperatorError ? error.message : assert.fail(String(error))),
  )
  assert.match(refusal, /DATABASE_URL are not safe to use: .*statement_timeout is 0, synchronous_commit is off\./)
  const statements = refusal.match(/alter role .*;/g) ?? []
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations/database.md'), 'utf8')
  const inDocs = page.replaceAll('role manilla', `role ${name}`).match(/alter role .*;/g) ?? []
  assert.deepEqual(statements.toSorted(), inDocs.toSorted())
  for (const statement of statements) await client.query(statement)
  await checkSessions(urls)
  // Longer than the client waits for its answer.
  await client.query(`alter role ${name} set statement_timeout = '1min'`)
  await assert.rejects(checkSessions(urls), /statement_timeout is 60000/)
})

test('without a pooler the service sets the timeouts itself, and a replica that is down does not keep it from starting', async () => {
  const { roleUrl } = await addRole()
  await checkSessions({ url: roleUrl, directUrl: roleUrl, readUrl: 'postgres://nobody@127.0.0.1:1/nowhere' })
  await assert.rejects(
    checkSessions({ url: 'postgres://nobody@127.0.0.1:1/nowhere', directUrl: url }),
    /PostgreSQL at 127\.0\.0\.1:1 cannot be used: .*Check DATABASE_URL/,
  )
})

test('a list that is too slow for the replica is not read from the primary as well', async () => {
  const { name, roleUrl } = await addRole()
  await client.query('create sequence runs; grant usage on sequence runs to public')
  const database = connect({ url, readUrl: roleUrl, statementTimeoutMs: 1_500, poolWaitMs: 10_000 })
  after(() => database.close())
  await eventually(
    () => database.reads.row<{ role: string }>(sql`select current_user as role`).catch(() => undefined),
    (row) => row?.role === name,
  )
  const runs = async () => (await admin.row<{ nextval: number }>(sql`select nextval('runs')`))?.nextval ?? Number.NaN
  const timesRead = async () => {
    const before = await runs()
    const slow = sql`select nextval('runs'), pg_sleep(30)`
    await assert.rejects(database.reads.rows(slow), (error) => (error as Problem).code === 'unavailable')
    return (await runs()) - before - 1
  }
  // A replica whose timeout comes late is taken for one that is down. A stall of this machine does that, but not each
  // time.
  await eventually(timesRead, (times) => times === 1)
})

test('settling goes on while all other connections are in use', async () => {
  const { parts, addShop } = await startPaying({ database: admin, databaseUrl: url })
  const options = { connections: 3, reservedConnections: 1, poolWaitMs: 2_500, statementTimeoutMs: 100_000 }
  const database = connect({ url, ...options })
  after(() => database.close())
  const shop = await addShop()
  const { body } = await shop.initialize()
  const payment = await shop.payment(body.data.reference)
  const attempt = (await findAttempt(admin, payment.attempts[0].id as AttemptId)) ?? assert.fail()
  // A stalled machine may not open a connection in time.
  const worked = (work: () => Promise<unknown>) =>
    eventually(
      () => work().catch((error: Problem) => error.code),
      (result) => result !== 'unavailable',
    )
  const sleepOn3 = (seconds: number) => [1, 2, 3].map(() => database.rows(sql`select pg_sleep(${seconds}::float8)`))
  await worked(() => Promise.all(sleepOn3(0.1)))
  const busy = Promise.allSettled(sleepOn3(90))
  await assert.rejects(database.rows(sql`select 1`), (error) => (error as Problem).code === 'unavailable')
  const receipts = [
    {
      transactionId: 'reserved-1',
      idIsProviders: true as const,
      amount: money(payment.amount, payment.currency),
      at: new Date(),
    },
  ]
  const outcome = { kind: 'paid', receipts } as const
  await worked(() => settleAttempt({ ...parts, database }, attempt, { source: 'check', outcome }))
  const current = await admin.row(
    sql`select status from payments where place = ${shop.place} and id = ${uuidOf(payment.id)}`,
  )
  assert.deepEqual(current, { status: 'successful' })
  await admin.rows(sql`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'
                        and datname = current_database()`)
  assert.deepEqual(
    (await busy).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
    'all of them were in use',
  )
})
