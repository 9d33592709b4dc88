import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http from 'node:http'
import * as net from 'node:net'
import { type TestContext, test } from 'node:test'
import { type ProviderAnswer, type ProviderCall, type ProviderHttpOptions, providerHttp } from './provider-http.ts'

const SECRET = 'sk_very_secret'

/** A provider with this behaviour. */
async function upstream(t: TestContext, behave: http.RequestListener): Promise<string> {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, behave) // 5 s are too short while the machine stalls
  return listen(t, server, () => server.closeAllConnections())
}

async function listen(t: TestContext, server: net.Server, hangUp: () => void): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    hangUp()
  })
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`
}

function ask(
  url: string,
  options: ProviderHttpOptions = {},
  call: Partial<ProviderCall> = {},
): Promise<ProviderAnswer> {
  return providerHttp(options).request(post(url, call))
}

const post = (url: string, call: Partial<ProviderCall> = {}): ProviderCall => ({
  method: 'POST',
  url: `${url}/charges?key=${SECRET}`,
  headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
  body: '{"name":"Adébáyọ̀"}',
  ...call,
})

test('the request arrives unchanged, and the answer is returned', async (t) => {
  const url = await upstream(t, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { 'content-length': length, authorization } = request.headers
    response.writeHead(201).end(JSON.stringify({ body: Buffer.concat(chunks).toString(), length, authorization }))
  })
  const answer = await ask(url)
  assert.equal(answer.kind, 'answer')
  assert.equal(answer.status, 201)
  assert.deepEqual(JSON.parse(answer.text), {
    body: '{"name":"Adébáyọ̀"}',
    length: String(Buffer.byteLength('{"name":"Adébáyọ̀"}')),
    authorization: `Bearer ${SECRET}`,
  })
})

test('4xx and invalid JSON are answers, for the adapter to interpret', async (t) => {
  const url = await upstream(t, (request, response) => {
    const status = Number(request.url?.slice(1))
    response.writeHead(status).end(status === 204 ? undefined : '<html>')
  })
  for (const status of [200, 204, 400, 401, 402, 404, 409, 422]) {
    const text = status === 204 ? '' : '<html>'
    assert.deepEqual(await ask(url, {}, { url: `${url}/${status}` }), { kind: 'answer', status, text })
  }
})

test('a redirect is not followed, because it would carry the key to another host', async (t) => {
  let followed = false
  const trap = await upstream(t, (_, response) => {
    followed = true
    response.end()
  })
  const url = await upstream(t, (_, response) => response.writeHead(307, { location: trap }).end())
  assert.deepEqual(await ask(url), { kind: 'answer', status: 307, text: '' })
  assert.equal(followed, false)
})

for (const status of [429, 500, 502, 503, 504, 599]) {
  test(`${status} is unknown, because the provider may have done the work before`, async (t) => {
    const url = await upstream(t, (_, response) => response.writeHead(status).end('{"status":"paid"}'))
    assert.deepEqual(await ask(url), { kind: 'unknown', because: `it answered ${status}`, errorStatus: status })
  })
}

/**
 * A client with a connection, so that it sends its next call at once: a stalled machine may not connect before a short
 * deadline. After that the provider has this behaviour.
 */
async function connected(t: TestContext, options: ProviderHttpOptions, behave: http.RequestListener) {
  let isConnected = false
  const url = await upstream(t, (request, response) => {
    if (isConnected) behave(request, response)
    else response.end('{}')
  })
  const out = providerHttp(options)
  let answer = await out.request(post(url))
  for (let times = 0; answer.kind !== 'answer' && times < 5; times++) answer = await out.request(post(url))
  assert.equal(answer.kind, 'answer')
  isConnected = true
  return { out, url }
}

test('a silent provider is unknown at the deadline, and the request may have been sent', async (t) => {
  const { out, url } = await connected(t, { deadlineMs: 1_000 }, () => {})
  const answer = await out.request(post(url))
  assert.deepEqual(answer, { kind: 'unknown', because: 'no whole answer before the deadline' })
})

test('an answer that arrives byte by byte is cut off at the deadline', { timeout: 60_000 }, async (t) => {
  let drip: NodeJS.Timeout | undefined
  t.after(() => clearInterval(drip))
  const { out, url } = await connected(t, { deadlineMs: 1_000 }, (_, response) => {
    response.writeHead(200)
    drip = setInterval(() => response.write('x'), 10)
  })
  const answer = await out.request(post(url))
  assert.deepEqual(answer, { kind: 'unknown', because: 'no whole answer before the deadline' })
})

test('an answer beyond the size limit is unknown, and its connection is closed', async (t) => {
  const closed = Promise.withResolvers<void>()
  const url = await upstream(t, (request, response) => {
    request.socket.on('close', () => closed.resolve())
    const more = () => {
      while (response.write(Buffer.alloc(64 * 1024, 'x')));
    }
    response.on('drain', more)
    more()
  })
  const answer = await ask(url)
  assert.deepEqual(answer, { kind: 'unknown', because: 'an answer of more than 1048576 bytes' })
  await closed.promise
})

test('an answer of exactly the size limit is read', async (t) => {
  const url = await upstream(t, (_, response) => response.end('x'.repeat(1024 * 1024)))
  const answer = await ask(url)
  assert.equal(answer.kind === 'answer' && answer.text.length, 1024 * 1024)
})

test('a reset after the request was sent is unknown, and may have been sent', async (t) => {
  const url = await upstream(t, (request) => request.socket.resetAndDestroy())
  assert.deepEqual(await ask(url), { kind: 'unknown', because: 'the connection failed: ECONNRESET' })
})

test('an incomplete answer is unknown', async (t) => {
  const url = await upstream(t, (request, response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('{"status":"paid"}', () => request.socket.destroy())
  })
  assert.deepEqual(await ask(url), { kind: 'unknown', because: 'the answer broke off: ECONNRESET' })
})

test('an answer that is not HTTP, or not UTF-8 text, is unknown', async (t) => {
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('+OK ready when you are\r\n'))
  })
  const answer = await ask(await listen(t, server, () => {}))
  assert.equal(answer.kind, 'unknown')
  assert.equal(answer.neverSent, undefined)

  const bytes = await upstream(t, (_, response) => response.end(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])))
  assert.deepEqual(await ask(bytes), { kind: 'unknown', because: 'it answered 200 with bytes that are not UTF-8 text' })
})

test('a closed port is unknown, and the request was never sent', async (t) => {
  const server = net.createServer()
  const url = await listen(t, server, () => {})
  server.close()
  await once(server, 'close')
  assert.deepEqual(await ask(url), { kind: 'unknown', because: 'the connection failed: ECONNREFUSED', neverSent: true })
})

test('a host name that does not resolve is unknown, and the request was never sent', async () => {
  const answer = await ask('http://unknown.invalid')
  assert.equal(answer.kind, 'unknown')
  assert.equal(answer.neverSent, true)
})

test('a connection that is not established in time is unknown, and the request was never sent', async (t) => {
  const accepted: net.Socket[] = []
  const server = net.createServer((socket) => accepted.push(socket.on('error', () => {})))
  const url = await listen(t, server, () => {
    for (const socket of accepted) socket.destroy()
  })
  // It accepts the connection and never answers the TLS handshake.
  const answer = await ask(url.replace('http:', 'https:'), { connectMs: 100 })
  assert.deepEqual(answer, { kind: 'unknown', because: 'no connection was made in time', neverSent: true })
})

test('an invalid request is a value, not an exception, and does not count in the circuit breaker', async (t) => {
  const url = await upstream(t, (_, response) => response.end('{}'))
  const out = providerHttp({ breaker: { failuresInARow: 1 } })
  for (const call of [
    post('', { url: 'not an address' }),
    post('', { url: 'ftp://example.com' }),
    post(url, { headers: { authorization: `Bearer ${SECRET}\r\nx: y` } }),
    post(url, { headers: { 'no name': 'x' } }),
  ]) {
    const answer = await out.request(call)
    assert.equal(answer.kind, 'unknown')
    assert.equal(answer.neverSent, true)
    assert.doesNotMatch(JSON.stringify(answer), /secret/)
  }
  assert.equal((await out.request(post(url))).kind, 'answer')
})

test('a connection is kept for the next call', async (t) => {
  const ports = new Set<number | undefined>()
  const url = await upstream(t, (request, response) => {
    ports.add(request.socket.remotePort)
    response.end('{}')
  })
  const out = providerHttp()
  for (let i = 0; i < 5; i++) assert.equal((await out.request(post(url))).kind, 'answer')
  assert.equal(ports.size, 1)
})

test('when a kept connection turns out to be closed, a GET is repeated once and a POST is unknown', async (t) => {
  const served = new WeakSet<net.Socket>()
  const url = await upstream(t, (request, response) => {
    if (served.has(request.socket)) request.socket.destroy()
    else response.end('{}')
    served.add(request.socket)
  })
  const out = providerHttp()
  assert.equal((await out.request(post(url))).kind, 'answer')
  assert.equal((await out.request(post(url, { method: 'GET', body: undefined }))).kind, 'answer')
  const answer = await out.request(post(url))
  assert.deepEqual(answer, { kind: 'unknown', because: 'the connection failed: ECONNRESET' })
})

test('a call that finds no free connection in time was never sent, and does not open the circuit breaker', async (t) => {
  let calls = 0
  const arrived = Promise.withResolvers<void>()
  const { out, url } = await connected(t, { deadlineMs: 1_500, maxConnections: 1 }, () => {
    calls++
    arrived.resolve()
  })
  const [silent, waiting] = await Promise.all([out.request(post(url)), out.request(post(url))])
  assert.deepEqual(silent, { kind: 'unknown', because: 'no whole answer before the deadline' })
  const because = 'the request could not be made: no connection was free in time'
  assert.deepEqual(waiting, { kind: 'unknown', because, neverSent: true })
  await arrived.promise
  assert.equal(calls, 1)
  await Promise.all(Array.from({ length: 12 }, () => out.request(post(url))))
  const after = await out.request(post(url))
  assert.ok(after.kind === 'unknown' && silent.kind === 'unknown')
  assert.equal(after.because, silent.because, 'the provider is still asked')
})

test('after eight failures the circuit breaker refuses calls, then one call probes the provider', async (t) => {
  const time = { now: 0 }
  let [healthy, calls] = [false, 0]
  const url = await upstream(t, (_, response) => {
    calls++
    response.writeHead(healthy ? 200 : 503).end('{}')
  })
  const out = providerHttp({ breaker: { now: () => time.now, random: () => 0.5 } })
  for (let i = 0; i < 8; i++) await out.request(post(url))
  assert.deepEqual(await out.request(post(url)), {
    kind: 'unknown',
    because: 'provider is not being asked for a moment: it answered 503',
    neverSent: true,
  })
  assert.equal(calls, 8)

  healthy = true
  time.now += 10_000
  const kinds = (await Promise.all([1, 2, 3].map(() => out.request(post(url))))).map(({ kind }) => kind)
  assert.deepEqual(kinds, ['answer', 'unknown', 'unknown'])
  assert.equal(calls, 9)
  assert.equal((await out.request(post(url))).kind, 'answer')
})

test('Retry-After is obeyed, in seconds and as a date', async (t) => {
  const time = { now: 0 }
  let retryAfter = '30'
  const url = await upstream(t, (_, response) => response.writeHead(429, { 'retry-after': retryAfter }).end())
  for (retryAfter of ['30', new Date(Date.now() + 30_500).toUTCString()]) {
    const out = providerHttp({ breaker: { now: () => time.now } })
    assert.deepEqual(await out.request(post(url)), { kind: 'unknown', because: 'it answered 429', errorStatus: 429 })
    time.now += 15_000
    assert.match(((await out.request(post(url))) as { because: string }).because, /not being asked .* 429$/)
    time.now += 16_000
    assert.deepEqual(await out.request(post(url)), { kind: 'unknown', because: 'it answered 429', errorStatus: 429 })
  }
})

/** Every name resolves to these addresses. */
const resolvesTo = (...addresses: string[]) => ({
  resolve: async () => addresses.map((address) => ({ address })),
})

test('D8: the SSRF guard refuses a base URL with a private address or a name that resolves to one, and nothing is sent', async (t) => {
  let asked = 0
  const url = await upstream(t, (_, response) => {
    asked++
    response.end('{}')
  })
  const { port } = new URL(url)
  const inside: [string, string[]][] = [
    [url, []],
    [`http://[::1]:${port}`, []],
    [`http://[::ffff:127.0.0.1]:${port}`, []],
    [`http://2130706433:${port}`, []],
    [`http://localhost:${port}`, ['127.0.0.1']],
    [`http://provider.example:${port}`, ['127.0.0.1']],
    [`http://provider.example:${port}`, ['93.184.215.14', '10.0.0.7']],
    [`http://provider.example:${port}`, ['not an address']],
  ]
  for (const [address, addresses] of inside) {
    const answer = await ask(address, { addresses: 'public', ...resolvesTo(...addresses) })
    assert.equal(answer.kind, 'unknown', address)
    assert.match(answer.because, /blocked_address/, address)
    assert.equal(answer.neverSent, true, address)
  }
  const nowhere = await ask('http://provider.example', { addresses: 'public', ...resolvesTo() })
  assert.deepEqual(nowhere, { kind: 'unknown', because: 'the connection failed: ENODATA', neverSent: true })
  assert.equal(asked, 0)
})

test('a connection is made to the resolved address, whether kept or new', async (t) => {
  const hosts: (string | undefined)[] = []
  const url = await upstream(t, (request, response) => {
    hosts.push(request.headers.host)
    response.end('{}')
  })
  const { port } = new URL(url)
  const http = providerHttp(resolvesTo('127.0.0.1'))
  for (const method of ['POST', 'GET'] as const) {
    const answer = await http.request({ method, url: `http://provider.example:${port}/` })
    assert.equal(answer.kind, 'answer')
  }
  assert.deepEqual(hosts, [`provider.example:${port}`, `provider.example:${port}`])
})

test('a 500 that the call takes for an answer is one, and the circuit breaker takes it for a success', async (t) => {
  const said = ['{"code":"working"}', '{"code":"broken"}']
  const url = await upstream(t, (request, response) => {
    request.resume().on('end', () => response.writeHead(request.method === 'GET' ? 503 : 500).end(said[0]))
  })
  const isAnswer = (text: string) => text.includes('working')
  const http = providerHttp()
  for (let times = 0; times < 20; times++) {
    const answer = await http.request(post(url, { isAnswer }))
    assert.deepEqual(answer, { kind: 'answer', status: 500, text: said[0] })
  }
  assert.equal(http.breaker.state(), 'closed')
  const other = await ask(url, {}, { isAnswer, method: 'GET' })
  assert.deepEqual([other.kind, 'errorStatus' in other && other.errorStatus], ['unknown', 503])
  said.shift()
  const broken = await ask(url, {}, { isAnswer })
  assert.deepEqual([broken.kind, 'errorStatus' in broken && broken.errorStatus], ['unknown', 500])
})
