import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { createDatabase } from '../support/database.ts'
import { openEventStream } from '../support/event-stream.ts'
import { type ServiceProcess, startForTest } from '../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla-stop-'))
after(() => rm(folder, { recursive: true, force: true }))
const { url } = await createDatabase()

const start = (env: Record<string, string> = {}) =>
  startForTest({
    DATABASE_URL: url,
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    DATA_DIR: folder,
    RATE_LIMIT: 'off',
    ...env,
  })

const BODY = JSON.stringify({ amount: 100, country: 'NG', user: { email: 'ada@example.com' } })

/** One call over a kept connection, as a merchant's backend makes it. */
function create(service: ServiceProcess, agent: Agent): Promise<{ status: number; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const call = request(
      `${service.baseUrl}/payments/v1/checkouts`,
      { method: 'POST', headers: service.headers, agent },
      (answer) => {
        answer
          .resume()
          .on('end', () => resolve({ status: answer.statusCode ?? 0, connection: answer.headers.connection }))
          .on('error', reject)
      },
    )
    call.on('error', reject)
    call.end(BODY)
  })
}

test('E2: SIGTERM under load breaks no request, says "Connection: close", and ends with exit code 0 within 10 s', async () => {
  for (let round = 0; round < 3; round++) {
    const service = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    let answered = 0
    let goodbyes = 0
    let stopping = false

    const client = async () => {
      while (!stopping) {
        const { status, connection } = await create(service, agent)
        assert.equal(status, 201)
        answered++
        if (connection === 'close') {
          goodbyes++
          return // after "Connection: close" the client opens no further connection
        }
      }
    }
    const clients = Promise.all(Array.from({ length: 16 }, client))
    while (answered < 100) await create(service, agent).then(() => answered++)
    const startedMs = performance.now()
    service.child.kill('SIGTERM')
    assert.equal(await service.exited, 0)
    stopping = true
    await clients
    assert.ok(performance.now() - startedMs < 10_000)
    assert.ok(goodbyes > 0, 'some answers had Connection: close')
    agent.destroy()
  }
})

test('E2: readiness turns false before the port closes', async () => {
  const service = await start()
  assert.equal((await fetch(`${service.baseUrl}/readyz`)).status, 200)
  service.child.kill('SIGTERM')
  const statuses: number[] = []
  for (;;) {
    try {
      statuses.push((await fetch(`${service.baseUrl}/readyz`)).status)
    } catch {
      break // the port is closed
    }
  }
  assert.ok(statuses.includes(503), String(statuses))
  assert.equal(statuses.at(-1), 503)
  assert.equal(await service.exited, 0)
})

test('an idle keep-alive connection does not delay the stop', async () => {
  const service = await start()
  const agent = new Agent({ keepAlive: true })
  await create(service, agent)
  const startedMs = performance.now()
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
  assert.ok(performance.now() - startedMs < 5_000)
  agent.destroy()
})

test('open payment pages do not delay the stop', async () => {
  const service = await start()
  const made = await fetch(`${service.baseUrl}/payments/v1/checkouts`, {
    method: 'POST',
    headers: service.headers,
    body: BODY,
  })
  const { data } = (await made.json()) as { data: { url: string; reference: string } }
  const stream = await openEventStream(`${data.url}/live`)
  await stream.until(({ v }) => v === 0)
  await fetch(`${service.baseUrl}/payments/v1/payments/${data.reference}/cancel`, {
    method: 'POST',
    headers: service.headers,
  })
  await stream.until(({ status }) => status === 'cancelled')
  const startedMs = performance.now()
  service.child.kill('SIGTERM')
  await stream.ended
  assert.equal(await service.exited, 0)
  assert.ok(performance.now() - startedMs < 4_000) // before open connections would be cut
})

test('E2: a client that never finishes its request does not make the stop fail', async () => {
  const service = await start()
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('POST /payments/v1/checkouts HTTP/1.1\r\nHost: x\r\nContent-')
  await once(socket, 'connect')
  const startedMs = performance.now()
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
  assert.ok(performance.now() - startedMs < 10_000)
  socket.destroy()
})

test('a collector of traces that never answers does not make the stop fail', async () => {
  const collector = createServer(() => {}).listen(0, '127.0.0.1')
  after(() => collector.close())
  await once(collector, 'listening')
  const { port } = collector.address() as AddressInfo
  const service = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
  const agent = new Agent()
  assert.equal((await create(service, agent)).status, 201)
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
  assert.match(service.output(), /the last traces were not exported/)
})

test('a start that fails after the port is open ends the process with an error', async () => {
  const { url, database } = await createDatabase()
  await database.rows(sql`drop table one_time_links`) // the link to the dashboard is made last
  await assert.rejects(start({ DATABASE_URL: url }), { code: 1, output: /one_time_links/ })
})

test('`manilla serve` passes the stop signal on', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/manilla.mjs'), 'serve'], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      DATABASE_URL: url,
      SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
      DATA_DIR: folder,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  for await (const text of child.stdout) {
    said += text
    if (said.includes('Ctrl-C stops it.')) break
  }
  const baseUrl = /Base URL\s+(\S+)/.exec(said)?.[1]
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
  await assert.rejects(fetch(`${baseUrl}/healthz`))
})
