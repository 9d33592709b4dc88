import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import pg from 'pg'
import { openBrowser } from '../support/browser.ts'
import { charge, newCustomer, openMerchantSite, VISA } from '../support/customer.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { openGate } from './gate.ts'
import { installShop, startShop, versionOf } from './install.ts'
import { credentialOf, customerWhoWaits, declineThenPay, payByPhone, redeliver } from './pay.ts'

/** A real Vendure from npm sells one product through the plug-in. */
const PRICE = 1_250_000
const WITHIN_MS = 60_000

const folder = await installShop('vendure')
console.log(await versionOf(folder, '@vendure/core'))

const service = await startPaying({ deliver: true, worker: true })
const { baseUrl } = service
const shop = await service.addShop()
const { secret } = (await shop.call('POST', '/payments/v1/webhook-secret/rotate')).body.data
const gate = await openGate(await freePort(), (path) => path.startsWith('/manilla/webhook'))
const storefront = `${await openMerchantSite()}/confirmation`
const { url: SHOP_DATABASE_URL } = await createDatabase({ empty: true })
const vendure = await startShop(
  ['shop.mjs'],
  folder,
  {
    PORT: String(gate.port),
    SHOP_DATABASE_URL,
    MANILLA_URL: baseUrl,
    ...(await credentialOf('vendure', service, shop)),
    WEBHOOK_SECRET: secret,
    SHOP_URL: gate.url,
    RETURN_URL: storefront,
  },
  'The shop is open.',
)

type Variables = Record<string, unknown>

/** A session of the Shop API or the Admin API. */
function session(api: 'shop-api' | 'admin-api') {
  let token = ''
  // biome-ignore lint/suspicious/noExplicitAny: the answer has the shape of the query
  return async (query: string, variables: Variables = {}): Promise<any> => {
    const response = await fetch(`${gate.url}/${api}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ query, variables }),
    })
    token = response.headers.get('vendure-auth-token') ?? token
    const { data, errors } = (await response.json()) as { data?: Variables; errors?: { message: string }[] }
    if (errors) throw new Error(`${errors.map(({ message }) => message).join()}\n${vendure.output()}`)
    for (const answer of Object.values(data ?? {})) {
      const { errorCode, message } = (answer ?? {}) as { errorCode?: string; message?: string }
      if (errorCode) throw new Error(`${errorCode}: ${message}`)
    }
    return data
  }
}

const REFUSED = '... on ErrorResult { errorCode message }'
const admin = session('admin-api')
await admin('mutation { login(username: "superadmin", password: "superadmin") { __typename } }')
await admin(`mutation { updateChannel(input: {
  id: 1, availableCurrencyCodes: [NGN], defaultCurrencyCode: NGN }) { __typename } }`)
const { createProduct } = await admin(`mutation { createProduct(input: { translations: [{
  languageCode: en, name: "Adire scarf", slug: "scarf", description: "" }] }) { id } }`)
const { createProductVariants } = await admin(
  `mutation ($product: ID!, $price: Money!) { createProductVariants(input: [{ productId: $product, sku: "scarf",
    price: $price, trackInventory: FALSE, translations: [{ languageCode: en, name: "Adire scarf" }] }]) { id } }`,
  { product: createProduct.id, price: PRICE },
)
const variant = createProductVariants[0].id

/** A customer of the storefront with one product, ready to pay. */
async function fillCart() {
  const storefront = session('shop-api')
  const { addItemToOrder } = await storefront(
    `mutation ($variant: ID!) { addItemToOrder(productVariantId: $variant, quantity: 1) {
      ... on Order { code } ${REFUSED} } }`,
    { variant },
  )
  await storefront(`mutation { setCustomerForOrder(input: {
    firstName: "Ada", lastName: "Obi", emailAddress: "ada@example.com" }) { __typename ${REFUSED} } }`)
  await storefront(`mutation { setOrderShippingAddress(input: {
    streetLine1: "1 Broad Street", countryCode: "NG" }) { __typename ${REFUSED} } }`)
  const { eligibleShippingMethods } = await storefront('{ eligibleShippingMethods { id } }')
  await storefront(
    `mutation ($id: [ID!]!) { setOrderShippingMethod(shippingMethodId: $id) { __typename ${REFUSED} } }`,
    { id: [eligibleShippingMethods[0].id] },
  )
  const moveTo = (state: string) =>
    storefront(
      `mutation ($state: String!) { transitionOrderToState(state: $state) {
        ... on OrderStateTransitionError { errorCode message: transitionError } } }`,
      { state },
    )
  await moveTo('ArrangingPayment')
  const checkout = async (): Promise<string> =>
    (await storefront('mutation { createManillaCheckout }')).createManillaCheckout
  return { code: addItemToOrder.code as string, storefront, checkout, moveTo }
}

interface ShopOrder {
  id: string
  state: string
  totalWithTax: number
  payments: (Variables & { id: string; refunds: { state: string; total: number }[] })[]
}

/** The order as the shop's own Admin API shows it. */
async function orderOf(code: string): Promise<ShopOrder> {
  const { orders } = await admin(
    `query ($code: String!) { orders(options: { filter: { code: { eq: $code } } }) { items { id state totalWithTax
      payments { id state amount method transactionId refunds { state total } } } } }`,
    { code },
  )
  return orders.items[0]
}

const isSettled = ({ state }: ShopOrder) => state === 'PaymentSettled'

async function assertPaidOnce(code: string, reference = code): Promise<void> {
  const { state, totalWithTax, payments } = await orderOf(code)
  assert.equal(state, 'PaymentSettled', vendure.output())
  assert.equal(totalWithTax, PRICE)
  const { id } = await shop.payment(reference)
  assert.deepEqual(
    payments.map((each) => [each.state, each.amount, each.method, each.transactionId]),
    [['Settled', PRICE, 'manilla', id]],
  )
}

const browser = await openBrowser()
beforeEach(() => {
  gate.losesWebhooks = false
})

test('declined, then paid: the webhook settles the order before the customer returns', async () => {
  const { code, checkout } = await fillCart()
  const { page, release } = await customerWhoWaits(browser, gate.url)
  const url = await checkout()
  assert.equal(await checkout(), url, 'asked again: the same link')
  await declineThenPay(page, url)
  await eventually(() => orderOf(code), isSettled, WITHIN_MS)
  assert.ok(page.url().startsWith(baseUrl), 'the customer has not come back yet')
  release()
  await page.waitForURL(`${storefront}?order=${code}&status=successful`)
  await assertPaidOnce(code)
})

/** Sends the event again, and waits until Vendure has answered it. */
async function redeliverUntilAnswered(code: string): Promise<void> {
  gate.losesWebhooks = false
  gate.answers = []
  await redeliver(shop, code)
  await eventually(
    async () => gate.answers,
    ({ length }) => length > 0,
    WITHIN_MS,
  )
}

test('the webhook never arrives: the return settles the order, and a webhook after it changes nothing', async () => {
  gate.losesWebhooks = true
  const { code, checkout } = await fillCart()
  const { page } = await newCustomer(browser)
  page.setDefaultTimeout(WITHIN_MS)
  await declineThenPay(page, await checkout())
  await page.waitForURL(`${storefront}?order=${code}&status=successful`)
  await assertPaidOnce(code)
  await redeliverUntilAnswered(code)
  assert.deepEqual(gate.answers, [200], vendure.output())
  await assertPaidOnce(code)
})

/** Statements in the shop's database that wait for a lock. */
const WAITING = `select count(*)::int from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: SHOP_DATABASE_URL })
  await client.connect()
  client.on('error', () => {}) // the database is dropped at the end
  after(() => client.end())
  return client
}

test('returns and webhooks at the same time record the payment once', async () => {
  gate.losesWebhooks = true
  const { code, checkout } = await fillCart()
  await checkout()
  await shop.initialize({ reference: code, amount: PRICE })
  await charge(shop, code, VISA)
  await eventually(
    () => shop.payment(code),
    ({ status }) => status === 'successful',
  )
  gate.losesWebhooks = false
  gate.answers = []
  const [first, watcher] = await Promise.all([connect(), connect()])
  await first.query('begin')
  await first.query('select from "order" where code = $1 for update', [code])
  const comeBack = () => fetch(`${gate.url}/manilla/return?reference=${code}`, { redirect: 'manual' })
  const returning = [comeBack(), comeBack(), comeBack()]
  await redeliver(shop, code)
  const waiting = async () => (await watcher.query(WAITING)).rows[0].count
  await eventually(waiting, (count) => count >= 4, WITHIN_MS)
  await first.query('commit')
  const returns = await Promise.all(returning)
  for (const { status, headers } of returns)
    assert.deepEqual([status, headers.get('location')], [303, `${storefront}?order=${code}&status=successful`])
  await eventually(
    async () => gate.answers,
    ({ length }) => length > 0,
    WITHIN_MS,
  )
  assert.ok(gate.answers.every((status) => status === 200))
  await assertPaidOnce(code)
  // Not by the API: when Vendure saves an order, it detaches payments that were recorded meanwhile.
  const { id } = await shop.payment(code)
  const { rows } = await watcher.query(
    'select state, "orderId" is null as detached from payment where "transactionId" = $1',
    [id],
  )
  assert.deepEqual(rows, [{ state: 'Settled', detached: false }])
})

test('a cancelled checkout is followed by one with a new reference; another total gets another link', async () => {
  const { code, checkout, storefront, moveTo } = await fillCart()
  await checkout()
  await shop.call('POST', `/payments/v1/payments/${code}/cancel`)
  await checkout()
  const second = await shop.payment(`${code}-2`)
  assert.deepEqual([second.status, second.amount, second.metadata.vendureOrder], ['pending', PRICE, code])
  await moveTo('AddingItems')
  await storefront(
    `mutation ($variant: ID!) { addItemToOrder(productVariantId: $variant, quantity: 1) { __typename ${REFUSED} } }`,
    { variant },
  )
  await moveTo('ArrangingPayment')
  await checkout()
  assert.equal((await shop.payment(`${code}-2`)).status, 'cancelled')
  assert.equal((await shop.payment(`${code}-3`)).amount, 2 * PRICE)
})

test('a forged webhook, a forged return and a payment from the Shop API change nothing', async () => {
  const { code, checkout, storefront: customer } = await fillCart()
  await checkout()
  const body = JSON.stringify({ type: 'payment.successful', data: { payment: await shop.payment(code) } })
  const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
  const forged = { ...headers, 'webhook-signature': 'v1,AAAA', 'content-type': 'application/json' }
  assert.equal((await fetch(`${gate.url}/manilla/webhook`, { method: 'POST', headers: forged, body })).status, 401)
  const back = `${gate.url}/manilla/return?status=successful&reference=${code}`
  const { headers: answer } = await fetch(back, { redirect: 'manual' })
  assert.equal(answer.get('location'), `${storefront}?order=${code}&status=pending`)
  const metadata = { amount: PRICE, id: 'chk_1', reference: code }
  const add = customer(
    `mutation ($metadata: JSON!) { addPaymentToOrder(input: { method: "manilla", metadata: $metadata }) {
      __typename ${REFUSED} } }`,
    { metadata },
  )
  await assert.rejects(add, /createManillaCheckout/)
  const { state, payments } = await orderOf(code)
  assert.deepEqual([state, payments], ['ArrangingPayment', []])
})

test('refunds from the admin reach the ledger of Manilla, and their results come back', async () => {
  const { code, checkout } = await fillCart()
  await checkout()
  await shop.initialize({ reference: code, amount: PRICE })
  await charge(shop, code, VISA)
  const { payments } = await eventually(() => orderOf(code), isSettled, WITHIN_MS)
  for (const amount of [250_000, 250_000]) {
    await admin(
      `mutation ($payment: ID!, $amount: Money!) { refundOrder(input: { paymentId: $payment, amount: $amount,
        lines: [], shipping: 0, adjustment: 0, reason: "torn" }) { __typename ${REFUSED} } }`,
      { payment: payments[0]?.id, amount },
    )
  }
  const { amountRefunded, refunds } = await eventually(
    () => shop.payment(code),
    (payment) => payment.amountRefunded === 500_000,
    WITHIN_MS,
  )
  assert.equal(amountRefunded, 500_000)
  assert.deepEqual(
    refunds.map((refund: Variables) => [refund.amount, refund.reason, refund.kind]),
    [
      [250_000, 'torn', 'merchant'],
      [250_000, 'torn', 'merchant'],
    ],
  )
  const settled = await eventually(
    () => orderOf(code),
    (order) => order.payments[0]?.refunds.every(({ state }) => state === 'Settled') ?? false,
    WITHIN_MS,
  )
  assert.equal(settled.payments[0]?.refunds.length, 2)
})

/** Pays the checkout of an order, with the webhooks as they are. */
async function pay({ code, checkout }: Awaited<ReturnType<typeof fillCart>>): Promise<void> {
  await checkout()
  await shop.initialize({ reference: code, amount: PRICE })
  await charge(shop, code, VISA)
  await eventually(
    () => shop.payment(code),
    ({ status }) => status === 'successful',
  )
}

const askRefund = (payment: string | undefined, amount: number, reason: string) =>
  admin(
    `mutation ($payment: ID!, $amount: Money!, $reason: String!) { refundOrder(input: { paymentId: $payment,
      amount: $amount, lines: [], shipping: 0, adjustment: 0, reason: $reason }) { __typename ${REFUSED} } }`,
    { payment, amount, reason },
  )

test('money that was refunded in Manilla settles no order: neither by the return nor by an old webhook', async () => {
  gate.losesWebhooks = true
  const filled = await fillCart()
  const { code } = filled
  await pay(filled)
  const { status } = await shop.call('POST', `/payments/v1/payments/${code}/refunds`, {})
  assert.equal(status, 201)
  await fetch(`${gate.url}/manilla/return?reference=${code}`, { redirect: 'manual' })
  await redeliverUntilAnswered(code)
  const { state, payments } = await orderOf(code)
  assert.deepEqual([state, payments], ['ArrangingPayment', []])
})

test('refunds at the same time are as much in Vendure as in Manilla', async () => {
  const filled = await fillCart()
  const { code } = filled
  await pay(filled)
  const { payments } = await eventually(() => orderOf(code), isSettled, WITHIN_MS)
  const refund = () => askRefund(payments[0]?.id, 250_000, 'torn')
  await Promise.allSettled([refund(), refund()])
  const { refunds } = (await orderOf(code)).payments[0] ?? { refunds: [] }
  const inVendure = refunds.reduce((sum, { total }) => sum + total, 0)
  assert.equal((await shop.payment(code)).amountRefunded, inVendure)
})

test('a refund whose answer was lost is not made again with another reason', async () => {
  const filled = await fillCart()
  const { code } = filled
  await pay(filled)
  const { payments } = await eventually(() => orderOf(code), isSettled, WITHIN_MS)
  const { id, transactionId } = payments[0] ?? { id: '', transactionId: '' }
  const made = await shop.call(
    'POST',
    `/payments/v1/payments/${code}/refunds`,
    { amount: 250_000, reason: 'torn' },
    { 'idempotency-key': `vendure-${transactionId}-0-250000` },
  )
  assert.equal(made.status, 201)
  for (let time = 0; time < 2; time++) await Promise.allSettled([askRefund(id, 250_000, 'torn, at the seam')])
  assert.equal((await shop.payment(code)).amountRefunded, 250_000)
  await askRefund(id, 250_000, 'torn')
  assert.equal((await shop.payment(code)).amountRefunded, 250_000)
  assert.deepEqual(
    (await orderOf(code)).payments[0]?.refunds.map(({ total }) => total),
    [250_000],
  )
})

// The last one: the shop moves to Accra.
test('an order in cedis is paid by mobile money', async () => {
  const price = 12_000
  const { paymentMethods } = await admin('{ paymentMethods { items { id } } }')
  await admin(
    `mutation ($id: ID!) { updatePaymentMethod(input: { id: $id, handler: { code: "manilla",
      arguments: [{ name: "country", value: "GH" }] } }) { id } }`,
    { id: paymentMethods.items[0].id },
  )
  await admin(`mutation { updateChannel(input: {
    id: 1, availableCurrencyCodes: [NGN, GHS], defaultCurrencyCode: GHS }) { __typename ${REFUSED} } }`)
  await admin(
    `mutation ($id: ID!, $price: Money!) { updateProductVariants(input: [{ id: $id,
      prices: [{ currencyCode: GHS, price: $price }] }]) { id } }`,
    { id: variant, price },
  )
  const { code, checkout } = await fillCart()
  const { page } = await newCustomer(browser)
  page.setDefaultTimeout(WITHIN_MS)
  await payByPhone(page, await checkout())
  await page.waitForURL(`${storefront}?order=${code}&status=successful`)
  const { state, payments } = await eventually(() => orderOf(code), isSettled, WITHIN_MS)
  assert.deepEqual([state, payments.map(({ amount }) => amount)], ['PaymentSettled', [price]])
  const { currency, attempts } = await shop.payment(code)
  assert.deepEqual([currency, attempts[0].channel], ['GHS', 'mobile-money'])
})
