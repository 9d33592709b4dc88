import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { addMember, type DashboardBrowser, signedInBrowser } from '../support/dashboard.ts'
import { createDatabase } from '../support/database.ts'
import { tell } from '../support/delivering.ts'
import { startListener } from '../support/listener.ts'
import { startPaying } from '../support/paying.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url })
const { app, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id } = await addMember(database, { role: 'owner', merchantId })
const owner = await signedInBrowser(app, database, id, { origin: baseUrl })
const base = `/merchants/${merchantId}/sandbox`
const actsOf = async (like: string) =>
  (
    await database.rows<{ subject: string }>(sql`
      select subject from audit_log where act like ${like} and merchant_id = ${uuidOf(merchantId)} and actor = ${`member:${id}`} order by id`)
  ).map(({ subject }) => subject)

interface Row {
  provider: string
  fees: { channel: string; currency: string; text: string }[]
  integration: { enabled: boolean; priority: number; secretsSet: string[] } | null
}

test('providers: all that there are, set up with keys that are never shown, in an order, and switched off', async () => {
  const list = async (): Promise<Row[]> => (await owner.call('GET', `${base}/providers`)).body.data
  const [first, ...others] = await list()
  assert.deepEqual([first?.provider, first?.integration?.enabled], ['gateway', true])
  assert.ok(others.length >= 4 && others.every(({ integration }) => integration === null))

  const keys = { secretKey: `sk_test_${'a'.repeat(40)}`, publicKey: `pk_test_${'b'.repeat(40)}` }
  const wrong = await owner.call('PUT', `${base}/integrations/paystack`, { settings: { secretKey: 'sk_live_x' } })
  assert.equal(wrong.status, 400)
  const set = await owner.call('PUT', `${base}/integrations/paystack`, {
    settings: keys,
    baseURL: 'http://127.0.0.1:9',
  })
  assert.deepEqual([set.status, set.body.warning?.code], [200, 'keys_not_checked'])
  assert.ok(!JSON.stringify([set.body, await list()]).includes(keys.secretKey))

  const order = (providers: string[]) => owner.call('PUT', `${base}/provider-order`, { providers })
  assert.equal((await order(['gateway', 'paystack'])).status, 204)
  assert.deepEqual(
    (await list()).slice(0, 2).map(({ provider }) => provider),
    ['gateway', 'paystack'],
  )
  assert.equal((await order(['paystack', 'gateway'])).status, 204)
  const [paystack] = await list()
  assert.deepEqual(
    [paystack?.provider, paystack?.integration?.priority, paystack?.integration?.secretsSet],
    ['paystack', 10, ['secretKey']],
  )
  const fees = paystack?.fees.map(({ channel, currency, text }) => `${channel} ${currency}: ${text}`) ?? []
  assert.equal(fees[0], 'card NGN: 1.5 % + ₦100.00 from ₦2,500.00, at most ₦2,000.00')
  assert.match(fees.join('\n'), /^card ZAR: 2\.9 % \+ R\s1\.00, plus 15 % tax on the fee$/m)
  assert.equal((await order(['paystack'])).status, 409)
  assert.equal((await order(['paystack', 'stripe'])).status, 409)

  assert.equal((await owner.call('DELETE', `${base}/integrations/paystack`)).body.data.enabled, false)
  assert.deepEqual(await actsOf('integration%'), [
    'sandbox paystack',
    'sandbox gateway paystack',
    'sandbox paystack gateway',
    'sandbox paystack',
  ])
  const live = (await owner.call('GET', `/merchants/${merchantId}/live/providers`)).body.data
  assert.ok(
    !live.some(({ provider }: Row) => provider === 'gateway'),
    'the sandbox provider is not offered in live mode',
  )
})

test('branding: read, changed, and refused with every mistake', async () => {
  const path = `/merchants/${merchantId}/branding`
  const before = (await owner.call('GET', path)).body.data
  assert.deepEqual([before.name, before.colour, before.logoURL], ['Adaeze Kitchen', null, null])
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from('\0\0\0\x0dIHDR', 'latin1')])
  const changes = {
    colour: '0B6E4F',
    corners: 'pill',
    origins: ['https://shop.example/'],
    logo: png.toString('base64'),
  }
  const { status, body } = await owner.call('PATCH', path, changes)
  assert.equal(status, 200, JSON.stringify(body))
  const { logoURL, ...rest } = body.data
  const { logoURL: none, ...kept } = before
  assert.deepEqual(rest, { ...kept, colour: '#0b6e4f', corners: 'pill', origins: ['https://shop.example'] })
  assert.equal((await fetch(baseUrl + logoURL)).headers.get('content-type'), 'image/png')
  const refused = await owner.call('PATCH', path, { colour: 'green', origins: ['shop'], logo: 'AAAA', name: ' ' })
  assert.deepEqual([refused.status, refused.body.errors.length], [400, 4])
  assert.equal((await owner.call('PATCH', path, { logo: null, colour: null })).body.data.logoURL, null)
  assert.deepEqual(await actsOf('merchant.branded'), ['origins colour corners logo', 'colour logo'])
  for (const language of ['fr', null])
    assert.equal((await owner.call('PATCH', path, { language })).body.data?.language, language)
  await owner.call('PATCH', path, { corners: 'rounded', origins: [] })
})

test('branding preview: the real page with a draft, in a frame of our own only, without any script', async () => {
  const path = `/merchants/${merchantId}/branding/preview`
  const draft = { name: '<script>alert(1)</script>', colour: '#b3261e', corners: 'pill', language: 'fr', theme: 'dark' }
  const { status, body, headers } = await owner.call('GET', `${path}?${new URLSearchParams(draft)}`)
  const html = String(body)
  assert.equal(status, 200, html)
  assert.match(html, /<html lang="fr" dir="ltr" data-theme="dark">/)
  assert.match(html, /<bdi>&lt;script&gt;alert\(1\)&lt;\/script&gt;<\/bdi>/)
  assert.match(html, /--accent:#b3261e/)
  assert.doesNotMatch(html, /<script/)
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /script-src 'none'.*frame-src 'none'; frame-ancestors 'self'$/)
  assert.equal(headers['x-frame-options'], undefined)
  assert.match(String(headers['cache-control']), /no-store/)
  assert.match(String((await owner.call('GET', `${path}?state=paid`)).body), /data-state="succeeded"/)
  for (const wrong of ['colour=red', 'colour=%23fff;}', 'corners=round', 'language=xx', 'logo=x', 'theme=auto'])
    assert.equal((await owner.call('GET', `${path}?${wrong}`)).status, 400, wrong)
  const saved = (await owner.call('GET', `/merchants/${merchantId}/branding`)).body.data
  assert.deepEqual([saved.name, saved.colour], ['Adaeze Kitchen', null], 'nothing of the draft is saved')
  assert.equal((await owner.call('GET', path, undefined, { 'sec-fetch-site': 'cross-site' })).status, 403)
})

test('branding preview: the logo is found from the preview, too', async () => {
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from('\0\0\0\x0dIHDR', 'latin1')])
  const branding = `/merchants/${merchantId}/branding`
  await owner.call('PATCH', branding, { logo: png.toString('base64') })
  const html = String((await owner.call('GET', `${branding}/preview`)).body)
  const [, source = ''] = /<img class="logo" src="([^"]+)"/.exec(html) ?? []
  const address = new URL(source, `${baseUrl}/dashboard/api${branding}/preview`)
  assert.equal((await fetch(address)).headers.get('content-type'), 'image/png')
  assert.doesNotMatch(String((await owner.call('GET', `${branding}/preview?logo=none`)).body), /<img class="logo"/)
  await owner.call('PATCH', branding, { logo: null })
})

test('contrast: what is measured, and what the page changes', async () => {
  const ask = async (colour: string) =>
    (await owner.call('GET', `/merchants/${merchantId}/branding/contrast?colour=${encodeURIComponent(colour)}`)).body
  const { data: yellow } = await ask('#ffee00')
  assert.deepEqual(
    [yellow.button.text, yellow.card.hasBorder, yellow.link.colour !== '#ffee00'],
    ['#000000', true, true],
  )
  assert.ok(yellow.card.ratio < 1.5 && yellow.button.ratio > 15 && yellow.link.ratio >= 4.5 && yellow.dark.ratio >= 4.5)
  const { data: green } = await ask('')
  assert.deepEqual(green.button, { colour: '#0b6e4f', text: '#ffffff', ratio: 6.25 })
  assert.deepEqual(green.card, { ratio: 6.25, hasBorder: false })
  assert.equal((await ask('red')).code, 'invalid_request')
})

test('settings: name, country and time zone are changed, refused with every mistake, and known to the session', async () => {
  const path = `/merchants/${merchantId}/settings`
  const before = (await owner.call('GET', path)).body.data
  assert.deepEqual([before.name, before.country, before.timeZone], ['Adaeze Kitchen', 'NG', null])
  assert.deepEqual(before.live, { providers: 0, apiKeys: 0 })
  const changes = { name: ' Adaeze Foods ', country: 'Ghana', timeZone: 'Africa/Accra' }
  const { body } = await owner.call('PATCH', path, changes)
  assert.deepEqual(body.data, { ...before, name: 'Adaeze Foods', country: 'GH', timeZone: 'Africa/Accra' })
  const [known] = (await owner.call('GET', '/session')).body.data.merchants
  assert.deepEqual([known.name, known.country, known.timeZone], ['Adaeze Foods', 'GH', 'Africa/Accra'])
  for (const timeZone of ['Mars/Olympus', '+01:00', '', 'UTC; drop'])
    assert.equal((await owner.call('PATCH', path, { timeZone })).status, 400, timeZone)
  const refused = await owner.call('PATCH', path, { name: '\n', country: 'ZZ', timeZone: 'Lagos' })
  assert.deepEqual(
    refused.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/name', '/country', '/timeZone'],
  )
  await owner.call('PATCH', path, { name: before.name, country: 'GH', timeZone: null })
  await owner.call('PATCH', path, { timeZone: null })
  assert.deepEqual(await actsOf('merchant.settings_changed'), ['name country timeZone', 'name timeZone'])
})

test('webhook endpoints: the secret is shown once, rotated, tried, paused and deleted', async () => {
  const hook = await startListener()
  const endpoints = `${base}/webhook-endpoints`
  const created = await owner.call('POST', endpoints, { url: hook.url, events: ['payment.successful'] })
  assert.equal(created.status, 201)
  const { id: endpoint, secret } = created.body.data
  const listed = await owner.call('GET', endpoints)
  assert.ok(listed.body.data.length === 1 && !JSON.stringify(listed.body).includes(secret))
  assert.deepEqual((await owner.call('POST', `${endpoints}/${endpoint}/test`)).body.data.status, 200)
  const rotated = (await owner.call('POST', `${endpoints}/${endpoint}/rotate-secret`)).body.data
  assert.ok(rotated.secret !== secret && Date.parse(rotated.previousValidUntil) > Date.now())
  assert.equal((await owner.call('PATCH', `${endpoints}/${endpoint}`, { enabled: false })).body.data.enabled, false)
  assert.equal((await owner.call('DELETE', `${endpoints}/${endpoint}`)).status, 200)
  assert.deepEqual((await owner.call('GET', endpoints)).body.data, [])
})

async function openStream(
  browser: DashboardBrowser,
  headers: Record<string, string> = {},
  of = base,
): Promise<IncomingMessage> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const call = get(
      `${baseUrl}/dashboard/api${of}/changes`,
      { agent: false, headers: { cookie, accept: 'text/event-stream', ...headers } },
      resolve,
    )
    call.on('error', reject)
    after(() => call.destroy())
  })
  return response.on('error', () => {})
}

/** The text of an event stream of the dashboard, until it matches. */
async function stream(headers: Record<string, string> = {}) {
  const response = await openStream(owner, headers)
  assert.equal(response.statusCode, 200)
  let text = ''
  return async (pattern: RegExp): Promise<string> => {
    if (pattern.test(text)) return text
    const { promise, resolve } = Promise.withResolvers<string>()
    response.on('data', (chunk) => {
      text += chunk
      if (pattern.test(text)) resolve(text)
    })
    return promise
  }
}

test('live updates: a tab learns of each change, and after a reconnect of those that it missed', async () => {
  assert.equal((await owner.call('GET', `${base}/changes`)).status, 400, 'only as a stream')
  const until = await stream()
  await until(/retry: 2000/)
  const first = await tell(shop)
  const text = await until(/payment\.cancelled/)
  assert.match(text, new RegExp(`id: ${first}\\ndata: {"payment":"chk_\\w+","type":"payment.cancelled"}`))
  const second = await tell(shop)
  const reconnected = await stream({ 'last-event-id': first })
  const missed = await reconnected(/payment\.cancelled/)
  assert.ok(missed.includes(`id: ${second}`) && !missed.includes(`id: ${first}`), missed)
  const other = await service.addShop('Other shop')
  const foreign = await tell(other)
  const third = await tell(shop)
  assert.ok(!(await until(new RegExp(third))).includes(foreign))
})

test('I3: a stream ends with its session or membership, before it shows another change', async () => {
  const ends: Record<string, (id: string) => Promise<unknown>> = {
    session: (member) => database.rows(sql`delete from sessions where member_id = ${member}`),
    idle: (member) =>
      database.rows(sql`update sessions set last_seen_at = now() - interval '13 hours' where member_id = ${member}`),
    membership: (member) => database.rows(sql`delete from memberships where member_id = ${member}`),
  }
  for (const [what, end] of Object.entries(ends)) {
    const viewer = await addMember(database, { role: 'viewer', merchantId })
    const response = await openStream(await signedInBrowser(app, database, viewer.id, { origin: baseUrl }))
    let text = ''
    response.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    const ended = once(response, 'end')
    await end(uuidOf(viewer.id))
    const event = await tell(shop)
    await ended
    assert.ok(!text.includes(event), what)
  }
})

test('one member has 20 streams at most, so that others have some', async () => {
  const viewer = await addMember(database, { role: 'viewer', merchantId })
  const browser = await signedInBrowser(app, database, viewer.id, { origin: baseUrl })
  const open = Array.from({ length: 22 }, () => openStream(browser))
  const statuses = (await Promise.all(open)).map(({ statusCode }) => statusCode)
  assert.equal(statuses.filter((status) => status === 200).length, 20)
  assert.equal((await openStream(owner)).statusCode, 200)
})

test('one merchant has 200 streams at most, so that other merchants have some', async () => {
  const crowded = (await service.addShop('Crowded shop')).merchantId
  const statuses: (number | undefined)[] = []
  for (let number = 0; number < 11; number++) {
    const viewer = await addMember(database, { role: 'viewer', merchantId: crowded })
    const browser = await signedInBrowser(app, database, viewer.id, { origin: baseUrl })
    const open = Array.from({ length: 20 }, () => openStream(browser, {}, `/merchants/${crowded}/sandbox`))
    statuses.push(...(await Promise.all(open)).map(({ statusCode }) => statusCode))
  }
  assert.deepEqual(
    [200, 503].map((wanted) => statuses.filter((status) => status === wanted).length),
    [200, 20],
  )
  assert.equal((await openStream(owner)).statusCode, 200)
})
