import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import type { App } from '../../../src/http/server/framework.ts'
import { providerClients } from '../../../src/integrations/provider-clients.ts'
import { newId, uuidOf } from '../../../src/kernel/ids.ts'
import { secretBox } from '../../../src/kernel/secret-box.ts'
import { deleteFinishedNotices, deleteUnmatchedNotices } from '../../../src/payments/store/notices.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { KEYS, sign, startAcme } from '../../support/acme.ts'
import { createDatabase } from '../../support/database.ts'
import { addMerchant, BASE_URL, call, startOn, type TestMerchant } from '../../support/service.ts'

const { database } = await createDatabase()
const { provider: signing, upstream, keys } = await startAcme({ after })
const secrets = secretBox(Buffer.alloc(32, 7))
const { secretKey, publicKey } = KEYS.sandbox

/** Acme, but a notice without a signature header is a hint, as in the sandbox of some providers. */
const acme: Provider = {
  ...signing,
  connect(account) {
    const connection = signing.connect(account)
    const readNotice: typeof connection.readNotice = (notice) =>
      notice.headers.signature ? connection.readNotice(notice) : { kind: 'hint', reference: notice.body.toString() }
    return { ...connection, readNotice }
  },
}

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
  const providers = providerClients({
    ...{ database: counted, secrets, masterKey: Buffer.alloc(32), serverUrl: () => BASE_URL, allowPrivate: () => true },
    providers: [acme],
  })
  const app = await startOn(counted, { secrets, providers, allowPrivate: () => true, rateLimit })
  return { app, statements: () => statements }
}

/** Another process sets them up, so that the one under test has not cached what was before. */
const setUp = await start({ rateLimit: false })

async function addShop(): Promise<TestMerchant> {
  const merchant = await addMerchant(database)
  await setKeys(setUp.app, merchant, { secretKey, publicKey })
  return merchant
}

async function setKeys(app: App, merchant: TestMerchant, settings: Record<string, string>) {
  const { status, body } = await call(app, 'PUT', '/payments/v1/integrations/acme', {
    headers: merchant.headers,
    body: { settings, baseURL: upstream.url },
  })
  assert.ok(status === 200 || status === 201, JSON.stringify(body))
}

function notify(app: App, merchantId: string, body: string, signature?: string) {
  return call(app, 'POST', `/notices/acme/sandbox/${merchantId}`, {
    body,
    headers: { 'content-type': 'text/plain', ...(signature && { signature }) },
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
  const shop = await addShop()
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
  const shop = await addShop()
  const statuses = await many(200, () => notify(app, shop.merchantId, 'forged', 'bad'))
  assert.ok(countOf(statuses, 401) >= 50 && countOf(statuses, 429) >= 10, statuses.join())
  const accepted = await many(100, (index) => signed(app, shop.merchantId, `order ${index}`))
  assert.equal(countOf(accepted, 200), 100)
})

test('signed notices of many merchants from one address are all accepted, also by a process that has just started', async () => {
  const shops: TestMerchant[] = []
  for (let number = 0; number < 80; number++) shops.push(await addShop())
  const { app } = await start()
  const statuses = await many(shops.length, (index) => signed(app, (shops[index] as TestMerchant).merchantId, 'paid'))
  assert.equal(countOf(statuses, 200), shops.length, statuses.join())
})

test('a notice signed with keys that were set a moment ago is accepted, though the cache holds the old ones', async () => {
  const { app } = await start()
  const shop = await addShop()
  assert.equal((await signed(app, shop.merchantId, 'with the first keys')).status, 200)
  const next = { secretKey: 'sk_test_Next1', publicKey: 'pk_test_Next1' }
  keys.add(next.secretKey)
  await setKeys(app, shop, next)
  assert.equal((await signed(app, shop.merchantId, 'with the next keys', next.secretKey)).status, 200)
})

async function startPayment(app: App, shop: TestMerchant, reference?: string): Promise<string> {
  const { status, body } = await call(app, 'POST', '/payments/v1/payments/initialize', {
    headers: shop.headers,
    body: { provider: 'acme', amount: 1_250_000, reference, user: { email: 'ada@example.com' } },
  })
  assert.equal(status, 200, JSON.stringify(body))
  const row = await database.row<{ order_reference: string }>(
    sql`select order_reference from attempts where reference = ${body.data.reference}`,
  )
  assert.ok(row)
  return row.order_reference
}

/** The attempt's next check is an hour away, and no unsigned notice came lately. */
async function waitForNothing(order: string): Promise<void> {
  await database.rows(sql`
    update attempts set next_check_at = now() + interval '1 hour', hinted_at = null where order_reference = ${order}`)
}

async function secondsToCheck(order: string): Promise<number> {
  const row = await database.row<{ seconds: number }>(sql`
    select extract(epoch from next_check_at - now())::float8 as seconds from attempts where order_reference = ${order}`)
  assert.ok(row)
  return row.seconds
}

async function noticesOf(shop: TestMerchant): Promise<number> {
  const row = await database.row<{ count: number }>(
    sql`select count(*) as count from notices where merchant_id = ${uuidOf(shop.merchantId)}`,
  )
  return row?.count ?? -1
}

test('an unsigned notice stores nothing; for a known order it schedules a check, for an unknown one nothing', async () => {
  const { app } = await start()
  const shop = await addShop()
  const order = await startPayment(app, shop)
  await waitForNothing(order)
  const [known, unknown] = [
    await notify(app, shop.merchantId, order),
    await notify(app, shop.merchantId, 'x'.repeat(32)),
  ]
  assert.deepEqual([known.status, known.body], [unknown.status, unknown.body], 'both are answered alike')
  assert.equal(known.status, 200)
  assert.ok((await secondsToCheck(order)) <= 0, 'a check is due now')
  assert.equal(await noticesOf(shop), 0)
})

test('unsigned notices schedule at most one check a minute per payment, however many attempts it has', async () => {
  const { app } = await start()
  const shop = await addShop()
  const reference = `twice-${shop.clientId.slice(-8)}`
  const first = await startPayment(app, shop, reference)
  await database.rows(sql`update attempts set status = 'failed' where order_reference = ${first}`)
  const second = await startPayment(app, shop, reference)
  await waitForNothing(first)
  await waitForNothing(second)
  await notify(app, shop.merchantId, first)
  assert.ok((await secondsToCheck(first)) <= 0)
  await waitForTheNextCheck(first)
  for (let times = 0; times < 5; times++) await notify(app, shop.merchantId, first)
  const wait = await secondsToCheck(first)
  assert.ok(wait > 30 && wait <= 60, `the same attempt again: in ${wait} s`)
  await notify(app, shop.merchantId, second)
  const longer = await secondsToCheck(second)
  assert.ok(longer > 90 && longer <= 120, `another attempt of the payment: in ${longer} s`)
})

/** As after a check: the next one is an hour away, but the payment remembers the last unsigned notice. */
async function waitForTheNextCheck(order: string): Promise<void> {
  await database.rows(
    sql`update attempts set next_check_at = now() + interval '1 hour' where order_reference = ${order}`,
  )
}

test('unsigned notices are limited by address and by merchant', async () => {
  const { app } = await start()
  const shop = await addShop()
  const statuses = await many(200, () => notify(app, shop.merchantId, 'x'.repeat(32)))
  assert.ok(countOf(statuses, 429) >= 10, statuses.join())
})

test('the same signed notice again is only counted', async () => {
  const { app } = await start()
  const shop = await addShop()
  for (let times = 0; times < 5; times++) await signed(app, shop.merchantId, 'the same')
  const rows = await database.rows(sql`select times from notices where merchant_id = ${uuidOf(shop.merchantId)}`)
  assert.deepEqual(rows, [{ times: 5 }])
})

test('notices that were dealt with are deleted after 90 days, unmatched ones after a year, in batches', async () => {
  const shop = await addShop()
  const merchant = uuidOf(shop.merchantId)
  await database.rows(sql`
    insert into notices (place, merchant_id, mode, provider, digest, body, reading, says, state, received_at)
    select ${shop.place}::smallint, ${merchant}, 'sandbox', 'acme', convert_to(state || days || n, 'UTF8'), '', '{}', 'paid', state, now() - days * interval '1 day'
      from unnest(array['done', 'ignored', 'unmatched', 'waiting']) state, unnest(array[80, 100, 400]) days, generate_series(1, 3) n`)
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)
  assert.equal((await deleteFinishedNotices(database, daysAgo(90), 2)).length, 2)
  for (const purge of [deleteFinishedNotices, deleteUnmatchedNotices])
    while ((await purge(database, daysAgo(purge === deleteFinishedNotices ? 90 : 365), 2)).length > 0);
  const left = await database.rows(sql`
    select state, extract(day from now() - received_at)::integer as days from notices
     where merchant_id = ${merchant} group by 1, 2 order by 1, 2`)
  assert.deepEqual(left, [
    { state: 'done', days: 80 },
    { state: 'ignored', days: 80 },
    { state: 'unmatched', days: 80 },
    { state: 'unmatched', days: 100 },
    { state: 'waiting', days: 80 },
    { state: 'waiting', days: 100 },
    { state: 'waiting', days: 400 },
  ])
})
