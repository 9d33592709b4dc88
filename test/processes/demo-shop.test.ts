import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/paying.ts'
import { startForTest } from '../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla-demo-'))
after(() => rm(folder, { recursive: true, force: true }))
const { url: DATABASE_URL } = await createDatabase({ empty: true })
const env = { DATABASE_URL, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), DATA_DIR: folder, RATE_LIMIT: 'off' }
const service = await startForTest(env)
const { baseUrl } = service
const webhookSecret = /whsec_\S+/.exec(service.output())?.[0] ?? ''

/** All responses of the shop in this file. */
const said: string[] = []

interface Answer {
  status: number
  headers: Headers
  text: string
}

/** The browser of this file. An empty cookie is a browser without one. */
const OWN = { cookie: `demo_customer=${'a'.repeat(32)}` }

async function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return read(await fetch(baseUrl + path, { headers: { ...OWN, ...headers }, redirect: 'manual' }))
}

async function post(path: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer> {
  const body = new URLSearchParams(form)
  return read(
    await fetch(baseUrl + path, { method: 'POST', headers: { ...OWN, ...headers }, body, redirect: 'manual' }),
  )
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text()
  said.push(text, JSON.stringify([...response.headers]))
  return { status: response.status, headers: response.headers, text }
}

const ORDER = { product: 'adire', email: 'ada@example.com' }

async function buy(form: Record<string, string>): Promise<{ answer: Answer; location: string }> {
  const answer = await post('/demo/buy', { ...ORDER, ...form })
  return { answer, location: answer.headers.get('location') ?? '' }
}

async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(baseUrl + path, { method, headers: service.headers, body: JSON.stringify(body) })
  // biome-ignore lint/suspicious/noExplicitAny: the test checks the shape of the answer
  return ((await response.json()) as any).data
}

const paymentOf = (reference: string) => ask('GET', `/payments/v1/payments/${reference}`)

/** The lines of the panel, as text. */
async function panel(headers = OWN): Promise<string[]> {
  const { text } = await get('/demo', headers)
  return [...text.matchAll(/<li id="line-[\s\S]*?<\/li>/g)].map(([item]) =>
    item
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll('&quot;', '"')
      .replaceAll(/\s+/g, ' '),
  )
}

const isThere = (what: RegExp) => (lines: string[]) => lines.some((line) => what.test(line))

test('the shop identifies a visitor by its session, so that saved cards belong to the session and not to the typed address', async () => {
  const first = await post('/demo/buy', { ...ORDER, way: 'link' }, { cookie: '' })
  const cookie = (first.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  assert.match(cookie, /^demo_customer=[0-9a-f]{32}$/)
  const userOf = async ({ headers }: Answer) =>
    (await paymentOf(String(headers.get('location')?.split('/').at(-1)))).user as { id: string; email: string }
  const { id } = await userOf(first)
  assert.equal(id, `demo-${cookie.split('=')[1]}`)
  const again = await post('/demo/buy', { ...ORDER, email: 'other@example.com', way: 'link' }, { cookie })
  assert.deepEqual(await userOf(again), { id, email: 'other@example.com', phoneNumber: null, name: null })
  assert.equal(again.headers.get('set-cookie'), null)
  assert.notEqual((await userOf(await post('/demo/buy', { ...ORDER, way: 'link' }, { cookie: '' }))).id, id)
})

test('the address of the shop is printed, and it shows three products and three ways to pay', async () => {
  assert.ok(service.output().includes(`Demo shop       ${baseUrl}/demo`))
  const { status, headers, text } = await get('/demo')
  assert.equal(status, 200)
  assert.equal([...text.matchAll(/name="product"/g)].length, 3)
  for (const price of ['₦9,500.00', '₦12,500.00', '₦38,000.00']) assert.ok(text.includes(price), price)
  for (const way of ['Pay by link', 'Pay in a widget', 'Pay by bank transfer']) assert.ok(text.includes(way), way)
  const policy = headers.get('content-security-policy') ?? ''
  assert.doesNotMatch(policy, /unsafe|\*/)
  assert.match(policy, /default-src 'none'.*script-src 'sha256-[^']+' 'self';.*frame-ancestors 'none'/)
})

test('with DATABASE_URL, sandbox credentials cannot have loopback addresses called; the webhook of this shop still arrives', async () => {
  const refused = async (path: string, body: unknown) => {
    const response = await fetch(baseUrl + path, {
      method: 'POST',
      headers: service.headers,
      body: JSON.stringify(body),
    })
    const { errors } = (await response.json()) as { errors: { code: string }[] }
    return [response.status, errors.map(({ code }) => code)]
  }
  const inside = `${baseUrl}/metrics`
  assert.deepEqual(await refused('/payments/v1/webhook-endpoints', { url: inside }), [400, ['blocked_address']])
  const order = { amount: 100, country: 'NG', user: { email: 'ada@example.com' }, webhook: inside }
  assert.deepEqual(await refused('/payments/v1/checkouts', order), [400, ['blocked_address']])
  const { location } = await buy({})
  const id = new URL(location).pathname.split('/').at(-1)
  await ask('POST', `/payments/v1/payments/${id}/cancel`)
  await eventually(panel, isThere(/payment\.cancelled .*signature verified/))
})

test('by link the shop creates a checkout at its own price and redirects the customer to its url', async () => {
  const { answer, location } = await buy({ way: 'link', bears: 'yes', amount: '1', price: '1' })
  assert.equal(answer.status, 303)
  const payment = await paymentOf(new URL(location).pathname.split('/').at(-1) ?? '')
  assert.equal(location, payment.url)
  assert.deepEqual([payment.amount, payment.customerBearsCharge], [1_250_000, true])
  assert.deepEqual([payment.redirectURL, payment.webhook], [`${baseUrl}/demo/thanks`, `${baseUrl}/demo/webhook`])
  const lines = await panel()
  assert.match(lines.at(-2) ?? '', /POST \/payments\/v1\/checkouts 201 sent \{"reference":"DEMO-.*answered \{"data":/)
  assert.ok(lines.at(-1)?.includes(`Customer sent to ${payment.url}`))
})

test('for the widget the page gets a reference; without scripts the link is used', async () => {
  const answer = await post('/demo/buy', { ...ORDER, way: 'widget' }, { accept: 'application/json' })
  const { reference, url } = JSON.parse(answer.text)
  assert.equal((await paymentOf(reference)).url, url)
  assert.match((await panel()).at(-1) ?? '', new RegExp(`Pay.open\\(\\{ reference: "${reference}" \\}\\)`))

  const { location } = await buy({ way: 'widget' })
  assert.match(location, /\/pay\/chk_/)
})

test('a refusal of the service is shown with its text, and the form keeps its values', async () => {
  const { answer } = await buy({ way: 'link', email: '"><script>x</script>', product: 'drum' })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /role="alert">[^<]*e-?mail/i)
  assert.match(answer.text, /value="drum" checked/)
  assert.ok(answer.text.includes('value="&quot;&gt;&lt;script&gt;'))
  assert.doesNotMatch(answer.text, /<script>x/)
  assert.ok(isThere(/POST \/payments\/v1\/checkouts 400/)(await panel()))
  assert.equal((await buy({ way: 'link', product: 'yacht' })).answer.status, 400)
})

test('by transfer: the account, half of the money, the rest, and webhooks that were verified', async () => {
  const { answer, location } = await buy({ way: 'transfer' })
  assert.equal(answer.status, 303)
  const reference = new URL(location, baseUrl).searchParams.get('reference') ?? ''
  const [attempt] = (await paymentOf(reference)).attempts
  const first = await get(location)
  assert.ok(first.text.includes(attempt.instructions.accountNumber))
  assert.match(first.text, /Transfer ₦12,500.00/)

  await post('/demo/transfer', { reference, part: 'half', amount: '1' })
  const half = await eventually(
    () => get(location),
    ({ text }) => text.includes('payment.underpaid'),
  )
  assert.match(half.text, /₦6,250.00 of ₦12,500.00 has arrived/)

  const sent = await post('/demo/transfer', { reference, part: 'all' })
  assert.equal(sent.headers.get('location'), location)
  const paid = await eventually(
    () => get(location),
    ({ text }) => /payment\.successful<\/code> sequence \d+, signature verified/.test(text),
  )
  assert.match(paid.text, /Thank you! It is paid/)
  await post('/demo/transfer', { reference, part: 'all' })
  assert.equal((await paymentOf(reference)).amountPaid, 1_250_000, 'nothing is sent to an order that is paid')
})

for (const [city, price, network] of [
  ['accra', 'GH₵120.00', 'mtn'],
  ['nairobi', /KES.1,200\.00|Ksh.1,200\.00/, 'mpesa'],
] as const) {
  test(`the shop in ${city}: its currency, and a phone that asks`, async () => {
    const { text } = await get(`/demo?city=${city}`)
    assert.match(text, typeof price === 'string' ? new RegExp(price) : price)
    assert.ok(text.includes('Pay by mobile money') && !text.includes('Pay by bank transfer'))
    const phoneNumber = city === 'accra' ? '0551234567' : '0712345678'
    const { location } = await buy({ way: 'phone', city, phoneNumber })
    const asked = await get(location)
    assert.match(asked.text, new RegExp(`Approve on your phone[\\s\\S]*${network}`))
    assert.ok(!asked.text.includes(phoneNumber), 'the number is masked, also in the panel')
    const reference = new URL(location, baseUrl).searchParams.get('reference') ?? ''
    await post('/demo/phone', { reference, answer: 'approve' })
    await eventually(
      () => get(location),
      ({ text }) => text.includes('Thank you! It is paid.'),
    )
  })
}

test('a phone that refuses, and a number that is not one of the country', async () => {
  const { location } = await buy({ way: 'phone', city: 'accra', phoneNumber: '0551234567' })
  const reference = new URL(location, baseUrl).searchParams.get('reference') ?? ''
  await post('/demo/phone', { reference, answer: 'refuse' })
  await eventually(
    () => get(location),
    ({ text }) => text.includes('Go on paying') && text.includes('customer cancelled'),
  )
  const { answer } = await buy({ way: 'phone', city: 'accra', phoneNumber: '12' })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /phoneNumber is not one of GH/)
})

test('the thank-you page shows the query’s status and the verified one', async () => {
  const { location } = await buy({ way: 'link' })
  const id = new URL(location).pathname.split('/').at(-1) ?? ''
  const { reference } = await paymentOf(id)
  const lie = await get(`/demo/thanks?status=successful&reference=${reference}`)
  assert.match(lie.text, /The address says<\/dt><dd><code>successful/)
  assert.match(lie.text, /The service says<\/dt><dd><code>pending/)
  assert.match(lie.text, /They differ/)
  assert.ok(lie.text.includes('None yet'))

  await ask('POST', `/payments/v1/payments/${reference}/cancel`)
  const truth = await eventually(
    () => get(`/demo/thanks?status=cancelled&reference=${reference}`),
    ({ text }) => text.includes('payment.cancelled'),
  )
  assert.doesNotMatch(truth.text, /They differ/)
  assert.ok(isThere(new RegExp(`Customer back: \\?status=cancelled&amp;reference=${reference}`))(await panel()))
  const odd = await get(`/demo/thanks?status=${encodeURIComponent('<img src=x>')}&reference=${reference}`)
  assert.doesNotMatch(odd.text, /<img/)
})

test("orders that are not the shop's are not shown, though its credential could see them", async () => {
  await ask('POST', '/payments/v1/checkouts', {
    amount: 100,
    country: 'NG',
    reference: 'ORD-1',
    user: { email: 'a@b.co' },
  })
  for (const reference of ['ORD-1', 'DEMO-123456789', '', '../x']) {
    for (const page of ['thanks', 'transfer']) {
      const answer = await get(`/demo/${page}?reference=${encodeURIComponent(reference)}`)
      assert.equal(answer.status, 404, `${page} ${reference}`)
      assert.match(answer.text, /We can’t find this order/)
    }
  }
})

test('a visitor sees only the orders that this browser made', async () => {
  const stranger = { cookie: `demo_customer=${'b'.repeat(32)}` }
  const { location } = await buy({ way: 'transfer' })
  const reference = new URL(location, baseUrl).searchParams.get('reference') ?? ''
  await post('/demo/transfer', { reference, part: 'all' })
  await eventually(panel, isThere(/payment\.successful/))
  const names = new RegExp(`${reference}|${baseUrl}/(pay|s)/|ada@|a•••@`)
  assert.ok(isThere(names)(await panel()), 'the own orders')

  const number = Number(/id="line-(\d+)"/.exec((await get('/demo')).text)?.[1])
  for (const other of [stranger, { cookie: '' }]) {
    for (const page of ['thanks', 'transfer']) {
      const answer = await get(`/demo/${page}?reference=${reference}`, other)
      assert.equal(answer.status, 404)
      assert.doesNotMatch(answer.text, /12,500\.00|payment\.successful/)
    }
    assert.equal((await post('/demo/transfer', { reference, part: 'all' }, other)).status, 404)
  }
  assert.ok(!(await panel({ cookie: '' })).some((line) => names.test(line)), 'a new browser')
  assert.ok(!(await panel(stranger)).some((line) => /Adaeze|12500|•••/.test(line)))
  const strangers = checks(`/demo/live?after=${number - 1}`, /Customer sent to[^\n]*\n\n/, stranger)
  await buy({ way: 'link' })
  await post('/demo/buy', { ...ORDER, way: 'link' }, stranger)
  const heard = await strangers
  assert.equal([...heard.matchAll(/Customer sent to/g)].length, 1)
  assert.doesNotMatch(heard, /payment\.successful/)
})

test('a webhook that is forged, stale, altered or not signed is refused with 401, and the panel says so', async () => {
  const payment = { reference: 'DEMO-123456789', user: { id: `demo-${'a'.repeat(32)}` } }
  const event = { id: 'evt_1', type: 'payment.stolen', sequence: 1, data: { payment } }
  const body = JSON.stringify(event)
  const signed = (secret: string, at = new Date()) => ({
    'content-type': 'application/json',
    'webhook-id': event.id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(event.id, at, body),
  })
  const send = async (headers: Record<string, string>, text = body) =>
    read(await fetch(`${baseUrl}/demo/webhook`, { method: 'POST', headers, body: text }))
  const stranger = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
  const before = (await panel()).length
  for (const [headers, text] of [
    [signed(stranger)],
    [signed(webhookSecret), body.replace('stolen', 'stolen ')],
    [signed(webhookSecret, new Date(Date.now() - 600_000))],
    [{ ...signed(webhookSecret), 'webhook-signature': 'v1,AAAA v2' }],
    [{ 'content-type': 'application/json' }],
  ] as const) {
    assert.equal((await send(headers, text)).status, 401)
  }
  const refused = (await panel()).slice(before)
  assert.equal(refused.length, 5)
  for (const line of refused) assert.match(line, /POST \/demo\/webhook refused with 401/)
  assert.ok(!refused.some((line) => line.includes('stolen')), 'nothing of what a forger wrote is shown')

  const right = { ...signed(webhookSecret) }
  right['webhook-signature'] = `v1,AAAA ${right['webhook-signature']}`
  assert.equal((await send(right)).status, 200, 'one of two signatures is enough: secrets are replaced')
  assert.equal((await send(right)).status, 200)
  const [first, second] = (await panel()).slice(-2)
  assert.match(first ?? '', /payment\.stolen sequence 1, signature verified body/)
  assert.match(second ?? '', /signature verified, seen before/)
})

/** Reads a stream of server-sent events until one of them is this. */
async function checks(path: string, until: RegExp, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(baseUrl + path, { headers: { ...OWN, ...headers }, signal: AbortSignal.timeout(10_000) })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  let heard = ''
  for await (const chunk of response.body ?? []) {
    heard += Buffer.from(chunk).toString()
    if (until.test(heard)) break
  }
  said.push(heard)
  return heard
}

test('the log stream is live, resumes after a position and can be limited to one order', async () => {
  const fromNowOn = checks('/demo/live?after=9999999999999999', /Customer sent to[^\n]*\n\n/)
  const early = checks('/demo/live?after=0', /payment\.stolen[^\n]*\n\n/)
  await early
  const { location } = await buy({ way: 'link' })
  const heard = await fromNowOn
  const { reference } = await paymentOf(new URL(location).pathname.split('/').at(-1) ?? '')
  assert.doesNotMatch(heard, /payment\.stolen/)
  const [request, redirect] = [...heard.matchAll(/^id: (\d+)\ndata: (.*)$/gm)].map(([, id, data]) => ({
    id,
    ...JSON.parse(data as string),
  }))
  assert.match(request.item, /POST \/payments\/v1\/checkouts/)

  const resumed = await checks('/demo/live?after=0', /\ndata:[^\n]*\n\n/, { 'last-event-id': request.id })
  assert.ok(resumed.includes(`id: ${redirect.id}\n`) && !resumed.includes(`id: ${request.id}\n`))
  const ofOne = await checks(`/demo/live?reference=${reference}&after=0`, /Customer sent to[^\n]*\n\n/)
  assert.equal([...ofOne.matchAll(/^id: /gm)].length, 2)
})

test('no response of the shop contains a secret', () => {
  assert.ok(said.length > 50)
  for (const secret of [service.headers['client-secret'], webhookSecret, webhookSecret.slice(6)]) {
    assert.ok(secret.length > 20)
    assert.ok(!said.some((text) => text.includes(secret)))
  }
})

test('when the service stops, open log streams are ended, not cut', async () => {
  const watching = checks('/demo/live?after=0', /never/)
  await panel()
  service.child.kill('SIGTERM')
  await watching
  assert.equal(await service.exited, 0)
})

test('with DEMO=off, in a worker process or with a public PUBLIC_URL there is no shop', async () => {
  const publicUrl = { PUBLIC_URL: 'https://pay.example.com' }
  const settings: Record<string, string>[] = [{ DEMO: 'off' }, { ROLE: 'worker' }, publicUrl]
  const closed = await Promise.all(settings.map((changes) => startForTest({ ...env, ...changes })))
  for (const { output } of closed) {
    assert.doesNotMatch(output(), /Demo shop/)
    const here = `http://localhost:${/"port":(\d+),"msg":"listening"/.exec(output())?.[1]}`
    for (const path of ['/demo', '/demo/thanks', '/demo/live']) assert.equal((await fetch(here + path)).status, 404)
  }
})
