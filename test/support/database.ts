import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import pg from 'pg'
import { connect, type Database } from '../../src/database/database.ts'
import { watchStatements } from './place-rule.ts'

export const TEMPLATE = 'manilla_template'

export function urlOfDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

export function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL
  if (!url) throw new Error('Run tests with: npm test, or npm test -- path/to/file.test.ts')
  return url
}

export interface TestDatabase {
  /** Of PostgreSQL itself. */
  url: string
  /** Through PgBouncer with `npm run gate -- pgbouncer`. */
  database: Database
}

/** The URL through PgBouncer, with `npm run gate -- pgbouncer`. */
export function pooledUrl(url: string): string | undefined {
  const pooler = process.env.TEST_POOLER_URL
  return pooler && urlOfDatabase(pooler, new URL(url).pathname.slice(1))
}

/** A migrated database for this test file, dropped at its end. `empty`: not migrated. */
export async function createDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await onServer(`create database ${name} ${empty ? '' : `template ${TEMPLATE}`}`)
  const url = urlOfDatabase(serverUrl(), name)
  // On a machine that stalls, a connection may take longer than the second that the service waits, a statement that
  // fills a table longer than its 5 s, and a queue for the lock on a row longer than its 2 s. Tests of these limits
  // open their own.
  const pooled = pooledUrl(url)
  const patience = { poolWaitMs: 30_000, statementTimeoutMs: 30_000, lockTimeoutMs: 30_000 }
  const database = connect({ url: pooled ?? url, isPooled: pooled !== undefined, ...patience })
  after(async () => {
    await database.close()
    await onServer(`drop database ${name} with (force)`)
  })
  if (!empty) await watchStatements(database)
  return { url, database }
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl() })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
