import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { charge, newCustomer, VISA } from '../support/customer.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { openGate } from './gate.ts'
import { installShop, run, startShop, versionOf } from './install.ts'
import { credentialOf, customerWhoWaits, declineThenPay, payByPhone, redeliver } from './pay.ts'

/** A real Medusa from npm sells one product through the plug-in. */
const PRICE = 12_500
const WITHIN_MS = 60_000
const ADMIN = { email: 'admin@example.com', password: 'only for this test' }

const folder = await installShop('medusa')
console.log(await versionOf(folder, '@medusajs/medusa'))

const service = await startPaying({ deliver: true, worker: true })
const { baseUrl } = service
const shop = await service.addShop()
const { secret } = (await shop.call('POST', '/payments/v1/webhook-secret/rotate')).body.data
const gate = await openGate(await freePort(), (path) => path.startsWith('/hooks/'))
const storefront = await openStorefront()
const { url: SHOP_DATABASE_URL } = await createDatabase({ empty: true })
const env = {
  SHOP_DATABASE_URL,
  MANILLA_URL: baseUrl,
  ...(await credentialOf('medusa', service, shop)),
  WEBHOOK_SECRET: secret,
  WEBHOOK_URL: `${gate.url}/hooks/payment/manilla_manilla`,
  RETURN_URL: `${storefront.url}/return`,
  MEDUSA_DISABLE_TELEMETRY: 'true',
}
const CLI = join(folder, 'node_modules/@medusajs/cli/cli.js')
await run(process.execPath, [CLI, 'db:migrate'], folder, env)
await run(process.execPath, [CLI, 'user', '-e', ADMIN.email, '-p', ADMIN.password], folder, env)
const start = [CLI, 'start', '--host', '127.0.0.1', '--port', String(gate.port)]
const medusa = await startShop(start, folder, env, 'Server is ready on port')

type Headers = Record<string, string>
// biome-ignore lint/suspicious/noExplicitAny: JSON of Medusa
type Json = any

async function call(method: 'GET' | 'POST', path: string, headers: Headers, body?: unknown): Promise<Json> {
  const response = await fetch(gate.url + path, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const answer: Json = await response.json()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`)
  return answer
}

const { token } = await call('POST', '/auth/user/emailpass', {}, ADMIN)
const admin = (method: 'GET' | 'POST', path: string, body?: unknown) =>
  call(method, `/admin${path}`, { authorization: `Bearer ${token}` }, body)

const { sales_channels } = await admin('GET', '/sales-channels')
const { api_key } = await admin('POST', '/api-keys', { title: 'Storefront', type: 'publishable' })
await admin('POST', `/api-keys/${api_key.id}/sales-channels`, { add: [sales_channels[0].id] })
const { region } = await admin('POST', '/regions', {
  ...{ name: 'Nigeria', currency_code: 'ngn', countries: ['ng'], payment_providers: ['pp_manilla_manilla'] },
})
const { product } = await admin('POST', '/products', {
  title: 'Adire scarf',
  status: 'published',
  sales_channels: [{ id: sales_channels[0].id }],
  options: [{ title: 'Size', values: ['One', 'Last'] }],
  variants: [
    {
      ...{ title: 'One', options: { Size: 'One' }, manage_inventory: false },
      prices: [{ currency_code: 'ngn', amount: PRICE }],
    },
    {
      ...{ title: 'Last', sku: 'last', options: { Size: 'Last' }, manage_inventory: true },
      prices: [{ currency_code: 'ngn', amount: PRICE }],
    },
  ],
})

const store = (method: 'GET' | 'POST', path: string, body?: unknown) =>
  call(method, `/store${path}`, { 'x-publishable-api-key': api_key.token }, body)

/** A page that completes the cart of the payment session, as the storefront of a merchant does. */
async function openStorefront() {
  const carts = new Map<string, string>()
  const server = createServer(async ({ url = '' }, response) => {
    const session = new URL(url, 'http://localhost').searchParams.get('reference')?.replace(/-\d+$/, '')
    const cart = carts.get(session ?? '')
    const said = cart ? await complete(cart).catch((error: Error) => error.message) : 'no cart'
    response.end(`<!doctype html><title>${typeof said === 'string' ? said : said.type}</title>`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, carts }
}

const complete = (cart: string) => store('POST', `/carts/${cart}/complete`)

/** A guest with one product, and a payment session for it. */
async function fillCart(variant = 'One') {
  const email = `${randomUUID()}@example.com`
  const { id: variant_id } = product.variants.find(({ title }: Json) => title === variant)
  const items = [{ variant_id, quantity: 1 }]
  const { cart } = await store('POST', '/carts', { region_id: region.id, email, items })
  const { payment_collection } = await store('POST', '/payment-collections', { cart_id: cart.id })
  const checkout = async (): Promise<{ reference: string; url: string }> => {
    const path = `/payment-collections/${payment_collection.id}/payment-sessions`
    const { payment_collection: opened } = await store('POST', path, {
      ...{ provider_id: 'pp_manilla_manilla', data: { email } },
    })
    const session = opened.payment_sessions.at(-1)
    storefront.carts.set(session.id, cart.id)
    return session.data
  }
  return { cart: cart.id as string, email, checkout }
}

async function payWithoutPage(email: string, checkout: () => Promise<{ reference: string }>): Promise<string> {
  const { reference } = await checkout()
  await shop.initialize({ reference, amount: PRICE * 100, user: { email } })
  await charge(shop, reference, VISA)
  return reference
}

/** The orders as the shop's own Admin API shows them. */
async function ordersOf(email: string): Promise<Json[]> {
  const fields =
    '+email,+currency_code,+payment_status,+payment_collections.payments.*,+payment_collections.payments.captures.*'
  const { orders } = await admin('GET', `/orders?${new URLSearchParams({ q: email, fields })}`)
  return orders.filter((order: Json) => order.email === email)
}

const isPaid = (orders: Json[]) => orders[0]?.payment_status === 'captured'

async function assertPaidOnce(email: string): Promise<Json> {
  const orders = await ordersOf(email)
  assert.deepEqual(
    orders.map(({ payment_status, total, currency_code }) => [payment_status, total, currency_code]),
    [['captured', PRICE, 'ngn']],
  )
  const payments = orders[0].payment_collections.flatMap((each: Json) => each.payments)
  assert.deepEqual(
    payments.map((each: Json) => [each.amount, each.captures.map(({ amount }: Json) => amount)]),
    [[PRICE, [PRICE]]],
  )
  return payments[0]
}

const browser = await openBrowser()
beforeEach(() => {
  gate.losesWebhooks = false
})

test('declined, then paid: the webhook makes the paid order before the customer returns', async () => {
  const { email, checkout } = await fillCart()
  const { page, release } = await customerWhoWaits(browser, storefront.url)
  await declineThenPay(page, (await checkout()).url)
  await eventually(() => ordersOf(email), isPaid, WITHIN_MS)
  assert.ok(page.url().startsWith(baseUrl), 'the customer has not come back yet')
  release()
  await page.waitForURL(`${storefront.url}/return?**`)
  assert.equal(await page.title(), 'order')
  await assertPaidOnce(email)
})

test('the webhook never arrives: the return makes the paid order, and a webhook after it changes nothing', async () => {
  gate.losesWebhooks = true
  const { email, checkout } = await fillCart()
  const { reference, url } = await checkout()
  const { page } = await newCustomer(browser)
  page.setDefaultTimeout(WITHIN_MS)
  await declineThenPay(page, url)
  await page.waitForURL(`${storefront.url}/return?**`)
  assert.equal(await page.title(), 'order')
  await assertPaidOnce(email)
  gate.losesWebhooks = false
  gate.answers = []
  await redeliver(shop, reference)
  await eventually(
    async () => gate.answers,
    ({ length }) => length > 0,
    WITHIN_MS,
  )
  await assertPaidOnce(email)
})

test('returns and a webhook at the same time make one paid order', async () => {
  gate.losesWebhooks = true
  const { cart, email, checkout } = await fillCart()
  const reference = await payWithoutPage(email, checkout)
  await eventually(
    () => shop.payment(reference),
    ({ status }) => status === 'successful',
  )
  gate.losesWebhooks = false
  await redeliver(shop, reference)
  // Medusa may refuse a return while it handles another one.
  const returns = await Promise.allSettled([complete(cart), complete(cart), complete(cart)])
  assert.ok(
    returns.some(({ status }) => status === 'fulfilled'),
    medusa.output(),
  )
  assert.equal((await complete(cart)).type, 'order')
  // Medusa handles a webhook 5 s after it has answered: when a later one has made an order, this one is handled, too.
  const later = await fillCart()
  await payWithoutPage(later.email, later.checkout)
  await eventually(() => ordersOf(later.email), isPaid, WITHIN_MS)
  await assertPaidOnce(email)
})

test('a cart that is not paid is not completed, and a forged webhook does not change that', async () => {
  const { cart, email, checkout } = await fillCart()
  const { reference } = await checkout()
  await assert.rejects(complete(cart), /not authorized with the provider/)
  const body = JSON.stringify({ type: 'payment.successful', data: { payment: await shop.payment(reference) } })
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
  const forged = { ...headers, 'webhook-signature': 'v1,AAAA', 'content-type': 'application/json' }
  await fetch(`${gate.url}/hooks/payment/manilla_manilla`, { method: 'POST', headers: forged, body })
  await eventually(
    async () => medusa.output(),
    (output) => output.includes('No signature matches'),
    WITHIN_MS,
  )
  assert.deepEqual(await ordersOf(email), [])
})

test('after a cancelled payment, and with another total, the customer gets a new link', async () => {
  const { cart, checkout } = await fillCart()
  const first = await checkout()
  await shop.call('POST', `/payments/v1/payments/${first.reference}/cancel`)
  const second = await checkout()
  assert.notEqual(second.reference, first.reference)
  await store('POST', `/carts/${cart}/line-items`, { variant_id: product.variants[0].id, quantity: 1 })
  const third = await checkout()
  assert.equal((await shop.payment(second.reference)).status, 'cancelled')
  const { status, amount, currency } = await shop.payment(third.reference)
  assert.deepEqual([status, amount, currency], ['pending', 2 * PRICE * 100, 'NGN'])
})

test('refunds from the admin reach the ledger of Manilla', async () => {
  const { email, checkout } = await fillCart()
  const reference = await payWithoutPage(email, checkout)
  await eventually(() => ordersOf(email), isPaid, WITHIN_MS)
  const { id } = await assertPaidOnce(email)
  for (const amount of [2_500.5, 2_500.5]) await admin('POST', `/payments/${id}/refund`, { amount })
  const { refunds } = await eventually(
    () => shop.payment(reference),
    (payment) => payment.amountRefunded === 500_100,
    WITHIN_MS,
  )
  assert.deepEqual(
    refunds.map(({ amount, status }: Json) => [amount, status]),
    [
      [250_050, 'successful'],
      [250_050, 'successful'],
    ],
  )
})

/** Pays the session of a cart, with the webhooks as they are. */
async function pay({ email, checkout }: Awaited<ReturnType<typeof fillCart>>): Promise<string> {
  const { reference } = await checkout()
  await shop.initialize({ reference, amount: PRICE * 100, user: { email } })
  await charge(shop, reference, VISA)
  await eventually(
    () => shop.payment(reference),
    ({ status }) => status === 'successful',
    WITHIN_MS,
  )
  return reference
}

test('money that was refunded in Manilla places no order', async () => {
  gate.losesWebhooks = true
  const filled = await fillCart()
  const reference = await pay(filled)
  const { status } = await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { amount: 100 })
  assert.equal(status, 201)
  await assert.rejects(complete(filled.cart), /not authorized with the provider/)
  assert.deepEqual(await ordersOf(filled.email), [])
})

test('money that Medusa gave back because it could not place the order places no order later', async () => {
  const { inventory_items } = await admin('GET', '/inventory-items?sku=last')
  const { stock_location } = await admin('POST', '/stock-locations', { name: 'Lagos' })
  await admin('POST', `/stock-locations/${stock_location.id}/sales-channels`, { add: [sales_channels[0].id] })
  await admin('POST', `/inventory-items/${inventory_items[0].id}`, { requires_shipping: false })
  const levels = `/inventory-items/${inventory_items[0].id}/location-levels`
  await admin('POST', levels, { location_id: stock_location.id, stocked_quantity: 1 })
  const setStock = (stocked_quantity: number) => admin('POST', `${levels}/${stock_location.id}`, { stocked_quantity })
  const filled = await fillCart('Last')
  const { reference } = await filled.checkout()
  await setStock(0)
  await shop.initialize({ reference, amount: PRICE * 100, user: { email: filled.email } })
  await charge(shop, reference, VISA)
  await eventually(
    () => shop.payment(reference),
    ({ amountRefunded }) => amountRefunded === PRICE * 100,
    WITHIN_MS,
  )
  await setStock(1)
  await assert.rejects(complete(filled.cart), /not authorized with the provider/)
  assert.deepEqual(await ordersOf(filled.email), [])
})

test('refunds at the same time are as much in Medusa as in Manilla', async () => {
  const filled = await fillCart()
  const reference = await pay(filled)
  await eventually(() => ordersOf(filled.email), isPaid, WITHIN_MS)
  const { id } = await assertPaidOnce(filled.email)
  const refund = () => admin('POST', `/payments/${id}/refund`, { amount: 2_500 })
  await Promise.allSettled([refund(), refund()])
  const { payment } = await admin('GET', `/payments/${id}?fields=*refunds`)
  const inMedusa = payment.refunds.reduce((sum: number, { amount }: Json) => sum + amount, 0)
  assert.equal((await shop.payment(reference)).amountRefunded, inMedusa * 100)
})

test('a refund that failed can be asked for again', async () => {
  const filled = await fillCart()
  const reference = await pay(filled)
  await eventually(() => ordersOf(filled.email), isPaid, WITHIN_MS)
  const { id } = await assertPaidOnce(filled.email)
  await shop.call('PUT', '/sandbox/gateway/faults', { lost: 1 })
  const { providerReference } = (await shop.payment(reference)).attempts.at(-1)
  await shop.call('POST', '/sandbox/gateway/refunds', { reference: providerReference })
  await assert.rejects(admin('POST', `/payments/${id}/refund`, { amount: 2_500 }), /The refund failed/)
  await assert.rejects(admin('POST', `/payments/${id}/refund`, { amount: 2_500 }), /The refund failed/)
  await shop.call('PUT', '/sandbox/gateway/faults', {})
  const { refunds } = await shop.payment(reference)
  assert.equal(refunds.filter(({ status }: Json) => status === 'failed').length, 2)
})

test('an order in cedis is paid by mobile money', async () => {
  const price = 120
  const provider_id = 'pp_manilla_accra'
  const { region: ghana } = await admin('POST', '/regions', {
    ...{ name: 'Ghana', currency_code: 'ghs', countries: ['gh'], payment_providers: [provider_id] },
  })
  const { id: variant_id } = product.variants[0]
  await admin('POST', `/products/${product.id}/variants/${variant_id}`, {
    prices: [
      { currency_code: 'ngn', amount: PRICE },
      { currency_code: 'ghs', amount: price },
    ],
  })
  const email = `${randomUUID()}@example.com`
  const items = [{ variant_id, quantity: 1 }]
  const { cart } = await store('POST', '/carts', { region_id: ghana.id, email, items })
  const { payment_collection } = await store('POST', '/payment-collections', { cart_id: cart.id })
  const path = `/payment-collections/${payment_collection.id}/payment-sessions`
  const { payment_collection: opened } = await store('POST', path, { provider_id, data: { email } })
  const session = opened.payment_sessions.at(-1)
  storefront.carts.set(session.id, cart.id)
  const { page } = await newCustomer(browser)
  page.setDefaultTimeout(WITHIN_MS)
  await payByPhone(page, session.data.url)
  await page.waitForURL(`${storefront.url}/return?**`)
  assert.equal(await page.title(), 'order')
  const [order] = await eventually(() => ordersOf(email), isPaid, WITHIN_MS)
  assert.deepEqual([order.payment_status, order.total, order.currency_code], ['captured', price, 'ghs'])
  assert.equal((await shop.payment(session.data.reference)).attempts[0].channel, 'mobile-money')
})
