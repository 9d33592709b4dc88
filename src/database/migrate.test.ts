import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/paying.ts'
import { DatabaseIsNewer, type Migration, migrate, readMigrations } from './migrate.ts'
import { sql } from './sql.ts'

const SLOW: Migration[] = [
  { number: 1, name: '0001_one', text: 'create table one (x int); select pg_sleep(0.05)' },
  { number: 2, name: '0002_two', text: 'alter table one add column y int' },
]

test('twenty processes that start at once apply each migration once', async () => {
  const { url, database } = await createDatabase({ empty: true })
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(url, SLOW)))
  assert.deepEqual(applied.flat().sort(), ['0001_one', '0002_two'])
  assert.deepEqual(await database.rows(sql`select number, name from migrations order by number`), [
    { number: 1, name: '0001_one' },
    { number: 2, name: '0002_two' },
  ])
})

test('a migration that fails leaves nothing of itself behind, and what came before it stands', async () => {
  const { url, database } = await createDatabase({ empty: true })
  const broken = [
    SLOW[0] as Migration,
    { number: 2, name: '0002_broken', text: 'create table two (x int); select nonsense' },
  ]
  await assert.rejects(migrate(url, broken), /nonsense/)
  assert.deepEqual(await database.rows(sql`select number from migrations`), [{ number: 1 }])
  assert.equal((await database.row<{ gone: boolean }>(sql`select to_regclass('two') is null as gone`))?.gone, true)
})

test('a database that is one migration newer is used as it is, and one that is two newer is refused', async () => {
  const { url } = await createDatabase({ empty: true })
  await migrate(url, [...SLOW, { number: 3, name: '0003_three', text: 'select 1' }])
  assert.deepEqual(await migrate(url, SLOW), [])
  await assert.rejects(migrate(url, SLOW.slice(0, 1)), DatabaseIsNewer)
})

test('a migration gives up waiting for a lock, so that others are not held up, and tries again', async () => {
  const { url, database } = await createDatabase({ empty: true })
  await migrate(url, SLOW.slice(0, 1))
  const waits = sql`select 1 from pg_locks where not granted and relation = 'one'::regclass`
  let migrating: Promise<string[]> | undefined
  await database.transaction(async (tx) => {
    await tx.rows(sql`select x from one`)
    migrating = migrate(url, SLOW)
    await eventually(
      () => tx.rows(waits),
      ({ length }) => length > 0,
    )
    await eventually(
      () => tx.rows(waits),
      ({ length }) => length === 0,
    )
  })
  assert.deepEqual(await migrating, ['0002_two'])
})

test('a migration that lost a deadlock with a payment tries again', async () => {
  const { url, database } = await createDatabase({ empty: true })
  const tables = { number: 1, name: '0001_tables', text: 'create table one (x int); create table two (x int)' }
  const both = { number: 2, name: '0002_both', text: 'alter table one add y int; alter table two add y int' }
  await migrate(url, [tables])
  let migrating: Promise<string[]> | undefined
  await database.transaction(async (tx) => {
    await tx.rows(sql`set local deadlock_timeout = '1min'`) // the migration notices it
    await tx.rows(sql`lock table two in row exclusive mode`)
    migrating = migrate(url, [tables, both])
    migrating.catch(() => {}) // asserted below
    await eventually(
      () => tx.rows(sql`select 1 from pg_locks where not granted and relation = 'two'::regclass`),
      ({ length }) => length > 0,
    )
    await tx.rows(sql`lock table one in row exclusive mode`)
  })
  assert.deepEqual(await migrating, ['0002_both'])
})

test('indexes are made and rows filled outside a transaction, in batches, and again after a failure', async () => {
  const { url, database } = await createDatabase({ empty: true })
  const page = await readFile(join(import.meta.dirname, '../../docs/operations/upgrade.md'), 'utf8')
  const text = /```sql\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const things = `create table things (id integer, colour text); insert into things (id) select generate_series(1, 2500)`
  const outside = (name: string, statements: string): Migration => ({ number: 2, name, text: statements })
  const first: Migration = { number: 1, name: '0001_things', text: things }
  await assert.rejects(migrate(url, [first, outside('0002_colour', `${text}select nonsense;\n`)]), /nonsense/)
  assert.deepEqual(await migrate(url, [first, outside('0002_colour', text)]), ['0002_colour'])
  const left = await database.row(sql`select count(*) as left from things where colour is null`)
  assert.deepEqual(left, { left: 0 })
  const index = await database.row(
    sql`select indisvalid as valid from pg_index where indexrelid = 'things_by_colour'::regclass`,
  )
  assert.deepEqual(index, { valid: true })
})

test('our own migrations are numbered without gaps, and a gap is named', async () => {
  const numbers = (await readMigrations()).map(({ number }) => number)
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  )
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, '0002_late.sql'), '')
  await assert.rejects(readMigrations(folder), /0002_late\.sql: expected number 1/)
})

test('applying our migrations twice changes nothing', async () => {
  const { url } = await createDatabase()
  assert.deepEqual(await migrate(url), [])
})
