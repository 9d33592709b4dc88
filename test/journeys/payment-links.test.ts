import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { parseId, uuidOf } from '../../src/kernel/ids.ts'
import { MARKUP } from '../support/hostile.ts'
import { startListener, takes } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge } from '../support/sandbox-payments.ts'
import { addMerchant, call as inject, startOn } from '../support/service.ts'

const service = await startPaying({ deliver: true })
const { database, baseUrl } = service
const shop = await service.addShop()

const LINK = { title: 'Cooking class', amount: 1_250_000, country: 'NG' }
const links = '/payments/v1/links'

async function newLink(changes: Record<string, unknown> = {}) {
  const { status, body } = await shop.call('POST', links, { ...LINK, ...changes })
  assert.equal(status, 201, JSON.stringify(body))
  return body.data
}

const change = (id: string, changes: unknown) =>
  inject(service.app, 'PATCH', `${links}/${id}`, { headers: shop.headers, body: changes })

/** A customer's browser, without scripts. */
async function open(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { redirect: 'manual', ...init })
  const html = await response.text()
  const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? ''
  return { status: response.status, headers: response.headers, html, hidden }
}

async function submit(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const { hidden } = await open(url)
  const body = new URLSearchParams({ token: hidden('token'), key: hidden('key'), ...fields })
  return open(url, { method: 'POST', body, headers })
}

/** The payment behind the redirect of a submitted form. */
async function paymentAt(location: string | null) {
  assert.match(location ?? '', /^\.\.\/pay\/chk_\w+$/)
  return shop.payment(location?.slice('../pay/'.length) ?? '')
}

const ADA = { email: 'ada@example.com' }

test('a link is created, read, listed and changed', async () => {
  const link = await newLink({ description: 'Saturday at ten', metadata: { class: 'saturday' }, expiresIn: 86_400 })
  assert.match(link.id, /^lnk_/)
  assert.ok(link.url.startsWith(`${baseUrl}/l/`))
  const { createdAt, expiresAt, ...rest } = link
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 86_400_000)
  assert.deepEqual(rest, {
    ...{ id: link.id, url: link.url, mode: 'sandbox', status: 'active', title: 'Cooking class' },
    ...{ description: 'Saturday at ten', amount: 1_250_000, minAmount: null, maxAmount: null, currency: 'NGN' },
    ...{ country: 'NG', customerBearsCharge: false, collectName: false, collectPhoneNumber: false },
    ...{ customField: null, maxPayments: null, timesPaid: 0, active: true, redirectURL: null },
    metadata: { class: 'saturday' },
  })
  assert.deepEqual((await shop.call('GET', `${links}/${link.id}`)).body.data, link)

  const second = await newLink({ title: 'Second' })
  const first = await shop.call('GET', `${links}?limit=1`)
  assert.equal(first.body.data[0].id, second.id)
  const next = await shop.call('GET', `${links}?limit=1&cursor=${first.body.nextCursor}`)
  assert.equal(next.body.data[0].id, link.id)

  const changes = { title: 'Baking class', amount: null, minAmount: 100, description: null, expiresIn: null }
  const changed = (await change(link.id, { ...changes, active: false })).body.data
  assert.deepEqual(changed, {
    ...link,
    ...{ title: 'Baking class', description: null, amount: null, minAmount: 100 },
    ...{ active: false, status: 'inactive', expiresAt: null },
  })
  assert.equal((await change(link.id, { title: null, active: true })).body.data.title, 'Baking class')

  const acts = await database.rows<{ act: string; actor: string }>(sql`
    select act, actor from audit_log where subject = ${link.id} order by id`)
  assert.deepEqual(
    acts.map(({ act }) => act),
    ['link.created', 'link.changed', 'link.changed'],
  )
  assert.equal(acts[0]?.actor, `credential:${shop.headers['client-id']}`)
})

test('the same Idempotency-Key makes one link', async () => {
  const key = { 'idempotency-key': 'link-1' }
  const first = await shop.call('POST', links, LINK, key)
  const again = await shop.call('POST', links, LINK, key)
  assert.equal(again.body.data.id, first.body.data.id)
  assert.equal(again.headers['idempotent-replayed'], 'true')
  // The process died before it stored the answer.
  await database.rows(sql`update idempotent_calls set answer = null, running_until = '-infinity' where key = 'link-1'`)
  assert.equal((await shop.call('POST', links, LINK, key)).body.data.id, first.body.data.id)
  const other = await shop.call('POST', links, { ...LINK, amount: 5 }, key)
  assert.equal(other.body.code, 'idempotency_key_reused')
})

test('all mistakes are reported at once, and contradictions too', async () => {
  const wrong = { title: ' ', amount: 1.5, country: 'Atlantis', expiresIn: 1, maxPayments: 0, customField: 'a\nb' }
  const { status, body } = await shop.call('POST', links, wrong)
  assert.equal(status, 400)
  const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()
  assert.deepEqual(pointers, ['/amount', '/country', '/customField', '/expiresIn', '/maxPayments', '/title'])
  for (const [changes, pointer] of [
    [{ minAmount: 5 }, '/amount'],
    [{ amount: null, minAmount: 5, maxAmount: 4 }, '/maxAmount'],
    [{ customField: 'Table', metadata: { Table: '1' } }, '/customField'],
    [{ redirectUrl: 'https://shop.example' }, '/redirectUrl'],
    [{ title: 'x'.repeat(101) }, '/title'],
    [{ amount: 1_000_000_000_000 }, '/amount'],
  ] as const) {
    const answer = await shop.call('POST', links, { ...LINK, ...changes })
    assert.deepEqual([answer.status, answer.body.errors?.[0].pointer], [400, pointer], JSON.stringify(changes))
  }
  const link = await newLink()
  assert.equal((await change(link.id, { maxAmount: 10 })).body.errors[0].pointer, '/amount')
  assert.equal((await shop.call('POST', links, { ...LINK, currency: 'JPY' })).body.code, 'no_integration_available')
  assert.equal((await shop.call('GET', `${links}?cursor=x`)).status, 400)
})

test('links of another merchant and of the other mode are not found', async () => {
  const link = await newLink()
  const other = await addMerchant(database)
  const live = await addMerchant(database, { mode: 'live' })
  for (const { headers } of [other, live])
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', { active: false }],
    ] as const)
      assert.equal((await inject(service.app, method, `${links}/${link.id}`, { headers, body })).status, 404)
  assert.equal((await shop.call('GET', `${links}/lnk_x`)).status, 404)
  assert.equal((await shop.call('GET', `${links}/${link.id}`)).body.data.active, true)
  const plain = { ...LINK, redirectURL: 'http://shop.example' }
  const refused = await inject(service.app, 'POST', links, { headers: live.headers, body: plain })
  assert.equal(refused.body.errors[0].code, 'https_required')
})

test('a merchant has at most 10,000 links in a mode', async () => {
  const { place, merchantId, headers } = await addMerchant(database)
  await database.rows(sql`
    insert into links (place, id, merchant_id, mode, code, title, currency, country, customer_bears_charge, collect_name,
                       collect_phone_number, active, metadata)
    select ${place}, gen_random_uuid(), ${uuidOf(merchantId)}, 'sandbox', 'c' || n, 'x', 'NGN', 'NG', false, false, false, true, '{}'
      from generate_series(1, 9999) n`)
  assert.equal((await inject(service.app, 'POST', links, { headers, body: LINK })).status, 201)
  const { status, body } = await inject(service.app, 'POST', links, { headers, body: LINK })
  assert.deepEqual([status, body.code], [409, 'too_many_links'])
})

test('the page asks for what the link collects and makes a payment that names the link, in events too', async () => {
  const hook = await startListener(takes.well)
  await shop.call('POST', '/payments/v1/webhook-endpoints', { url: hook.url })
  const link = await newLink({
    ...{ collectName: true, collectPhoneNumber: true, customField: 'Table', metadata: { class: 'saturday' } },
    ...{ redirectURL: 'https://shop.example/thanks', maxPayments: 1 },
  })
  const { status, html, headers } = await open(link.url)
  assert.equal(status, 200)
  assert.match(html, /Cooking class/)
  assert.match(html, /₦12,500\.00/)
  assert.doesNotMatch(html, /<script|name="amount"/)
  assert.match(headers.get('content-security-policy') ?? '', /script-src 'none'.*frame-ancestors 'none'/)
  assert.equal(headers.get('set-cookie'), null)

  const fields = { ...ADA, name: 'Ada Obi', phoneNumber: '+234 801', answer: '12', amount: '1' }
  const { hidden } = await open(link.url)
  const body = new URLSearchParams({ token: hidden('token'), key: hidden('key'), ...fields })
  const sent = await open(link.url, { method: 'POST', body })
  assert.equal(sent.status, 303)
  const payment = await paymentAt(sent.headers.get('location'))
  assert.deepEqual(payment.user, { id: null, email: ADA.email, name: 'Ada Obi', phoneNumber: '+234 801' })
  assert.deepEqual(payment.metadata, { class: 'saturday', Table: '12' })
  assert.deepEqual([payment.link, payment.amount, payment.status], [link.id, 1_250_000, 'pending'])
  assert.equal(payment.redirectURL, 'https://shop.example/thanks')

  const again = await open(link.url, { method: 'POST', body })
  assert.equal(again.headers.get('location'), sent.headers.get('location'), 'sent twice: one payment')
  body.set('answer', '13')
  const corrected = await paymentAt((await open(link.url, { method: 'POST', body })).headers.get('location'))
  assert.notEqual(corrected.id, payment.id)

  const tokenBefore = /name="token" value="([^"]+)"/.exec((await open(corrected.url)).html)?.[1] ?? ''

  const { body: started } = await shop.initialize({ reference: payment.reference, amount: payment.amount })
  await charge(shop, started.data.data.reference)
  await open(`${baseUrl}/return/${(await shop.payment(payment.reference)).attempts[0].id}`)
  await eventually(
    () => shop.payment(payment.reference),
    (found) => found.status === 'successful',
  )
  await hook.hears(1)
  const event = JSON.parse(String(hook.heard[0]?.body))
  assert.deepEqual([event.type, event.data.payment.link], ['payment.successful', link.id])

  const { status: ended, timesPaid } = (await shop.call('GET', `${links}/${link.id}`)).body.data
  assert.deepEqual([ended, timesPaid], ['used_up', 1])
  const gone = await open(link.url)
  assert.equal(gone.status, 410)
  assert.match(gone.html, /This link has been used up/)
  // A payment that was begun before cannot be started any more.
  const late = await open(corrected.url)
  assert.match(late.html, /This payment can’t be made right now/)
  const submitted = new URLSearchParams({ action: 'pay', method: 'card', key: 'late', token: tokenBefore })
  await open(corrected.url, { method: 'POST', body: submitted })
  assert.deepEqual((await shop.payment(corrected.reference)).attempts, [])
  assert.equal((await change(link.id, { maxPayments: 2 })).body.data.status, 'active')
  assert.match((await open(corrected.url)).html, /Pay with/)
})

test('the customer chooses the amount within the limits', async () => {
  const link = await newLink({ amount: null, minAmount: 50_000, maxAmount: 10_000_000 })
  assert.match((await open(link.url)).html, /From ₦500\.00 to ₦100,000\.00/)
  for (const [amount, expected] of [
    ['', 'Please fill in this field'],
    ['a lot', 'Enter an amount, like 500.00'],
    ['499.99', 'At least ₦500.00'],
    ['100000.01', 'At most ₦100,000.00'],
    ['-700', 'Enter an amount'],
  ] as const) {
    const { status, html } = await submit(link.url, { ...ADA, amount })
    assert.equal(status, 422, amount)
    assert.ok(html.includes(expected), `${amount}: ${expected}`)
    assert.match(html, /value="ada@example.com"/, 'what was typed is kept')
  }
  const { headers } = await submit(link.url, { ...ADA, amount: '2,500.50' })
  assert.equal((await paymentAt(headers.get('location'))).amount, 250_050)
})

test('missing and wrong answers are shown beside their fields', async () => {
  const link = await newLink({ collectName: true, collectPhoneNumber: true, customField: 'Table' })
  const empty = await submit(link.url, {})
  assert.equal(empty.status, 422)
  assert.equal(empty.html.match(/class="wrong"/g)?.length, 4)
  assert.equal(empty.html.match(/ autofocus/g)?.length, 1)
  const long = { name: 'x'.repeat(101), phoneNumber: '1\u0000', answer: 'x'.repeat(201) }
  const wrong = await submit(link.url, { email: 'ada', ...long })
  assert.match(wrong.html, /Enter an e-mail address/)
  assert.equal(wrong.html.match(/too long/g)?.length, 3)
})

test('inactive and expired links say so; unknown and suspended ones are not found', async () => {
  const link = await newLink({ active: false, expiresIn: 900 })
  const inactive = await open(link.url)
  assert.deepEqual([inactive.status, /This link is switched off/.test(inactive.html)], [410, true])
  assert.equal((await open(link.url, { method: 'POST', body: new URLSearchParams(ADA) })).status, 410)
  await change(link.id, { active: true })
  const id = parseId('link', link.id) ?? assert.fail()
  await database.rows(sql`
    update links set expires_at = now() + interval '1 minute' where place = ${shop.place} and id = ${uuidOf(id)}`)
  const soon = await paymentAt((await submit(link.url, ADA)).headers.get('location'))
  const seconds = (Date.parse(soon.expiresAt) - Date.parse(soon.createdAt)) / 1_000
  assert.equal(seconds, 900, 'the customer has 15 minutes')
  await database.rows(sql`update links set expires_at = now() where place = ${shop.place} and id = ${uuidOf(id)}`)
  const expired = await open(`${link.url}?lang=fr`)
  assert.deepEqual([expired.status, /Ce lien a expiré/.test(expired.html)], [410, true])
  assert.equal((await shop.call('GET', `${links}/${link.id}`)).body.data.status, 'expired')

  for (const code of ['x', '../pay', '3RxCy8ePqWn4ZkT', '%00', '0OIl0OIl0OIl0OI', `${link.url.slice(-15)}1`])
    assert.equal((await open(`${baseUrl}/l/${code}`)).status, 404, code)
  const closed = await service.addShop('Closed')
  const theirs = (await closed.call('POST', links, LINK)).body.data
  await database.rows(sql`update merchants set status = 'suspended' where id = ${closed.merchantUuid}`)
  assert.equal((await open(theirs.url)).status, 404)
})

test('G5: a form of another site, of another link or without a token makes no payment', async () => {
  const [link, other] = [await newLink(), await newLink()]
  const count = async () => (await shop.call('GET', '/payments/v1/payments?limit=100')).body.data.length
  const before = await count()
  const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  assert.equal((await submit(link.url, ADA, foreign)).status, 403)
  assert.equal((await submit(link.url, ADA, { origin: 'https://evil.example' })).status, 403)
  assert.equal((await submit(link.url, { ...ADA, token: '' })).status, 403)
  assert.equal((await submit(link.url, { ...ADA, key: 'x'.repeat(16) })).status, 403)
  const { hidden } = await open(other.url)
  const stolen = { ...ADA, token: hidden('token'), key: hidden('key') }
  assert.equal((await submit(link.url, stolen)).status, 403)
  assert.equal((await open(link.url, { method: 'POST', body: new URLSearchParams(ADA) })).status, 403)
  assert.equal(await count(), before)
})

test('payments of a link are limited by address', async () => {
  const app = await startOn(database, { rateLimit: true, secrets: service.parts.secrets })
  const link = await newLink()
  const path = new URL(link.url).pathname
  const { hidden } = await open(link.url)
  const statuses = new Set<number>()
  for (let number = 0; number < 21; number++) {
    const { status } = await inject(app, 'POST', path, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `token=${hidden('token')}&key=${hidden('key')}&email=ada${number}%40example.com`,
    })
    statuses.add(status)
  }
  assert.deepEqual([...statuses], [303, 429])
})

test('G1: hostile texts in title, description, custom field and answers stay text', async () => {
  const known = new Set('body aside div header span h1 h2 bdi p main form input label button footer'.split(' '))
  const texts = MARKUP.map((text) => `x${text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')}`.slice(0, 100).toWellFormed())
  for (let first = 0; first < texts.length; first += 3) {
    const [title = 'x', description = 'x', field = 'x'] = texts.slice(first)
    const link = await newLink({
      title,
      description,
      customField: field.slice(0, 40).toWellFormed(),
      collectName: true,
    })
    const shown = await open(link.url)
    const answers = { email: title, answer: MARKUP[first + 1] ?? '', phoneNumber: description, name: '' }
    const fields = { token: shown.hidden('token'), key: shown.hidden('key'), ...answers }
    const refused = await open(link.url, { method: 'POST', body: new URLSearchParams(fields) })
    assert.equal(refused.status, 422)
    for (const { html } of [shown, refused]) {
      const markup = html.slice(html.indexOf('<body')).replaceAll(/"[^"]*"/g, '""')
      const tags = [...markup.matchAll(/<([a-z0-9]+)/gi)].map(([, tag]) => tag ?? '')
      assert.deepEqual(
        [...new Set(tags)].filter((tag) => !known.has(tag)),
        [],
        title,
      )
      assert.doesNotMatch(markup, /<[^>]*\son\w+=/i, title)
    }
  }
})

test('a form that was opened before the link was switched off makes no payment', async () => {
  const link = await newLink()
  const { hidden } = await open(link.url)
  await change(link.id, { active: false })
  const count = async () => (await database.rows<{ count: number }>(sql`select count(*) from payments`))[0]?.count
  const before = await count()
  const body = new URLSearchParams({ token: hidden('token'), key: hidden('key'), ...ADA })
  const { status } = await open(link.url, { method: 'POST', body })
  // Later requests: what a handler does after its answer has been done before them.
  for (let number = 0; number < 5; number++) await submit(link.url, ADA)
  assert.deepEqual([status, await count()], [410, before])
})
