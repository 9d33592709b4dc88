import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { listen } from '../../src/database/listen.ts'
import type { App } from '../../src/http/server/framework.ts'
import { integrationCache } from '../../src/integrations/integration-cache.ts'
import { INTEGRATIONS_CHANNEL } from '../../src/integrations/integration-store.ts'
import { warnOfKeys } from '../../src/integrations/manage-integrations.ts'
import { idOf } from '../../src/kernel/ids.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { KEYS, startAcme } from '../support/acme.ts'
import { startWithAcme } from '../support/acme-service.ts'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/paying.ts'
import { addMerchant, CHECKOUT, call, type TestMerchant } from '../support/service.ts'

const { database, url } = await createDatabase()
const { asked, provider: acme, upstream } = await startAcme({ after })
const secrets = secretBox(Buffer.alloc(32, 7))
const settings = KEYS.sandbox
const ACME = '/payments/v1/integrations/acme'

/** A process of its own: with its own caches, and without news of changes that other processes make. */
const startProcess = (cache = integrationCache(database)) =>
  startWithAcme(database, acme, { secrets, allowPrivate: () => true, integrationCache: cache })

const { app, providers } = await startProcess()
const { app: other } = await startProcess()

type Method = Parameters<typeof call>[1]
/** A busy machine sheds new work for half a second; such a call has done nothing, and is made again. */
const ask = (on: App, merchant: TestMerchant, method: Method, path: string, body?: unknown) =>
  eventually(
    () => call(on, method, path, { headers: merchant.headers, ...(body !== undefined && { body }) }),
    ({ status }) => status !== 503,
  )
const put = (merchant: TestMerchant, body: unknown) => ask(app, merchant, 'PUT', ACME, body)
const newReference = () => randomBytes(8).toString('hex')
const checkout = (on: App, merchant: TestMerchant) => ask(on, merchant, 'POST', '/payments/v1/checkouts', CHECKOUT)
const initialize = (on: App, merchant: TestMerchant, provider = 'acme') =>
  ask(on, merchant, 'POST', '/payments/v1/payments/initialize', {
    ...{ provider, amount: 1_250_000, reference: newReference(), user: { email: 'ada@example.com' } },
  })
const offered = async (on: App, merchant: TestMerchant) =>
  (await ask(on, merchant, 'GET', '/payments/v1/integrations')).body.data.map(
    ({ provider }: { provider: string }) => provider,
  )
const quoted = async (on: App, merchant: TestMerchant) =>
  (await ask(on, merchant, 'POST', '/payments/v1/fees/quote', { amount: 1_000, country: 'NG' })).body.data.length

/** A merchant with no integration, which both processes have in their caches. */
async function addKnownMerchant(): Promise<TestMerchant> {
  const merchant = await addMerchant(database, { provider: 'acme' })
  await ask(app, merchant, 'DELETE', ACME)
  for (const on of [app, other]) {
    assert.equal((await checkout(on, merchant)).body.code, 'no_integration_available')
    assert.equal((await initialize(on, merchant)).body.code, 'provider_not_configured')
  }
  return merchant
}

test('right after a provider is set up, every process takes payments with it', async () => {
  const merchant = await addKnownMerchant()
  assert.equal((await put(merchant, { settings })).status, 200)
  for (const on of [other, app]) {
    assert.equal((await checkout(on, merchant)).status, 201)
    assert.equal((await initialize(on, merchant)).status, 200)
    assert.deepEqual(await offered(on, merchant), ['acme'])
    assert.equal(await quoted(on, merchant), 1)
  }
})

test('a page that was opened before shows the provider that was set up a moment ago', async () => {
  const merchant = await addKnownMerchant()
  await put(merchant, { settings })
  const { url } = (await checkout(other, merchant)).body.data
  await ask(app, merchant, 'DELETE', ACME)
  const page = async () => String((await call(other, 'GET', new URL(url).pathname)).body)
  assert.doesNotMatch(await page(), /name="method"/)
  await put(merchant, {})
  assert.match(await page(), /name="method"/)
})

test('right after a provider is removed or changed, no process starts a payment with it', async () => {
  const merchant = await addKnownMerchant()
  await put(merchant, { settings })
  for (const on of [app, other]) assert.equal((await initialize(on, merchant)).status, 200)
  await put(merchant, { currencies: ['GHS'] })
  for (const on of [app, other]) assert.equal((await initialize(on, merchant)).body.code, 'currency_not_supported')
  await ask(app, merchant, 'DELETE', ACME)
  for (const on of [app, other]) {
    assert.equal((await initialize(on, merchant)).body.code, 'provider_not_configured')
    assert.deepEqual(await offered(on, merchant), [])
  }
  assert.equal((await checkout(app, merchant)).body.code, 'no_integration_available')
})

test('another process is notified of a removal, and creates no link that cannot be paid', async () => {
  const merchant = await addKnownMerchant()
  await put(merchant, { settings })
  const cache = integrationCache(database)
  const { app: listening } = await startProcess(cache)
  const [connected, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const listener = listen(url, {
    [INTEGRATIONS_CHANNEL]: {
      heard(uuid) {
        cache.invalidate(idOf('merchant', uuid))
        heard.resolve()
      },
      missed: connected.resolve,
    },
  })
  after(() => listener.stop())
  await connected.promise
  assert.equal((await checkout(listening, merchant)).status, 201)
  await ask(app, merchant, 'DELETE', ACME)
  await heard.promise
  assert.equal((await checkout(listening, merchant)).body.code, 'no_integration_available')
})

test('PUT says when the provider refuses the keys or does not answer, and asks nothing when no keys are sent', async () => {
  const merchant = await addMerchant(database)
  const good = await put(merchant, { settings })
  assert.deepEqual([good.status, good.body.warning], [200, null])

  const refused = await put(merchant, { settings: { secretKey: 'sk_test_revoked' } })
  assert.deepEqual([refused.status, refused.body.warning.code], [200, 'keys_refused'])
  assert.match(refused.body.warning.message, /^acme refused the sandbox keys: it refused the key\. They are saved\.$/)

  upstream.trouble = 'answering 500 before the work'
  const unknown = await put(merchant, { settings })
  upstream.trouble = undefined
  assert.deepEqual([unknown.status, unknown.body.warning.code], [200, 'keys_not_checked'])
  assert.deepEqual(unknown.body.data.secretsSet, ['secretKey'])

  const before = asked.length
  assert.equal((await put(merchant, { priority: 5 })).body.warning, null)
  assert.equal(asked.length, before)
})

test('the check of new keys waits a limited time', async () => {
  const merchant = await addMerchant(database)
  await put(merchant, { settings })
  upstream.trouble = 'silent before the work'
  const warning = await warnOfKeys({ providers }, { merchantId: merchant.merchantId, mode: 'sandbox' }, 'acme', 50)
  upstream.trouble = undefined
  assert.equal(warning?.code, 'keys_not_checked')
  assert.match(String(warning?.message), /did not answer within 0\.05 s/)
})

test('initialize with keys that the provider refuses says so, where to set them, and not to try again', async () => {
  const merchant = await addMerchant(database)
  const fake = await startFakePaystack({ after })
  const body = { settings: fake.settings, baseURL: fake.upstream.url }
  assert.equal((await ask(app, merchant, 'PUT', '/payments/v1/integrations/paystack', body)).body.warning, null)
  fake.keys.secretKey = 'sk_test_another0123456789'
  const answer = await initialize(app, merchant, 'paystack')
  const { code, detail, retryable } = answer.body
  assert.deepEqual([answer.status, code, retryable], [502, 'provider_error', false])
  assert.match(detail, /^paystack refused your sandbox keys\. Set the right ones with PUT .*\/integrations\/paystack/)
  assert.equal(answer.headers['retry-after'], undefined)
})
