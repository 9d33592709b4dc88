import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { addMerchant, CHECKOUT, call, checkout, startService } from '../support/service.ts'

const { app, database } = await startService({ requestTimeoutMs: 2_000 })
const shop = await addMerchant(database)
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as { port: number }

const post = (body: unknown, headers: Record<string, string> = {}) =>
  call(app, 'POST', '/payments/v1/checkouts', { headers: { ...shop.headers, ...headers }, body })
const countPayments = async () =>
  (await database.row<{ count: number }>(sql`select count(*) as count from payments`))?.count

/** Bytes as they are, for what no HTTP library would send. */
async function send(bytes: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  return text(socket)
}

test('a refusal is a problem: type, title, status, detail, instance, code, retryable, requestId', async () => {
  const { status, body, headers } = await post({ ...CHECKOUT, amount: 0 })
  assert.equal(headers['content-type'], 'application/problem+json')
  assert.deepEqual(Object.keys(body).sort(), [
    'code',
    'detail',
    'errors',
    'instance',
    'requestId',
    'retryable',
    'status',
    'title',
    'type',
  ])
  assert.deepEqual([status, body.status, body.code, body.retryable], [400, 400, 'invalid_request', false])
  assert.equal(body.instance, '/payments/v1/checkouts')
  assert.equal(body.requestId, headers['request-id'])
  assert.deepEqual(Object.keys(body.errors[0]).sort(), ['code', 'message', 'pointer'])
})

test('every answer has its own request-id', async () => {
  const answers = [
    await checkout(app, shop),
    await call(app, 'GET', '/healthz'),
    await call(app, 'GET', '/nowhere'),
    await call(app, 'GET', '/pay/x'),
  ]
  const ids = answers.map(({ headers }) => headers['request-id'])
  assert.ok(ids.every((id) => /^req_\w+$/.test(String(id))))
  assert.equal(new Set(ids).size, ids.length)
})

test('text that is not JSON is 400 malformed_json, and is not quoted back', async () => {
  for (const body of [
    '',
    '{',
    '{"amount":',
    'amount=5',
    '{"amount":01}',
    "{'amount':1}",
    'NaN',
    '<script>alert(1)</script>',
  ]) {
    const answer = await post(body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'malformed_json'], body)
    assert.ok(!answer.body.detail.includes('script'))
  }
})

test('JSON that is not an object is refused', async () => {
  for (const body of ['null', '[]', '5', '"x"', 'true']) assert.equal((await post(body)).status, 400, body)
  assert.equal((await post(undefined)).status, 400)
})

test('F4: keys that reach into objects, deep nesting, NUL and half a surrogate pair are 400, and nothing is stored', async () => {
  const before = await countPayments()
  const deep = `{"x":${'['.repeat(11)}${']'.repeat(11)}}`
  const bodies = [
    '{"__proto__":{"amount":5}}',
    '{"user":{"constructor":{"prototype":{}}}}',
    '{"metadata":{"__proto__":"x"}}',
    deep,
    JSON.stringify({ ...CHECKOUT, user: { email: 'a@b.co', name: 'a\0b' } }),
    '{"amount":5,"country":"NG","user":{"email":"a@b.co","name":"\\ud800"}}',
    '{"amount":5,"country":"NG","user":{"email":"a@b.co"},"metadata":{"k":"\\udc00"}}',
    '{"amount":5,"country":"NG","user":{"email":"a@b.co"},"metadata":{"\\u0000":"v"}}',
  ]
  for (const body of bodies) {
    const answer = await post(body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_request'], body)
    assert.ok(answer.body.errors.length > 0)
  }
  assert.equal(await countPayments(), before)
})

test('ten levels are deep enough for anyone, and fine', async () => {
  assert.equal((await post({ ...CHECKOUT, basket: [[[[[[[[1]]]]]]]] })).status, 201)
})

test('F5: bytes that are not UTF-8 are refused, not replaced', async () => {
  const body = Buffer.concat([
    Buffer.from('{"amount":5,"country":"NG","user":{"email":"a@b.co","name":"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('"}}'),
  ])
  assert.deepEqual([(await post(body)).status, (await post(body)).body.code], [400, 'malformed_json'])
})

test('F5: a body over 64 KiB is 413, one just below is read', async () => {
  const sized = (size: number) => JSON.stringify({ ...CHECKOUT, padding: 'x'.repeat(size) })
  const large = await post(sized(65_536))
  assert.deepEqual([large.status, large.body.code], [413, 'body_too_large'])
  assert.equal((await post(sized(65_000))).status, 201)
})

test('F5: only application/json is read as JSON', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
    'application/jsonx',
  ]) {
    const { status, body } = await post(JSON.stringify(CHECKOUT), { 'content-type': type })
    assert.deepEqual([status, body.code], [415, 'unsupported_media_type'], type)
  }
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8']) {
    assert.equal((await post(JSON.stringify(CHECKOUT), { 'content-type': type })).status, 201, type)
  }
})

test('F5: a body that is not what its headers say is 415', async () => {
  for (const headers of [
    { 'content-encoding': 'gzip' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'application/json; charset="latin1"' },
  ]) {
    assert.equal((await post(JSON.stringify(CHECKOUT), headers as unknown as Record<string, string>)).status, 415)
  }
})

test('F3: an amount that only rounding would make whole is refused', async () => {
  for (const amount of [
    '100.000000000000000001',
    '999999999999.00001',
    '1.00000000000000001',
    ' \n1250000.00000000000000001',
    '1.00000000000000001e2',
    '12500000000000000000001E-16',
  ]) {
    const { status, body } = await post(`{"amount":${amount},"country":"NG","user":{"email":"a@b.co"}}`)
    assert.deepEqual([status, body.code], [400, 'invalid_request'], amount)
  }
  assert.equal((await post('{"amount":1.25e2,"country":"NG","user":{"email":"a@b.co"}}')).status, 201)
  assert.equal((await post('{"amount":100.000,"country":"NG","user":{"email":"a@b.co","name":"v1.5e3"}}')).status, 201)
})

test('F5: headers over 16 KiB are 431', async () => {
  const answer = await send(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(17 * 1024)}\r\n\r\n`)
  assert.match(answer, /^HTTP\/1\.1 431 /)
  assert.match(answer, /"code":"headers_too_large"/)
})

test('F5: broken percent-encoding and an endless address are 400', async () => {
  for (const path of [
    '/payments/v1/payments/%zz',
    '/payments/v1/payments/%',
    `/payments/v1/payments?email=${'x'.repeat(9_000)}`,
  ]) {
    const { status, body } = await call(app, 'GET', path, { headers: shop.headers })
    assert.deepEqual([status, body.code], [400, 'invalid_request'], path.slice(0, 40))
  }
})

test('F5: %00 and bytes that are not UTF-8 are 400 in the path and in each parameter, with a text that names it', async () => {
  for (const bytes of ['%00', 'a%00b', '%ff', '%ed%a0%80', '%c3', '100%']) {
    for (const name of ['payment', 'type', 'cursor']) {
      const path = `/payments/v1/events?limit=5&${name}=${bytes}`
      const { status, body } = await call(app, 'GET', path, { headers: shop.headers })
      assert.deepEqual([status, body.code, body.errors?.[0].pointer], [400, 'invalid_request', `/${name}`], path)
      assert.match(body.detail, /percent-encoding/)
    }
    for (const path of ['payments/', 'events/', 'refunds/', 'integrations/', 'exports/', 'nothing/']) {
      const { status, body } = await call(app, 'GET', `/payments/v1/${path}${bytes}`, { headers: shop.headers })
      assert.deepEqual([status, body.code], [400, 'invalid_request'], `${path}${bytes}`)
    }
  }
})

test('F5: a customer whom a provider sends back with parameters in another encoding still sees a page', async () => {
  const { body } = await checkout(app, shop)
  const { pathname } = new URL(body.data.url)
  assert.equal((await call(app, 'GET', `${pathname}?name=Andr%e9&note=100%`)).status, 200)
  assert.equal((await call(app, 'GET', '/pay/%00')).status, 404)
})

test('a path that looks like one of the API is answered with that one', async () => {
  const paths = [
    ['/payments/v1/checkout', '/payments/v1/checkouts'],
    ['/payments/v2/checkouts', '/payments/v1/checkouts'],
    ['/v1/checkouts', '/payments/v1/checkouts'],
    ['/api/v1/checkouts', '/payments/v1/checkouts'],
    ['/payments/v1/payment/ORD-1', '/payments/v1/payments/ORD-1'],
    ['/payments/v1/payments/ORD-1/refund', '/payments/v1/payments/ORD-1/refunds'],
    ['/payments/v1/link', '/payments/v1/links'],
    ['/payments/v1/fee/quote', '/payments/v1/fees/quote'],
  ]
  for (const [path = '', meant = ''] of paths) {
    const { status, body } = await call(app, 'POST', path, { headers: shop.headers, body: {} })
    assert.deepEqual([status, body.code], [404, 'not_found'], path)
    assert.ok(body.detail.endsWith(` Did you mean ${meant}?`), body.detail)
  }
  for (const path of ['/nothing', '/payments/v1/nothing', '/.env', `/${'a/'.repeat(4_000)}`])
    assert.doesNotMatch((await call(app, 'GET', path)).body.detail, /Did you mean/)
})

test('names of the APIs of other providers are refused with our name', async () => {
  const { country, ...foreign } = { ...CHECKOUT, user: undefined }
  const names: [Record<string, unknown>, pointer: string, hint: RegExp][] = [
    [{ callback_url: 'https://shop.example/thanks' }, '/callback_url', /did you mean `redirectURL`/],
    [{ email: 'ada@example.com' }, '/email', /did you mean `user.email`/],
    [{ customer: { email: 'ada@example.com' } }, '/customer', /did you mean `user`/],
    [{ tx_ref: 'ORD-1' }, '/tx_ref', /did you mean `reference`/],
    [{ meta: {} }, '/meta', /did you mean `metadata`/],
    [{ metadata: { custom_fields: '[]' } }, '/metadata/custom_fields', /a key of `metadata`/],
    [{ metadata: { custom_fields: [] } }, '/metadata/custom_fields', /a key of `metadata`/],
  ]
  for (const [more, pointer, hint] of names) {
    for (const body of [
      { ...foreign, country, ...more },
      { ...CHECKOUT, ...more },
    ]) {
      const { errors } = (await post(body)).body
      const found = errors.find((each: { pointer: string }) => each.pointer === pointer)
      assert.equal(found?.code, 'unknown_field', pointer)
      assert.match(found.message, hint)
    }
  }
})

test('every parameter that a call of the API does not know is refused, with the name that was probably meant', async () => {
  const get = (path: string) => call(app, 'GET', `/payments/v1${path}`, { headers: shop.headers })
  const lists = ['/payments', '/events', '/links', '/disputes', '/cards', '/integrations', '/webhook-endpoints']
  for (const path of [...lists, '/payments/ORD-1', '/payments/ORD-1/refunds', '/exports/refunds']) {
    const { status, body } = await get(`${path}?emial=x`)
    assert.deepEqual([status, body.code, body.errors?.[0].pointer], [400, 'unknown_field', '/emial'], path)
  }
  assert.match((await get('/payments?emial=x')).body.detail, /no parameter `emial`; did you mean `email`\?/)
  assert.match((await get('/payments?perPage=5')).body.detail, /did you mean `limit`\?/)
  assert.match((await get('/payments?colour=red')).body.detail, /There are q, status, email/)
})

test('what is not HTTP is answered with 400 and hung up on', async () => {
  assert.match(await send('\x16\x03\x01garbage\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*"code":"invalid_request"/)
})

test('F6: line breaks and odd letters cannot split a header', async () => {
  const { status, headers } = await post({
    ...CHECKOUT,
    reference: 'a%0d%0aSet-Cookie:x',
    redirectURL: 'https://shop.example/ü?%0d%0aX:y',
  })
  assert.equal(status, 201)
  assert.equal(headers['set-cookie'], undefined)
  const answer = await send('GET /s/%0d%0aSet-Cookie:%20x=y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  assert.match(answer, /^HTTP\/1\.1 404 /)
  assert.doesNotMatch(answer, /^set-cookie/im)
})

test('F7: payloads of any kind are kept and given back as the plain text they are', async () => {
  const payloads = [
    "'; drop table payments; --",
    '<script>alert(1)</script>',
    '{{7*7}}',
    '#{7*7}',
    '=cmd|calc',
    '../../etc/passwd',
    '%s%n',
  ]
  for (const payload of payloads) {
    const { body } = await post({ ...CHECKOUT, user: { email: 'a@b.co', name: payload }, metadata: { payload } })
    const { data } = (await call(app, 'GET', `/payments/v1/payments/${body.data.id}`, { headers: shop.headers })).body
    assert.deepEqual([data.user.name, data.metadata.payload], [payload, payload])
  }
})

test('F8: a request that dribbles in is cut off', async () => {
  const answer = await send('POST /payments/v1/checkouts HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n')
  assert.match(answer, /^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/)
})

test('a known path with a wrong method is 405 with an Allow header', async () => {
  for (const [method, path, allow] of [
    ['GET', '/payments/v1/checkouts', 'POST'],
    ['DELETE', '/payments/v1/payments/x', 'GET, HEAD'],
    ['PUT', '/pay/x', 'GET, HEAD, POST'],
    ['POST', '/openapi.json', 'GET, HEAD'],
  ] as const) {
    const { status, body, headers } = await call(app, method, path, { body: '{broken' })
    assert.deepEqual([status, body.code, headers.allow], [405, 'method_not_allowed', allow], path)
  }
})

test('an address where nothing is, is 404 not_found', async () => {
  for (const path of ['/', '/payments', '/payments/v1', '/payments/v2/checkouts', '/%2e%2e/etc/passwd']) {
    const { status, body } = await call(app, 'GET', path)
    assert.deepEqual([status, body.code], [404, 'not_found'], path)
  }
})

test('an internal error is 500 without details', async () => {
  const broken = await startService({
    paymentBatch: {
      insert() {
        throw new Error('secret detail at /srv/app/file.ts')
      },
    },
  })
  const merchant = await addMerchant(broken.database)
  const { status, body } = await checkout(broken.app, merchant)
  assert.deepEqual([status, body.code, body.retryable], [500, 'internal_error', true])
  assert.doesNotMatch(JSON.stringify(body), /secret|srv|stack/)
})

test('an Idempotency-Key without a body is a mistake of the caller, not of ours', async () => {
  const { status, body } = await call(app, 'POST', '/payments/v1/checkouts', {
    headers: { ...shop.headers, 'idempotency-key': 'a' },
  })
  assert.deepEqual([status, body.code], [400, 'invalid_request'])
})

test('a name of thousands of characters is not found, and an endless page address is a 400 page', async () => {
  const long = 'x'.repeat(3_000)
  assert.equal((await call(app, 'GET', `/payments/v1/payments/${long}`, { headers: shop.headers })).status, 404)
  assert.equal((await call(app, 'GET', `/pay/${long}`)).status, 404)
  const endless = await call(app, 'GET', `/pay/x?${'a'.repeat(8_300)}`)
  assert.equal(endless.status, 400)
  assert.match(String(endless.headers['content-type']), /text\/html/)
})

test('a body with thousands of mistakes is answered quickly and briefly', async () => {
  const metadata = Object.fromEntries(Array.from({ length: 7_000 }, (_, index) => [index, 1]))
  const { status, body } = await post({ ...CHECKOUT, metadata })
  assert.equal(status, 400)
  assert.ok(body.errors.length <= 100)
  const unknown = Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`other${index}`, 1]))
  assert.equal((await post({ ...unknown, ...CHECKOUT })).status, 201)
})

test('metadata keys of any kind are returned unchanged', async () => {
  const metadata = { 'a\nb': '1', '\u2028': '2', toString: '3', '': '4', '🧾': '5' }
  const refused = await post({ ...CHECKOUT, metadata })
  assert.equal(refused.body.errors[0].pointer, '/metadata/', 'an empty key is not one')
  const { '': _, ...kept } = metadata
  const { body } = await post({ ...CHECKOUT, metadata: kept })
  const read = await call(app, 'GET', `/payments/v1/payments/${body.data.id}`, { headers: shop.headers })
  assert.deepEqual(read.body.data.metadata, kept)
})

test('errors that Node would answer are problem+json too', async () => {
  assert.match(
    await send('GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 400 [\s\S]*request-id[\s\S]*Host header is missing/i,
  )
  assert.match(
    await send('GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1\.1 200 [\s\S]*request-id/i,
  )
})
