import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import * as net from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { createDnsResolve } from './dns-resolve.ts'
import { excerptOf } from './excerpt.ts'
import { readRetryAfter } from './retry-after.ts'
import { type WebhookAnswer, type WebhookCall, type WebhookHttpOptions, webhookHttp } from './webhook-http.ts'

/** For the name `hooks.test` and the address 127.0.0.1, until 2126, self-signed. Made with openssl for this file. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnTCCAUSgAwIBAgIUIOskJvnXfX02rFMZVAqqalyweiAwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKaG9va3MudGVzdDAgFw0yNjExMTUwNjU3NTFaGA8yMTI2MTAy
MjA2NTc1MVowFTETMBEGA1UEAwwKaG9va3MudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABDcdSCPeY53BamqmuK0I3ZOJBsb9bUW8QKPosSq88nIXy4g/51un
v+P1Y1En9+kc6lY2Hkx/cGZ8O6XcibNhyk+jcDBuMB0GA1UdDgQWBBTFBDcaaVrW
Ppkkgq59U14y0DSCojAfBgNVHSMEGDAWgBTFBDcaaVrWPpkkgq59U14y0DSCojAP
BgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCCmhvb2tzLnRlc3SHBH8AAAEwCgYI
KoZIzj0EAwIDRwAwRAIge9FevCZsbBnz5mA53oARupREuiz2a0T6LlxrCjuF6rAC
IG9RqYYoUPHYoiUDs08EgtFXYTV7nArWZ9WG3+e9hcq1
-----END CERTIFICATE-----`
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDVE9LwyybMFFIlHE
NpBxtgt35DL3Fp5NLbCLiXpKMfmhRANCAAQ3HUgj3mOdwWpqpritCN2TiQbG/W1F
vECj6LEqvPJyF8uIP+dbp7/j9WNRJ/fpHOpWNh5Mf3BmfDul3ImzYcpP
-----END PRIVATE KEY-----`

const BODY = '{"id":"evt_1","name":"Adébáyọ̀"}'

async function listen(t: TestContext, server: net.Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<net.Socket>()
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  Object.assign(server, { keepAliveTimeout: 60_000 }) // its 5 s would end a kept connection while the machine stalls
  server.listen(0, host)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as net.AddressInfo).port
}

/** A merchant's server with this behaviour. */
async function merchant(t: TestContext, behave: http.RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(t, http.createServer(behave))}`
}

/** A server that answers with these bytes, and then calls `after`. */
async function rawMerchant(t: TestContext, bytes: string, after = (_: net.Socket) => {}): Promise<string> {
  const server = net.createServer((socket) => {
    socket.once('data', () => socket.write(bytes, () => after(socket)))
  })
  return `http://127.0.0.1:${await listen(t, server)}`
}

/** Tests of a limit set it. For the others a machine may stall for seconds. */
function client(t: TestContext, options: WebhookHttpOptions = {}) {
  const guarded = webhookHttp({ deadlineMs: 60_000, connectMs: 60_000, ...options })
  t.after(() => guarded.close())
  return (url: string, call: Partial<WebhookCall> = {}) =>
    guarded.post({
      url,
      headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
      body: BODY,
      allowPrivate: true,
      ...call,
    })
}

/** For a short `connectMs`: a stalled machine may not connect in time. */
async function onceConnected(call: () => Promise<WebhookAnswer>): Promise<WebhookAnswer> {
  for (let times = 1; ; times++) {
    const answer = await call()
    if (answer.kind === 'answer' || answer.detail !== 'no connection was made in time' || times === 5) return answer
  }
}

const resolvesTo = (...addresses: string[]) => ({
  resolve: async () => addresses.map((address) => ({ address })),
})

/** Without the duration, which must be an integer. */
function withoutTime({ tookMs, ...rest }: WebhookAnswer) {
  assert.ok(Number.isInteger(tookMs) && tookMs >= 0)
  return rest
}

const failed = (because: string, detail: string) => ({ kind: 'failed', because, detail })
const answered = (status: number, excerpt = '', retryAfterSeconds: number | null = null) => ({
  kind: 'answer',
  status,
  retryAfterSeconds,
  excerpt,
})

test('D1: the body and the headers arrive unchanged, and the answer is returned', async (t) => {
  let seen: unknown
  const url = await merchant(t, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    seen = { method: request.method, url: request.url, body: Buffer.concat(chunks).toString(), ...request.headers }
    response.writeHead(202, { 'set-cookie': 'a=b' }).end('thank you')
  })
  const post = client(t)
  const headers = { Host: 'other.test', 'content-type': 'application/json', 'webhook-id': 'evt_1' }
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(withoutTime(await post(`${url}/hook?a=b#c`, { headers })), answered(202, 'thank you'))
    assert.deepEqual(seen, {
      method: 'POST',
      url: '/hook?a=b',
      body: BODY,
      host: url.slice('http://'.length),
      'user-agent': 'manilla',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(BODY)),
      'webhook-id': 'evt_1',
      connection: 'keep-alive',
    })
  }
})

test('D1: a connection is kept for the next call, and at most eight are opened to one host', async (t) => {
  let most = 0
  let now = 0
  let connections = 0
  const server = http.createServer((request, response) => {
    most = Math.max(most, ++now)
    request.resume().on('end', () =>
      setImmediate(() => {
        now--
        response.end()
      }),
    )
  })
  server.on('connection', () => connections++)
  const url = `http://127.0.0.1:${await listen(t, server)}`
  const post = client(t)
  for (let i = 0; i < 20; i++) assert.equal((await post(url)).kind, 'answer')
  assert.equal(connections, 1)
  const answers = await Promise.all(Array.from({ length: 200 }, () => post(url)))
  assert.deepEqual(new Set(answers.map(({ kind }) => kind)), new Set(['answer']))
  assert.ok(connections <= 8, `${connections} connections`)
  assert.ok(most > 1 && most <= 8, `${most} at once`)
})

test('D2: every status is an answer', async (t) => {
  const url = await merchant(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1))).end()
  })
  const post = client(t)
  for (const status of [200, 204, 304, 400, 401, 404, 410, 418, 500, 503, 599]) {
    assert.deepEqual(withoutTime(await post(`${url}/${status}`)), answered(status))
  }
})

test('D2: a redirect is not followed', async (t) => {
  let visits = 0
  const trap = await merchant(t, (_, response) => {
    visits++
    response.end()
  })
  const url = await merchant(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { location: trap, refresh: `0; url=${trap}` }).end()
  })
  const post = client(t)
  for (const status of [300, 301, 302, 303, 307, 308]) {
    assert.deepEqual(withoutTime(await post(`${url}/${status}`)), answered(status))
  }
  assert.equal(visits, 0)
})

test('D3: Retry-After is read from the answer', async (t) => {
  const url = await merchant(t, (_, response) => response.writeHead(429, { 'retry-after': '120' }).end('slow down'))
  assert.deepEqual(withoutTime(await client(t)(url)), answered(429, 'slow down', 120))
})

test('D3: Retry-After is read as seconds or as a date in any HTTP format, and ignored otherwise', () => {
  const now = Date.UTC(1994, 10, 6, 8, 49, 7)
  const read = (value?: string) => readRetryAfter(value, now)
  assert.equal(read('0'), 0)
  assert.equal(read('3600'), 3600)
  assert.equal(read('9'.repeat(400)), Number.MAX_SAFE_INTEGER)
  assert.equal(read('Sun, 06 Nov 1994 08:49:37 GMT'), 30)
  assert.equal(read('Sunday, 06-Nov-94 08:49:37 GMT'), 30)
  assert.equal(read('Sun Nov  6 08:49:37 1994'), 30)
  assert.equal(read('Sun, 06 Nov 1994 08:00:00 GMT'), 0)
  for (const odd of [undefined, '', '-1', '1.5', '1e3', 'soon', '1994-11-06', 'Sun', 'Sunday'])
    assert.equal(read(odd), null)
})

test('D2: a silent server is a timeout at the deadline', async (t) => {
  const url = await merchant(t, () => {})
  const answer = await client(t, { deadlineMs: 150 })(url)
  assert.deepEqual(withoutTime(answer), failed('timeout', 'no whole answer before the deadline'))
  assert.ok(answer.tookMs >= 149 && answer.tookMs < 60_000, `${answer.tookMs} ms`)
})

test('D6: a response that arrives byte by byte is cut off at the deadline, in its headers and in its body', async (t) => {
  for (const beginning of ['HTTP/1.1 200 OK\r\nx-drip: ', 'HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n']) {
    const closed = Promise.withResolvers<void>()
    const server = net.createServer((socket) => {
      let drip: NodeJS.Timeout | undefined
      socket.once('data', () => {
        socket.write(beginning)
        drip = setInterval(() => socket.write('x'), 10)
      })
      socket.on('close', () => {
        clearInterval(drip)
        closed.resolve()
      })
    })
    const url = `http://127.0.0.1:${await listen(t, server)}`
    const answer = await client(t, { deadlineMs: 1_500 })(url)
    assert.deepEqual(withoutTime(answer), failed('timeout', 'no whole answer before the deadline'))
    await closed.promise
  }
})

test('D6: an endless answer is cut at 64 KiB, its status counts and 2 KiB of it are kept', async (t) => {
  const closed = Promise.withResolvers<void>()
  let sent = 0
  const url = await merchant(t, (request, response) => {
    request.socket.on('close', () => closed.resolve())
    response.writeHead(200)
    const more = () => {
      do sent += 16 * 1024
      while (response.write(Buffer.alloc(16 * 1024, 'x')))
    }
    response.on('drain', more)
    more()
  })
  assert.deepEqual(withoutTime(await client(t)(url)), answered(200, 'x'.repeat(2048)))
  await closed.promise
  assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes left the server`)
})

test('D6: an answer of exactly 64 KiB is read to its end and the connection kept; one byte more is cut', async (t) => {
  let connections = 0
  let size = 64 * 1024
  const server = http.createServer((_, response) => response.end('y'.repeat(size)))
  server.on('connection', () => connections++)
  const url = `http://127.0.0.1:${await listen(t, server)}`
  const post = client(t)
  for (let i = 0; i < 3; i++) assert.deepEqual(withoutTime(await post(url)), answered(200, 'y'.repeat(2048)))
  assert.equal(connections, 1)
  size++
  for (let i = 0; i < 3; i++) assert.deepEqual(withoutTime(await post(url)), answered(200, 'y'.repeat(2048)))
  assert.equal(connections, 3)
})

test('D6: huge headers, endless interim responses and an unrequested protocol change are failures', async (t) => {
  const huge = await rawMerchant(t, `HTTP/1.1 200 OK\r\nx-huge: ${'x'.repeat(100_000)}\r\n\r\n`)
  const post = client(t)
  assert.deepEqual(withoutTime(await post(huge)), failed('other', 'HPE_HEADER_OVERFLOW'))
  const interim = await rawMerchant(t, 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n'.repeat(1_000))
  assert.deepEqual(withoutTime(await post(interim)), failed('other', 'too many interim responses'))
  const upgrade = await rawMerchant(t, 'HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n')
  const answer = await post(upgrade)
  assert.ok(answer.kind === 'failed' && answer.because !== 'timeout', 'at once')
})

test('D6: the kept part of an answer is valid text without control characters', () => {
  assert.equal(excerptOf(Buffer.from('ok\n\tfine\r\n'), 2048), 'ok\n\tfine\r\n')
  assert.equal(excerptOf(Buffer.from('a\0b\x1b[31mc\u202ed\x7f\u2066'), 2048), 'a�b�[31mc�d��')
  assert.equal(excerptOf(Buffer.from([0x61, 0xff, 0xed, 0xa0, 0x80, 0x62]), 2048), 'a����b')
  assert.equal(excerptOf(Buffer.from('aé€'), 5), 'aé')
  assert.equal(excerptOf(Buffer.from('a😀b'), 3), 'a')
  const worst = excerptOf(Buffer.alloc(5_000, 0), 2048)
  assert.ok(Buffer.byteLength(worst) <= 2048 && worst.length > 600)
})

test('D1: an answer that ends with its connection is complete', async (t) => {
  const url = await rawMerchant(t, 'HTTP/1.1 200 OK\r\n\r\nthank you, and goodbye', (socket) => socket.end())
  const post = client(t)
  for (let i = 0; i < 20; i++) {
    assert.deepEqual(withoutTime(await post(url)), answered(200, 'thank you, and goodbye'))
  }
})

test('D1: a few interim responses before the final one are ignored', async (t) => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n'.repeat(3)
  const url = await rawMerchant(t, `${hints}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`)
  assert.deepEqual(withoutTime(await client(t)(url)), answered(200, 'ok'))
})

test('D1: a server that closes after each answer gets a connection for each call, and queued calls are not lost', async (t) => {
  let connections = 0
  let requests = 0
  const server = http.createServer((_, response) => {
    requests++
    response.setHeader('connection', 'close').end('bye')
  })
  server.on('connection', () => connections++)
  const url = `http://127.0.0.1:${await listen(t, server)}`
  const post = client(t)
  const answers = await Promise.all(Array.from({ length: 60 }, () => post(url)))
  assert.deepEqual(answers.map(withoutTime), Array(60).fill(answered(200, 'bye')))
  assert.deepEqual({ connections, requests }, { connections: 60, requests: 60 })
})

test('D2: an incomplete answer is a reset, with and without content-length', async (t) => {
  const post = client(t)
  const beginnings = ['content-length: 100', 'content-length: 100\r\nconnection: close', 'transfer-encoding: chunked']
  for (const header of [...beginnings, 'transfer-encoding: chunked\r\nconnection: close']) {
    const bytes = `HTTP/1.1 200 OK\r\n${header}\r\n\r\n5\r\nhalf\n`
    const url = await rawMerchant(t, bytes, (socket) => socket.end())
    assert.deepEqual(withoutTime(await post(url)), failed('reset', 'ECONNRESET'), header)
  }
})

test('D2: a reset is a failure, before the headers and after them', async (t) => {
  const before = await rawMerchant(t, '', (socket) => socket.resetAndDestroy())
  const post = client(t)
  assert.deepEqual(withoutTime(await post(before)), failed('reset', 'ECONNRESET'))
  const after = await rawMerchant(t, 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', (socket) => socket.end())
  assert.deepEqual(withoutTime(await post(after)), failed('reset', 'ECONNRESET'))
})

test('D2: a closed port is refused, and a response that is not HTTP is a failure', async (t) => {
  const server = net.createServer()
  const port = await listen(t, server)
  server.close()
  await once(server, 'close')
  const post = client(t)
  assert.deepEqual(withoutTime(await post(`http://127.0.0.1:${port}`)), failed('refused', 'ECONNREFUSED'))
  const smtp = await rawMerchant(t, '220 ready when you are\r\n')
  assert.deepEqual(withoutTime(await post(smtp)), failed('other', 'HPE_INVALID'))
})

test('D2: a kept connection that the server closed costs no try: the call is repeated once on a new connection', async (t) => {
  const KEPT = 4
  let connections = 0
  let hungUp = 0
  const waiting: net.Socket[] = []
  // It answers once on each connection, keeps it open, and resets it at the next request, as after a restart.
  const server = net.createServer((socket) => {
    connections++
    socket.once('data', () => {
      waiting.push(socket)
      socket.once('data', () => {
        hungUp++
        socket.resetAndDestroy()
      })
      if (connections < KEPT) return
      for (const each of waiting.splice(0)) each.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  const url = `http://127.0.0.1:${await listen(t, server)}`
  const post = client(t)
  const first = await Promise.all(Array.from({ length: KEPT }, () => post(url)))
  assert.deepEqual(first.map(withoutTime), Array(KEPT).fill(answered(200, 'ok')))
  assert.deepEqual({ connections, hungUp }, { connections: KEPT, hungUp: 0 })
  assert.deepEqual(withoutTime(await post(url)), answered(200, 'ok'))
  assert.deepEqual({ connections, hungUp }, { connections: KEPT + 1, hungUp: 1 })
})

test('D7: a call that waits too long for a connection is not sent, and a full queue refuses calls', async (t) => {
  const held: http.ServerResponse[] = []
  let requests = 0
  const arrived = new EventEmitter()
  const url = await merchant(t, (_, response) => {
    requests++
    held.push(response)
    arrived.emit('request')
  })
  const answerTwo = async () => {
    while (held.length < 2) await once(arrived, 'request')
    for (const response of held.splice(0)) response.end()
  }
  const post = client(t, { connectMs: 2_000, maxConnectionsPerHost: 2, maxWaitingPerHost: 3 })
  const twoCalls = () => [onceConnected(() => post(url)), onceConnected(() => post(url))]
  // They open two connections, so that the calls below need no time to connect.
  const [, ...first] = await Promise.all([answerTwo(), ...twoCalls()])
  assert.deepEqual(first.map(withoutTime), [answered(200), answered(200)])

  const [active, others] = [[post(url), post(url)], Array.from({ length: 4 }, () => post(url))]
  const waited = failed('too_many', 'no connection was free in time')
  const full = failed('too_many', 'too many calls to this host are waiting')
  assert.deepEqual((await Promise.all(others)).map(withoutTime), [waited, waited, waited, full])
  await answerTwo()
  assert.deepEqual((await Promise.all(active)).map(withoutTime), [answered(200), answered(200)])
  assert.equal(requests, 4)
  // The queue accepts calls again.
  const [, ...again] = await Promise.all([answerTwo(), ...twoCalls()])
  assert.deepEqual(again.map(withoutTime), [answered(200), answered(200)])
})

test('D7: a silent host does not delay another', async (t) => {
  const silent = await merchant(t, () => {})
  const well = await merchant(t, (_, response) => response.end())
  const post = client(t)
  const stuck = Array.from({ length: 50 }, () => post(silent))
  assert.deepEqual(withoutTime(await post(well)), answered(200))
  assert.equal(await Promise.race([...stuck, 'still waiting']), 'still waiting')
})

test('closing ends active and queued calls, and refuses new ones', async (t) => {
  const arrived = Promise.withResolvers<void>()
  const url = await merchant(t, () => arrived.resolve())
  const guarded = webhookHttp({ deadlineMs: 60_000, connectMs: 60_000, maxConnectionsPerHost: 1 })
  const call = { url, headers: {}, body: '', allowPrivate: true }
  const calls = [guarded.post(call), guarded.post(call)]
  await arrived.promise
  guarded.close()
  for (const answer of [...(await Promise.all(calls)), await guarded.post(call)]) {
    assert.deepEqual(withoutTime(answer), failed('other', 'closed'))
  }
})

test('an invalid header is a failure, not an exception, and releases its slot', async (t) => {
  const url = await merchant(t, (_, response) => response.end())
  const post = client(t, { maxConnectionsPerHost: 1 })
  for (let i = 0; i < 3; i++) {
    const answer = withoutTime(await post(url, { headers: { 'x-a': 'a\r\nx-b: c' } }))
    assert.deepEqual(answer, failed('invalid_request', 'UND_ERR_INVALID_ARG'))
  }
  assert.deepEqual(withoutTime(await post(url)), answered(200))
})

test('an invalid URL is refused, with and without permission for private addresses', async (t) => {
  const post = client(t)
  const urls = ['', 'hooks', '//hooks.test', 'ftp://a.test/', 'file:///etc/passwd', 'data:,', 'javascript:1', 'http://']
  const odd = ['http://a b.test', 'http://[::1', 'http://1.2.3.4.5', 'http://a.test:99999', 'gopher://127.0.0.1:70/_x']
  for (const url of [...urls, ...odd, 'http://u@a.test', 'http://u:p@a.test', 'http://:p@a.test', 'unix:/run/x.sock']) {
    for (const allowPrivate of [true, false]) {
      const answer = await post(url, { allowPrivate })
      assert.equal(answer.kind === 'failed' && answer.because, 'invalid_url', url)
    }
  }
})

async function secureMerchant(t: TestContext): Promise<number> {
  return listen(
    t,
    https.createServer({ key: KEY, cert: CERTIFICATE }, (_, response) => response.end('safe')),
  )
}

test('D2: over TLS the certificate must match the name or the address', async (t) => {
  const port = await secureMerchant(t)
  const post = client(t, { ca: CERTIFICATE, ...resolvesTo('127.0.0.1') })
  for (const host of ['hooks.test', 'HOOKS.test', '127.0.0.1']) {
    assert.deepEqual(withoutTime(await post(`https://${host}:${port}/`)), answered(200, 'safe'))
  }
  // Each time: a session is not resumed whose certificate was refused.
  for (let i = 0; i < 3; i++) {
    const other = withoutTime(await post(`https://other.test:${port}/`))
    assert.deepEqual(other, failed('tls', 'ERR_TLS_CERT_ALTNAME_INVALID'))
  }
})

test('D1: a second TLS connection to the same name resumes the session, in TLS 1.2 and 1.3', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const resumed: boolean[] = []
    const server = https.createServer({ key: KEY, cert: CERTIFICATE, maxVersion }, (request, response) => {
      resumed.push((request.socket as TLSSocket).isSessionReused())
      response.setHeader('connection', 'close').end('safe')
    })
    const port = await listen(t, server)
    const post = client(t, { ca: CERTIFICATE, ...resolvesTo('127.0.0.1') })
    for (const host of ['hooks.test', 'hooks.test', '127.0.0.1', 'hooks.test']) {
      assert.deepEqual(withoutTime(await post(`https://${host}:${port}/`)), answered(200, 'safe'))
    }
    assert.deepEqual(resumed, [false, true, false, true], maxVersion)
    const other = withoutTime(await post(`https://other.test:${port}/`))
    assert.deepEqual(other, failed('tls', 'ERR_TLS_CERT_ALTNAME_INVALID'))
  }
})

test('D1: if the first address of a name does not accept the connection, the next one is tried', async (t) => {
  const url = await merchant(t, (_, response) => response.end('here'))
  const { port } = new URL(url)
  const post = client(t, resolvesTo('127.0.0.2', '127.0.0.3', '127.0.0.1'))
  assert.deepEqual(withoutTime(await post(`http://hooks.test:${port}`)), answered(200, 'here'))
  const unreachable = client(t, resolvesTo('127.0.0.2', '127.0.0.3'))
  for (const scheme of ['http', 'https']) {
    const answer = withoutTime(await unreachable(`${scheme}://hooks.test:${port}`))
    assert.deepEqual(answer, failed('refused', 'ECONNREFUSED'))
  }
})

test('D2: an untrusted certificate is refused, even with NODE_TLS_REJECT_UNAUTHORIZED=0', async (t) => {
  const port = await secureMerchant(t)
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  })
  const answer = withoutTime(await client(t)(`https://127.0.0.1:${port}/`))
  assert.deepEqual(answer, failed('tls', 'DEPTH_ZERO_SELF_SIGNED_CERT'))
})

test('D2: a server without TLS, or one that stops during the handshake, is a failure', async (t) => {
  const plain = await rawMerchant(t, 'HTTP/1.1 400 Bad Request\r\n\r\n')
  const answer = withoutTime(await client(t)(plain.replace('http:', 'https:')))
  assert.equal(answer.kind === 'failed' && answer.because, 'tls')
  const silent = await rawMerchant(t, '')
  const second = withoutTime(await client(t, { connectMs: 300 })(silent.replace('http:', 'https:')))
  assert.deepEqual(second, failed('timeout', 'no connection was made in time'))
})

test('D2: a name that does not resolve is a failure, and a lookup without end is a timeout', async (t) => {
  const unknown = client(t, { resolve: () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })) })
  assert.deepEqual(withoutTime(await unknown('http://hooks.test')), failed('dns', 'ENOTFOUND'))
  const empty = client(t, resolvesTo())
  assert.deepEqual(withoutTime(await empty('http://hooks.test')), failed('dns', 'ENODATA'))
  const never = client(t, { connectMs: 100, resolve: () => new Promise(() => {}) })
  assert.deepEqual(withoutTime(await never('http://hooks.test')), failed('timeout', 'no connection was made in time'))
})

test('D8: a proxy in the environment is not used', async (t) => {
  let proxied = 0
  const proxy = await merchant(t, (_, response) => {
    proxied++
    response.end('from the proxy')
  })
  const url = await merchant(t, (_, response) => response.end('from the merchant'))
  const script = `
    import { webhookHttp } from ${JSON.stringify(join(import.meta.dirname, 'webhook-http.ts'))}
    const guarded = webhookHttp({ deadlineMs: 60_000, connectMs: 60_000 })
    const answer = await guarded.post({ url: ${JSON.stringify(url)}, headers: {}, body: '', allowPrivate: true })
    guarded.close()
    console.log(answer.excerpt)`
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })
  assert.equal(stdout.trim(), 'from the merchant')
  assert.equal(proxied, 0)
})

/** Listens on every address of this machine and counts connections. */
async function trap(t: TestContext) {
  const seen = { connections: 0, requests: 0 }
  const server = http.createServer((_, response) => {
    seen.requests++
    response.end('trapped')
  })
  server.on('connection', () => seen.connections++)
  const port = await listen(t, server, '::').catch(() => listen(t, server, '0.0.0.0'))
  return { seen, port }
}

/** Spellings of loopback. Each must be refused. */
const LOOPBACK = [
  ['127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '127.1.', '127.255.255.254', '127.127.127.127', '127.000.000.001'],
  ['2130706433', '2130706433.', '0x7f000001', '0x7F000001', '017700000001', '0x7f.0.0.1', '0177.0.0.1', '0177.1'],
  ['0x7f.1', '0x7f.0.0.0x1g', '0x7f.0x0.0x0.0x1', '0177.0x0.0.01', '127.0x1', '0000000000177.0.0.1', '0x000000007f.1'],
  ['0', '0.0.0.0', '0x0', '00', '0.0', '0x.0x.0x.0x'],
  ['localhost', 'LOCALHOST', 'localhost.', 'LocalHost.', 'a.localhost', 'a.b.localhost', 'a.localhost.'],
  ['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[0000:0000:0000:0000:0000:0000:0000:0001]', '[::0.0.0.1]', '[0::1]'],
  ['[::ffff:127.0.0.1]', '[::FFFF:7F00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[::ffff:0.0.0.0]', '[::ffff:0:0]'],
  ['１２７.０.０.１', '127。0。0。1', '127．0．0．1', '127｡0｡0｡1', '①②⑦.⓪.⓪.①', '１２７。１', '²130706433'],
  [
    '%31%32%37.0.0.1',
    '127%2e0%2e0%2e1',
    '%6cocalhost',
    'ｌｏｃａｌｈｏｓｔ',
    'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
    'local\u00adhost',
    '0ⅹ7f.1',
    '127.0.0.\u00ad1',
  ],
].flat()

/** Spellings of other private addresses. */
const INWARD = [
  ['10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '169.254.169.254.', '2852039166', '0xa9fea9fe'],
  ['0251.0376.0251.0376', '169.254.43518', '169.16689662', '１６９.254.169.254', '100.100.100.200', '192.0.0.192'],
  ['168.63.129.16', '100.64.0.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '240.0.0.1', '192.0.2.1'],
  ['[::127.0.0.1]', '[::7f00:1]', '[::ffff:0:127.0.0.1]', '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]'],
  ['[64:ff9b::127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2002:a9fe:a9fe::1]'],
  ['[2001:0:7f00:1::]', '[2001:0:4136:e378:8000:63bf:80ff:fffe]', '[fd00:ec2::254]', '[fe80::1]', '[fec0::1]'],
  ['[fc00::1]', '[ff02::1]', '[100::1]', '[5f00::1]', '[2001:db8::1]', '[3fff::1]', '[2001:20::1]', '[2001:2::1]'],
].flat()

/** Invalid hosts. */
const MALFORMED = [
  ['[::1%25lo]', '[::1%lo]', '[fe80::1%25eth0]', '[::1]]', '[127.0.0.1]', '127.0.0.1%00', '127.0.0.1%0a'],
  [
    '256.0.0.1',
    '127.0.0.0.1',
    '4294967296',
    '0x100000000',
    '127.0.0.08',
    '127..1',
    'user:pass@127.0.0.1',
    'a@localhost',
  ],
  [
    'example.com@127.0.0.1',
    'example.com%40x@[::1]',
    '127.0.0.1:80@localhost',
    '[::ffff:127.0.0.1.]',
    '[::ffff:0x7f.1]',
  ],
].flat()

const corpus = [
  ...LOOPBACK.map((host) => ({ host, because: 'blocked_address' })),
  ...INWARD.map((host) => ({ host, because: 'blocked_address' })),
  ...MALFORMED.map((host) => ({ host, because: 'invalid_url' })),
]

test(`D8: none of ${corpus.length} spellings of a private address gets a connection`, async (t) => {
  const { seen, port } = await trap(t)
  // Every name resolves to the trap, so only the guard prevents a connection.
  const post = client(t, { connectMs: 500, ...resolvesTo('127.0.0.1') })
  const wrong: string[] = []
  for (const { host, because } of corpus) {
    for (const scheme of ['http', 'https', 'hTTp', 'http:\\\\', '\thttp']) {
      const url = scheme.endsWith('\\') ? `${scheme}${host}:${port}\\x` : `${scheme}://${host}:${port}/x?y=1#z`
      const answer = await post(url, { allowPrivate: false })
      if (answer.kind !== 'failed' || answer.because !== because) wrong.push(`${url}: ${JSON.stringify(answer)}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.equal(corpus.length >= 60, true)
  assert.deepEqual(seen, { connections: 0, requests: 0 })
})

test('D8: with permission most spellings of loopback do connect, so the test above proves something', async (t) => {
  const { seen, port } = await trap(t)
  const post = client(t, { connectMs: 500, ...resolvesTo('127.0.0.1') })
  for (const host of LOOPBACK) await post(`http://${host}:${port}/`)
  assert.ok(seen.requests >= LOOPBACK.length * 0.7, `${seen.requests} of ${LOOPBACK.length}`)
})

// A public address that is not allocated.
const UNALLOCATED = '2d00::1'

const NAMES: Record<string, string[]> = {
  'loopback.test': ['127.0.0.1'],
  'loopback6.test': ['::1'],
  'any.test': ['0.0.0.0'],
  'any6.test': ['::'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'metadata.google.internal': ['169.254.169.254'],
  'instance-data.ec2.internal': ['169.254.169.254', 'fd00:ec2::254'],
  '127.0.0.1.nip.test': ['127.0.0.1'],
  'private.test': ['10.1.2.3'],
  'public-first.test': [UNALLOCATED, '127.0.0.1'],
  'public-last.test': ['127.0.0.1', UNALLOCATED],
  'hidden.test': [...Array.from({ length: 20 }, () => UNALLOCATED), '127.0.0.1'],
  'zone.test': ['fe80::1%lo'],
  'nonsense.test': ['localhost'],
  'octal.test': ['0177.0.0.1'],
  'empty.test': [''],
}

test('D8: a name is refused if any one of its addresses is not public', async (t) => {
  const { seen, port } = await trap(t)
  const resolve = async (hostname: string) => (NAMES[hostname.replace(/\.$/, '')] ?? []).map((address) => ({ address }))
  const post = client(t, { connectMs: 500, resolve })
  for (const name of Object.keys(NAMES)) {
    for (const url of [`http://${name}:${port}`, `https://${name}:${port}`, `http://${name}.:${port}`]) {
      const answer = withoutTime(await post(url, { allowPrivate: false }))
      assert.deepEqual(answer, failed('blocked_address', 'the address is not a public one'), url)
    }
  }
  assert.deepEqual(seen, { connections: 0, requests: 0 })
})

test('D8: localhost is refused before DNS, and an address literal is never looked up', async (t) => {
  const asked: string[] = []
  const resolve = async (hostname: string) => {
    asked.push(hostname)
    return [{ address: UNALLOCATED }]
  }
  const post = client(t, { connectMs: 300, resolve })
  for (const host of ['localhost', 'LOCALHOST.', 'a.localhost', '127.0.0.1', '[::1]', '2130706433']) {
    const answer = withoutTime(await post(`http://${host}:8080/`, { allowPrivate: false }))
    assert.deepEqual(answer, failed('blocked_address', 'the address is not a public one'))
  }
  assert.deepEqual(asked, [])
  await post('http://notlocalhost:8080/', { allowPrivate: false })
  assert.deepEqual(asked, ['notlocalhost'])
})

test('D8: DNS rebinding has no effect: a name is resolved once for each connection', async (t) => {
  const { seen, port } = await trap(t)
  let asked = 0
  const answers = [
    [UNALLOCATED],
    ['127.0.0.1'],
    [UNALLOCATED],
    ['::1'],
    [UNALLOCATED, UNALLOCATED],
    [UNALLOCATED, '127.0.0.1'],
  ]
  const resolve = async () => (answers[asked++ % answers.length] ?? []).map((address) => ({ address }))
  const post = client(t, { connectMs: 300, resolve })
  for (let i = 0; i < 12; i++) {
    const answer = withoutTime(await post(`http://rebind.test:${port}`, { allowPrivate: false }))
    assert.equal(asked, i + 1)
    assert.equal(answer.kind, 'failed')
    // Even calls connect to the public address, which fails. Odd ones are blocked.
    assert.equal(answer.because === 'blocked_address', i % 2 === 1, JSON.stringify(answer))
  }
  await Promise.all(Array.from({ length: 24 }, () => post(`http://rebind.test:${port}`, { allowPrivate: false })))
  assert.deepEqual(seen, { connections: 0, requests: 0 })
})

test('D8: a connection that was opened with permission for private addresses is never used without it', async (t) => {
  const { seen, port } = await trap(t)
  let address = '127.0.0.1'
  const post = client(t, { connectMs: 3_000, resolve: async () => [{ address }] })
  const url = `http://hooks.test:${port}`
  assert.deepEqual(withoutTime(await onceConnected(() => post(url))), answered(200, 'trapped'))
  const before = { ...seen }
  assert.deepEqual(withoutTime(await post(url)), answered(200, 'trapped'))
  assert.deepEqual(seen, { ...before, requests: 2 }, 'on the same connection')
  for (address of ['127.0.0.1', UNALLOCATED]) {
    assert.equal((await post(url, { allowPrivate: false })).kind, 'failed')
  }
  assert.deepEqual(seen, { ...before, requests: 2 })
})

test('D8: without permission only ports 80, 443 and those above 1023 are allowed', async (t) => {
  const resolved: string[] = []
  const resolve = async (hostname: string) => {
    resolved.push(hostname)
    return [{ address: '127.0.0.1' }]
  }
  const post = client(t, { resolve })
  for (const port of [1, 21, 22, 23, 25, 53, 79, 81, 110, 111, 389, 442, 444, 445, 587, 993, 1023]) {
    const answer = withoutTime(await post(`https://port-${port}.test:${port}/`, { allowPrivate: false }))
    assert.deepEqual(answer, failed('invalid_url', `port ${port} is not allowed`))
  }
  assert.deepEqual(resolved, [])
  for (const port of [80, 443, 1024, 8443, 65535])
    await post(`http://port-${port}.test:${port}/`, { allowPrivate: false })
  await post('https://none.test/', { allowPrivate: false })
  assert.equal(resolved.length, 6)
})

/** A DNS server with one A record for all names. `silent` names get no answer; `unknown` ones do not exist. */
async function nameServer(t: TestContext, ipv4: () => string): Promise<string> {
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.on('message', (query, from) => {
    const text = query.toString('latin1')
    if (text.includes('silent')) return
    const end = query.indexOf(0, 12) + 5
    const isA = query.readUInt16BE(end - 4) === 1
    const isUnknown = text.includes('unknown')
    const head = Buffer.from([0, 0, 0x81, isUnknown ? 0x83 : 0x80, 0, 1, 0, isA && !isUnknown ? 1 : 0, 0, 0, 0, 0])
    query.copy(head, 0, 0, 2)
    const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ipv4().split('.').map(Number)]
    const parts = [head, query.subarray(12, end), ...(isA && !isUnknown ? [Buffer.from(record)] : [])]
    socket.send(Buffer.concat(parts), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return `127.0.0.1:${socket.address().port}`
}

test('D8: over real DNS, a name with a private address is refused, and an unknown or silent one fails', async (t) => {
  const { seen, port } = await trap(t)
  const resolve = createDnsResolve([await nameServer(t, () => '127.0.0.1')])
  assert.deepEqual(await resolve('hooks.test'), [{ address: '127.0.0.1' }])
  const post = client(t, { resolve })
  const ask = async (name: string) => withoutTime(await post(`http://${name}:${port}`, { allowPrivate: false }))
  assert.deepEqual(await ask('hooks.test'), failed('blocked_address', 'the address is not a public one'))
  assert.deepEqual(await ask('unknown.test'), failed('dns', 'ENOTFOUND'))
  await assert.rejects(resolve('silent.test'), { code: 'ETIMEOUT' })
  assert.equal((await ask('silent.test')).kind, 'failed') // by DNS, or on a busy machine by the deadline for a connection
  assert.deepEqual(seen, { connections: 0, requests: 0 })
})

test('D7: names without a DNS answer do not delay others', async (t) => {
  const { port } = await trap(t)
  const post = client(t, { resolve: createDnsResolve([await nameServer(t, () => '127.0.0.1')]) })
  const settled: string[] = []
  const ask = async (name: string) => {
    const answer = await post(`http://${name}.test:${port}`)
    settled.push(name)
    return answer
  }
  const stuck = Array.from({ length: 50 }, (_, i) => ask(`silent-${i}`))
  assert.deepEqual(withoutTime(await ask('hooks')), answered(200, 'trapped'))
  for (const { kind } of await Promise.all(stuck)) assert.equal(kind, 'failed')
  assert.equal(settled[0], 'hooks')
})
