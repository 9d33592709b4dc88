import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { OperatorError } from '../kernel/operator-error.ts'
import { withSession } from './check-sessions.ts'

export interface Migration {
  number: number
  name: string
  text: string
}

const FOLDER = join(import.meta.dirname, '../../migrations')

// An arbitrary advisory lock id, used for nothing else.
const LOCK = 6_264_552

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
      `The database is at migration ${database}, and this version of Manilla only knows ${code}. ` +
        'It was used by a newer version: start that one, or restore a backup from before the upgrade.',
    )
  }
}

/**
 * Applies the missing migrations and returns their names. Each is one transaction under an advisory lock, so that concurrent starts
 * apply each one once.
 */
export async function migrate(url: string, migrations?: Migration[]): Promise<string[]> {
  const known = migrations ?? (await readMigrations())
  const newest = known.at(-1)?.number ?? 0
  return withSession('DATABASE_URL', { connectionString: url }, async (client) => {
    await client.query('set statement_timeout = 0; set lock_timeout = 0') // the role may have the short ones of the service
    const applied: string[] = []
    for (;;) {
      const name = await applyNext(client, known, newest)
      if (name === undefined) return applied
      applied.push(name)
    }
  })
}

async function applyNext(client: pg.Client, known: Migration[], newest: number): Promise<string | undefined> {
  await client.query('begin')
  try {
    await client.query(`select pg_advisory_xact_lock(${LOCK})`)
    await client.query(`create table if not exists migrations (
      number integer primary key, name text not null, applied_at timestamptz not null default now())`)
    const current = await currentMigration(client)
    if (current > newest) throw new DatabaseIsNewer(current, newest)
    const next = known[current]
    if (next) {
      await client.query(next.text)
      await client.query('insert into migrations (number, name) values ($1, $2)', [next.number, next.name])
    }
    await client.query('commit')
    return next?.name
  } catch (error) {
    await client.query('rollback').catch(() => {}) // the first error is reported
    throw error
  }
}

/** The number of the last migration in this database; 0 for an empty one. */
export async function currentMigration(client: Pick<pg.Client, 'query'>): Promise<number> {
  const { rows } = await client.query('select coalesce(max(number), 0) as number from migrations')
  return rows[0].number
}
