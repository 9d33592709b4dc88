import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { boundLog, startEmbedded } from './embedded.ts'

test('the log of the embedded PostgreSQL has no statements and no addresses, and is bounded', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'manilla-embedded-'))
  after(() => rm(dataDir, { recursive: true, force: true }))
  const log = join(dataDir, 'postgres.log')
  const old = 'x'.repeat(11 * 1024 * 1024)
  await writeFile(log, old, { mode: 0o600 })
  const server = await startEmbedded({ dataDir, purpose: 'own' })
  after(() => server.stop())
  assert.equal((await readFile(`${log}.1`, 'utf8')).length, old.length)
  assert.equal((await stat(`${log}.1`)).mode & 0o777, 0o600)

  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => {}) // the server stops first when the test fails
  await client.connect()
  await client.query('create table customers (email text primary key)')
  const insert = () => client.query('insert into customers values ($1)', ['ada@example.com'])
  await insert()
  await assert.rejects(insert, /duplicate key/)
  await assert.rejects(client.query("do $$ begin raise 'failed' using detail = 'grace@example.com'; end $$"))
  const text = await readFile(log, 'utf8')
  assert.match(text, /ERROR: +duplicate key value violates unique constraint "customers_pkey"/)
  assert.doesNotMatch(text, /@example\.com|insert into|raise|DETAIL|STATEMENT|CONTEXT|xxxx/)

  await appendFile(log, old)
  await boundLog(dataDir)
  await assert.rejects(insert, /duplicate key/)
  await client.end()
  assert.match(await readFile(log, 'utf8'), /^[^\0]{0,100}ERROR: +duplicate key/)
})

test('a log from before the quiet settings is removed at the first start with them, a quiet one is kept', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'manilla-embedded-'))
  after(() => rm(dataDir, { recursive: true, force: true }))
  const log = join(dataDir, 'postgres.log')
  const options = join(dataDir, 'postgres', 'postmaster.opts')
  const restart = async () => (await startEmbedded({ dataDir, purpose: 'own' })).stop()
  const logs = async () => (await readFile(log, 'utf8')) + (await readFile(`${log}.1`, 'utf8').catch(() => ''))
  await restart()
  await appendFile(log, 'quiet line')
  await restart()
  assert.match(await logs(), /quiet line/)

  await writeFile(options, (await readFile(options, 'utf8')).replace(' "-c" "log_error_verbosity=terse"', ''))
  for (const file of [log, `${log}.1`]) await writeFile(file, 'DETAIL: ada@example.com', { mode: 0o600 })
  await restart()
  assert.doesNotMatch(await logs(), /@example\.com/)
})
