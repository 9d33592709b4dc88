import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { sql } from '../src/database/sql.ts'
import { SMALL_TABLES } from './support/big-tables.ts'
import { createDatabase } from './support/database.ts'
import { placedTables, placeFaults } from './support/place-rule.ts'
import { readStatements } from './support/statements.ts'

// docs/decisions/0014-place.md: rows of tables that grow are found by place, so that these tables can be distributed.
// Every test file with a database checks the statements that it makes the service send, see test/support/place-rule.ts.

const { database, url } = await createDatabase()
const growing = await placedTables(database)

test('every table is listed as small or has a place', async () => {
  const tables = await database.rows<{ name: string }>(sql`
    select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`)
  const names = tables.map(({ name }) => name).filter((name) => name !== 'migrations')
  assert.deepEqual(
    names.filter((name) => !growing.has(name) && !(name in SMALL_TABLES)),
    [],
  )
  assert.ok(growing.size >= 15, [...growing].join(' '))
})

/** Place leads in these, with the reason in migrations/0001_schema.sql. */
const LED_BY_PLACE = ['daily_rollups_pkey', 'events_to_sum_up', 'rollups_pkey']

test('every index of a table with a place contains it and does not begin with it; keys end with it, and foreign keys too', async () => {
  const indexes = await database.rows<{
    table: string
    name: string
    isUnique: boolean
    columns: (string | null)[]
  }>(sql`
    select i.indrelid::regclass::text as table, i.indexrelid::regclass::text as name, i.indisunique as "isUnique",
           array(select a.attname::text from unnest(i.indkey) with ordinality k (number, place)
                   left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number order by k.place) as columns
      from pg_index i`)
  const ofPlaces = indexes.filter(({ table }) => growing.has(table))
  assert.ok(ofPlaces.length >= 90, `${ofPlaces.length} found`)
  const broken = ofPlaces.filter(
    ({ columns, isUnique }) =>
      columns[0] === 'place' || (isUnique ? columns.at(-1) !== 'place' : !columns.includes('place')),
  )
  assert.deepEqual(broken.map(({ name }) => name).sort(), LED_BY_PLACE)
  const foreignKeys = await database.rows<{ table: string; name: string; last: string; theirs: string }>(sql`
    select c.conrelid::regclass::text as table, c.conname as name, a.attname as last, f.attname as theirs
      from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[cardinality(c.conkey)]
      join pg_attribute f on f.attrelid = c.confrelid and f.attnum = c.confkey[cardinality(c.confkey)]
     where c.contype = 'f'`)
  const own = foreignKeys.filter(({ table }) => growing.has(table))
  assert.ok(own.length >= 20, `${own.length} found`)
  assert.deepEqual(
    own.filter(({ last, theirs }) => last !== 'place' || theirs !== 'place'),
    [],
  )
})

test('PostgreSQL keeps no statistics about places', async () => {
  const kept = await database.rows<{ table: string }>(sql`
    select attrelid::regclass::text as table from pg_attribute where attname = 'place' and attstattarget is distinct from 0`)
  assert.deepEqual(
    kept.filter(({ table }) => growing.has(table)),
    [],
  )
})

test('every statement in the sources names the place of each table that grows', () => {
  const faults = readStatements().flatMap(({ place, text }) =>
    placeFaults(text, growing).map((fault) => `${place}: ${fault}`),
  )
  assert.deepEqual(faults, [])
})

const RIGHT = [
  'select p.id from payments p where p.place = $1 and p.id = $2',
  'select id from payments where place = $1 and id = (select payment_id from attempts where place = $1 and reference = $2)',
  'select a.id from attempts a join payments p on p.place = $2 and p.id = a.payment_id where a.place = $1',
  'select p.id from merchants m join payments p on p.place = m.place and p.place between $1 and $2 and p.merchant_id = m.id',
  'select id from payments where (place, id) > ($1, $2) order by place, id',
  'select id from payments where (id, place) > ($1, $2) order by id, place',
  'insert into payments as p (place, id) values ($1, $2) on conflict (place, id) do update set late = excluded.late',
  'insert into delivery_tries (place, delivery_id) select $1::smallint, id from made',
  'select id, now() from attempts where next_check_at <= now() and place between $1 and $2 order by next_check_at limit $3',
  "update attempts a set check_leased_until = $1::timestamptz + interval '1 minute' where a.place = $2 and a.id = any($3) and a.checks < now()",
  'with old as (select place, id from notices where place between $1 and $2) delete from notices n using old where n.place between $1 and $2 and n.place = old.place',
]
const WRONG = [
  'select p.place, p.id from payments p where p.id = $1',
  'select id from payments where place = $1 and id = (select payment_id from attempts where reference = $2)',
  'select a.id from attempts a join payments p on p.id = a.payment_id where a.place = $1',
  'select a.id from attempts a join payments p on p.place = a.place and p.id = a.payment_id where a.place = $1',
  'select id from audit_log where place = (select place from merchants where id = $1)',
  'select id from payments where id = $1 union select id from payments where place = $2',
  'select exists (select from refunds r where r.payment_id = p.id) from payments p where p.place = $1',
  'select exists (select from refunds r where r.place = p.place and r.payment_id = p.id) from payments p where p.place = $1',
  'select r.* from unnest($2) s (since) cross join lateral (select * from rollups n where n.place = $1 and n.hour >= s.since offset 0) r',
  'insert into payments (id, place) values ($1, $2)',
  'insert into delivery_tries (place, delivery_id) select n.place, n.id from noted n',
  'update payments set late = true where id = $1',
  'update payments set late = true where place between $1 and $2',
  'with due as (select place, id from attempts where place between $1 and $2) update attempts a set checks = 1 from due where a.place = due.place',
  'delete from notices using old where notices.id = old.id',
  'delete from notices using old where notices.place = old.place',
  'select id from payments where place between $1 and $2 for update skip locked',
  'insert into notices (place, due_at) values ($1, now())',
  'insert into saved_cards (place, id) values ($1, $2) on conflict (place, id) do update set used_at = now()',
  'update refunds set lease = $1 where place = $2 returning leased_until < now()',
  'update refunds set lease = gen_random_uuid() where place = $2',
  'update attempts set asked_at = coalesce(asked_at, $2) where place = $1',
  'update attempts set asked_at = case when checks > 0 then asked_at end where place = $1',
]

test('the rule finds statements that break it, and no others', () => {
  for (const text of RIGHT) assert.deepEqual(placeFaults(text, growing), [], text)
  for (const text of WRONG) assert.notDeepEqual(placeFaults(text, growing), [], text)
})

test('payments are found by their primary key, and not by reading an index of the whole place', async () => {
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email,
                          metadata, expires_at)
    select 7, gen_random_uuid(), '019a0000-0000-7000-8000-000000000000', 'sandbox', 'order-' || n, 'c' || n, 1000, 'NGN', 'NG', false,
           'customer-' || n || '@example.com', '{}', now() + interval '1 day'
      from generate_series(1, 2000) n`)
  await database.rows(sql`analyze payments`)
  // As a prepared statement: the planner does not know the values. Sent as a plain query, because EXPLAIN takes no
  // parameters.
  const text = 'explain (generic_plan) select * from payments where place = $1::smallint and id = any($2::uuid[])'
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(text)
  await client.end()
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  assert.match(plan, /using payments_pkey/)
})
