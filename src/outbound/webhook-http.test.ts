import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import * as http from 'node:http'
import * as net from 'node:net'
import { test } from 'node:test'
import {
  answered,
  BODY,
  client,
  failed,
  listen,
  merchant,
  onceConnected,
  rawMerchant,
  withoutTime,
} from '../../test/support/webhook-http.ts'
import { excerptOf } from './excerpt.ts'
import { readRetryAfter } from './retry-after.ts'
import { webhookHttp } from './webhook-http.ts'

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
