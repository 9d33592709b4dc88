import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { sql } from '../../../src/database/sql.ts'
import { embedId } from '../../../src/http/checkout/embed.ts'
import type { PaymentId } from '../../../src/kernel/ids.ts'
import { newCheckout, transfer } from '../../support/customer.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { everyState, openPage, postForm, stateIn } from '../../support/every-state.ts'
import { MARKUP } from '../../support/hostile.ts'
import { AS_IN_PRODUCTION, eventually, request, startPaying } from '../../support/paying.ts'
import { letPass } from '../../support/payment-records.ts'
import { charge } from '../../support/sandbox-payments.ts'
import { CARD } from '../../support/simulator.ts'

const service = await startPaying({ providerHttp: AS_IN_PRODUCTION })
const { database, baseUrl, parts } = service
const shop = await service.addShop()
const SHOP = 'http://localhost:8080'
const standInFor = (id: string) => embedId(parts.secrets, id as PaymentId, new Date())

/** Everything that is on disk, table by table. */
async function everything(): Promise<Record<string, string>> {
  const tables = await database.rows<{ name: string }>(
    sql`select table_name as name from information_schema.tables where table_schema = 'public' order by 1`,
  )
  const all: Record<string, string> = {}
  for (const { name } of tables) {
    // Not by sql``, which makes the text of a statement once per place in the source.
    const row = await database.row<{ digest: string }>({
      name: `digest of ${name}`,
      text: `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest from ${name} t`,
      values: [],
    })
    all[name] = row?.digest ?? ''
  }
  return all
}

/** What was said to change nothing has changed nothing, anywhere. */
async function changesNothing(what: string, act: () => Promise<unknown>): Promise<void> {
  // Waiting notices and scheduled checks would change rows by themselves.
  await database.rows(sql`update gateway_notices set state = 'lost' where state = 'waiting'`)
  await database.rows(
    sql`update attempts set next_check_at = now() + interval '1 hour' where next_check_at is not null`,
  )
  let before = await everything()
  await eventually(
    async () => {
      const [last, now] = [before, await everything()]
      before = now
      return isDeepStrictEqual(last, now)
    },
    (isQuiet) => isQuiet,
  )
  await act()
  assert.deepEqual(await everything(), before, what)
}

const ACTIONS: Record<string, string>[] = [
  { action: 'pay', method: 'card', card: 'new' },
  { action: 'pay', method: 'transfer' },
  { action: 'new-account' },
  { action: 'check' },
  { action: 'cancel' },
]

test('G5: a form sent by another site is refused and changes nothing (CSRF)', async () => {
  const foreign: Record<string, Record<string, string>> = {
    'of another origin': { origin: 'https://evil.example' },
    'of another port': { origin: 'http://127.0.0.1:1' },
    'of our name behind another': { origin: `${baseUrl}.evil.example` },
    'of another scheme': { origin: `https${baseUrl.slice(4)}:1` },
    'from another site': { 'sec-fetch-site': 'cross-site' },
    'from a neighbour': { 'sec-fetch-site': 'same-site' },
    'from nowhere': { 'sec-fetch-site': 'none' },
    'from another site, with our origin': { origin: baseUrl, 'sec-fetch-site': 'cross-site' },
    'from a frame without an origin': { origin: 'null', 'sec-fetch-site': 'cross-site' },
  }
  const { url, id } = await newCheckout(shop)
  for (const address of [url, `${baseUrl}/pay/${standInFor(id)}`]) {
    const page = await openPage(address)
    for (const fields of ACTIONS) {
      for (const [what, headers] of Object.entries(foreign)) {
        await changesNothing(`${fields.action} ${what}`, async () => {
          const { status, body } = await page.post(fields, headers)
          assert.deepEqual([status, stateIn(body)], [403, 'choose'], `${fields.action} ${what}`)
          const panel = await page.post(fields, { ...headers, 'x-panel': 'pending' })
          assert.deepEqual([panel.status, panel.headers['x-go']], [403, undefined])
        })
      }
    }
  }
})

test('G5: a form without this page’s CSRF token is refused', async () => {
  const [one, other] = [await newCheckout(shop), await newCheckout(await service.addShop())]
  const { token } = await openPage(one.url)
  const theirs = (await openPage(other.url)).token
  const standIn = standInFor(one.id)
  const tokens: (string | undefined)[] = [
    undefined,
    '',
    theirs,
    standIn,
    standIn.slice(4),
    one.id,
    token.slice(1),
    `${token.slice(0, -2)}AA`,
    `${token} `.repeat(20),
    '\0',
    ...MARKUP.slice(0, 10),
  ]
  const page = await openPage(one.url)
  for (const fields of ACTIONS) {
    await changesNothing(String(fields.action), async () => {
      for (const wrong of tokens)
        assert.equal((await page.post({ ...fields, token: wrong })).status, 403, String(wrong))
    })
  }
  assert.equal((await page.post({ action: 'pay', method: 'transfer' })).status, 303, 'the right one works')
  assert.equal((await openPage(one.url)).state, 'awaiting')
})

test('G5: the token of a finished payment has no effect', async () => {
  const endings: Record<string, (id: string) => Promise<unknown>> = {
    cancelled: (id) => shop.call('POST', `/payments/v1/payments/${id}/cancel`),
    expired: (id) => letPass(database, { id }, 86_400),
    already_paid: (id) => transfer(shop, id, 1_250_000),
  }
  for (const [state, end] of Object.entries(endings)) {
    const { id, url } = await newCheckout(shop)
    const page = await openPage(url)
    if (state === 'already_paid') await page.post({ action: 'pay', method: 'transfer' })
    await end(id)
    await eventually(
      () => openPage(url),
      (now) => now.state === state,
    )
    for (const fields of ACTIONS.filter(({ action }) => action !== 'check')) {
      await changesNothing(`${fields.action} when ${state}`, async () =>
        assert.equal((await page.post(fields)).status, 303),
      )
    }
  }
})

test('G5: unknown form fields and actions have no effect', async () => {
  const { url } = await newCheckout(shop)
  const page = await openPage(url)
  await changesNothing('nonsense', async () => {
    for (const text of [...MARKUP, 'PAY', 'pay,cancel', 'constructor', '__proto__', 'refund', '']) {
      for (const fields of [
        { action: text },
        { action: 'pay', method: text },
        { action: 'pay', method: 'card', key: '' },
      ]) {
        const { status, headers } = await page.post(fields)
        assert.deepEqual([status, new URL(String(headers.location), url).href], [303, url], JSON.stringify(fields))
      }
    }
    for (const [type, body] of [
      ['application/json', '{"action":"cancel"}'],
      ['text/plain', `action=cancel&token=${page.token}`],
      ['multipart/form-data; boundary=x', '--x'],
    ] as const) {
      const { status } = await request(url, 'POST', { 'content-type': type }, body)
      assert.ok([400, 403, 415].includes(status), `${type}: ${status}`)
    }
    assert.equal((await postForm(url, { token: page.token, action: 'x'.repeat(5_000) })).status, 413)
    const twice = `token=${page.token}&action=nothing&action=cancel&key=k`
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await request(url, 'POST', form, twice)).status, 303)
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS']) assert.equal((await request(url, method)).status, 405)
  })
  const odd = await page.post({ action: 'pay', method: 'card', card: '"><script>pwned()</script>', key: '"><x>' })
  assert.equal(odd.status, 303)
  assert.equal((await openPage(url)).state, 'provider', 'a card that is none is a new card')
})

test('G1: request headers and query parameters are not echoed unescaped', async () => {
  const { url, id } = await newCheckout(shop)
  const sendable = MARKUP.filter((text) => /^[\x20-\x7e]+$/.test(text) && text.includes('pwned'))
  for (const text of sendable) {
    const headers: Record<string, string> = { 'x-panel': '' }
    for (const name of ['accept-language', 'user-agent', 'referer', 'save-data', 'x-forwarded-host', 'x-panel'])
      headers[name] = text
    const names = ['lang', 'theme', 'method', 'sent', 'back', 'embed', 'origin', text]
    const query = new URLSearchParams(Object.fromEntries(names.map((name) => [name, text])))
    for (const address of [url, `${baseUrl}/pay/${standInFor(id)}`, `${baseUrl}/pay/nothing`, `${baseUrl}/s/nothing`]) {
      const { 'x-panel': _, ...withoutPanel } = headers
      for (const sent of [headers, withoutPanel]) {
        const { status, body, headers: said } = await request(`${address}?${query}`, 'GET', sent)
        assert.ok([200, 404].includes(status), `${text}: ${status}`)
        const again = body.replaceAll(/lang=[^"&]*/g, '') // kept for the next form, encoded twice
        assert.ok(!again.includes('pwned') && !JSON.stringify(said).includes('pwned'), text)
        assert.doesNotMatch(String(said['content-security-policy'] ?? "frame-ancestors 'none'"), /evil|localhost|\*/)
      }
    }
  }
})

test('G5: GET and HEAD requests change nothing', async () => {
  const shown = await service.addShop()
  const states = await everyState(service, shown)
  const clientId = shown.headers['client-id']
  const { shortURL } = await newCheckout(shown)
  const addresses = [
    shortURL,
    `${shortURL}/qr.svg`,
    `${baseUrl}/pay/chk_nothing`,
    `${baseUrl}/logo/${shown.merchantId}/0123456789abcdef`,
    ...['/widget/v1.js', '/widget/v1.mjs', '/widget/integrity.json', '/openapi.json'].map((path) => baseUrl + path),
    ...Object.values(states).flatMap(({ url, id }) => [
      url,
      `${url.split('?')[0]}?action=cancel&method=transfer&token=x&key=x&sent=1&back=1`,
      `${baseUrl}/pay/${standInFor(id)}?embed=1&origin=${SHOP}`,
    ]),
    ...[states.choose, states.provider].flatMap(({ url, id, reference }) => [
      `${url}/status`,
      `${baseUrl}/pay/${standInFor(id)}/status`,
      `${baseUrl}/widget/open?client-id=${clientId}&reference=${reference}&origin=${SHOP}`,
    ]),
  ]
  await changesNothing('looking', async () => {
    for (let times = 0; times < 50; times += 10) {
      for (const url of addresses) {
        const headers: Record<string, string> = times % 20 === 0 ? {} : { 'x-panel': 'pending', purpose: 'prefetch' }
        const look = async (method: string) => {
          const answer = await fetch(url, { method, headers, redirect: 'manual' })
          await answer.arrayBuffer()
          assert.ok(answer.status < 500, url)
        }
        await Promise.all(Array.from({ length: 10 }, (_, index) => look(index % 2 ? 'HEAD' : 'GET')))
      }
    }
    for (const { id } of Object.values(states)) {
      const stream = await openEventStream(`${baseUrl}/pay/${id}/live`)
      await stream.until(() => true)
      stream.close()
    }
  })
})

test('G6: the link reveals nothing about the customer in any state', async () => {
  const secrets = {
    user: { email: 'chidi.secret@example.com', name: 'Chidi Secretname', phoneNumber: '+2348012345678' },
    metadata: { basketSecret: 'one drum' },
    webhook: 'https://hooks.example/secret-path',
  }
  const shown = await service.addShop()
  const states = await everyState(service, shown, secrets)
  const hidden = /chidi|secret|8012345678|one drum|hooks\.example|client-secret|sec_sandbox/i
  const [attempt] = (await shown.payment(states.provider.id)).attempts
  const surfaces: [string, Record<string, string>][] = [
    [`${baseUrl}/return/${attempt.id}`, {}],
    [`${baseUrl}/return/${attempt.id}`, { 'sec-fetch-dest': 'iframe' }],
    [`${baseUrl}/pay/${attempt.id}`, {}],
    [`${baseUrl}/pay/${states.choose.id}/nothing`, {}],
    ...Object.values(states).flatMap(({ url, id, reference }): [string, Record<string, string>][] => [
      [url, {}],
      [url, { 'x-panel': 'pending' }],
      [`${url.split('?')[0]}/status`, {}],
      [`${baseUrl}/pay/${standInFor(id)}?embed=1&origin=${SHOP}`, {}],
      [`${baseUrl}/widget/open?client-id=${shown.headers['client-id']}&reference=${reference}&origin=${SHOP}`, {}],
      [`${baseUrl}/widget/open?client-id=${shown.headers['client-id']}&reference=${reference}`, {}],
    ]),
  ]
  for (const [url, headers] of surfaces) {
    const answer = await request(url, 'GET', headers)
    const said = JSON.stringify(answer)
    assert.doesNotMatch(said, hidden, url)
  }
  const stream = await openEventStream(states.choose.url.concat('/live'))
  await stream.until(() => true)
  assert.doesNotMatch(stream.text() + JSON.stringify(stream.headers), hidden)
  stream.close()
  const refused = await (await openPage(states.choose.url)).post({ action: 'cancel', token: 'wrong' })
  assert.doesNotMatch(JSON.stringify(refused), hidden)
})

/** A customer who has let a card be kept, and their next payment. */
async function withSavedCard() {
  const shown = await service.addShop()
  const user = { email: 'returning@example.com', id: 'customer-7' }
  const { data } = (await shown.initialize({ user })).body
  await charge(shown, data.data.reference, CARD.pays, { save: true })
  await eventually(
    () => shown.call('GET', `/payments/v1/cards?userId=${user.id}`),
    ({ body }) => body.data.length === 1,
  )
  return { shown, user, checkout: await newCheckout(shown, { user }) }
}

test('G6: a saved card is shown by brand and last four digits, and never on a page opened by reference', async () => {
  const { shown, checkout } = await withSavedCard()
  const { text } = await openPage(checkout.url)
  assert.match(text, /Visa ending 4081/)
  assert.doesNotMatch(text, /408408|expiry|1[0-2]\/\d\d|token_|gct_/)
  const standIn = `${baseUrl}/pay/${standInFor(checkout.id)}`
  for (const url of [standIn, `${standIn}?embed=1&origin=${SHOP}`, `${standIn}?method=card`]) {
    for (const headers of [{}, { 'x-panel': 'pending' }] as Record<string, string>[])
      assert.doesNotMatch((await openPage(url, headers)).text, /Visa|\b4081\b|crd_|name="card" value="crd/, url)
  }
  const [card] = (await shown.call('GET', '/payments/v1/cards?userId=customer-7')).body.data
  const someone = await newCheckout(shown, { user: { email: 'returning@example.com', id: 'customer-8' } })
  assert.doesNotMatch((await openPage(someone.url)).text, /Visa|\b4081\b|crd_/)
  await (await openPage(someone.url)).post({ action: 'pay', method: 'card', card: card.id })
  const { status, attempts } = await shown.payment(someone.id)
  assert.deepEqual([status, attempts.length], ['pending', 0], 'a card of somebody else is no card')
})

test('G6: a provider’s page with the saved card is shown to the customer only', async () => {
  const { shown, user } = await withSavedCard()
  const { data } = (await shown.initialize({ user })).body
  assert.match((await request(data.data.link, 'GET')).body, /Visa ending 4081/)
  const { id, url } = await shown.payment(data.reference)
  assert.equal((await openPage(url)).state, 'provider')
  const bare = await openPage(`${baseUrl}/pay/${standInFor(id)}`)
  assert.equal(bare.state, 'choose')
  assert.ok(!bare.text.includes(data.data.link))
  await bare.post({ action: 'pay', method: 'card', card: 'new' })
  const begun = await openPage(bare.url)
  assert.equal(begun.state, 'provider')
  const link = /data-frame="([^"]*)"/.exec(begun.text)?.[1] ?? ''
  assert.match((await request(link, 'GET')).body, /name="number"/)
})

test('G6: an embed id never reveals the payment’s link: not on pages, in redirects or through the provider', async () => {
  const shown = await service.addShop()
  const states = await everyState(service, shown)
  for (const [state, { id, url, reference }] of Object.entries(states)) {
    const opened = await request(
      `${baseUrl}/widget/open?client-id=${shown.headers['client-id']}&reference=${reference}`,
      'GET',
    )
    const address = new URL(String(opened.headers.location), `${baseUrl}/widget/open`)
    assert.match(address.pathname, /^\/pay\/emb_/)
    address.search = new URL(url).search
    const code = (
      await database.row<{ code: string }>(sql`select short_code as code from payments where reference = ${reference}`)
    )?.code
    const link = new RegExp(`${id}|${code}|chk_`)
    const page = await openPage(address.href)
    assert.equal(page.state, state)
    const said = [
      opened,
      page,
      await request(address.href, 'GET', { 'x-panel': 'pending' }),
      await request(`${address.origin}${address.pathname}/status`, 'GET'),
      await page.post({ action: 'check' }),
      await page.post({ action: 'pay', method: 'card', card: 'new' }, { 'x-panel': 'pending' }),
      await page.post({ action: 'nothing' }),
      await page.post({ action: 'cancel', token: 'wrong' }),
    ]
    assert.doesNotMatch(JSON.stringify(said), link, state)
  }
  // To the provider and back, without paying.
  for (const { id } of [states.provider, states.failed, states.choose]) {
    for (const { id: attempt } of (await shown.payment(id)).attempts) {
      for (const headers of [{}, { 'sec-fetch-dest': 'iframe' }] as Record<string, string>[])
        assert.doesNotMatch(JSON.stringify(await request(`${baseUrl}/return/${attempt}`, 'GET', headers)), /chk_/)
    }
  }
})
