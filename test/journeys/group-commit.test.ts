import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { connect, type Database } from '../../src/database/database.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { type AttemptId, placeOf, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { settleAttempt } from '../../src/payments/settle-attempt.ts'
import { findAttempt } from '../../src/payments/store/attempts.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { eventually, type Shop, startPaying } from '../support/paying.ts'

// Decisions on different payments that are made at the same time are written by one statement, with one commit.

const service = await startPaying()
const { database } = service

/** A database of its own writer, which counts the statements that write decisions. */
function counting(own: Database = database) {
  const writes: Statement[] = []
  const counted: Database = {
    ...own,
    rows<Row>(statement: Statement) {
      if (/update payments p/.test(statement.text)) writes.push(statement)
      return own.rows<Row>(statement)
    },
  }
  return { writes, parts: { ...service.parts, database: counted } }
}

async function started(shop: Shop) {
  const { status, body } = await shop.initialize()
  assert.equal(status, 200, JSON.stringify(body))
  const { id, attempts } = await shop.payment(body.data.reference)
  const attempt = (await findAttempt(database, attempts[0].id as AttemptId)) ?? assert.fail()
  const state = (await findPaymentStateById(database, attempt.paymentId)) ?? assert.fail()
  return { id, attempt, state }
}

type Payment = Awaited<ReturnType<typeof started>>

const paidBy = (transactionId: string) => ({
  kind: 'paid' as const,
  receipts: [
    { transactionId, idIsProviders: true as const, amount: money(1_250_000, 'NGN' as Currency), at: new Date() },
  ],
})

const settle = (parts: typeof service.parts, { attempt, state }: Payment, transactionId: string) =>
  settleAttempt(parts, attempt, { source: 'check', outcome: paidBy(transactionId) }, state)

test('ten payments that are settled at the same time share one statement, or one for each place', async () => {
  const shops = [await service.addShop(), await service.addShop()]
  const payments = await Promise.all(Array.from({ length: 10 }, (_, index) => started(shops[index % 2] as Shop)))
  const { writes, parts } = counting()
  await Promise.all(payments.map((payment, index) => settle(parts, payment, `together-${index}`)))
  const places = new Set(payments.map(({ attempt }) => placeOf(attempt.id)))
  assert.equal(writes.length, places.size)
  for (const { id, attempt } of payments) {
    const [shop] = shops.filter(({ merchantId }) => merchantId === attempt.merchantId) as [Shop]
    assert.equal((await shop.payment(id)).status, 'successful')
    const { rows } = await receiptsOf(attempt.id)
    assert.equal(rows, 1)
  }
})

test('a decision that the database refuses fails alone; the others of its group are written', async () => {
  const shop = await service.addShop()
  const [first, second, third, ...more] = await Promise.all(Array.from({ length: 6 }, () => started(shop)))
  assert.ok(first && second && third)
  const { parts } = counting()
  await settle(parts, first, 'used-before')
  // The transaction is on record for another payment, so the unique index refuses it, and with it the statement of the group.
  await Promise.all([
    settle(parts, second, 'used-before'),
    settle(parts, third, 'fresh'),
    ...more.map((payment, index) => settle(parts, payment, `fresh-${index}`)),
  ])
  const statusOf = async ({ id }: Payment) => (await shop.payment(id)).status
  assert.equal(await statusOf(first), 'successful')
  assert.equal(await statusOf(second), 'pending', 'money counts once')
  for (const payment of [third, ...more]) assert.equal(await statusOf(payment), 'successful')
})

test('two decisions on one payment at the same time: the second is decided again', async () => {
  const shop = await service.addShop()
  const payment = await started(shop)
  const { parts } = counting()
  await Promise.all([settle(parts, payment, 'twice-1'), settle(parts, payment, 'twice-2')])
  const { status, attempts } = await shop.payment(payment.id)
  assert.equal(status, 'successful')
  assert.equal(attempts.length, 1)
  const { rows, counted } = await receiptsOf(payment.attempt.id)
  assert.deepEqual([rows, counted], [2, 1], 'the second transaction is surplus')
})

test('a payment that another transaction has locked fails alone; others of its group, and the next group, are written', async () => {
  const [shop, other] = [await service.addShop(), await service.addShop()]
  const [locked, sameGroup, next] = await Promise.all([started(shop), started(shop), started(shop)])
  const otherPlace = await started(other)
  const url = service.databaseUrl ?? assert.fail()
  const usual = connect({ url, poolWaitMs: 30_000, statementTimeoutMs: 30_000 }) // it waits 2 s for a lock
  after(() => usual.close())
  const { parts } = counting(usual)
  const release = await lock(locked)
  const refused = assert.rejects(settle(parts, locked, 'locked'), { code: 'unavailable' })
  const others = [settle(parts, sameGroup, 'same-group'), settle(parts, otherPlace, 'other-place')]
  await Promise.race([refused, lockAwaited().catch(() => {})]) // a stalled machine may miss the 2 s
  await Promise.all([refused, ...others, settle(parts, next, 'next-group')])
  await release()
  for (const { id } of [sameGroup, next]) assert.equal((await shop.payment(id)).status, 'successful')
  assert.equal((await other.payment(otherPlace.id)).status, 'successful')
  assert.equal((await shop.payment(locked.id)).status, 'pending')
})

test('a broken connection fails the decisions that were sent over it, and not those that wait', async () => {
  const shop = await service.addShop()
  const [sent, next] = await Promise.all([started(shop), started(shop)])
  const { parts } = counting()
  const release = await lock(sent)
  const failed = assert.rejects(settle(parts, sent, 'sent'), { code: 'unavailable' })
  const pid = await lockAwaited()
  const waiting = settle(parts, next, 'waiting')
  await database.rows(sql`select pg_terminate_backend(${pid}::integer)`)
  await Promise.all([failed, waiting])
  await release()
  assert.equal((await shop.payment(next.id)).status, 'successful')
})

/** Locks the payment's row like a process that is frozen in its transaction. */
async function lock({ attempt: { paymentId } }: Payment): Promise<() => Promise<void>> {
  const client = new pg.Client(service.databaseUrl)
  await client.connect()
  await client.query('begin')
  const row = 'select from payments where place = $1 and id = $2 for update'
  await client.query(row, [placeOf(paymentId), uuidOf(paymentId)])
  return () => client.end()
}

/** Resolves when a backend waits for a lock. Returns its process id. */
async function lockAwaited(): Promise<number> {
  const waiting = sql`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const row = await eventually(
    () => database.row<{ pid: number }>(waiting),
    (found) => found !== undefined,
  )
  return row?.pid ?? assert.fail()
}

async function receiptsOf(id: AttemptId) {
  const row = await database.row<{ rows: number; counted: number }>(sql`
    select count(*) as rows, count(*) filter (where counted) as counted from receipts
     where place = ${placeOf(id)} and attempt_id = ${uuidOf(id)}`)
  return row ?? assert.fail()
}
