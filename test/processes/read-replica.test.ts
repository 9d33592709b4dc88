import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { connect } from '../../src/database/database.ts'
import { startEmbedded } from '../../src/database/embedded.ts'
import { findHome } from '../../src/database/embedded-home.ts'
import { MAX_LAG_MS } from '../../src/database/replica.ts'
import { sql } from '../../src/database/sql.ts'
import { freePort } from '../support/free-port.ts'
import { eventually } from '../support/paying.ts'

// DATABASE_READ_URL with a real streaming replica: a copy of the data files that follows the primary.

const folder = await mkdtemp(join(tmpdir(), 'manilla-replica-'))
const primary = await startEmbedded({ dataDir: join(folder, 'primary'), purpose: 'own' })
const home = await findHome(join(folder, 'primary'))
const port = await freePort()
const readUrl = new URL(primary.url)
readUrl.port = String(port)
let server: ChildProcess | undefined
let gone: Promise<unknown> | undefined
after(async () => {
  server?.kill('SIGQUIT')
  await primary.stop()
  await rm(folder, { recursive: true, force: true })
})

async function query(url: string, statement: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query(statement)
  } finally {
    await client.end()
  }
}

/** A base backup without pg_basebackup, which the embedded PostgreSQL does not have. */
async function copyPrimary(): Promise<string> {
  const copy = `${home.cluster}-copy`
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  await client.query(`select pg_backup_start('replica', true)`)
  await cp(home.cluster, copy, { recursive: true, filter: (file) => !/postmaster\.(pid|opts)$/.test(file) })
  const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
  await client.end()
  await writeFile(join(copy, 'backup_label'), rows[0].labelfile)
  await writeFile(join(copy, 'standby.signal'), '')
  if (home.runAs) await giveTo(copy, home.runAs)
  return copy
}

async function startReplica(copy: string): Promise<void> {
  const settings = [`port=${port}`, 'unix_socket_directories=', 'hot_standby=on', `primary_conninfo=${primary.url}`]
  const args = ['-D', copy, ...settings.flatMap((setting) => ['-c', setting])]
  server = spawn(home.binaries.postgres, args, { stdio: 'ignore', cwd: copy, ...home.runAs })
  gone = once(server, 'exit')
  await eventually(
    () =>
      query(readUrl.href, 'select pg_is_in_recovery() as is').then(
        ({ rows }) => rows[0].is,
        () => false,
      ),
    (isReplica) => isReplica,
    30_000,
  )
}

async function giveTo(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  const done = spawn('chown', ['-R', `${uid}:${gid}`, path])
  await new Promise((resolve) => done.once('exit', resolve))
}

test('lists are read from the replica while it follows, and from the primary when it lags, is gone or was promoted', async () => {
  await query(primary.url, 'create table things (name text)')
  const copy = await copyPrimary()
  await startReplica(copy)
  const database = connect({ url: primary.url, readUrl: readUrl.href })
  after(() => database.close())
  const answeredBy = async () => {
    const row = await database.reads.row<{ port: string }>(sql`select current_setting('port') as port`)
    return row?.port === String(port) ? 'replica' : 'primary'
  }
  await eventually(answeredBy, (by) => by === 'replica')
  const snapshot = await database.openSnapshot()
  assert.deepEqual(await snapshot.row(sql`select pg_is_in_recovery() as replica`), { replica: true })
  await snapshot.close()

  // An idle primary writes nothing, so that a replica without news is not behind.
  await new Promise((resolve) => setTimeout(resolve, MAX_LAG_MS + 1_000))
  assert.equal(await answeredBy(), 'replica')

  await query(readUrl.href, 'select pg_wal_replay_pause()')
  await database.rows(sql`insert into things (name) values ('new')`)
  await eventually(answeredBy, (by) => by === 'primary')
  assert.deepEqual(await database.reads.rows(sql`select name from things`), [{ name: 'new' }])
  await query(readUrl.href, 'select pg_wal_replay_resume()')
  await eventually(answeredBy, (by) => by === 'replica')

  server?.kill('SIGQUIT')
  await gone
  assert.equal(await answeredBy(), 'primary', 'each statement, from the first on')
  await startReplica(copy)
  await eventually(answeredBy, (by) => by === 'replica')

  // It no longer follows, and its own log grows beyond that of the primary.
  await query(readUrl.href, 'select pg_promote()')
  await query(readUrl.href, 'create table others as select from generate_series(1, 100000)')
  await eventually(answeredBy, (by) => by === 'primary')
  await new Promise((resolve) => setTimeout(resolve, 2_500)) // measured again twice
  assert.equal(await answeredBy(), 'primary')
})
