import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { embedId, readEmbedId, readWidgetToken, widgetToken } from '../../src/http/checkout/embed.ts'
import {
  brandMerchant,
  createCredential,
  revokeCredential,
  setMerchantStatus,
} from '../../src/merchants/manage-merchants.ts'
import { buildAssets, WIDGET_VERSION } from '../../web/build.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { type Answer, addMerchant, call, checkout, startService } from '../support/service.ts'

let stopped: Date | undefined
const { app, parts, addShop } = await startPaying({ clock: { now: () => stopped ?? new Date() } })
afterEach(() => {
  stopped = undefined
})
const assets = await buildAssets()
const SHOP = 'http://localhost:8080'

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers })
const hash = (algorithm: string, text: string) => `${algorithm}-${createHash(algorithm).update(text).digest('base64')}`

function open(query: Record<string, string>): Promise<Answer> {
  return call(app, 'GET', `/widget/open?${new URLSearchParams(query)}`)
}

/** What the frame tells the widget, and whom. */
const said = ({ body }: Answer) => /data-code="(\w+)" data-to="([^"]+)"/.exec(body)?.slice(1)

test('script, module and types are served to every site, compressed and revalidated', async () => {
  for (const [path, type, text] of [
    ['/widget/v1.js', 'text/javascript; charset=utf-8', assets.widgetScript],
    ['/widget/v1.mjs', 'text/javascript; charset=utf-8', assets.widgetModule],
    ['/widget/v1.d.ts', 'text/plain; charset=utf-8', assets.widgetTypes],
  ] as const) {
    const plain = await get(path)
    assert.equal(plain.body, text)
    const { headers } = plain
    assert.equal(headers['content-type'], type)
    assert.equal(headers['cache-control'], 'public, max-age=300, must-revalidate')
    assert.equal(headers['access-control-allow-origin'], '*')
    assert.equal(headers['cross-origin-resource-policy'], 'cross-origin')
    assert.equal(headers['content-encoding'], undefined)
    assert.equal(headers.vary, 'accept-encoding')

    const brotli = await get(path, { 'accept-encoding': 'gzip, deflate, br' })
    assert.equal(brotli.headers['content-encoding'], 'br')
    assert.equal(brotliDecompressSync(brotli.rawPayload).toString(), text)
    const gzip = await get(path, { 'accept-encoding': 'gzip;q=0.5, br;q=0' })
    assert.equal(gzip.headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(gzip.rawPayload).toString(), text)

    const etag = brotli.headers.etag as string
    const known = { 'accept-encoding': 'br', 'if-none-match': `"other", W/${etag}` }
    const again = await get(path, known)
    assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', etag])
    assert.equal((await get(path, { ...known, 'accept-encoding': 'gzip' })).statusCode, 200, 'other bytes, another tag')
  }
})

test('an exact version is cached forever, and the hash of every script is published', async () => {
  const path = `/widget/v${WIDGET_VERSION}.js`
  const exact = await get(path)
  assert.equal(exact.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(exact.body, assets.widgetScript)
  const { scripts } = (await get('/widget/integrity.json')).json()
  const byPath = Object.fromEntries(
    scripts.map((each: { path: string; integrity: string }) => [each.path, each.integrity]),
  )
  assert.deepEqual(Object.keys(byPath), [path, '/widget/v1.js', '/widget/v1.mjs', '/widget/open', '/pay/{id}'])
  assert.equal(byPath[path], hash('sha384', exact.body))
  assert.equal(byPath['/widget/v1.mjs'], hash('sha384', (await get('/widget/v1.mjs')).body))
  assert.equal(byPath['/pay/{id}'], hash('sha256', assets.checkoutScript))
  const failed = await open({ 'client-id': 'x', reference: 'x', origin: SHOP })
  const script = /<script>(.*)<\/script>/.exec(failed.body)?.[1] ?? ''
  assert.equal(byPath['/widget/open'], hash('sha256', script))
  assert.match(
    String(failed.headers['content-security-policy']),
    new RegExp(`script-src '${RegExp.escape(hash('sha256', script))}'`),
  )
})

test('the pinned version of the widget has not changed by a byte', () => {
  const pinned = { '1.0.0': 'sha384-voFz/JQZLpyr4e5g93vgzubZRFDs2t4LHcP1xP6id3o5VqYDX/4DaExGQk5kbvjy' }
  assert.deepEqual(
    { [WIDGET_VERSION]: hash('sha384', assets.widgetScript) },
    pinned,
    'the script has changed: raise WIDGET_VERSION; before the first release, take the new hash',
  )
})

test('a reference of a payment or attempt leads to an embed id, a new one each time', async () => {
  const shop = await addShop()
  const attempt = (await shop.initialize({ reference: 'ORD-1' })).body.data.reference
  const { id } = await shop.payment('ORD-1')
  const seen = new Set()
  for (const name of ['ORD-1', 'ORD-1', attempt, id]) {
    const { status, headers } = await open({ 'client-id': shop.headers['client-id'], reference: name, origin: SHOP })
    assert.equal(status, 302)
    const location = new URL(String(headers.location), 'http://pay.test/widget/open')
    assert.equal(location.search, `?embed=1&origin=${encodeURIComponent(SHOP)}`)
    const [, standIn = ''] = /^\/pay\/(emb_.+)$/.exec(location.pathname) ?? []
    assert.equal(readEmbedId(parts.secrets, standIn, parts.clock.now()), id)
    assert.ok(!location.href.includes(id))
    assert.deepEqual([headers['cache-control'], headers['referrer-policy']], ['no-store', 'no-referrer'])
    seen.add(standIn)
  }
  assert.equal(seen.size, 4)
})

test('language and theme are passed on; without an origin it is the full page', async () => {
  const shop = await addShop()
  await shop.initialize({ reference: 'ORD-1' })
  const asked = { 'client-id': shop.headers['client-id'], reference: 'ORD-1', lang: 'fr', theme: 'dark' }
  const framed = await open({ ...asked, origin: SHOP })
  assert.match(String(framed.headers.location), /\?embed=1&origin=http%3A%2F%2Flocalhost%3A8080&lang=fr&theme=dark$/)
  assert.match(String((await open(asked)).headers.location), /^\.\.\/pay\/emb_[\w-]+\?lang=fr&theme=dark$/)
  const unknown = await open({ ...asked, reference: 'ORD-2' })
  assert.equal(unknown.status, 404)
  assert.match(unknown.body, /can’t find this payment/)
})

test('unknown, foreign, other-mode, revoked and suspended all give the same not found', async () => {
  const [shop, other, gone, bad] = [await addShop(), await addShop(), await addShop(), await addShop()]
  for (const each of [shop, gone, bad]) await each.initialize({ reference: 'ORD-1' })
  const clientId = shop.headers['client-id']
  await revokeCredential(parts, 'test', gone.headers['client-id'])
  await setMerchantStatus(parts, 'test', bad.merchantId, 'suspended')
  const answers = [
    await open({ 'client-id': clientId, reference: 'ORD-2', origin: SHOP }),
    await open({ 'client-id': other.headers['client-id'], reference: 'ORD-1', origin: SHOP }),
    await open({ 'client-id': clientId, reference: '\0', origin: SHOP }),
    await open({ 'client-id': clientId, reference: 'x'.repeat(7_000), origin: SHOP }),
    await open({ 'client-id': clientId, origin: SHOP }),
  ]
  const strangers = [
    await open({ 'client-id': gone.headers['client-id'], reference: 'ORD-1', origin: SHOP }),
    await open({ 'client-id': bad.headers['client-id'], reference: 'ORD-1', origin: SHOP }),
    await open({ 'client-id': 'cid_sandbox_nobody', reference: 'ORD-1', origin: SHOP }),
    await open({ 'client-id': '\0', reference: 'ORD-1', origin: SHOP }),
    await open({ reference: 'ORD-1', origin: SHOP }),
    await call(app, 'GET', `/widget/open?client-id=a&client-id=b&reference=ORD-1&origin=${SHOP}`),
  ]
  for (const [group, to] of [
    [answers, SHOP],
    [strangers, '*'],
  ] as const) {
    for (const answer of group) {
      assert.equal(answer.status, 404)
      assert.deepEqual(said(answer), ['not_found', to], 'a shop that we do not know hears nothing but that')
      assert.equal(answer.body, group[0]?.body)
      const policy = String(answer.headers['content-security-policy'])
      assert.ok(
        policy.startsWith("default-src 'none'; script-src 'sha256-") && policy.endsWith(`frame-ancestors ${to}`),
      )
    }
  }
})

test('a foreign site gets origin_not_allowed and cannot probe payments', async () => {
  const shop = await addShop()
  await shop.initialize({ reference: 'ORD-1' })
  const clientId = shop.headers['client-id']
  for (const origin of [
    'https://evil.example',
    'null',
    '',
    'http://localhost:99999',
    'http://localhost:80;x',
    `${SHOP}/`,
    '*',
  ]) {
    const [there, nowhere] = [
      await open({ 'client-id': clientId, reference: 'ORD-1', origin }),
      await open({ 'client-id': clientId, reference: 'ORD-2', origin }),
    ]
    assert.equal(there.status, 403, origin)
    assert.deepEqual(said(there), ['origin_not_allowed', '*'])
    assert.deepEqual([nowhere.status, nowhere.body], [there.status, there.body])
    assert.ok(!there.body.includes('ORD-1'))
  }
  const twice = await call(
    app,
    'GET',
    `/widget/open?client-id=${clientId}&reference=ORD-1&origin=${SHOP}&origin=${SHOP}`,
  )
  assert.equal(twice.status, 403)
})

test('live mode allows only registered origins, and no localhost', async () => {
  const live = await addMerchant(parts.database, { mode: 'live' })
  await checkout(app, live, { reference: 'ORD-1' })
  await brandMerchant(parts, 'test', live.merchantId, { origins: ['https://shop.example'] })
  const asked = { 'client-id': live.clientId, reference: 'ORD-1' }
  assert.equal((await open({ ...asked, origin: 'https://shop.example' })).status, 302)
  assert.equal((await open({ ...asked, origin: SHOP })).status, 403)
  const sandbox = await createCredential(parts, 'test', live.merchantId, 'sandbox')
  const crossed = await open({ 'client-id': sandbox.clientId, reference: 'ORD-1', origin: SHOP })
  assert.deepEqual(said(crossed), ['not_found', SHOP], 'nothing crosses the modes')
})

test('opening the widget changes no data', async () => {
  const shop = await addShop()
  await shop.initialize({ reference: 'ORD-1' })
  const before = await shop.payment('ORD-1')
  for (let times = 0; times < 3; times++)
    await open({ 'client-id': shop.headers['client-id'], reference: 'ORD-1', origin: SHOP })
  assert.deepEqual(await shop.payment('ORD-1'), before)
  assert.equal((await call(app, 'POST', '/widget/open')).status, 405)
})

test('guessing references is limited to ten a minute; a wrong origin does not count', async () => {
  const fresh = await startService({ rateLimit: true })
  const shop = await addMerchant(fresh.database)
  await checkout(fresh.app, shop, { reference: 'ORD-1' })
  const ask = (reference: string, origin: string) =>
    call(fresh.app, 'GET', `/widget/open?${new URLSearchParams({ 'client-id': shop.clientId, reference, origin })}`)
  for (let times = 0; times < 3; times++) assert.equal((await ask('ORD-1', 'https://evil.example')).status, 403)
  const guesses = []
  for (let guess = 0; guess < 12; guess++) guesses.push(await ask(`ORD-${guess + 100}`, SHOP))
  assert.deepEqual(
    guesses.map(({ status }) => status),
    [...Array(10).fill(404), 429, 429],
  )
  const limited = await ask('ORD-1', SHOP)
  assert.equal(limited.status, 429)
  assert.deepEqual(said(limited), ['unknown', '*'])
  assert.ok(Number(limited.headers['retry-after']) >= 1)
  assert.equal((await call(fresh.app, 'GET', '/widget/v1.js')).status, 200, 'the script is for everybody')
})

async function addStrictShop(): Promise<Shop> {
  const shop = await addShop()
  await brandMerchant(parts, 'test', shop.merchantId, { widget: 'strict' })
  await shop.initialize({ reference: 'ORD-1' })
  return shop
}

const askForToken = (shop: Shop, name: string) => shop.call('POST', `/payments/v1/payments/${name}/widget-token`)
const tokenFor = async (shop: Shop, name: string): Promise<string> => (await askForToken(shop, name)).body.data.token

/** All of an answer but what differs from one request to the next. */
function tellingOf({ status, headers, body }: Answer): unknown {
  const { 'request-id': _, date: __, ...telling } = headers
  return { status, headers: telling, body }
}

test('a merchant’s server gets a widget token by any reference, in strict mode or not', async () => {
  const [shop, other] = [await addShop(), await addShop()]
  const attempt = (await shop.initialize({ reference: 'ORD-1' })).body.data.reference
  const { id } = await shop.payment('ORD-1')
  stopped = new Date()
  for (const name of ['ORD-1', attempt, id]) {
    const { status, headers, body } = await askForToken(shop, name)
    assert.deepEqual([status, headers['cache-control']], [201, 'no-store'])
    const { token, ...rest } = body.data
    assert.equal(readWidgetToken(parts.secrets, token, stopped), id)
    assert.deepEqual(rest, { expiresAt: new Date(stopped.getTime() + 15 * 60_000).toISOString() })
  }
  for (const unknown of [await askForToken(shop, 'ORD-2'), await askForToken(other, 'ORD-1')])
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'not_found'])
  const anyone = await call(app, 'POST', '/payments/v1/payments/ORD-1/widget-token', {
    headers: { 'client-id': shop.headers['client-id'] },
  })
  assert.equal(anyone.status, 401)
})

test('a strict widget opens with a valid token, which is not passed on', async () => {
  const shop = await addStrictShop()
  const asked = { 'client-id': shop.headers['client-id'], reference: 'ORD-1', token: await tokenFor(shop, 'ORD-1') }
  for (const [query, search] of [
    [{ ...asked, origin: SHOP }, `\\?embed=1&origin=${encodeURIComponent(SHOP)}`],
    [asked, ''],
  ] as const) {
    for (const again of [await open(query), await open(query)]) {
      assert.equal(again.status, 302)
      assert.match(String(again.headers.location), new RegExp(`^\\.\\./pay/emt_[\\w-]+${search}$`))
    }
  }
})

test('in strict mode a missing or wrong token is the same as an unknown payment', async () => {
  const [shop, other] = [await addStrictShop(), await addStrictShop()]
  await shop.initialize({ reference: 'ORD-2' })
  const { id } = await shop.payment('ORD-1')
  const token = await tokenFor(shop, 'ORD-1')
  const altered = token.replace(/.(?=.{20}$)/, (sign) => (sign === 'A' ? 'B' : 'A'))
  assert.notEqual(altered, token)
  for (const framed of [{ origin: SHOP }, {}] as Record<string, string>[]) {
    const ask = (reference: string, given?: string) =>
      open({
        'client-id': shop.headers['client-id'],
        reference,
        ...framed,
        ...(given !== undefined && { token: given }),
      })
    const unknown = tellingOf(await ask('ORD-NOWHERE'))
    assert.equal((unknown as Answer).status, 404)
    assert.deepEqual(tellingOf(await ask('ORD-NOWHERE', token)), unknown)
    for (const wrong of [
      undefined,
      '',
      'nonsense',
      altered,
      await tokenFor(shop, 'ORD-2'),
      await tokenFor(other, 'ORD-1'),
      embedId(parts.secrets, id, parts.clock.now()),
      id,
    ])
      assert.deepEqual(tellingOf(await ask('ORD-1', wrong)), unknown, wrong)
    assert.equal((await ask('ORD-1', token)).status, 302, 'the right one')
  }
})

test('a token expires at the time in its response', async () => {
  const shop = await addStrictShop()
  const { token, expiresAt } = (await askForToken(shop, 'ORD-1')).body.data
  const ask = () => open({ 'client-id': shop.headers['client-id'], reference: 'ORD-1', origin: SHOP, token })
  const end = new Date(expiresAt).getTime()
  stopped = new Date(end - 1)
  assert.equal((await ask()).status, 302)
  stopped = new Date(end)
  assert.deepEqual(said(await ask()), ['not_found', SHOP])
})

test('a merchant is strict in both modes', async () => {
  const live = await addMerchant(parts.database, { mode: 'live' })
  await checkout(app, live, { reference: 'ORD-1' })
  await brandMerchant(parts, 'test', live.merchantId, { origins: ['https://shop.example'], widget: 'strict' })
  const asked = { 'client-id': live.clientId, reference: 'ORD-1', origin: 'https://shop.example' }
  assert.equal((await open(asked)).status, 404)
  const { headers } = live
  const made = await call(app, 'POST', '/payments/v1/payments/ORD-1/widget-token', { headers })
  assert.equal((await open({ ...asked, token: made.body.data.token })).status, 302)
})

test('strict mode does not affect links and returns from the provider', async () => {
  const shop = await addStrictShop()
  const { url, shortURL, attempts } = await shop.payment('ORD-1')
  const visit = (address: string) => call(app, 'GET', new URL(address).pathname)
  const short = await visit(shortURL)
  assert.deepEqual([(await visit(url)).status, short.status, short.headers.location], [200, 302, url])
  const back = await call(app, 'GET', `/return/${attempts[0].id}`)
  assert.match(String(back.headers.location), /\/pay\/emr_/)
  assert.equal((await visit(String(back.headers.location))).status, 200)
})

test('without strict mode tokens are ignored', async () => {
  const shop = await addShop()
  await shop.initialize({ reference: 'ORD-1' })
  const { token: old } = widgetToken(parts.secrets, (await shop.payment('ORD-1')).id, new Date(0))
  for (const token of ['nonsense', 'x'.repeat(500), old])
    assert.equal((await open({ 'client-id': shop.headers['client-id'], reference: 'ORD-1', token })).status, 302)
})

test('a wrong token counts as a guess', async () => {
  const fresh = await startService({ rateLimit: true })
  const shop = await addMerchant(fresh.database)
  await brandMerchant({ ...fresh }, 'test', shop.merchantId, { widget: 'strict' })
  await checkout(fresh.app, shop, { reference: 'ORD-1' })
  const statuses = []
  for (let guess = 0; guess < 11; guess++) {
    const query = { 'client-id': shop.clientId, reference: 'ORD-1', ...(guess % 2 && { origin: SHOP }) }
    statuses.push((await call(fresh.app, 'GET', `/widget/open?${new URLSearchParams(query)}`)).status)
  }
  assert.deepEqual(statuses, [...Array(10).fill(404), 429])
})
