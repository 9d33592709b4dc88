import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../src/database/embedded.ts'

/** A PostgreSQL for this run alone, set as `npm start` sets it: every commit waits for the disk. */
export interface BenchDatabase {
  /** The postmaster. */
  pid: number
  version: string
  /** The settings that determine the cost of a commit. */
  settings: string
  /** A database without tables: the service migrates it when it starts. Returns its URL. */
  create(name: string): Promise<string>
  /** Runs a statement on the database of that URL. */
  ask<Row>(url: string, statement: string): Promise<Row[]>
  /** Runs a statement on the database `postgres`, which is not measured. */
  askServer<Row>(statement: string): Promise<Row[]>
  checkpoint(): Promise<void>
  stop(): Promise<void>
}

/** `countsStatements`: with `pg_stat_statements`. It costs some speed. */
export async function startBenchDatabase({ countsStatements = false } = {}): Promise<BenchDatabase> {
  const dataDir = await mkdtemp(join(tmpdir(), 'manilla-bench-'))
  let server = await startEmbedded({ dataDir, purpose: 'own' })
  if (countsStatements) {
    // It can only be loaded at the start.
    await ask(server.url, `alter system set shared_preload_libraries = 'pg_stat_statements'`)
    await server.stop()
    server = await startEmbedded({ dataDir, purpose: 'own' })
    await ask(server.url, 'create extension pg_stat_statements')
  }

  async function ask<Row>(url: string, statement: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      const { rows } = await client.query(statement)
      return rows as Row[]
    } finally {
      await client.end()
    }
  }

  const [about] = await ask<Record<string, string>>(
    server.url,
    `select current_setting('data_directory') as folder, current_setting('server_version') as version,
            current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
            current_setting('full_page_writes') as full_page_writes`,
  )
  const { folder, version, ...settings } = about ?? {}
  const [pid] = (await readFile(join(folder ?? '', 'postmaster.pid'), 'utf8')).split('\n')

  return {
    pid: Number(pid),
    version: version ?? '',
    settings: Object.entries(settings)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
    async create(name) {
      await ask(server.url, `create database ${name}`)
      const url = new URL(server.url)
      url.pathname = `/${name}`
      return url.href
    },
    ask,
    askServer: (statement) => ask(server.url, statement),
    checkpoint: async () => void (await ask(server.url, 'checkpoint')),
    async stop() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
