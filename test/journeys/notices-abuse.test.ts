import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import type { App } from '../../src/http/framework.ts'
import { newId } from '../../src/kernel/ids.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import { providerAccounts } from '../../src/providers/accounts.ts'
import { KEYS, sign, startAcme } from '../support/acme.ts'
import { createDatabase } from '../support/database.ts'
import { addMerchant, BASE_URL, call, startOn, type TestMerchant } from '../support/service.ts'

const { database } = await createDatabase()
const { provider: acme, upstream, keys } = await startAcme({ after })
const secrets = secretBox(Buffer.alloc(32, 7))
const { secretKey, publicKey } = KEYS.sandbox

/** A service process whose statements are counted. Each has its own cache and its own limits. */
async function start({ rateLimit = true } = {}) {
  let statements = 0
  const counted: Database = {
    ...database,
    rows: (statement) => {
      statements++
      return database.rows(statement)
    },
    row: (statement) => {
      statements++
      return database.row(statement)
    },
    transaction: (work) => {
      statements++
      return database.transaction(work)
    },
  }
  const providers = providerAccounts({
    ...{ database: counted, secrets, masterKey: Buffer.alloc(32), serverUrl: () => BASE_URL, allowPrivate: () => true },
    providers: [acme],
  })
  const app = await startOn(counted, { secrets, providers, allowPrivate: () => true, rateLimit })
  return { app, statements: () => statements }
}

async function addShop(app: App, settings = { secretKey, publicKey }): Promise<TestMerchant> {
  const merchant = await addMerchant(database)
  await setKeys(app, merchant, settings)
  return merchant
}

async function setKeys(app: App, merchant: TestMerchant, settings: Record<string, string>) {
  const { status, body } = await call(app, 'PUT', '/payments/v1/integrations/acme', {
    headers: merchant.headers,
    body: { settings, baseURL: upstream.url },
  })
  assert.ok(status === 200 || status === 201, JSON.stringify(body))
}

function notify(app: App, merchantId: string, body: string, signature: string) {
  return call(app, 'POST', `/notices/acme/sandbox/${merchantId}`, {
    body,
    headers: { 'content-type': 'text/plain', signature },
  })
}

const signed = (app: App, merchantId: string, body: string, key = secretKey) =>
  notify(app, merchantId, body, sign(key, Buffer.from(body)))

/** Few at a time: a pool that runs out of connections is not what these tests are about. */
async function many(count: number, ask: (index: number) => Promise<{ status: number }>): Promise<number[]> {
  const statuses: number[] = []
  for (let index = 0; index < count; index += 10) {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, offset) => ask(index + offset)))
    statuses.push(...answers.map(({ status }) => status))
  }
  return statuses
}

const countOf = (statuses: number[], wanted: number) => statuses.filter((status) => status === wanted).length

test('forged notices are refused from the cache: a thousand of them cost a few dozen queries, also with RATE_LIMIT=off', async () => {
  const { app, statements } = await start({ rateLimit: false })
  const shop = await addShop(app)
  await notify(app, shop.merchantId, 'the first fills the cache', 'bad')
  const before = statements()
  const statuses = await many(1_000, (index) => notify(app, shop.merchantId, `forged ${index}`, 'bad'))
  assert.equal(countOf(statuses, 401), 1_000)
  assert.ok(statements() - before <= 100, `${statements() - before} statements`)
})

test('forged notices for merchants that do not exist are limited by address before any query', async () => {
  const { app, statements } = await start()
  const before = statements()
  const statuses = await many(400, () => notify(app, newId('merchant', new Date()), 'x', 'bad'))
  assert.ok(countOf(statuses, 429) >= 150, `${countOf(statuses, 429)} of 400`)
  assert.ok(statements() - before <= 300, `${statements() - before} statements`)
})

test('forged notices are limited by address and by merchant, while signed ones from the same address are accepted', async () => {
  const { app } = await start()
  const shop = await addShop(app)
  const statuses = await many(200, () => notify(app, shop.merchantId, 'forged', 'bad'))
  assert.ok(countOf(statuses, 401) >= 50 && countOf(statuses, 429) >= 10, statuses.join())
  const accepted = await many(100, (index) => signed(app, shop.merchantId, `order ${index}`))
  assert.equal(countOf(accepted, 200), 100)
})

test('a notice signed with keys that were set a moment ago is accepted, though the cache holds the old ones', async () => {
  const { app } = await start()
  const shop = await addShop(app)
  assert.equal((await signed(app, shop.merchantId, 'with the first keys')).status, 200)
  const next = { secretKey: 'sk_test_Next1', publicKey: 'pk_test_Next1' }
  keys.add(next.secretKey)
  await setKeys(app, shop, next)
  assert.equal((await signed(app, shop.merchantId, 'with the next keys', next.secretKey)).status, 200)
})
