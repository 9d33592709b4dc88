import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { OperatorError } from '../kernel/operator-error.ts'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import { withSession } from './check-sessions.ts'
import { isLockTimeout, isTransactionConflict } from './failure.ts'

export interface Migration {
  number: number
  name: string
  text: string
}

const FOLDER = join(import.meta.dirname, '../../migrations')

/**
 * A statement that waits for a lock makes all later ones on the table wait behind it, so it gives up and tries again.
 * So it does after a deadlock: payments lock tables in another order.
 */
const LOCK_TIMEOUT_MS = 2_000
const LOCK_TRIES = 30

/** The first line of a migration whose statements run one by one, each in a transaction of its own. */
const OUTSIDE = '-- outside a transaction'
/** The line before a statement of such a migration that is repeated until it changes no row: a backfill in batches. */
const REPEATED = '-- repeat until no row changes'

/** The schema's history, oldest first: `migrations/0001_schema.sql` and so on. */
export async function readMigrations(folder = FOLDER): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (file, index) => {
      const number = Number(file.slice(0, 4))
      if (number !== index + 1) throw new Error(`migrations/${file}: expected number ${index + 1} here, without gaps`)
      return { number, name: file.slice(0, -4), text: await readFile(join(folder, file), 'utf8') }
    }),
  )
}

export class DatabaseIsNewer extends OperatorError {
  constructor(database: number, code: number) {
    super(
      `The database is at migration ${database}, and this version of Manilla only knows ${code}; it can use ${code + 1} at most. ` +
        'It was used by a newer version: start that one, or restore a backup from before the upgrade.',
    )
  }
}

/**
 * Applies the missing migrations and returns their names. An advisory lock makes concurrent starts apply each one once.
 * A database that is one migration newer is used as it is, so that the previous version can run beside the new one
 * during an upgrade: see docs/operations/upgrade.md.
 */
export async function migrate(url: string, migrations?: Migration[]): Promise<string[]> {
  const known = migrations ?? (await readMigrations())
  return withSession('DATABASE_URL', { connectionString: url }, async (client) => {
    await client.query('set statement_timeout = 0; set lock_timeout = 0') // the role may have the short ones of the service
    await lock(client)
    await client.query(`create table if not exists migrations (
      number integer primary key, name text not null, applied_at timestamptz not null default now())`)
    const current = await currentMigration(client)
    if (current > known.length + 1) throw new DatabaseIsNewer(current, known.length)
    const missing = known.slice(current)
    for (const migration of missing) {
      if (migration.text.startsWith(OUTSIDE)) await applyOutside(client, migration)
      else await applyInTransaction(client, migration)
    }
    return missing.map(({ name }) => name)
  })
}

/**
 * Until the session ends. It polls: a session that waits for the lock in a statement would block `create index
 * concurrently`.
 */
async function lock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query(`select pg_try_advisory_lock(${ADVISORY_LOCKS.migrations}) as locked`)
    if (rows[0].locked) return
    await sleep(50 + Math.random() * 100)
  }
}

async function applyInTransaction(client: pg.Client, migration: Migration): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await client.query('begin')
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      await client.query(migration.text)
      await record(client, migration)
      await client.query('commit')
      return
    } catch (error) {
      await client.query('rollback').catch(() => {}) // the first error is reported
      if (!isLockTimeout(error) && !isTransactionConflict(error)) throw error
      if (tries === LOCK_TRIES)
        throw new OperatorError(
          `Migration ${migration.name} got no lock in ${tries} tries, because a long transaction uses the table. Nothing has changed. ` +
            'Find it in pg_stat_activity, wait for its end, and start again.',
        )
      await sleep(Math.random() * LOCK_TIMEOUT_MS)
    }
  }
}

/** After a failure it runs again from its first statement. */
async function applyOutside(client: pg.Client, migration: Migration): Promise<void> {
  for (const statement of migration.text.split(/;\s*(?:\n|$)/)) {
    if (!statement.replaceAll(/^--.*$/gm, '').trim()) continue
    const isRepeated = statement.includes(REPEATED)
    for (;;) {
      const { rowCount } = await client.query(statement)
      if (!isRepeated || !rowCount) break
    }
  }
  await record(client, migration)
}

async function record(client: pg.Client, { number, name }: Migration): Promise<void> {
  await client.query('insert into migrations (number, name) values ($1, $2)', [number, name])
}

/** The number of the last migration in this database; 0 for an empty one. */
export async function currentMigration(client: Pick<pg.Client, 'query'>): Promise<number> {
  const { rows } = await client.query('select coalesce(max(number), 0) as number from migrations')
  return rows[0].number
}
