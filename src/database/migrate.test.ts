import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createDatabase } from '../../test/support/database.ts'
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

test('a database that is newer than the code is refused', async () => {
  const { url } = await createDatabase({ empty: true })
  await migrate(url, SLOW)
  await assert.rejects(migrate(url, SLOW.slice(0, 1)), DatabaseIsNewer)
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
