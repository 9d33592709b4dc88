import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { LAST_UUID } from '../../src/kernel/ids.ts'
import { SEARCHES } from '../../src/payments/store/payment-search.ts'
import {
  allTables,
  dropConstraints,
  fillTable,
  growingTables,
  MERCHANT,
  PLACE,
  uuidOfRow,
} from '../support/big-tables.ts'
import { createDatabase } from '../support/database.ts'
import { readStatements, type SourceStatement } from '../support/statements.ts'

/** Pages of 8 KiB that one statement may touch. A table with a million rows has more than ten thousand. */
const MAX_PAGES = 3_000

/** Statements that may read much, with the reason. Keyed by how they begin. */
const EXEMPT: [beginning: string, reason: string][] = [
  ['delete from rollups', 'an operator has the sums of the charts made again'],
  ['delete from daily_rollups', 'an operator has the sums of the charts made again'],
  ['select p.id, p.id as payment_id, p.reference', 'every late payment of the merchant is read: they are rare'],
  ['select c.recipient, c.merchant_id', 'who waits for alerts: rows are deleted when they are sent'],
  ['with made as', 'demo data, for the sandbox of one merchant alone'],
  ['with gone_workers as', 'once, when a worker stops or was killed; an index would cost each claim a write'],
  ['select endpoint, key, answer from idempotent_calls', 'a customer is erased: rare, and calls are kept for 48 hours'],
  ["(select 'check of attempt '", 'an operator has the whole database audited, which reads all work that waits'],
  ['select count(*) as count from (', 'the total of an export: 100 000 rows at most, on a connection of its own'],
]

interface Checked extends SourceStatement {
  /** Absent: made up from the names of the columns. */
  values?: unknown[]
}

/**
 * The search for payments is put together from texts. No criterion but its source, so that every row it reads is shown.
 */
const searches = Object.entries(SEARCHES).map(
  ([source, text]): Checked => ({
    place: `src/payments/store/payment-search.ts, ${source}`,
    text,
    isFresh: true,
    values: [
      ...[PLACE, MERCHANT, 'live', uuidOfRow(0), LAST_UUID, 'user4000@example.com'],
      ...[source === 'finished' ? 'successful' : null, uuidOfRow(4_000), [uuidOfRow(4_000)]],
      ...[null, null, null, null, null, source === 'late', source === 'review', null, null],
    ],
  }),
)
const statements: Checked[] = [...readStatements(), ...searches]
const { url } = await createDatabase()

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {}) // the database is dropped while it is connected
  await client.connect()
  return client
}

const client = await connected()

test('every growing table gets a million rows', { timeout: 600_000 }, async () => {
  await dropConstraints(client)
  await client.query('set session_replication_role = replica; set synchronous_commit = off')
  await client.query("set maintenance_work_mem = '256MB'")
  for (const table of await allTables(client)) await fillTable(client, table)
  await client.query('set session_replication_role = origin')
  assert.ok((await growingTables(client)).length >= 15)
})

/** Values like those that the service passes: of rows that exist, for the merchant that has them all. */
const BY_COLUMN: Record<string, unknown> = {
  place: PLACE,
  merchant_id: MERCHANT,
  merchant: MERCHANT,
  mode: 'live',
  provider: 'gateway',
  reference: 'reference-4000',
  order_reference: 'order_reference-4000',
  provider_reference: 'provider_reference-4000',
  email: 'user4000@example.com',
  user_email: 'user4000@example.com',
  endpoint: 'initialize',
  key: 'key-4000',
  idempotency_key: 'idempotency_key-4000',
  short_code: 'short_code-4000',
  status: 'successful',
  state: 'done',
  type: 'payment.successful',
  destination: 'host-200',
  limit: 25,
}

const BY_TYPE: Record<string, unknown> = {
  uuid: uuidOfRow(4_000),
  bigint: 4_000,
  smallint: PLACE,
  integer: 25,
  boolean: true,
  'timestamp with time zone': new Date(),
  jsonb: '{}',
  json: '{}',
  bytea: Buffer.from('00', 'hex'),
  'double precision': 1,
  text: 'none',
}

/** Ranges that have all rows. */
const WIDEST: Record<string, Record<string, unknown>> = {
  uuid: { '>': uuidOfRow(0), '<': LAST_UUID },
  'timestamp with time zone': { '>': new Date('2000-01-01'), '<': new Date('2100-01-01') },
}

function valueFor(text: string, number: number, type: string): unknown {
  const before = text.slice(0, text.search(new RegExp(`\\$${number}(?!\\d)`)))
  const column = /([a-z_]+)\)?\s*(?:=|<>|<=|>=|<|>|in)?\s*(?:any|all)?\s*\(?(?:lower\()?$/i.exec(before)?.[1]
  const single = type.replace(/\[\]$/, '')
  if (column === 'between') return 0
  if (/jsonb_to_recordset\($/.test(before)) return '[]'
  if (/set_config\('statement_timeout', $/.test(before)) return '4000'
  if (column === 'and' && single === 'smallint') return 1_023 // place between … and …
  const end = /(<|>)=?\s*$/.exec(before)?.[1]
  if (end && single in WIDEST) return WIDEST[single]?.[end] // all of the merchant's rows
  const known = column === undefined ? undefined : BY_COLUMN[column]
  const value =
    known !== undefined && (single === 'text' || typeof known !== 'string' || single === 'uuid')
      ? known
      : BY_TYPE[single]
  return type.endsWith('[]') ? [value] : value
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Plans?: Plan[]
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

async function typesOf(text: string): Promise<string[]> {
  await client.query(`prepare it as ${text}`)
  const { rows } = await client.query(
    "select parameter_types::text[] as types from pg_prepared_statements where name = 'it'",
  )
  await client.query('deallocate it')
  return rows[0].types
}

async function planOf(text: string, values: unknown[], options: string): Promise<Plan> {
  await client.query('begin')
  try {
    await client.query("set local statement_timeout = '20s'")
    const { rows } = await client.query(`explain (${options} format json) ${text}`, values)
    return rows[0]['QUERY PLAN'][0].Plan
  } finally {
    await client.query('rollback')
  }
}

function asText(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map((each) => JSON.stringify(asText(each))).join()}}`
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  return value instanceof Date ? value.toISOString() : String(value)
}

/** The plan that PostgreSQL may choose after five runs on a connection: for any values. */
async function planForAnyValues(text: string, values: unknown[], options: string): Promise<Plan> {
  const literals = values.map((value) => (value === null ? 'null' : pg.escapeLiteral(asText(value))))
  await client.query('begin')
  try {
    await client.query("set local statement_timeout = '20s'; set local plan_cache_mode = force_generic_plan")
    await client.query(`prepare it as ${text}`)
    const args = literals.length > 0 ? `(${literals.join(', ')})` : ''
    const { rows } = await client.query(`explain (${options} format json) execute it${args}`)
    return rows[0]['QUERY PLAN'][0].Plan
  } finally {
    await client.query('rollback')
    await client.query('deallocate all')
  }
}

const exemptionOf = ({ text }: SourceStatement) => EXEMPT.find(([beginning]) => text.startsWith(beginning))
const isUtility = ({ text }: SourceStatement) => /^(set|show|listen|lock)\b/.test(text)

test('no statement of the service reads a growing table from end to end', { timeout: 600_000 }, async () => {
  const growing = new Set(await growingTables(client))
  assert.ok(statements.length >= 140, `${statements.length} found`)
  const faults: string[] = []
  for (const statement of statements) {
    if (isUtility(statement) || exemptionOf(statement)) continue
    const { place, text, isFresh } = statement
    const types = await typesOf(text).catch((error: Error) => {
      faults.push(`${place}: cannot be prepared: ${error.message}`)
    })
    if (!types) continue
    const values = statement.values ?? types.map((type, index) => valueFor(text, index + 1, type))
    try {
      for (const [kind, read] of Object.entries({ '': planOf, ', for any values': planForAnyValues })) {
        if (isFresh && read === planForAnyValues) continue
        const plan = await read(text, values, '')
        const whole = nodesOf(plan).filter(
          (node) => node['Node Type'] === 'Seq Scan' && growing.has(node['Relation Name'] ?? ''),
        )
        for (const node of whole) faults.push(`${place}${kind}: sequential scan of ${node['Relation Name']}`)
        // An insert with made-up values would only meet constraints.
        if (whole.length > 0 || /\binsert into\b/.test(text)) continue
        const done = await read(text, values, 'analyze, buffers, timing off,')
        const pages = (done['Shared Hit Blocks'] ?? 0) + (done['Shared Read Blocks'] ?? 0)
        if (pages > MAX_PAGES) faults.push(`${place}${kind}: reads ${pages} pages`)
      }
    } catch (error) {
      faults.push(`${place}: ${(error as Error).message}; values ${JSON.stringify(values)}`)
    }
  }
  assert.deepEqual(faults, [])
})
