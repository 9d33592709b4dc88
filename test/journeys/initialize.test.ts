import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { addIntegration } from '../../src/integrations/integration-store.ts'
import type { Country } from '../../src/kernel/country.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { request, startPaying } from '../support/paying.ts'
import { TRANSFER } from '../support/sandbox-payments.ts'
import { addMerchant } from '../support/service.ts'

const service = await startPaying()
const { database, parts, baseUrl } = service
const shop = await service.addShop()
const INITIALIZE = '/payments/v1/payments/initialize'
let orders = 0
const newReference = () => `ORD-${++orders}`

const countPayments = async () =>
  (await database.row<{ count: number }>(sql`select count(*) as count from payments`))?.count

test('the answer for a card has exactly message, link, reference and publicKey', async () => {
  const { status, body } = await shop.initialize({ reference: newReference() })
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body), ['data'])
  assert.deepEqual(Object.keys(body.data), ['provider', 'channel', 'reference', 'amount', 'data'])
  assert.deepEqual(Object.keys(body.data.data), ['message', 'link', 'reference', 'publicKey'])
  const { provider, channel, amount, data } = body.data
  assert.deepEqual([provider, channel, amount], ['gateway', 'card', 1_250_000])
  assert.match(data.link, /^http:\/\/127\.0\.0\.1:\d+\/sandbox\/gateway\/pay\/\w+$/)
  assert.equal(
    data.message,
    `Follow <a href="${data.link}">this link</a> to complete your payment of ₦12,500.00.`,
    'text with a link in it',
  )
  assert.match(data.reference, /^[a-z0-9]{32}$/)
  assert.equal(data.publicKey, `gpk_${shop.merchantUuid.replaceAll('-', '')}`)
  assert.equal((await fetch(data.link)).status, 200)
})

test('the answer for a virtual account has account, amount and expiry', async () => {
  const { status, body } = await shop.initialize({ ...TRANSFER, reference: newReference() })
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body), ['data'])
  assert.deepEqual(Object.keys(body.data), ['provider', 'channel', 'reference', 'amount', 'data'])
  const { provider, channel, amount, data } = body.data
  assert.deepEqual([provider, channel, amount], [TRANSFER.provider, 'virtual-bank-account', 1_250_000])
  const { message, accountName, accountNumber, bankName, expiresAt, amountToTransfer, dialCodes, ...rest } = data
  assert.deepEqual(rest, {})
  assert.deepEqual(
    dialCodes.find(({ bank }: { bank: string }) => bank === '058'),
    { bank: '058', bankName: 'Guaranty Trust Bank', code: `*737*2*12500*${accountNumber}#` },
  )
  assert.deepEqual([accountName, bankName, amountToTransfer], ['Adaeze Kitchen', 'Sandbox Bank', 1_250_000])
  assert.match(accountNumber, /^\d{10}$/)
  assert.equal(
    message,
    `Transfer <strong>₦12,500.00</strong> to account <strong>${accountNumber}</strong> (Adaeze Kitchen) at Sandbox Bank.`,
  )
  const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000
  assert.ok(minutes > 29 && minutes <= 30, expiresAt)
})

test('the attempt’s reference is the request’s with a suffix, and finds the payment', async () => {
  const reference = newReference()
  const { body } = await shop.initialize({ reference })
  assert.match(body.data.reference, new RegExp(`^${reference}-[0-9a-hjkmnp-tv-z]{8,}$`))
  const payment = await shop.payment(reference)
  assert.deepEqual(await shop.payment(body.data.reference), payment)
  assert.deepEqual(await shop.payment(payment.id), payment)
  const [attempt] = payment.attempts
  assert.deepEqual([attempt.reference, attempt.number, attempt.status], [body.data.reference, 1, 'pending'])
  assert.equal(attempt.providerReference, body.data.data.reference)
  assert.equal(attempt.instructions.link, body.data.data.link)
  assert.deepEqual(Object.keys(attempt.instructions).sort(), ['expiresAt', 'link', 'publicKey'])
})

test('only provider, amount and e-mail address are required; the rest has defaults', async () => {
  const { body } = await shop.initialize()
  assert.match(body.data.reference, /^[\x21-\x7e]+-[0-9a-hjkmnp-tv-z]{8,}$/)
  const payment = await shop.payment(body.data.reference)
  assert.ok(body.data.reference.startsWith(`${payment.reference}-`))
  const { currency, country, customerBearsCharge, redirectURL, webhook, metadata, user, mode, status, late } = payment
  assert.deepEqual(
    { currency, country, customerBearsCharge, redirectURL, webhook, metadata, mode, status, late },
    {
      currency: 'NGN',
      country: 'NG',
      customerBearsCharge: false,
      redirectURL: null,
      webhook: null,
      metadata: {},
      mode: 'sandbox',
      status: 'pending',
      late: false,
    },
  )
  assert.deepEqual(user, { id: null, email: 'ada@example.com', phoneNumber: null, name: null })
  assert.equal((Date.parse(payment.expiresAt) - Date.parse(payment.createdAt)) / 1_000, 86_400)
})

test('null means absent for every optional field, and an empty currency is NGN', async () => {
  const optional = ['reference', 'redirectURL', 'webhook', 'country', 'customerBearsCharge', 'metadata', 'expiresIn']
  const nothing = Object.fromEntries(optional.map((field) => [field, null]))
  for (const currency of [null, '']) {
    const user = { email: 'ada@example.com', name: null, phoneNumber: null }
    const { status, body } = await shop.initialize({ ...nothing, currency, user })
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal((await shop.payment(body.data.reference)).currency, 'NGN')
  }
})

test('all optional fields are stored unchanged', async () => {
  const wanted = {
    reference: newReference(),
    currency: 'ghs',
    country: 'Ghana',
    customerBearsCharge: true,
    redirectURL: 'https://shop.example/thanks?cart=5#top',
    webhook: 'https://shop.example/hook',
    metadata: { cart: '5' },
    expiresIn: 900,
    user: { email: 'Ada@Example.com', name: 'Ada', phoneNumber: '+234801' },
  }
  assert.equal((await shop.initialize(wanted)).status, 200)
  const payment = await shop.payment(wanted.reference)
  const { redirectURL, webhook, metadata, user, customerBearsCharge } = payment
  assert.deepEqual(
    { redirectURL, webhook, metadata, user, customerBearsCharge },
    {
      redirectURL: wanted.redirectURL,
      webhook: wanted.webhook,
      metadata: wanted.metadata,
      user: { id: null, ...wanted.user },
      customerBearsCharge: true,
    },
  )
  assert.deepEqual([payment.currency, payment.country], ['GHS', 'GH'])
  assert.equal((Date.parse(payment.expiresAt) - Date.parse(payment.createdAt)) / 1_000, 900)
})

test('without a country the payment gets the currency’s home country, if the provider serves it', async () => {
  for (const [currency, country] of [
    ['NGN', 'NG'],
    ['GHS', 'GH'],
    ['KES', 'KE'],
    ['ZAR', 'ZA'],
    ['USD', 'NG'], // not served at home, so where the provider is
  ]) {
    const { body } = await shop.initialize({ currency })
    assert.equal((await shop.payment(body.data.reference)).country, country, currency)
  }
})

test('an unknown provider is 422 unknown_provider, and the answer lists what this merchant has', async () => {
  for (const provider of ['paypal', 'gateway-card', 'Gateway', 'gateway-virtual-bank-account-virtual-bank-account']) {
    const { status, body } = await shop.initialize({ provider })
    assert.deepEqual([status, body.code], [422, 'unknown_provider'], provider)
    assert.match(
      body.detail,
      /Yours in sandbox mode: gateway, gateway-virtual-bank-account, gateway-mobile-money, .*gateway-qr\.$/,
    )
  }
})

test('a provider that this merchant has not set up, or not for that channel, is 422 provider_not_configured', async () => {
  const none = await addMerchant(database)
  const cardOnly = await addMerchant(database)
  await database.transaction((tx) =>
    addIntegration(
      tx,
      { merchantId: cardOnly.merchantId, mode: 'sandbox' },
      {
        provider: 'gateway',
        channels: ['card'],
        countries: ['NG'] as Country[],
        currencies: ['NGN'] as Currency[],
      },
    ),
  )
  const ask = (headers: Record<string, string>, provider: string, more = {}) =>
    request(baseUrl + INITIALIZE, 'POST', headers, { provider, amount: 5, user: { email: 'a@b.co' }, ...more })
  for (const [merchant, provider] of [
    [none, 'gateway'],
    [cardOnly, 'gateway-virtual-bank-account'],
  ] as const) {
    const { status, body } = await ask(merchant.headers, provider)
    assert.deepEqual([status, body.code], [422, 'provider_not_configured'])
    assert.match(body.detail, /Yours in sandbox mode: anything/)
  }
  const currency = await ask(cardOnly.headers, 'gateway', { currency: 'GHS' })
  assert.deepEqual([currency.status, currency.body.code], [422, 'currency_not_supported'])
  const country = await ask(cardOnly.headers, 'gateway', { country: 'GH' })
  assert.deepEqual([country.status, country.body.code], [422, 'no_integration_available'])
})

test('live credentials have no gateway: it moves no real money', async () => {
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId, 'live')
  const live = { 'client-id': clientId, 'client-secret': clientSecret }
  const wanted = { provider: 'gateway', amount: 5, user: { email: 'a@b.co' } }
  const { status, body } = await request(baseUrl + INITIALIZE, 'POST', live, wanted)
  assert.deepEqual([status, body.code], [422, 'provider_not_configured'])
  assert.match(body.detail, /Yours in live mode: none\./)
  const { reference } = (await shop.initialize()).body.data
  assert.equal((await request(`${baseUrl}/payments/v1/payments/${reference}`, 'GET', live)).status, 404)
  assert.equal((await request(`${baseUrl}/sandbox/gateway/ledger`, 'GET', live)).status, 404)
})

test('a currency that the provider does not take is 422 currency_not_supported, and says which it does', async () => {
  const { status, body } = await shop.initialize({ currency: 'EUR' })
  assert.deepEqual([status, body.code], [422, 'currency_not_supported'])
  assert.match(body.detail, /gateway takes NGN, GHS, .*USD, not EUR/)
})

test('an amount that leaves the provider’s range once the charge is added is 422 amount_out_of_range', async () => {
  const largest = { amount: 999_999_999_999 }
  assert.equal((await shop.initialize(largest)).status, 200)
  assert.equal((await shop.initialize({ amount: 1 })).status, 200)
  const before = await countPayments()
  const { status, body } = await shop.initialize({ ...largest, customerBearsCharge: true })
  assert.deepEqual([status, body.code], [422, 'amount_out_of_range'])
  assert.match(body.detail, /1 NGN \(₦0\.01\) to 999999999999 NGN/)
  assert.equal(await countPayments(), before, 'and no payment is left behind')
})

test('a reference follows the rules of the checkout: 1 to 100 printable characters without spaces', async () => {
  for (const reference of ['', '.', '..', 'a b', 'ü', 'x'.repeat(101), 5]) {
    const { status, body } = await shop.initialize({ reference })
    assert.deepEqual([status, body.code, body.errors[0].pointer], [400, 'invalid_request', '/reference'])
  }
  const longest = `${newReference()}${'~'.repeat(100)}`.slice(0, 100)
  const { body } = await shop.initialize({ reference: longest })
  assert.equal((await shop.payment(body.data.reference)).reference, longest)
})

test('all validation errors are returned at once', async () => {
  const { status, body } = await shop.call('POST', INITIALIZE, {
    amount: '100',
    currency: 'XYZ',
    country: 'Atlantis',
    redirectURL: 'javascript:alert(1)',
    expiresIn: 5,
    user: { name: 7 },
    customerBearsCharge: 'yes',
  })
  assert.deepEqual([status, body.code], [400, 'invalid_request'])
  assert.deepEqual(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
    '/amount',
    '/country',
    '/currency',
    '/customerBearsCharge',
    '/expiresIn',
    '/provider',
    '/redirectURL',
    '/user/email',
    '/user/name',
  ])
})

test('F3: an amount that is no whole number of kobo is refused, never rounded', async () => {
  for (const amount of [0, -1, 0.1, 100.5, 1e15, '100', null, true, [5]]) {
    const { status, body } = await shop.initialize({ amount })
    assert.deepEqual([status, body.errors?.[0].pointer], [400, '/amount'], String(amount))
  }
})

test('a misspelt field is refused with a suggestion; other unknown fields are ignored', async () => {
  for (const [field, meant] of [
    ['redirectUrl', 'redirectURL'],
    ['customerBearCharge', 'customerBearsCharge'],
    ['web_hook', 'webhook'],
    ['expires_in', 'expiresIn'],
  ] as const) {
    const { status, body } = await shop.initialize({ [field]: 'x' })
    assert.deepEqual([status, body.code], [400, 'unknown_field'], field)
    assert.match(body.errors[0].message, new RegExp(`did you mean \`${meant}\``))
  }
  const inUser = await shop.initialize({ user: { email: 'a@b.co', phone_number: '1' } })
  assert.equal(inUser.body.errors[0].pointer, '/user/phone_number')
  assert.equal((await shop.initialize({ basket: [1], note: 'x' })).status, 200)
})

test('G1: markup in a name is text in the message', async () => {
  const evil = await service.addShop('<script>alert("1")</script> & Söhne')
  const { body } = await evil.initialize(TRANSFER)
  const { message, accountName } = body.data.data
  assert.equal(accountName, '<script>alert("1")</script> & Söhne')
  assert.ok(message.includes('(&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; Söhne)'), message)
})

test('a list shows payments with their attempts, as a single one does', async () => {
  const own = await service.addShop()
  const { data } = (await own.initialize({ reference: 'listed' })).body
  await own.initialize({ ...TRANSFER, reference: 'listed' })
  await own.call('POST', '/payments/v1/checkouts', { amount: 5, country: 'NG', user: { email: 'a@b.co' } })
  const { body } = await own.call('GET', '/payments/v1/payments')
  assert.deepEqual(
    body.data.map(({ attempts }: { attempts: unknown[] }) => attempts.length),
    [0, 2],
  )
  assert.deepEqual(body.data[1], await own.payment(data.reference))
})

test('an attempt has every member of the contract, absent ones as null', async () => {
  const { data } = (await shop.initialize()).body
  const payment = await shop.payment(data.reference)
  assert.deepEqual(Object.keys(payment), [
    'id',
    'reference',
    'mode',
    'status',
    'late',
    'amount',
    'currency',
    'country',
    'customerBearsCharge',
    'fee',
    'feeCharged',
    'amountCharged',
    'amountPaid',
    'amountRefunded',
    'user',
    'redirectURL',
    'webhook',
    'metadata',
    'link',
    'url',
    'shortURL',
    'attempts',
    'refunds',
    'createdAt',
    'expiresAt',
    'completedAt',
  ])
  const [attempt] = payment.attempts
  for (const member of [
    'id',
    'reference',
    'number',
    'provider',
    'channel',
    'status',
    'amountCharged',
    'fee',
    'failure',
    'providerReference',
    'instructions',
    'createdAt',
    'resolvedAt',
  ]) {
    assert.ok(member in attempt, member)
  }
  assert.deepEqual([attempt.failure, attempt.resolvedAt, payment.completedAt], [null, null, null])
  const stored = await database.row<{ id: string }>(sql`select id from attempts where reference = ${data.reference}`)
  assert.equal(uuidOf(attempt.id), stored?.id)
})

test('a virtual account closes with its payment, if that ends first', async () => {
  const short = newReference()
  const { body } = await shop.initialize({ ...TRANSFER, reference: short, expiresIn: 900 })
  assert.equal(body.data.data.expiresAt, (await shop.payment(short)).expiresAt)
  const long = newReference()
  const { body: other } = await shop.initialize({ ...TRANSFER, reference: long, expiresIn: 604_800 })
  assert.ok(Date.parse(other.data.data.expiresAt) < Date.parse((await shop.payment(long)).expiresAt))
})
