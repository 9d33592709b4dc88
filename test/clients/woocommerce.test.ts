import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { apiOf } from '../../src/cli/api.ts'
import { gradeShop } from '../../src/cli/grade-shop.ts'
import type { WebhookSecret } from '../../src/events/webhook-secret.ts'
import { ensureDefaultSecret, findDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { webhookHttp } from '../../src/outbound/webhook-http.ts'
import { muteWebhook } from '../../src/payments/store/payments.ts'
import { createDatabase } from '../support/database.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge } from '../support/sandbox-payments.ts'
import { startWordPress, type WordPress } from '../support/woocommerce.ts'

/** WOOCOMMERCE: the folder of a WordPress with WooCommerce. The gate names it when it is missing. */
const { WOOCOMMERCE } = process.env
const ADDRESS = { first_name: 'Ọlá', last_name: 'Ade', address_1: '1 Marina', city: 'Lagos', state: 'LA' }
const BILLING = { ...ADDRESS, postcode: '100001', country: 'NG', email: 'ada@example.com', phone: '08031234567' }

async function openShop(hpos: 'yes' | 'no') {
  const { url: databaseUrl, database } = await createDatabase()
  const { baseUrl, addShop, parts } = await startPaying({ database, databaseUrl, deliver: true, worker: true })
  const shop = await addShop()
  const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
  await ensureDefaultSecret(database, parts.secrets, owner)
  const secret = (await findDefaultSecret(database, parts.secrets, owner)) as WebhookSecret
  const credentials = { clientId: shop.headers['client-id'], clientSecret: shop.headers['client-secret'] }
  const wordpress = await startWordPress(WOOCOMMERCE as string)
  const { product, checkout } = await wordpress.trial(
    'setup',
    {},
    {
      hpos,
      gateway: {
        ...{ enabled: 'yes', title: 'Card or transfer', base_url: baseUrl, test_mode: 'yes', display: 'redirect' },
        ...{ sandbox_client_id: credentials.clientId, sandbox_client_secret: credentials.clientSecret },
        sandbox_webhook_secret: secret,
      },
    },
  )
  const orderOf = (reference: string) => wordpress.trial('order', { reference })
  const pay = async (reference: string) => {
    const { amount, user } = await shop.payment(reference)
    const { body } = await shop.initialize({ reference, amount, user: { email: user.email } })
    await charge(shop, body.data.data.reference)
  }
  const becomes = (reference: string, wanted: string) =>
    eventually(
      () => orderOf(reference),
      ({ status }) => status === wanted,
    )
  return { database, baseUrl, shop, secret, credentials, wordpress, product, checkout, orderOf, pay, becomes }
}

const referenceAt = async (shop: { payment(id: string): Promise<{ reference: string }> }, location: string) =>
  (await shop.payment(location.split('/pay/')[1] as string)).reference

/** A browser without script: it keeps cookies. */
function visitor({ url }: WordPress) {
  const cookies = new Map<string, string>()
  return async (path: string, body?: URLSearchParams | object): Promise<string> => {
    const isForm = body instanceof URLSearchParams
    const response = await fetch(url + path, {
      redirect: 'manual',
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body && !isForm && { 'content-type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: isForm ? body : JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    return response.text()
  }
}

/** As the form of the classic checkout: with the nonce of its page. */
async function classicCheckout(wordpress: WordPress, product: number, page: number): Promise<string> {
  const visit = visitor(wordpress)
  await visit(`/?add-to-cart=${product}`)
  const html = await visit(`/?page_id=${page}`)
  const nonce = /name="woocommerce-process-checkout-nonce" value="(\w+)"/.exec(html)?.[1] ?? ''
  assert.match(html, /payment_method_manilla/)
  const form = new URLSearchParams({ payment_method: 'manilla', 'woocommerce-process-checkout-nonce': nonce })
  for (const [name, value] of Object.entries(BILLING)) form.set(`billing_${name}`, value)
  const answer = JSON.parse(await visit('/?wc-ajax=checkout', form))
  assert.equal(answer.result, 'success', answer.messages)
  return answer.redirect
}

/** As the block checkout does: with the Store API. */
async function blockCheckout(wordpress: WordPress, product: number): Promise<string> {
  const visit = visitor(wordpress)
  await visit(`/?add-to-cart=${product}`)
  const order = { billing_address: BILLING, payment_method: 'manilla' }
  const answer = JSON.parse(await visit('/?rest_route=/wc/store/v1/checkout', order))
  assert.equal(answer.payment_result?.payment_status, 'success', JSON.stringify(answer))
  return answer.payment_result.redirect_url
}

for (const hpos of WOOCOMMERCE ? (['yes', 'no'] as const) : [])
  test(`WooCommerce with HPOS ${hpos === 'yes' ? 'on' : 'off'}`, async (t) => {
    const world = await openShop(hpos)
    const { wordpress, shop, orderOf, pay, becomes, product, checkout } = world

    for (const [name, place] of Object.entries({
      classic: () => classicCheckout(wordpress, product, checkout),
      block: () => blockCheckout(wordpress, product),
    }))
      await t.test(
        `an order of the ${name} checkout is paid by its webhook, and refunded from the order screen`,
        async () => {
          const location = await place()
          assert.match(location, /\/pay\/chk_/)
          const reference = await referenceAt(shop, location)
          assert.equal((await shop.payment(reference)).amount, 1_250_000)
          const open = await orderOf(reference)
          assert.match(open.store, hpos === 'yes' ? /OrdersTableDataStore/ : /Order_Data_Store_CPT/)
          await pay(reference)
          await becomes(reference, 'processing')
          assert.deepEqual(await wordpress.trial('refund', { order: String(open.id), amount: '2500' }), { error: null })
          await eventually(
            () => shop.payment(reference),
            ({ amountRefunded }) => amountRefunded === 250_000,
          )
          await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { amount: 100_000 })
          const refunded = await eventually(
            () => orderOf(reference),
            // WooCommerce saves a refund before it has its amount.
            ({ refunds }) => refunds.length === 2 && refunds.every((amount: string) => Number(amount) > 0),
          )
          assert.deepEqual(
            refunded.refunds.map(Number).sort(),
            [1000, 2500],
            'also the one of the dashboard, each once',
          )
        },
      )

    await t.test('a cancelled order that is paid is completed once, and waiting events are handled', async () => {
      const reference = await referenceAt(shop, await blockCheckout(wordpress, product))
      const { id } = await orderOf(reference)
      await wordpress.trial('status', { order: String(id), status: 'cancelled' })
      await pay(reference)
      await becomes(reference, 'processing')
      await wordpress.trial('handle')
      const { status, notes } = await orderOf(reference)
      assert.equal(status, 'processing')
      assert.equal(notes.filter((note: string) => note.includes(`paid with ${reference}`)).length, 1, notes.join('\n'))
    })

    await t.test('it passes shop verify', async () => {
      const http = webhookHttp()
      after(() => http.close())
      const grades = await gradeShop({
        ...{ checkout: `${wordpress.url}/?wc-api=trial_buy&product=${product}`, webhook: undefined, form: [] },
        ...{ delivered: `${wordpress.url}/?wc-api=trial_delivered`, secret: world.secret, provider: 'gateway' },
        ...{ api: apiOf(world.baseUrl, world.credentials), post: http.post, actsWithinMs: 20_000 },
        mute: (payment) => muteWebhook(world.database, payment),
      })
      assert.deepEqual(
        grades.filter(({ mend }) => mend !== null),
        [],
      )
    })
  })
