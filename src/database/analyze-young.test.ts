import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createDatabase } from '../../test/support/database.ts'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import { analyzeYoungTables } from './analyze-young.ts'
import { sql } from './sql.ts'

const { database, url } = await createDatabase()
await database.rows(sql`alter table idempotent_calls set (autovacuum_enabled = false)`)

let rows = 0
async function write(count: number): Promise<void> {
  await database.rows(sql`
    insert into idempotent_calls (place, merchant_id, mode, endpoint, key, digest, reference, running_until)
    select 7, gen_random_uuid(), 'sandbox', 'initialize', n::text, sha256(n::text::bytea), repeat('r', 100), now()
      from generate_series(${rows}::integer + 1, ${rows + count}::integer) n`)
  rows += count
}

async function estimate(): Promise<number> {
  const row = await database.row<{ reltuples: number }>(sql`
    select reltuples from pg_class where oid = 'idempotent_calls'::regclass`)
  return row?.reltuples ?? Number.NaN
}

test('a young table is analyzed each time it has grown about tenfold, and not in between', async () => {
  assert.deepEqual(await analyzeYoungTables(database), [])
  await write(50)
  assert.deepEqual(await analyzeYoungTables(database), [], 'a few rows')
  assert.equal(await estimate(), -1)
  await write(1_450)
  assert.deepEqual(await analyzeYoungTables(database), ['idempotent_calls'])
  assert.equal(await estimate(), 1_500)
  assert.deepEqual(await analyzeYoungTables(database), [], 'it is done')
  await write(3_000)
  assert.deepEqual(await analyzeYoungTables(database), [], 'threefold')
})

test('one process at a time analyzes, and a table that is locked is left for later', async () => {
  await write(13_000)
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.analyze])
  assert.deepEqual(await analyzeYoungTables(database), [])
  await other.query('rollback; begin')
  await other.query('lock table idempotent_calls in share update exclusive mode') // as autovacuum does
  await analyzeYoungTables(database)
  assert.equal(await estimate(), 1_500)
  await other.end()
  assert.deepEqual(await analyzeYoungTables(database), ['idempotent_calls'])
  assert.equal(await estimate(), rows)
})
