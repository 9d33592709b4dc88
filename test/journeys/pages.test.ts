import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { addMerchant, BASE_URL, call, checkout, startService } from '../support/service.ts'

const { app, database } = await startService()
const shop = await addMerchant(database, { name: 'Adaeze & Sons <Kitchen>', provider: 'gateway' })
const open = (path: string) => call(app, 'GET', path)
/** Signs are written as references, so that a page is ASCII. */
const pathOf = (url: string) => url.slice(BASE_URL.length)

test('the short link answers 302 to the long one, and both open the same page', async () => {
  const { data } = (await checkout(app, shop)).body
  const short = await open(pathOf(data.shortURL))
  assert.deepEqual([short.status, short.headers.location], [302, data.url])
  const page = await open(pathOf(data.url))
  assert.equal(page.status, 200)
  assert.match(String(page.headers['content-type']), /^text\/html/)
})

test('the page shows merchant, amount and status, and nothing of the customer', async () => {
  const { data } = (
    await checkout(app, shop, {
      reference: 'ORD-20931',
      user: { email: 'ada@example.com', name: 'Ada Obi', phoneNumber: '+2348000' },
      metadata: { secret: 'basket' },
    })
  ).body
  const { body } = await open(pathOf(data.url))
  for (const shown of ['Adaeze &amp; Sons &lt;Kitchen&gt;', '₦12,500.00', 'ORD-20931', 'Pay ₦12,500.00', 'Test mode'])
    assert.ok(body.includes(shown), shown)
  for (const hidden of ['ada@example.com', 'Ada Obi', '+2348000', 'basket']) assert.ok(!body.includes(hidden), hidden)
  await call(app, 'POST', '/payments/v1/payments/ORD-20931/cancel', { headers: shop.headers })
  assert.match((await open(pathOf(data.url))).body, /Payment cancelled/)
})

test('amounts are formatted for their currency', async () => {
  for (const [amount, currency, country, shown] of [
    [1, 'NGN', 'NG', '₦0.01'],
    [999_999_999_999, 'NGN', 'NG', '₦9,999,999,999.99'],
    [105, 'USD', 'NG', '$1.05'],
    [100, 'GHS', 'GH', 'GH₵1.00'],
  ] as const) {
    const { data } = (await checkout(app, shop, { amount, currency, country })).body
    assert.ok((await open(pathOf(data.url))).body.includes(shown), shown)
  }
})

test('an unsupported language is not repeated on the page', async () => {
  // nobody has opened a page of it
  const fresh = await addMerchant(database, { name: 'Fresh Shop', provider: 'gateway' })
  const { data } = (await checkout(app, fresh)).body
  for (const query of ['?lang=undefined', '', `?lang=${"'".repeat(7_000)}`])
    assert.deepEqual((await open(pathOf(data.url) + query)).body.match(/[?&]lang=[^"&]*/g), null, query.slice(0, 20))
  assert.match((await open(`${pathOf(data.url)}?lang=fr`)).body, /action="\.\/\w+\?lang=fr"/)
})

test('markup in a reference is shown as text', async () => {
  const { data } = (await checkout(app, shop, { reference: '"><script>alert(1)</script>' })).body
  const { body } = await open(pathOf(data.url))
  assert.equal(body.split('<script').length, 2, 'its own, and no other')
  assert.ok(body.includes('&lt;script&gt;'))
})

test('the CSP allows only the page’s own script, no framing and no other host, and the page is not cached', async () => {
  const { headers } = await open(pathOf((await checkout(app, shop)).body.data.url))
  const csp = String(headers['content-security-policy'])
  assert.match(csp, /default-src 'none'/)
  assert.match(csp, /frame-ancestors 'none'/)
  assert.match(csp, /script-src 'sha256-[^' ]+';/)
  assert.doesNotMatch(csp, /unsafe|\*|https?:/)
  assert.equal(headers['referrer-policy'], 'no-referrer')
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['set-cookie'], undefined)
})

test('G3: unknown and malformed links get one and the same 404 page', async () => {
  const paths = [
    '/pay/chk_8e1Ch41XiYF5uu1qJFodMjwf',
    '/pay/chk_short',
    '/pay/x',
    '/pay/%00',
    '/s/3RtDm8en6NZe7pF',
    '/s/x',
    '/s/%F0%9F%92%A9',
    '/pay/chk_zzzzzzzzzzzzzzzzzzzzzz',
    '/pay/%zz',
    '/s/%E0%A4',
    '/pay/a/b',
  ]
  const pages = await Promise.all(paths.map(open))
  assert.deepEqual(new Set(pages.map(({ status }) => status)), new Set([404]))
  assert.equal(new Set(pages.map(({ body }) => body)).size, 1)
})

test('G3: long ids hold 74 random bits and short codes 46, behind their time parts', async () => {
  const links = await Promise.all(Array.from({ length: 50 }, async () => (await checkout(app, shop)).body.data))
  const codes = links.map(({ shortURL }) => shortURL.split('/s/')[1] as string)
  assert.equal(new Set(codes.map((code) => code.slice(-8))).size, 50, 'the random part differs')
  assert.ok(new Set(codes.map((code) => code.slice(0, -8))).size <= 3, 'the time part is coarse')
})

test('a link with a trailing slash, a query or in another case does not open a payment of someone else', async () => {
  const { data } = (await checkout(app, shop)).body
  assert.equal((await open(`${pathOf(data.url)}?utm=x`)).status, 200)
  assert.equal((await open(pathOf(data.url).toUpperCase())).status, 404)
})

test('a page is compressed with gzip only if the request accepts gzip', async () => {
  const path = pathOf((await checkout(app, shop)).body.data.url)
  for (const [coding, expected] of [
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=1.0, gzip;q=0.8, *;q=0.1', 'gzip'],
    ['gzip ; q=0.001,br', 'gzip'],
    ['gzip;q=0', undefined],
    ['br, gzip; q=0.000, identity', undefined],
    ['not-gzip', undefined],
    ['identity;q=0', undefined], // an uncompressed page is better than 406
    ['*', 'gzip'],
    ['', undefined],
  ] as const) {
    const { headers } = await call(app, 'GET', path, { headers: { 'accept-encoding': coding } })
    assert.equal(headers['content-encoding'], expected, coding)
  }
})

test('a page is complete with and without gzip and for HEAD, and is counted in the metrics', async () => {
  const arabic = await addMerchant(database, { name: 'متجر السوق', provider: 'gateway' })
  const { data } = (await checkout(app, arabic)).body
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const ask = async (method: string, coding: string) => {
    const asked = request({ port, method, path: pathOf(data.url), headers: { 'accept-encoding': coding } }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 200)
    assert.ok(answer.headers['request-id'])
    return { headers: answer.headers, bytes: await buffer(answer) }
  }
  const withoutKey = (text: string) => text.replaceAll(/name="key" value="[\w-]+"/g, '')
  const plain = await ask('GET', 'identity')
  assert.equal(plain.headers['content-length'], String(plain.bytes.length))
  const page = plain.bytes.toString()
  assert.match(page, /<h1><bdi>متجر السوق<\/bdi><\/h1>/)
  assert.match(page, /<\/html>\n$/)
  const compressed = await ask('GET', 'br, gzip')
  assert.equal(compressed.headers['content-encoding'], 'gzip')
  assert.equal(withoutKey(gunzipSync(compressed.bytes).toString()), withoutKey(page))
  const head = await ask('HEAD', 'identity')
  assert.deepEqual([head.bytes.length, head.headers['content-length']], [0, plain.headers['content-length']])
  const { body } = await open('/metrics')
  for (const method of ['GET', 'HEAD'])
    assert.match(body, new RegExp(`_count{method="${method}",route="/pay/:id",status="200"} [1-9]`))
})

test('a merchant name of the other text direction is isolated in sentences', async () => {
  const [latin, arabic] = [
    await addMerchant(database, { name: 'Acme Inc.', provider: 'gateway' }),
    await addMerchant(database, { name: 'متجر السوق', provider: 'gateway' }),
  ]
  for (const [merchant, lang, shown] of [
    [latin, 'ar', '\u2068Acme Inc.\u2069'],
    [latin, 'fr-CA', 'Acme Inc.'],
    [arabic, 'ar', 'متجر السوق'],
    [arabic, 'en', '\u2068متجر السوق\u2069'],
  ] as const) {
    const { data } = (await checkout(app, merchant)).body
    const { body } = await open(`${pathOf(data.url)}?lang=${lang}`)
    assert.ok(body.includes(`<html lang="${lang.slice(0, 2)}"`))
    const [, help = ''] = /<footer><p>(.*?)<\/p>/.exec(body) ?? []
    assert.ok(help.includes(` ${shown} `), help)
  }
})

test('the QR code for a phone is shown only while the payment can continue', async () => {
  const bare = await addMerchant(database) // with nothing set up that takes money
  for (const [merchant, state, shown] of [
    [shop, 'choose', true],
    [bare, 'unpayable', false],
  ] as const) {
    const { data } = (await checkout(app, merchant)).body
    const { body } = await open(pathOf(data.url))
    assert.deepEqual([body.includes(`data-state="${state}"`), body.includes('/qr.svg')], [true, shown], state)
  }
})
