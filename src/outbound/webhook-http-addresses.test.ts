import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as http from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import {
  answered,
  client,
  failed,
  listen,
  merchant,
  onceConnected,
  resolvesTo,
  withoutTime,
} from '../../test/support/webhook-http.ts'
import { createDnsResolve } from './dns-resolve.ts'

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
