import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ADVISORY_LOCKS } from '../src/database/advisory-locks.ts'
import type { Database, Queries } from '../src/database/database.ts'
import { DeleteBatches } from '../src/database/delete-batches.ts'
import { type Statement, sql, statementOf } from '../src/database/sql.ts'
import { uuidOf } from '../src/kernel/ids.ts'
import { overdueSince, retentionBatchSeconds, retentionDeleted } from '../src/metrics/instruments.ts'
import { processWaitingNotices } from '../src/payments/settle/receive-notice.ts'
import { auditRollups } from '../src/payments/upkeep/audit-rollups.ts'
import { deleteOldPayments } from '../src/payments/upkeep/delete-old-payments.ts'
import { foldRollups } from '../src/payments/upkeep/fold-rollups.ts'
import { PURGES } from '../src/providers/gateway/simulator/purge-store.ts'
import { KEPT, purgesOf, type RetentionDays, retentionJob } from '../src/worker/retention.ts'
import { openCases } from './support/cases.ts'
import { startListener } from './support/listener.ts'
import { eventually, startPaying } from './support/paying.ts'
import { assertAudited } from './support/payment-records.ts'
import { placedTables } from './support/place-rule.ts'
import { atProvider } from './support/returns.ts'
import { type Paid, paid } from './support/sandbox-payments.ts'

const { addShop, database, databaseUrl, parts } = await startPaying({ deliver: true })
const shop = await addShop()
const merchant = uuidOf(shop.merchantId)
const DAYS: RetentionDays = { transportDays: 90, sandboxDays: 90, moneyDays: undefined }
const DAY_MS = 86_400_000

const clockIn = (days: number) => ({ ...parts.clock, now: () => new Date(Date.now() + days * DAY_MS) })

/** One run of the job, so many days from now. */
const retain = (days: RetentionDays, daysAhead = 0) =>
  retentionJob({ database, clock: clockIn(daysAhead) }, purgesOf({ database }, days, [{ purges: PURGES }])).run(
    () => false,
  )

/** The rows of payments in each table. */
async function rowsOf(...payments: Paid[]): Promise<Record<string, number>> {
  const references = payments.map(({ reference }) => reference)
  const row = await database.row<Record<string, number>>(sql`
    with p as (select id from payments where reference = any(${references})), a as (select id from attempts where payment_id in (select id from p)),
         e as (select id from events where payment_id in (select id from p)), d as (select id from deliveries where event_id in (select id from e))
    select (select count(*) from p) as payments, (select count(*) from a) as attempts, (select count(*) from e) as events,
           (select count(*) from d) as deliveries, (select count(*) from delivery_tries where delivery_id in (select id from d)) as tries,
           (select count(*) from notices where attempt_id in (select id from a)) as notices,
           (select count(*) from provider_calls where attempt_id in (select id from a)) as calls,
           (select count(*) from receipts where payment_id in (select id from p)) as receipts,
           (select count(*) from refunds where payment_id in (select id from p)) as refunds,
           (select count(*) from disputes where payment_id in (select id from p)) as disputes,
           (select count(*) from cases where payment_id in (select id from p)) as cases,
           (select count(*) from reviews where payment_id in (select id from p)) as reviews`)
  return row as Record<string, number>
}

const isNone = (rows: Record<string, number>, ...tables: string[]) => tables.every((table) => rows[table] === 0)

/** As after the last check. */
const endChecks = ({ reference }: Paid) =>
  database.rows(sql`
    update attempts set next_check_at = null where payment_id = (select id from payments where reference = ${reference})`)

test('every table that grows is deleted from or kept with a reason, and docs/operations/retention.md lists it', async () => {
  const purged = purgesOf({ database }, DAYS, [{ purges: PURGES }]).flatMap(({ tables }) => tables)
  const growing = [...(await placedTables(database))].sort()
  assert.deepEqual([...new Set(purged), ...Object.keys(KEPT)].sort(), growing)
  const page = readFileSync(join(import.meta.dirname, '../docs/operations/retention.md'), 'utf8')
  const section = page.split('## Every table that grows')[1]?.split('\n## ')[0] ?? ''
  const listed = [...section.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, table]) => table)
  assert.deepEqual(listed.toSorted(), growing)
})

test('transport is deleted after its days, and the payment with its events stays', async () => {
  const listener = await startListener()
  const payment = await paid(shop, { webhook: listener.url })
  await endChecks(payment)
  await eventually(
    () => rowsOf(payment),
    ({ tries }) => tries === 1,
  )
  const before = await rowsOf(payment)
  await retain({ ...DAYS, sandboxDays: undefined }, 89)
  assert.deepEqual(await rowsOf(payment), before)
  // An hour later than a payment of the sandbox, which takes these rows along.
  await retain({ ...DAYS, sandboxDays: undefined }, 90 + 1 / 48)
  assert.deepEqual(await rowsOf(payment), before)
  // As the process that owns the embedded PostgreSQL does while it runs.
  const owner = new pg.Client({ connectionString: databaseUrl })
  await owner.connect()
  await owner.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.embeddedOwner])
  await retain({ ...DAYS, sandboxDays: undefined }, 91)
  await owner.end()
  const after = await rowsOf(payment)
  const transport = { deliveries: 0, tries: 0, notices: 0, calls: 0 }
  assert.ok(before.deliveries && before.notices && before.calls)
  assert.deepEqual(after, { ...before, ...transport })
})

test('a payment of the sandbox is deleted with all that belongs to it; open ones and those of live mode stay', async () => {
  const closed = await paid(shop, { webhook: (await startListener()).url })
  const refund = await shop.call('POST', `/payments/v1/payments/${closed.reference}/refunds`, { amount: 1_000 })
  assert.equal(refund.status, 201)
  const { id } = await atProvider(shop, '/disputes', { reference: closed.order, amount: 1_000 })
  await atProvider(shop, `/disputes/${id}/close`, { outcome: 'lost' }, 200)
  const [contested, checked, doubtful, waiting] = [
    await paid(shop),
    await paid(shop),
    await paid(shop),
    await paid(shop),
  ]
  await atProvider(shop, '/disputes', { reference: contested.order, amount: 1_000 })
  const isReady = async () => {
    const disputes = await database.rows<{ status: string }>(sql`select status from disputes`)
    return disputes.map(({ status }) => status).sort()
  }
  await eventually(isReady, (states) => states.join() === 'lost,open')
  await eventually(
    async () => {
      await processWaitingNotices(parts, 100) // as a worker repeats those that failed
      return database.rows(sql`
        select from refunds where status = 'pending' union all select from deliveries where state = 'waiting'
         union all select from gateway_notices where state = 'waiting' union all select from notices where state = 'waiting'`)
    },
    ({ length }) => length === 0,
  )
  await database.rows(sql`
    update attempts set next_check_at = now() + interval '1 day'
     where payment_id = (select id from payments where reference = ${checked.reference})`)
  await openCases(database, [doubtful.reference], 'test')
  await database.rows(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, due_at)
    select e.place, gen_random_uuid(), e.id, e.merchant_id, e.mode, 'http://127.0.0.1:9/', 'nowhere', now() + interval '1 day'
      from events e join payments p on p.id = e.payment_id where p.reference = ${waiting.reference} and e.type = 'payment.successful'`)
  const link = await shop.call('POST', '/payments/v1/checkouts', {
    amount: 500,
    country: 'NG',
    user: { email: 'a@b.co' },
  })
  const pending: Paid = { ...closed, reference: link.body.data.reference }
  await database.rows(sql`
    insert into reviews (place, id, merchant_id, mode, kind, act, receipt_id, amount, currency, actor)
    select r.place, gen_random_uuid(), r.merchant_id, r.mode, 'unmatched', 'matched', r.id, r.amount, r.currency, 'test'
      from receipts r join payments p on p.id = r.payment_id where p.reference = ${closed.reference}`)
  const LIVE = '01500000-0000-7000-8000-000000000001'
  await insertLive(LIVE, '800 days')
  assert.ok(!isNone(await rowsOf(closed), 'refunds') && !isNone(await rowsOf(closed), 'disputes'))
  const stays = [contested, checked, doubtful, waiting, pending]
  const before = await rowsOf(...stays)

  await retain(DAYS, 89)
  assert.equal((await rowsOf(closed)).payments, 1)
  await retain({ ...DAYS, transportDays: undefined }, 91)
  const gone = await rowsOf(closed)
  assert.ok(isNone(gone, ...Object.keys(gone)), JSON.stringify(gone))
  assert.deepEqual(await rowsOf(...stays), before)
  await assertAudited(database)
  assert.deepEqual(await database.rows(sql`select from gateway_payments where created_at < now()`), [])

  const isLive = () => database.rows(sql`select from payments where id = ${LIVE}`)
  assert.equal((await isLive()).length, 1)
  await retain({ ...DAYS, moneyDays: 810 })
  assert.equal((await isLive()).length, 1)
  await retain({ ...DAYS, moneyDays: 790 })
  assert.equal((await isLive()).length, 0)
})

test('money that does not add up keeps its payment until a person has handled it', async () => {
  const AMOUNT = 10_000
  async function transfer(amount: number, { cancelFirst = false } = {}): Promise<Paid> {
    const { body } = await shop.initialize({ provider: 'gateway-virtual-bank-account', amount: AMOUNT })
    const { reference: attempt, data } = body.data
    const { reference } = await shop.payment(attempt)
    const cancel = () => shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
    if (cancelFirst) await cancel()
    await atProvider(shop, '/transfers', { accountNumber: data.accountNumber, amount }, 200)
    const { id, status } = await eventually(
      () => shop.payment(reference),
      ({ amountPaid }) => amountPaid === amount,
    )
    if (status === 'pending') await cancel()
    return { id, reference, order: '' }
  }
  const open = [await transfer(AMOUNT + 500), await transfer(2_500), await transfer(AMOUNT, { cancelFirst: true })]
  for (const payment of open) await endChecks(payment)
  await retain(DAYS, 91)
  assert.equal((await rowsOf(...open)).payments, open.length)

  const references = open.map(({ reference }) => reference)
  await database.rows(sql`
    insert into reviews (place, id, merchant_id, mode, kind, act, attempt_id, payment_id, received, amount, currency, actor)
    select a.place, gen_random_uuid(), a.merchant_id, a.mode, case when p.late then 'late' else 'underpaid' end, 'noted',
           case when not p.late then a.id end, p.id, a.amount_received, 1, a.currency, 'test'
      from attempts a join payments p on p.id = a.payment_id where p.reference = any(${references})`)
  await retain(DAYS, 91)
  assert.equal((await rowsOf(...open)).cases, 2, 'an open case keeps its payment')
  await database.rows(
    sql`update cases set closed_at = now(), closed_by = 'test', note = 'test' where closed_at is null`,
  )
  await retain(DAYS, 91)
  const deleted = await rowsOf(...open)
  assert.deepEqual([deleted.payments, deleted.cases], [0, 0])
  await assertAudited(database)
})

test('unmatched notices are kept for a year, and for as long as other notices', async () => {
  await database.rows(sql`
    insert into notices (place, merchant_id, mode, provider, digest, body, reading, says, state, received_at)
    values (${shop.place}, ${merchant}, 'sandbox', 'retention', '', '', '{}', 'paid', 'unmatched', now() - interval '400 days')`)
  const isThere = async () => (await database.rows(sql`select from notices where provider = 'retention'`)).length === 1
  await retain({ ...DAYS, transportDays: undefined })
  assert.ok(await isThere())
  await retain({ ...DAYS, transportDays: 500 })
  assert.ok(await isThere())
  await retain(DAYS)
  assert.ok(!(await isThere()))
})

async function insertLive(id: string, age: string): Promise<void> {
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, status, amount, currency, country, customer_bears_charge,
                          user_email, metadata, sequence, created_at, expires_at, completed_at)
    values (${shop.place}, ${id}, ${merchant}, 'live', ${`live-${id}`}, ${id}, 'expired', 1000, 'NGN', 'NG', false, 'a@b.co', '{}', 1,
            now() - ${age}::interval, now(), now())`)
  await database.rows(sql`
    insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data, occurred_at)
    values (${shop.place}, ${id}, ${merchant}, 'live', ${id}, 'payment.expired', 1, '{}', now() - ${age}::interval)`)
}

test('the database refuses to delete live events of the last two years, also when retention is wrong', async () => {
  await insertLive('01500000-0000-7000-8000-000000000002', '700 days')
  await assert.rejects(retain({ ...DAYS, moneyDays: 600 }), /append-only/)
})

test('sums of payments that may have been deleted are no difference, newer ones are', async () => {
  while (await foldRollups({ database, clock: clockIn(1) })) {}
  assert.deepEqual((await auditRollups(database)).differences, [])
  const found = async (mode: string, age: string) => {
    await database.rows(sql`
      insert into rollups (place, merchant_id, mode, hour, currency, fact, provider, channel, detail, count, amount)
      values (${shop.place}, ${merchant}, ${mode}, date_trunc('hour', now() - ${age}::interval), 'NGN', 'payment.created', '', '', 'test', 1, 0)`)
    const after = (await auditRollups(database)).differences.filter(({ rollup }) => rollup.endsWith(' test'))
    await database.rows(sql`delete from rollups where detail = 'test'`)
    return after.length
  }
  assert.equal(await found('sandbox', '41 days'), 0)
  assert.equal(await found('sandbox', '39 days'), 1)
  assert.equal(await found('live', '729 days'), 1)
})

const OLDEST = new Date(Date.now() - 3 * DAY_MS)

/** A batch whose rows take that long. */
const sleepFor =
  (msPerRow: number, tried: number[] = []) =>
  async (db: Queries, limit: number) => {
    tried.push(limit)
    await db.rows(sql`select pg_sleep(${(msPerRow * limit) / 1_000}::double precision)`)
    return { times: [new Date(), OLDEST], isFull: true }
  }

/** The database, with something to do before each statement of a transaction. */
function withEach(before: (statement: Statement, isLast: boolean) => Promise<void>): Database {
  const wrap = (queries: Queries, isLast: boolean): Queries => ({
    ...queries,
    rows: (statement) => before(statement, isLast).then(() => queries.rows(statement)),
    row: (statement) => before(statement, isLast).then(() => queries.row(statement)),
  })
  return {
    ...database,
    transaction: (work) => database.transaction((tx) => work({ ...tx, ...wrap(tx, false), last: wrap(tx.last, true) })),
  }
}

test('a batch that takes too long is ended and repeated with fewer rows, and the size grows again', async () => {
  const batches = new DeleteBatches(database, 'test', DAY_MS)
  batches.size = 1_000
  const tried: number[] = []
  const countOf = async () =>
    (await retentionBatchSeconds.get()).values.find(({ metricName }) => metricName?.endsWith('_count'))?.value ?? 0
  const before = await countOf()
  for (let times = 0; times < 3; times++) assert.equal(await batches.next(sleepFor(0.8, tried)), true)
  assert.deepEqual(tried, [1_000, 250, 63])
  assert.equal((await countOf()) - before, 3, 'those that were ended count, too')
  assert.ok(batches.size < 63, `${batches.size}`)
  // On a slow machine even one that does nothing may take long.
  let growth = 0
  for (let times = 0; times < 50 && growth !== 2; times++) {
    const before = batches.size
    await batches.next(sleepFor(0))
    growth = batches.size / before
  }
  assert.equal(growth, 2)
  assert.equal(overdueSince.get('test')?.getTime(), OLDEST.getTime() + DAY_MS)
  batches.end()
  assert.equal(overdueSince.get('test'), null)
})

test('a single row that takes longer than a batch may is deleted all the same', async () => {
  const batches = new DeleteBatches(database, 'test', DAY_MS)
  batches.size = 1
  await batches.next(sleepFor(200)) // ended after 60 ms
  assert.equal(overdueSince.get('test'), null)
  // The second time it has 240 ms. A slow machine may need more.
  for (let times = 0; times < 5 && !overdueSince.get('test'); times++) await batches.next(sleepFor(200))
  assert.equal(overdueSince.get('test')?.getTime(), OLDEST.getTime() + DAY_MS)
})

test('a batch of payments takes two statements, and does not become smaller because the process is busy', async () => {
  const payment = await paid(await addShop())
  await endChecks(payment)
  let statements = 0
  const busy = withEach(async ({ text }, isLast) => {
    statements++
    assert.equal(isLast, !text.includes('statement_timeout'), 'the commit is sent with the statement that deletes')
    // Longer than a batch should take.
    if (text.includes('statement_timeout')) await sleep(60)
  })
  const batches = new DeleteBatches(busy, 'test', DAY_MS)
  batches.size = 1
  let steps = 0
  for await (const _ of deleteOldPayments({ database, batches }, 'sandbox', clockIn(1).now())) steps++
  assert.ok(isNone(await rowsOf(payment), 'payments', 'attempts', 'events'))
  assert.ok(steps > 0 && statements <= 2 * steps, `${statements} statements in ${steps} batches`)
  batches.size = 1
  // On a slow machine even one that does nothing may take long.
  for (let times = 0; times < 20 && batches.size === 1; times++) await batches.next(sleepFor(0))
  assert.ok(batches.size > 1)
})

test('many rows of one kind do not delay the others', async () => {
  const payment = await paid(await addShop())
  await endChecks(payment)
  await insertOldCalls(5_000)
  const job = retentionJob({ database, clock: clockIn(91) }, purgesOf({ database }, DAYS, []))
  // On a slow machine the batch of the payment may be ended, and is repeated.
  for (let times = 0; times < 5 && (await rowsOf(payment)).payments !== 0; times++) {
    let asked = 0
    await job.run(() => ++asked > 12)
  }
  assert.equal((await rowsOf(payment)).payments, 0)
  assert.ok((await countOldCalls()) > 0)
  await retain(DAYS)
  assert.equal(await countOldCalls(), 0)
})

const insertOldCalls = (count: number) =>
  database.rows(sql`
    insert into idempotent_calls (place, merchant_id, mode, endpoint, key, digest, reference, running_until, created_at)
    select n % 7, ${merchant}, 'sandbox', 'retention', n::text, '', '', now(), now() - interval '3 days' from generate_series(1, ${count}::integer) n`)

async function countOldCalls(): Promise<number> {
  const row = await database.row<{ count: number }>(
    statementOf(`select count(*) as count from idempotent_calls where endpoint = 'retention'`, []),
  )
  return row?.count ?? Number.NaN
}

test('while another process deletes, a run ends at once, and the rows still count as overdue', async () => {
  await insertOldCalls(10)
  overdueSince.set('idempotent_calls', OLDEST)
  const other = new pg.Client({ connectionString: databaseUrl })
  await other.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.retention])
  await retain(DAYS)
  assert.equal(await countOldCalls(), 10)
  assert.equal(overdueSince.get('idempotent_calls'), OLDEST)
  await other.end()
  await retain(DAYS)
  assert.equal(await countOldCalls(), 0)
  assert.equal(overdueSince.get('idempotent_calls'), null)
})

test('two processes at once delete every row once', async () => {
  await insertOldCalls(3_000)
  const deleted = async () =>
    (await retentionDeleted.get()).values.find(({ labels }) => labels.kind === 'idempotent_calls')?.value ?? 0
  const before = await deleted()
  await Promise.all([retain(DAYS), retain(DAYS)])
  await retain(DAYS)
  assert.equal(await countOldCalls(), 0)
  assert.equal((await deleted()) - before, 3_000)
})

test('a run ends with the batch that it is in when the process stops', async () => {
  await insertOldCalls(100)
  const job = retentionJob({ database, clock: parts.clock }, purgesOf({ database }, DAYS, []))
  // On a slow machine a batch may be ended, which deletes nothing, and is repeated with fewer rows.
  for (let times = 0; times < 10 && (await countOldCalls()) === 100; times++) {
    let asked = 0
    await job.run(() => ++asked > 1)
  }
  const left = await countOldCalls()
  assert.ok(left >= 90 && left < 100, `${left} of 100`)
})
