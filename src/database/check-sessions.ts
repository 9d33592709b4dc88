import pg from 'pg'
import { OperatorError } from '../kernel/operator-error.ts'
import { codeOf } from './failure.ts'
import { SESSION_LIMITS, sessionConfig } from './pool.ts'

export interface DatabaseUrls {
  url: string
  /** PostgreSQL itself, for LISTEN, migrations and advisory locks. */
  directUrl: string
  readUrl?: string | undefined
}

/** With an address of PostgreSQL itself beside it, DATABASE_URL leads to a pooler. */
export function isPooled({ url, directUrl }: DatabaseUrls): boolean {
  return url !== directUrl
}

/**
 * Detects at start what would otherwise show in an accident: a pooler where PostgreSQL itself is needed, a pooler
 * without prepared statements, and sessions without the timeouts and the durability that the service relies on.
 */
export async function checkSessions(urls: DatabaseUrls): Promise<void> {
  const isPooledUrl = isPooled(urls)
  const directName = isPooledUrl ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL'
  await withSession(directName, { connectionString: urls.directUrl }, (client) => checkIsServer(directName, client))
  const pooled = { ...sessionConfig({ url: urls.url, isPooled: isPooledUrl }), connectionTimeoutMillis: 10_000 }
  await withSession('DATABASE_URL', pooled, (client) => checkSettings('DATABASE_URL', client))
  if (isPooledUrl) await checkPrepared('DATABASE_URL', pooled)
  if (urls.readUrl) await checkReplica({ ...pooled, connectionString: urls.readUrl })
}

async function checkReplica(config: pg.ClientConfig): Promise<void> {
  const name = 'DATABASE_READ_URL'
  try {
    await withSession(name, config, (client) => checkSettings(name, client))
    await checkPrepared(name, config)
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error // without its replica the service reads from the primary
  }
}

class Unreachable extends OperatorError {}

/** `name`: of the setting, for the text of an error. */
export async function withSession<Result>(
  name: string,
  config: pg.ClientConfig,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionTimeoutMillis: 10_000, application_name: 'manilla', ...config })
  client.on('error', () => {}) // the running query reports it
  try {
    await client.connect()
  } catch (error) {
    const { host } = new URL(config.connectionString ?? '')
    const because = (error as Error).message || 'connection refused'
    throw new Unreachable(`PostgreSQL at ${host} cannot be used: ${because}. Check ${name}, and that the server is up.`)
  }
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A pooler tells its clients process ids of its own. */
async function checkIsServer(name: string, client: pg.Client): Promise<void> {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  if (rows[0].pid === (client as pg.Client & { processID: number }).processID) return // not in the types
  throw new OperatorError(
    `${name} leads to a connection pooler such as PgBouncer. LISTEN, migrations and advisory locks need PostgreSQL itself: ` +
      'set DATABASE_DIRECT_URL to its address, and DATABASE_URL to the pooler.',
  )
}

async function checkSettings(name: string, client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; setting: string; role: string }>(
    'select name, setting, quote_ident(session_user) as role from pg_settings where name = any($1) order by name',
    [[...Object.keys(SESSION_LIMITS), 'synchronous_commit']],
  )
  const wrong = rows.filter((row) => !isInForce(row.name, row.setting))
  if (wrong.length === 0) return
  const found = wrong.map((row) => `${row.name} is ${row.setting}`).join(', ')
  const repair = wrong.map((row) => `  alter role ${row.role} set ${row.name} = ${wanted(row.name)};`).join('\n')
  throw new OperatorError(
    `The sessions behind ${name} are not safe to use: ${found}. Through a pooler, the settings must be those of the role. ` +
      `Run this in PostgreSQL, then RECONNECT in the console of PgBouncer:\n${repair}`,
  )
}

function limitOf(name: string): number | undefined {
  return SESSION_LIMITS[name as keyof typeof SESSION_LIMITS]
}

function isInForce(name: string, setting: string): boolean {
  const limitMs = limitOf(name)
  if (limitMs === undefined) return setting === 'on' || setting === 'remote_apply'
  return Number(setting) > 0 && Number(setting) <= limitMs // 0: no limit
}

function wanted(name: string): string {
  const limitMs = limitOf(name)
  return limitMs === undefined ? 'on' : `'${limitMs / 1_000}s'`
}

/** Through a pooler, two of our sessions use one of PostgreSQL. */
async function checkPrepared(name: string, config: pg.ClientConfig): Promise<void> {
  const prepare = (client: pg.Client) =>
    client.query({ name: 'manilla_check', text: 'select $1::integer', values: [1] })
  try {
    for (let session = 1; session <= 2; session++) await withSession(name, config, prepare)
  } catch (error) {
    // It exists already, or no longer: the pooler does not know about it.
    if (!['42P05', '26000'].includes(codeOf(error))) throw error
    throw new OperatorError(
      `The pooler at ${name} does not support prepared statements. ` +
        'Use PgBouncer 1.21 or newer, with max_prepared_statements = 200 in its configuration.',
    )
  }
}
