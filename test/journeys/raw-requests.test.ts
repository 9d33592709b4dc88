import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { RawClient } from '../gates/raw-http.ts'
import { addMerchant, call, checkout, startService } from '../support/service.ts'

const { app, database } = await startService({ trustProxy: ['127.0.0.1'] })
const shop = await addMerchant(database, { provider: 'gateway' })
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as { port: number }
const page = new URL((await checkout(app, shop)).body.data.url).pathname

const { body: openapi } = await call(app, 'GET', '/openapi.json')
const ROUTES = [
  ...Object.entries(openapi.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x')] as const),
  ),
  ...['/docs', '/docs/', '/openapi.json', '/healthz', '/readyz', '/metrics', '/favicon.ico', '/nowhere'].map(
    (path) => ['GET', path] as const,
  ),
  ...[page, `${page}/status`, '/pay/x/live', '/s/x', '/s/111111111111/qr.svg', '/return/x', '/logo/x/y'].map(
    (path) => ['GET', path] as const,
  ),
  ...['/widget/open', '/widget/v1.js', '/widget/integrity.json'].map((path) => ['GET', path] as const),
  ['POST', page] as const,
]

const GARBAGE = [
  'Host:',
  'Host: ',
  'Host: :80',
  'Host: a b',
  'Host: a/b?c#d',
  'Host: [::1',
  'Host: \xff\xfe',
  'Host: x:99999',
  'Host: a@b',
  'Host: x\r\nX-Forwarded-Host: ]',
  'Host: x\r\nX-Forwarded-Proto: a b, \xff',
  'Host: x\r\nX-Forwarded-For: \xff, ::ffff:999',
  'Host: x\r\nAccept-Encoding: \xff;q=q, gzip;q=9999, ;;,',
  'Host: x\r\nAccept-Language: \xff-\xff;q=NaN, *;;',
  'Host: x\r\nContent-Type: \xff/\xff; charset=\xff',
  'Host: x\r\nContent-Type: application/json; charset=',
  'Host: x\r\nOrigin: ://\xff',
  'Host: x\r\nOrigin: https://[',
  'Host: x\r\nSec-Fetch-Site: \xff\r\nSec-Fetch-Dest: iframe',
  'Host: x\r\nX-Panel: \xff',
  'Host: x\r\nCookie: =;;=\xff',
  'Host: x\r\nIf-None-Match: W/"\xff, "',
  'Host: x\r\nIdempotency-Key: \xff',
  'Host: x\r\nClient-Id: \xff\r\nClient-Secret: \xff',
  'Host: x\r\nLast-Event-Id: \xff',
  'Host: x\r\nExpect: \xff',
]

test('no route answers 5xx to garbage in a header', async () => {
  const client = new RawClient({ host: '127.0.0.1', port })
  const failures: string[] = []
  for (const [method, path] of ROUTES) {
    for (const headers of GARBAGE) {
      const bytes = Buffer.from(`${method} ${path} HTTP/1.1\r\n${headers}\r\nContent-Length: 0\r\n\r\n`, 'latin1')
      const { status } = await client.ask([bytes], { method })
      // /readyz is 503 if the database does not answer within a second, and a busy machine may take longer.
      if (status >= 500 && path !== '/readyz') failures.push(`${status} ${method} ${path} ${JSON.stringify(headers)}`)
    }
  }
  client.close()
  assert.deepEqual(failures, [])
})

test('an empty or invalid Host header is 400, and HTTP/1.0 without one is served', async () => {
  const client = new RawClient({ host: '127.0.0.1', port })
  const status = async (text: string) => (await client.ask([Buffer.from(`${text}\r\n\r\n`, 'latin1')])).status
  for (const host of ['', ':80', 'a b', 'a/b', '[::1', '\xff'])
    assert.equal(await status(`GET /docs HTTP/1.1\r\nHost: ${host}`), 400, host)
  assert.equal(await status('GET /healthz HTTP/1.0'), 200)
  assert.equal(await status('GET /docs HTTP/1.0'), 200)
  for (const host of ['localhost', 'pay.example:8080', '[::1]:80', '127.0.0.1:1', 'a_b.internal'])
    assert.equal(await status(`GET /healthz HTTP/1.1\r\nHost: ${host}`), 200, host)
  client.close()
})

const GET_PAGE = `GET ${page} HTTP/1.1\r\nHost: x\r\n\r\n`

test('pipelined requests of one connection are answered in order', async () => {
  const socket = connect(port, '127.0.0.1')
  const paths = ['/healthz', page, '/nowhere', '/healthz', page, '/s/x']
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
  while (statuses().length < paths.length) await once(socket, 'data')
  assert.deepEqual(statuses(), [200, 200, 404, 200, 200, 404])
  socket.destroy()
})

test('20 connections that pipeline thousands of requests and never read cost little memory', async () => {
  const closed: Promise<unknown>[] = []
  const onConnection = (socket: Socket) => void closed.push(once(socket, 'close'))
  app.server.on('connection', onConnection)
  const before = process.memoryUsage().rss
  let highest = before
  const measure = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss)
  }, 20)
  const clients = Array.from({ length: 20 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.pause().write(GET_PAGE.repeat(3_000))
    return socket
  })
  await Promise.all(clients.map((socket) => once(socket, 'connect')))
  while (closed.length < clients.length) await once(app.server, 'connection')
  await Promise.all(closed)
  clearInterval(measure)
  app.server.off('connection', onConnection)
  for (const socket of clients) socket.destroy()
  const grownMb = (highest - before) / 2 ** 20
  assert.ok(grownMb < 150, `${Math.round(grownMb)} MB`)
})
