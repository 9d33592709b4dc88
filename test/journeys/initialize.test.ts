import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { addIntegration } from '../../src/integrations/integration-store.ts'
import type { Country } from '../../src/kernel/country.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { startById } from '../support/by-id.ts'
import { doorInTrouble } from '../support/door-in-trouble.ts'
import { request, startPaying } from '../support/paying.ts'
import { closeInstructions } from '../support/payment-records.ts'
import { addMerchant } from '../support/service.ts'

const service = await startPaying()
const { database, parts, baseUrl } = service
const shop = await service.addShop()

const INITIALIZE = '/payments/v1/payments/initialize'
const CARD_THAT_PAYS = '4084 0840 8408 4081'
const TRANSFER = { provider: 'gateway-virtual-bank-account' }
const key = (value: string) => ({ 'idempotency-key': value })
let orders = 0
const newReference = () => `ORD-${++orders}`

/** Each time another one, so that no test depends on another's payments. */
function checkout(reference: string, changes: Record<string, unknown> = {}) {
  const body = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' }, reference, ...changes }
  return shop.call('POST', '/payments/v1/checkouts', body)
}
const pay = (orderReference: string) =>
  shop.call('POST', `/sandbox/gateway/charges/${orderReference}`, { card: CARD_THAT_PAYS })
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
  const { message, accountName, accountNumber, bankName, expiresAt, amountToTransfer, ...rest } = data
  assert.deepEqual(rest, {})
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
    assert.match(body.detail, /Yours in sandbox mode: gateway, gateway-virtual-bank-account\.$/)
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
  assert.match(body.detail, /NGN, GHS, KES, ZAR, USD, not EUR/)
})

test('an amount that leaves the provider’s range once the charge is added is 422 amount_out_of_range', async () => {
  const largest = { amount: 999_999_999_999 }
  assert.equal((await shop.initialize(largest)).status, 200)
  assert.equal((await shop.initialize({ amount: 1 })).status, 200)
  const before = await countPayments()
  const { status, body } = await shop.initialize({ ...largest, customerBearsCharge: true })
  assert.deepEqual([status, body.code], [422, 'amount_out_of_range'])
  assert.match(body.detail, /1 to 999999999999 NGN/)
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

test('the reference of a pending payment adds an attempt to it, also to a checkout', async () => {
  const reference = newReference()
  const { id } = (await checkout(reference)).body.data
  const first = await shop.initialize({ reference })
  const second = await shop.initialize({ ...TRANSFER, reference })
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.notEqual(first.body.data.reference, second.body.data.reference)
  const payment = await shop.payment(reference)
  assert.equal(payment.id, id)
  assert.deepEqual(
    payment.attempts.map(({ number, channel, status }: Record<string, unknown>) => [number, channel, status]),
    [
      [1, 'card', 'pending'],
      [2, 'virtual-bank-account', 'pending'],
    ],
  )
})

test('the same reference with another amount or currency is 409 reference_conflict', async () => {
  const reference = newReference()
  await shop.initialize({ reference })
  for (const changes of [{ amount: 1_250_001 }, { currency: 'GHS' }]) {
    const { status, body } = await shop.initialize({ reference, ...changes })
    assert.deepEqual([status, body.code], [409, 'reference_conflict'])
  }
  assert.equal((await shop.payment(reference)).attempts.length, 1)
})

test('an ended payment accepts no attempts, and the error says how it ended', async () => {
  const [paid, cancelled, expired] = [newReference(), newReference(), newReference()]
  const { data } = (await shop.initialize({ reference: paid })).body
  await pay(data.data.reference)
  await fetch(`${baseUrl}/return/${(await shop.payment(paid)).attempts[0].id}`, { redirect: 'manual' })
  await checkout(cancelled)
  await shop.call('POST', `/payments/v1/payments/${cancelled}/cancel`)
  await checkout(expired)
  await database.rows(sql`update payments set status = 'expired' where reference = ${expired}`)
  for (const [reference, code] of [
    [paid, 'payment_already_completed'],
    [cancelled, 'payment_cancelled'],
    [expired, 'payment_expired'],
  ] as const) {
    const { status, body } = await shop.initialize({ reference })
    assert.deepEqual([status, body.code, body.retryable], [409, code, false])
  }
})

test('an overdue payment accepts no attempts, also before the worker has expired it', async () => {
  const reference = newReference()
  await checkout(reference)
  await database.rows(sql`update payments set expires_at = now() - interval '1 second' where reference = ${reference}`)
  const { status, body } = await shop.initialize({ reference })
  assert.deepEqual([status, body.code], [409, 'payment_expired'])
  assert.equal((await shop.payment(reference)).attempts.length, 0)
})

test('B15: while an attempt is processing, another is 409 attempt_in_progress with its reference', async (t) => {
  const door = await doorInTrouble(t, service)
  const reference = newReference()
  door.upstream.trouble = 'silent after the work'
  const silent = await door.initialize(shop, { reference })
  assert.equal(silent.status, 504)
  for (const changes of [{}, TRANSFER]) {
    const { status, body, headers } = await shop.initialize({ reference, ...changes })
    assert.deepEqual([status, body.code, body.retryable], [409, 'attempt_in_progress', true])
    assert.equal(body.attempt, silent.body.attempt)
    assert.ok(Number(headers['retry-after']) > 0)
  }
  const cancel = await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
  assert.deepEqual([cancel.status, cancel.body.code], [409, 'attempt_in_progress'])
})

test('the 21st attempt is 409 too_many_attempts', async () => {
  const reference = newReference()
  for (let number = 1; number <= 20; number++) {
    assert.equal((await shop.initialize({ reference })).status, 200, `try ${number}`)
    await closeInstructions(database, reference)
  }
  const { status, body } = await shop.initialize({ reference })
  assert.deepEqual([status, body.code], [409, 'too_many_attempts'])
  assert.equal((await shop.payment(reference)).attempts.length, 20)
})

test('a refusal of the provider is 502 provider_error with its message, and the attempt fails', async (t) => {
  const door = await doorInTrouble(t, service)
  const reference = newReference()
  const refusal = {
    type: 'urn:manilla:problem:account_restricted',
    code: 'account_restricted',
    detail: 'Your account <b>is</b> restricted.',
  }
  door.upstream.garble = () => ({ status: 422, text: JSON.stringify(refusal) })
  const { status, body } = await door.initialize(shop, { reference })
  assert.deepEqual([status, body.code], [502, 'provider_error'])
  assert.equal(body.detail, 'gateway refused: Your account <b>is</b> restricted.')
  const payment = await shop.payment(reference)
  const [attempt] = payment.attempts
  assert.deepEqual([payment.status, attempt.status, attempt.reference], ['pending', 'failed', body.attempt])
  assert.deepEqual(attempt.failure, {
    code: 'provider_error',
    message: 'Your account <b>is</b> restricted.',
    retryable: true,
    providerCode: 'account_restricted',
  })
  assert.equal((await shop.initialize({ reference })).status, 200, 'and the payment can be tried again')
})

for (const trouble of [
  'silent before the work',
  'silent after the work',
  'reset after the work',
  'breaking off after the work',
  'answering 500 before the work',
  'answering 503 after the work',
  'answering 429',
] as const) {
  test(`B13: a provider that is ${trouble} is 504 provider_timeout: the attempt is processing, not failed`, async (t) => {
    const door = await doorInTrouble(t, service)
    door.upstream.trouble = trouble
    for (const changes of [{}, TRANSFER]) {
      const reference = newReference()
      const { status, body, headers } = await door.initialize(shop, { reference, ...changes })
      assert.deepEqual([status, body.code, body.retryable], [504, 'provider_timeout', true])
      assert.ok(Number(headers['retry-after']) > 0)
      const { attempts, status: now } = await shop.payment(reference)
      assert.deepEqual([now, attempts[0].status, attempts[0].reference], ['pending', 'processing', body.attempt])
      assert.ok(body.detail.includes(body.attempt))
      assert.equal(attempts[0].failure, null)
    }
  })
}

test('a failed connection to the provider is 502, the attempt fails, and another is allowed', async (t) => {
  const door = await doorInTrouble(t, service)
  await door.upstream.close()
  const reference = newReference()
  const { status, body, headers } = await door.initialize(shop, { reference })
  assert.deepEqual([status, body.code], [502, 'provider_error'])
  assert.ok(Number(headers['retry-after']) > 0)
  const [attempt] = (await shop.payment(reference)).attempts
  assert.deepEqual([attempt.status, attempt.failure.code], ['failed', 'provider_unavailable'])
  assert.equal((await shop.initialize({ reference })).status, 200)
})

test('the same key and body are answered with the first answer, and say so', async () => {
  const wanted = { reference: newReference() }
  const first = await shop.initialize(wanted, key('replayed'))
  assert.equal(first.headers['idempotent-replayed'], undefined)
  const again = await shop.initialize(wanted, key('replayed'))
  assert.deepEqual([again.status, again.headers['idempotent-replayed']], [200, 'true'])
  assert.deepEqual(again.body, first.body)
  assert.deepEqual(Object.keys(again.body.data), Object.keys(first.body.data))
  assert.equal((await shop.payment(wanted.reference)).attempts.length, 1)
})

test('a replay without a reference of the merchant’s is the same payment', async () => {
  const before = Number(await countPayments())
  const [first, again] = [await shop.initialize({}, key('made')), await shop.initialize({}, key('made'))]
  assert.deepEqual(again.body, first.body)
  assert.equal(await countPayments(), before + 1)
})

test('the same key with another body is 422 idempotency_key_reused', async () => {
  await shop.initialize({}, key('reused'))
  const { status, body } = await shop.initialize({ amount: 7 }, key('reused'))
  assert.deepEqual([status, body.code], [422, 'idempotency_key_reused'])
})

test('twenty concurrent calls with one key make one payment with one attempt; early repeats get 409', async () => {
  const before = Number(await countPayments())
  const all = await Promise.all(Array.from({ length: 20 }, () => shop.initialize({}, key('at once'))))
  const done = all.filter(({ status }) => status === 200)
  const early = all.filter(({ status }) => status === 409)
  assert.equal(done.length + early.length, 20)
  assert.ok(done.length >= 1 && early.length >= 1, `${done.length} and ${early.length}`)
  assert.equal(new Set(done.map(({ body }) => body.data.reference)).size, 1)
  for (const { body, headers } of early) {
    assert.deepEqual([body.code, body.retryable, headers['retry-after']], ['idempotency_in_progress', true, '1'])
  }
  assert.equal(await countPayments(), before + 1)
})

test('twenty at once with one reference and no key: one payment and one attempt, the same for all who are answered', async () => {
  const reference = newReference()
  const all = await Promise.all(Array.from({ length: 20 }, () => shop.initialize({ reference })))
  const started = all.filter(({ status }) => status === 200)
  for (const { status, body } of all) {
    if (status !== 200) assert.deepEqual([status, body.code], [409, 'attempt_in_progress'])
  }
  const { attempts } = await shop.payment(reference)
  assert.equal(attempts.length, 1)
  assert.ok(started.length >= 1)
  for (const { body } of started) assert.equal(body.data.reference, attempts[0].reference)
})

test('a refusal is not kept under the key: the corrected call works', async () => {
  const wrong = [{ amount: 0 }, { provider: 'paypal' }, { currency: 'EUR' }, { redirectUrl: 'x' }]
  for (const changes of wrong) assert.ok((await shop.initialize(changes, key('corrected'))).status >= 400)
  const { status, headers } = await shop.initialize({}, key('corrected'))
  assert.deepEqual([status, headers['idempotent-replayed']], [200, undefined])
})

test('a key belongs to one endpoint, one merchant and one mode', async () => {
  const other = await service.addShop()
  const body = { provider: 'gateway', amount: 900, country: 'NG', user: { email: 'a@b.co' } }
  const answers = [
    await shop.call('POST', '/payments/v1/checkouts', body, key('shared')),
    await shop.call('POST', INITIALIZE, body, key('shared')),
    await other.call('POST', INITIALIZE, body, key('shared')),
  ]
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers['idempotent-replayed']]),
    [
      [201, undefined],
      [200, undefined],
      [200, undefined],
    ],
  )
})

test('after a 504 the same key continues with the same payment, and starts nothing while the outcome is unknown', async (t) => {
  const door = await doorInTrouble(t, service)
  door.upstream.trouble = 'silent before the work'
  const before = Number(await countPayments())
  const first = await door.initialize(shop, {}, key('silent'))
  assert.equal(first.status, 504)
  const second = await shop.initialize({}, key('silent'))
  assert.deepEqual([second.status, second.body.code], [409, 'attempt_in_progress'])
  assert.equal(second.body.attempt, first.body.attempt)
  assert.equal(await countPayments(), before + 1)
  assert.equal((await shop.payment(first.body.attempt)).attempts.length, 1)
})

test('after a 502 the same key continues with the same payment and a new attempt', async (t) => {
  const door = await doorInTrouble(t, service)
  door.upstream.garble = () => ({ status: 422, text: '{"type":"urn:manilla:problem:no","code":"no","detail":"No."}' })
  const before = Number(await countPayments())
  const first = await door.initialize(shop, {}, key('refused'))
  assert.equal(first.status, 502)
  const second = await shop.initialize({}, key('refused'))
  assert.deepEqual([second.status, second.headers['idempotent-replayed']], [200, undefined])
  const { attempts } = await shop.payment(first.body.attempt)
  assert.deepEqual(
    attempts.map(({ reference, status }: Record<string, string>) => [reference, status]),
    [
      [first.body.attempt, 'failed'],
      [second.body.data.reference, 'pending'],
    ],
  )
  assert.equal(await countPayments(), before + 1)
  assert.deepEqual((await shop.initialize({}, key('refused'))).body, second.body)
})

test('a key never creates a second payment, even if the first has ended', async (t) => {
  const door = await doorInTrouble(t, service)
  door.upstream.garble = () => ({ status: 422, text: '{"type":"urn:manilla:problem:no","code":"no","detail":"No."}' })
  const first = await door.initialize(shop, {}, key('ended'))
  assert.equal(first.status, 502)
  const { id } = await shop.payment(first.body.attempt)
  assert.equal((await shop.call('POST', `/payments/v1/payments/${id}/cancel`)).status, 200)
  const before = await countPayments()
  for (const _ of [1, 2]) {
    const { status, body } = await shop.initialize({}, key('ended'))
    assert.deepEqual([status, body.code], [409, 'payment_cancelled'])
  }
  assert.equal(await countPayments(), before)
})

test('F2: another merchant’s payment, attempt or reference is 404, like an unknown one', async () => {
  const other = await service.addShop()
  const { data } = (await shop.initialize({ reference: newReference() })).body
  const payment = await shop.payment(data.reference)
  const calls = (name: string) =>
    [
      ['GET', `/payments/v1/payments/${name}`],
      ['GET', `/payments/v1/payments/${name}/timeline`],
      ['POST', `/payments/v1/payments/${name}/cancel`],
      ['POST', `/payments/v1/payments/${name}/refunds`],
    ] as const
  const without = ({ instance: _, requestId: __, ...problem }: Record<string, unknown>) => problem
  for (const name of [payment.reference, data.reference, payment.id]) {
    for (const [index, [method, path]] of calls(name).entries()) {
      const body = path.endsWith('refunds') ? {} : undefined
      const theirs = await other.call(method, path, body)
      const [, nowhere] = calls('never-was')[index] as (typeof calls extends (name: string) => infer Calls
        ? Calls
        : never)[number]
      const madeUp = await other.call(method, nowhere, body)
      assert.equal(theirs.status, 404, `${method} ${path}`)
      assert.deepEqual(without(theirs.body), without(madeUp.body))
    }
  }
  assert.equal((await other.call('POST', `/sandbox/gateway/charges/${data.data.reference}`, {})).status, 404)
  const own = await other.initialize({ reference: payment.reference })
  assert.equal(own.status, 200, 'and a reference of one merchant is free for another')
  assert.notEqual((await other.payment(payment.reference)).id, payment.id)
  assert.equal((await shop.payment(payment.reference)).attempts.length, 1)
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

test('cancelling a payment abandons its pending attempt', async () => {
  const reference = newReference()
  const { data } = (await shop.initialize({ reference })).body
  const { status, body } = await shop.call('POST', `/payments/v1/payments/${data.reference}/cancel`)
  assert.equal(status, 200)
  const [attempt] = body.data.attempts
  assert.deepEqual([body.data.status, attempt.status], ['cancelled', 'abandoned'])
  assert.ok(attempt.resolvedAt && body.data.completedAt)
  assert.deepEqual(await shop.payment(reference), body.data)
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

for (const [channel, provider] of [
  ['card', 'gateway'],
  ['account', 'gateway-virtual-bank-account'],
] as const) {
  test(`A5: a call that died after its attempt was started answers the instructions of that attempt again: ${channel}`, async () => {
    const reference = newReference()
    const wanted = { provider, reference }
    const first = await shop.initialize(wanted, key(`died-${channel}`))
    assert.equal(first.status, 200)
    // As the process leaves it that dies between the provider's answer and ours; and a minute passes.
    await database.rows(sql`
      update idempotent_calls set answer = null, running_until = now() - interval '1 second',
             created_at = created_at - interval '1 minute'
       where merchant_id = ${shop.merchantUuid} and key = ${`died-${channel}`}`)
    const again = await shop.initialize(wanted, key(`died-${channel}`))
    assert.deepEqual([again.status, again.body], [200, first.body])
    assert.equal((await shop.payment(reference)).attempts.length, 1)
    const third = await shop.initialize(wanted, key(`died-${channel}`))
    assert.deepEqual([third.headers['idempotent-replayed'], third.body], ['true', first.body])
  })
}

test('a virtual account closes with its payment, if that ends first', async () => {
  const short = newReference()
  const { body } = await shop.initialize({ ...TRANSFER, reference: short, expiresIn: 900 })
  assert.equal(body.data.data.expiresAt, (await shop.payment(short)).expiresAt)
  const long = newReference()
  const { body: other } = await shop.initialize({ ...TRANSFER, reference: long, expiresIn: 604_800 })
  assert.ok(Date.parse(other.data.data.expiresAt) < Date.parse((await shop.payment(long)).expiresAt))
})

test('an attempt that cannot be prepared starts nothing and does not block another', async () => {
  const reference = newReference()
  const { id } = (await checkout(reference)).body.data
  const { capabilities } = parts.providers.find('gateway') ?? assert.fail()
  await database.rows(sql`alter table integrations rename to integrations_away`)
  try {
    await assert.rejects(startById(parts, id, { capabilities, channel: 'card' }), /integrations/)
  } finally {
    await database.rows(sql`alter table integrations_away rename to integrations`)
  }
  assert.deepEqual((await shop.payment(reference)).attempts, [])
  assert.equal((await shop.initialize({ reference })).status, 200)
})
