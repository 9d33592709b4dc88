import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import type { App } from '../../src/http/server/framework.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import type { Mode } from '../../src/kernel/mode.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { KEYS, sign, startAcme } from '../support/acme.ts'
import { startWithAcme } from '../support/acme-service.ts'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/paying.ts'
import { type Answer, addMerchant, BASE_URL, call, codesOf, type TestMerchant } from '../support/service.ts'

const { database } = await createDatabase()
const { asked, keys, provider: acme, upstream } = await startAcme({ after })
const secrets = secretBox(Buffer.alloc(32, 7))
const ACME = '/payments/v1/integrations/acme'
const { secretKey, publicKey } = KEYS.sandbox

/** A process of its own, as it were, with connections and memories of its own. */
const startProcess = (allowPrivate = (mode: Mode): boolean => mode === 'sandbox') =>
  startWithAcme(database, acme, { secrets, allowPrivate })

const { app } = await startProcess()
const other = await startProcess()
const strict = await startProcess(() => false)

type Method = Parameters<typeof call>[1]
const ask = (merchant: TestMerchant, method: Method, path: string, body?: unknown, on: App = app): Promise<Answer> =>
  call(on, method, path, { headers: merchant.headers, body })
const put = (merchant: TestMerchant, body: unknown, on: App = app) => ask(merchant, 'PUT', ACME, body, on)
const check = async (merchant: TestMerchant, on: App = app) =>
  (await ask(merchant, 'POST', `${ACME}/check`, undefined, on)).body.data
const settings = { secretKey, publicKey }

/** A merchant who has set it up, and of whom every process knows. */
async function addUser(): Promise<TestMerchant> {
  const merchant = await addMerchant(database)
  assert.equal((await put(merchant, { settings })).status, 200)
  return merchant
}

const ORDER = { provider: 'acme', amount: 1_250_000, user: { email: 'ada@example.com' } }
const initialize = (merchant: TestMerchant, reference: string, on: App = app) =>
  ask(merchant, 'POST', '/payments/v1/payments/initialize', { ...ORDER, reference }, on)

const notify = (merchant: TestMerchant, body: string, key: string, mode: Mode = 'sandbox') =>
  call(app, 'POST', `/notices/acme/${mode}/${merchant.merchantId}`, {
    body,
    headers: { 'content-type': 'text/plain', signature: sign(key, Buffer.from(body)) },
  })

test('a provider is set up, read, checked, changed and removed, and no answer holds a secret', async () => {
  const merchant = await addMerchant(database)
  const seen: Answer[] = []
  const see = async (...args: Parameters<typeof ask>) => {
    const answer = await ask(...args)
    seen.push(answer)
    return answer
  }
  assert.equal((await see(merchant, 'GET', ACME)).status, 404)
  const made = await see(merchant, 'PUT', ACME, { settings })
  assert.equal(made.status, 200)
  const { createdAt, updatedAt, ...shown } = made.body.data
  assert.deepEqual(shown, {
    provider: 'acme',
    enabled: true,
    settings: { publicKey },
    secretsSet: ['secretKey'],
    baseURL: upstream.url,
    channels: ['card'],
    countries: ['NG', 'GH'],
    currencies: ['NGN', 'GHS'],
    priority: 100,
    noticeURL: `${BASE_URL}/notices/acme/sandbox/${merchant.merchantId}`,
  })
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000 && updatedAt)
  assert.equal(made.body.warning, null)
  assert.deepEqual((await see(merchant, 'GET', ACME)).body, { data: made.body.data })
  assert.deepEqual((await see(merchant, 'POST', `${ACME}/check`)).body, { data: { keys: 'good', reason: null } })

  const narrowed = await see(merchant, 'PUT', ACME, {
    settings: { noticeSecret: 'chosen-by-me' },
    countries: ['Ghana', 'GHA'],
    currencies: ['ghs'],
    priority: 5,
  })
  const { updatedAt: later, ...changed } = narrowed.body.data
  assert.deepEqual(changed, {
    ...shown,
    createdAt,
    secretsSet: ['secretKey', 'noticeSecret'],
    countries: ['GH'],
    currencies: ['GHS'],
    priority: 5,
  })
  assert.ok(later >= updatedAt)
  assert.deepEqual((await see(merchant, 'PUT', ACME, {})).body, narrowed.body, 'nothing named, nothing changed')
  const widened = await see(merchant, 'PUT', ACME, { settings: { noticeSecret: '' }, countries: [], currencies: [] })
  assert.deepEqual(
    [widened.body.data.secretsSet, widened.body.data.countries, widened.body.data.currencies],
    [['secretKey'], ['NG', 'GH'], ['NGN', 'GHS']],
  )

  const removed = await see(merchant, 'DELETE', ACME)
  assert.deepEqual([removed.status, removed.body.data.enabled], [200, false])
  assert.deepEqual((await see(merchant, 'GET', ACME)).body, removed.body)
  assert.deepEqual((await see(merchant, 'DELETE', ACME)).body, removed.body)
  await see(merchant, 'PUT', ACME, {
    settings: { secretKey: KEYS.live.secretKey, publicKey: secretKey, other: secretKey },
  })
  const told = JSON.stringify(seen)
  for (const secret of [secretKey, KEYS.live.secretKey, 'chosen-by-me']) assert.ok(!told.includes(secret), secret)

  const acts = await database.rows(sql`
    select actor, act, subject from audit_log where merchant_id = ${uuidOf(merchant.merchantId)} and act like 'integration.%' order by id`)
  const actor = `credential:${merchant.headers['client-id']}`
  assert.deepEqual(acts, [
    { actor, act: 'integration.created', subject: 'sandbox acme' },
    {
      actor,
      act: 'integration.changed',
      subject: 'sandbox acme settings.noticeSecret countries currencies priority',
    },
    {
      actor,
      act: 'integration.changed',
      subject: 'sandbox acme settings.noticeSecret countries currencies',
    },
    { actor, act: 'integration.removed', subject: 'sandbox acme' },
  ])
})

test('the database holds the settings sealed, and copied to another row they do not open', async () => {
  const merchant = await addUser()
  const thief = await addUser()
  const lines = await database.rows<{ line: string }>(sql`
    select i::text as line from provider_accounts i union all select a::text from audit_log a`)
  const forms = [secretKey, publicKey].flatMap((text) => [text, Buffer.from(text).toString('hex')])
  assert.ok(lines.length > 2)
  for (const { line } of lines) assert.ok(!forms.some((form) => line.includes(form)))
  await database.rows(sql`
    update provider_accounts set sealed_settings =
      (select sealed_settings from provider_accounts where merchant_id = ${uuidOf(merchant.merchantId)} and provider = 'acme')
     where merchant_id = ${uuidOf(thief.merchantId)} and provider = 'acme'`)
  const owner = (of: TestMerchant) => ({ merchantId: of.merchantId, mode: 'sandbox' as const })
  // Another process, which has not opened them before.
  await assert.rejects(other.providers.connect(owner(thief), 'acme'))
  assert.ok(await other.providers.connect(owner(merchant), 'acme'))
})

test('all mistakes are reported at once, each with its field and the expected form', async () => {
  const merchant = await addMerchant(database)
  const answer = await put(merchant, {
    settings: { secretKey: 'sk_test_ hunter2', publickey: 'pk_test_1', noticeSecret: 'a\nb-and-more', fridge: 'x' },
    baseURL: 'ftp://acme.example',
    channels: ['card', 'virtual-bank-account'],
    countries: ['NG', 'France'],
    currencies: ['NGN', 'EUR', 'kobo'],
    priority: 1_001,
    contries: [],
  })
  assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_request'])
  assert.deepEqual(codesOf(answer), {
    '/contries': 'unknown_field',
    '/settings/secretKey': 'invalid_format',
    '/settings/publicKey': 'required',
    '/settings/publickey': 'unknown_setting',
    '/settings/noticeSecret': 'invalid_format',
    '/settings/fridge': 'unknown_setting',
    '/baseURL': 'invalid_format',
    '/channels/1': 'not_supported',
    '/countries/1': 'not_supported',
    '/currencies/1': 'not_supported',
    '/currencies/2': 'not_supported',
    '/priority': 'out_of_range',
  })
  for (const words of [
    'settings.publicKey is required (pk_test_…): The public key, from Settings, API keys.',
    'did you mean `publicKey`?',
    'its settings are secretKey, publicKey, noticeSecret.',
    'countries.1 must be one that acme supports: NG, GH.',
  ])
    assert.ok(answer.body.detail.includes(words), words)
  assert.doesNotMatch(JSON.stringify(answer.body), /hunter2|and-more/)
  assert.equal((await ask(merchant, 'GET', ACME)).status, 404, 'nothing was kept')

  for (const body of [[], 'x', 5, null, { settings: [] }, { settings: { secretKey: 5 } }, { channels: 'card' }]) {
    assert.equal((await put(merchant, body)).status, 400, JSON.stringify(body))
  }
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`s${index}`, 'x']))
  const brief = await put(merchant, { settings: many, countries: Array(5_000).fill('x') })
  assert.ok(JSON.stringify(brief.body).length < 20_000)
})

test('a key of the other mode is refused, and each mode has an integration of its own', async () => {
  const merchant = await addMerchant(database)
  const wrong = await put(merchant, { settings: KEYS.live })
  assert.deepEqual(codesOf(wrong), { '/settings/secretKey': 'wrong_mode', '/settings/publicKey': 'wrong_mode' })
  assert.match(wrong.body.detail, /belongs to live mode\. In sandbox mode it looks like sk_test_…/)

  const { clientId, clientSecret } = await createCredential({ database }, 'test', merchant.merchantId, 'live')
  const live = { ...merchant, headers: { 'client-id': clientId, 'client-secret': clientSecret } }
  assert.equal((await put(merchant, { settings })).status, 200)
  assert.equal((await ask(live, 'GET', ACME)).status, 404)
  assert.equal((await put(live, { settings: KEYS.sandbox })).status, 400)
  assert.equal((await put(live, { settings: KEYS.live })).status, 200)
  assert.deepEqual(await check(live), { keys: 'good', reason: null })
  assert.equal(asked.at(-1)?.headers.authorization, `Bearer ${KEYS.live.secretKey}`)

  const [played] = PROVIDERS.filter(({ capabilities }) => capabilities.sandboxOnly)
  const path = `/payments/v1/integrations/${played?.capabilities.name}`
  const answer = await ask(live, 'PUT', path, { settings: {} })
  assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_request'])
  const inSandbox = await ask(merchant, 'PUT', path, { settings: {}, priority: 3 })
  assert.deepEqual([inSandbox.status, inSandbox.body.data.baseURL, inSandbox.body.data.priority], [200, null, 3])
  const elsewhere = await ask(merchant, 'PUT', path, { settings: { secretKey }, baseURL: 'https://acme.example' })
  assert.deepEqual(codesOf(elsewhere), { '/settings/secretKey': 'unknown_setting', '/baseURL': 'not_supported' })
})

test('an unknown provider is not found, also with an odd name', async () => {
  const merchant = await addMerchant(database)
  for (const name of ['nobody', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'ACME']) {
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/check'],
    ] as const) {
      const body = method === 'PUT' ? { settings } : undefined
      const answer = await ask(merchant, method, `/payments/v1/integrations/${name}${path}`, body)
      assert.deepEqual([answer.status, answer.body.code], [404, 'not_found'], `${method} ${name}`)
    }
    assert.equal(
      (await call(app, 'POST', `/notices/${name}/sandbox/${merchant.merchantId}`, { body: '{}' })).status,
      404,
    )
  }
})

test('another merchant neither sees it nor uses it, and a notice for who has none is as wrong as a forged one', async () => {
  const merchant = await addUser()
  const stranger = await addMerchant(database)
  const before = asked.length
  for (const answer of [
    await ask(stranger, 'GET', ACME),
    await ask(stranger, 'DELETE', ACME),
    await ask(stranger, 'POST', `${ACME}/check`),
  ])
    assert.deepEqual([answer.status, answer.body.code], [404, 'not_found'])
  assert.equal((await initialize(stranger, 'mine')).body.code, 'provider_not_configured')
  assert.equal(asked.length, before)

  const withoutId = ({ requestId, instance, ...body }: Answer['body']) => body
  const forged = await notify(merchant, 'x', 'sk_test_wrong')
  assert.equal(forged.status, 401)
  for (const answer of [
    await notify(stranger, 'x', secretKey),
    await notify(merchant, 'x', secretKey, 'live'),
    await notify(stranger, 'x', ''),
  ])
    assert.deepEqual([answer.status, withoutId(answer.body)], [401, withoutId(forged.body)])
  assert.equal((await notify(merchant, 'x', secretKey)).status, 200)
})

test('refused keys and a provider that does not answer are reported as a warning', async () => {
  const merchant = await addUser()
  await put(merchant, { settings: { secretKey: 'sk_test_revoked' } })
  assert.deepEqual(await check(merchant), { keys: 'bad', reason: 'it refused the key' })
  await put(merchant, { settings: { secretKey } })
  upstream.trouble = 'answering 500 before the work'
  assert.deepEqual(await check(merchant), { keys: 'unknown', reason: 'it answered 500' })
  upstream.trouble = undefined
  assert.deepEqual(await check(merchant), { keys: 'good', reason: null })
})

test('a change counts in every process with the next call; until then the connection is kept', async () => {
  const merchant = await addUser()
  const owner = { merchantId: merchant.merchantId, mode: 'sandbox' as const }
  const [first, same] = await Promise.all([
    other.providers.connect(owner, 'acme'),
    other.providers.connect(owner, 'acme'),
  ])
  assert.equal(first, same)
  await put(merchant, { settings })
  assert.equal(await other.providers.connect(owner, 'acme'), first, 'the same again changes nothing')

  keys.add('sk_test_next')
  await put(merchant, { settings: { secretKey: 'sk_test_next' } })
  assert.deepEqual(await check(merchant, other.app), { keys: 'good', reason: null })
  assert.equal(asked.at(-1)?.headers.authorization, 'Bearer sk_test_next')
  const next = await other.providers.connect(owner, 'acme')
  assert.notEqual(next, first)
  assert.equal(await other.providers.connect(owner, 'acme'), next)
})

test('what is set up is offered at once, in the order of priority, and what is removed is not', async () => {
  const merchant = await addMerchant(database, { provider: 'before' })
  await database.rows(sql`update integrations set priority = 100 where provider = 'before'`)
  const offered = async (on: App) =>
    (await ask(merchant, 'GET', '/payments/v1/integrations', undefined, on)).body.data.map(
      ({ provider, priority }: Record<string, unknown>) => `${provider} ${priority}`,
    )
  for (const on of [app, other.app]) assert.deepEqual(await offered(on), ['before 100'])
  await put(merchant, { settings, priority: 101 })
  for (const on of [app, other.app]) assert.deepEqual(await offered(on), ['before 100', 'acme 101'])
  await put(merchant, { priority: 99 })
  for (const on of [app, other.app]) assert.deepEqual(await offered(on), ['acme 99', 'before 100'])
  assert.equal((await initialize(merchant, 'first', other.app)).status, 200)
  await ask(merchant, 'DELETE', ACME)
  for (const on of [app, other.app]) assert.deepEqual(await offered(on), ['before 100'])
  assert.equal((await initialize(merchant, 'second', other.app)).body.code, 'provider_not_configured')
})

test('after a removal, payments in progress are still paid and refunded, and the integration is restored without its keys', async () => {
  const merchant = await addUser()
  const started = await eventually(
    () => initialize(merchant, 'under-way'),
    ({ status }) => status === 200,
  )
  await ask(merchant, 'DELETE', ACME)
  assert.deepEqual(await check(merchant), { keys: 'good', reason: null })
  const payment = async () => (await ask(merchant, 'GET', '/payments/v1/payments/under-way')).body.data
  assert.equal((await notify(merchant, started.body.data.data.reference, secretKey)).status, 200)
  await eventually(payment, ({ status }) => status === 'successful')
  const refund = await ask(merchant, 'POST', '/payments/v1/payments/under-way/refunds', { amount: 5 })
  assert.deepEqual([refund.status, refund.body.data.status], [201, 'successful'])

  const back = await put(merchant, {})
  assert.deepEqual([back.body.data.enabled, back.body.data.secretsSet], [true, ['secretKey']])
})

test('D8: a private base URL is refused, and with a new base URL the secrets must be sent again', async () => {
  const merchant = await addUser()
  for (const [baseURL, code] of [
    ['http://127.0.0.1:8080', 'blocked_address'],
    ['https://localhost/v1', 'blocked_address'],
    ['http://169.254.169.254/latest', 'blocked_address'],
    ['http://[::1]', 'blocked_address'],
    ['http://0x7f.1', 'blocked_address'],
    ['https://acme.example:22', 'invalid_format'],
    ['https://ada:pass@acme.example', 'invalid_format'],
    ['https://acme.example/?a=b', 'invalid_format'],
    ['https://acme.example/#', 'invalid_format'],
    ['acme.example', 'invalid_format'],
  ])
    assert.deepEqual(codesOf(await put(merchant, { settings, baseURL }, strict.app)), { '/baseURL': code }, baseURL)

  const moved = await put(merchant, { baseURL: 'https://acme.example/v2/', settings: { publicKey } })
  assert.deepEqual(codesOf(moved), { '/settings/secretKey': 'required' })
  const sent = await put(merchant, { baseURL: 'https://acme.example/v2/', settings })
  assert.equal(sent.body.data.baseURL, 'https://acme.example/v2')
  assert.equal((await put(merchant, { priority: 7 })).status, 200, 'while it stays, they stay')
  const home = await put(merchant, { baseURL: '' })
  assert.equal(home.body.data.baseURL, upstream.url, 'the provider itself may always have them')
  assert.deepEqual(await check(merchant, strict.app), { keys: 'good', reason: null }, 'its own address needs no guard')
})

test('D8: a stored base URL with a private address is not connected to', async () => {
  const merchant = await addUser()
  const inside = `${upstream.url}/inside`
  assert.equal((await put(merchant, { baseURL: inside, settings })).status, 200, 'where it is allowed')
  assert.deepEqual(await check(merchant), { keys: 'good', reason: null })
  assert.equal(asked.at(-1)?.path, '/inside/me')
  const before = asked.length
  const { keys: verdict, reason } = await check(merchant, strict.app)
  assert.equal(verdict, 'unknown')
  assert.match(reason, /blocked_address/)
  assert.equal(asked.length, before)
})

test('concurrent changes are all applied', async () => {
  const merchant = await addMerchant(database)
  const first = await Promise.all([app, other.app].map((on) => put(merchant, { settings }, on)))
  assert.deepEqual(
    first.map(({ status }) => status),
    [200, 200],
  )
  for (const round of [1, 2, 3]) {
    const [countries, currencies] = round % 2 ? [['GH'], ['GHS']] : [['NG'], ['NGN']]
    const changes = [
      { priority: round },
      { countries },
      { currencies },
      { settings: { publicKey: `pk_test_${round}` } },
    ]
    await Promise.all(changes.map((change, index) => put(merchant, change, index % 2 ? app : other.app)))
    const { data } = (await ask(merchant, 'GET', ACME)).body
    assert.deepEqual(
      [data.priority, data.countries, data.currencies, data.settings.publicKey],
      [round, countries, currencies, `pk_test_${round}`],
    )
  }
  const [row] = await database.rows<{ version: number }>(sql`
    select version from integrations where merchant_id = ${uuidOf(merchant.merchantId)} and provider = 'acme'`)
  assert.equal(row?.version, 13)
})
