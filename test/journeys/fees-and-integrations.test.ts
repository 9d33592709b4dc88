import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addIntegration } from '../../src/integrations/integration-store.ts'
import { providerName } from '../../src/kernel/channel.ts'
import type { Country } from '../../src/kernel/country.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { offerOf } from '../../src/providers/capabilities.ts'
import { capabilities } from '../../src/providers/gateway/capabilities.ts'
import { eventually, request, startPaying } from '../support/paying.ts'
import { charge, isPaid } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, baseUrl, parts } = service
const shop = await service.addShop()

const quote = (body: unknown) => shop.call('POST', '/payments/v1/fees/quote', body)
const integrations = (query = '') => shop.call('GET', `/payments/v1/integrations${query}`)

test('a quote has a row for each provider and channel: what it keeps, what the customer pays, what the merchant gets', async () => {
  const { status, body } = await quote({ amount: 1_000_000, currency: 'NGN', country: 'NG' })
  assert.equal(status, 200)
  assert.deepEqual(body, {
    data: [
      { provider: 'gateway', channel: 'card', fee: 25_000, amountCharged: 1_000_000, amountSettled: 975_000 },
      {
        provider: 'gateway',
        channel: 'virtual-bank-account',
        fee: 10_000,
        amountCharged: 1_000_000,
        amountSettled: 990_000,
      },
      { provider: 'gateway', channel: 'ussd', fee: 10_000, amountCharged: 1_000_000, amountSettled: 990_000 },
      { provider: 'gateway', channel: 'bank', fee: 10_000, amountCharged: 1_000_000, amountSettled: 990_000 },
      { provider: 'gateway', channel: 'qr', fee: 5_000, amountCharged: 1_000_000, amountSettled: 995_000 },
    ],
    nextCursor: null,
  })
})

test('a customer who bears the charge pays the smallest amount that leaves the price: 10,000.00 becomes 10,253.81', async () => {
  const { body } = await quote({ amount: 1_000_000, country: 'Nigeria', customerBearsCharge: true })
  assert.deepEqual(body.data, [
    { provider: 'gateway', channel: 'card', fee: 25_381, amountCharged: 1_025_381, amountSettled: 1_000_000 },
    {
      provider: 'gateway',
      channel: 'virtual-bank-account',
      fee: 10_102,
      amountCharged: 1_010_102,
      amountSettled: 1_000_000,
    },
    { provider: 'gateway', channel: 'ussd', fee: 10_102, amountCharged: 1_010_102, amountSettled: 1_000_000 },
    { provider: 'gateway', channel: 'bank', fee: 10_102, amountCharged: 1_010_102, amountSettled: 1_000_000 },
    { provider: 'gateway', channel: 'qr', fee: 5_026, amountCharged: 1_005_026, amountSettled: 1_000_000 },
  ])
})

test('what a quote says is what an attempt charges, in every currency and around every step of the schedule', async () => {
  for (const currency of ['NGN', 'GHS', 'USD']) {
    for (const amount of [1, 246_249, 246_250, 249_999, 12_666_667, 12_900_000]) {
      for (const customerBearsCharge of [false, true]) {
        const wanted = { amount, currency, country: 'NG', customerBearsCharge }
        for (const row of (await quote(wanted)).body.data) {
          const provider = providerName('gateway', row.channel)
          const bank = offerOf(capabilities, row.channel, currency)?.banks?.[0]?.code
          const { body } = await shop.initialize({ provider, ...wanted, ...(bank && { bank }) })
          assert.equal(body.data.amount, amount, 'the price stays what was asked for')
          const [attempt] = (await shop.payment(body.data.reference)).attempts
          assert.deepEqual([attempt.amountCharged, attempt.fee], [row.amountCharged, row.fee])
          if (customerBearsCharge) assert.ok(row.amountSettled >= amount)
          if (row.channel === 'virtual-bank-account') assert.equal(body.data.data.amountToTransfer, row.amountCharged)
        }
      }
    }
  }
})

test('the charge is what the provider takes, and the payment shows it once it is paid', async () => {
  const { data } = (await shop.initialize({ amount: 1_000_000, customerBearsCharge: true })).body
  assert.match(data.data.message, /₦10,253\.81/)
  const open = await shop.payment(data.reference)
  assert.deepEqual([open.amount, open.fee, open.amountCharged, open.amountPaid], [1_000_000, null, null, 0])
  await charge(shop, data.data.reference)
  const paid = await eventually(() => shop.payment(data.reference), isPaid)
  assert.deepEqual(
    [paid.amount, paid.fee, paid.amountCharged, paid.amountPaid],
    [1_000_000, 25_381, 1_025_381, 1_025_381],
  )
  const { body } = await shop.call('GET', `/sandbox/gateway/ledger?reference=${data.data.reference}`)
  assert.equal(body.data.amount, 1_025_381)
})

test('a transfer of the price alone is short when the customer bears the charge', async () => {
  const provider = 'gateway-virtual-bank-account'
  const { data } = (await shop.initialize({ provider, amount: 1_000_000, customerBearsCharge: true })).body
  const { accountNumber, amountToTransfer, message } = data.data
  assert.equal(amountToTransfer, 1_010_102)
  assert.match(message, /₦10,101\.02/)
  const transfer = (amount: number) => shop.call('POST', '/sandbox/gateway/transfers', { accountNumber, amount })
  await transfer(1_000_000)
  const short = await eventually(
    () => shop.payment(data.reference),
    ({ amountPaid }) => amountPaid === 1_000_000,
  )
  assert.deepEqual([short.status, short.attempts[0].status], ['pending', 'pending'])
  await transfer(10_102)
  const paid = await eventually(() => shop.payment(data.reference), isPaid)
  assert.equal(paid.amountPaid, 1_010_102)
})

test('a row that the provider would not take is left out; where nothing fits the list is empty', async () => {
  const over = await quote({ amount: 999_999_999_999, country: 'NG', customerBearsCharge: true })
  assert.deepEqual([over.status, over.body], [200, { data: [], nextCursor: null }])
  const whole = await quote({ amount: 999_999_999_999, country: 'NG' })
  assert.deepEqual(
    whole.body.data.slice(0, 2).map(({ fee }: { fee: number }) => fee),
    [200_000, 30_000],
    'capped',
  )
  for (const elsewhere of [{ country: 'FR' }, { country: 'NG', currency: 'EUR' }]) {
    assert.deepEqual((await quote({ amount: 5, ...elsewhere })).body, { data: [], nextCursor: null })
  }
})

test('a wrong request for a quote reports all its mistakes', async () => {
  const { status, body } = await quote({ amount: 1.5, currency: 'kobo', customerBearsCharge: 1 })
  assert.deepEqual([status, body.code], [400, 'invalid_request'])
  assert.deepEqual(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
    '/amount',
    '/country',
    '/currency',
    '/customerBearsCharge',
  ])
  const misspelt = await quote({ amount: 5, country: 'NG', customerBearCharge: true })
  assert.deepEqual([misspelt.status, misspelt.body.code], [400, 'unknown_field'])
})

test('the integrations are those that the page would offer', async () => {
  const { status, body } = await integrations()
  assert.equal(status, 200)
  assert.deepEqual(body, {
    data: [
      {
        provider: 'gateway',
        channels: ['card', 'virtual-bank-account', 'mobile-money', 'ussd', 'bank', 'qr'],
        countries: ['NG', 'GH', 'KE', 'ZA', 'UG', 'RW', 'ZM', 'TZ', 'CI', 'SN'],
        currencies: ['NGN', 'GHS', 'KES', 'ZAR', 'UGX', 'RWF', 'ZMW', 'TZS', 'XOF', 'USD'],
        priority: 1_000,
      },
    ],
    nextCursor: null,
  })
})

test('country and currency narrow the integrations down, in any spelling', async () => {
  const ghana = {
    provider: 'elsewhere',
    channels: ['card' as const],
    countries: ['GH'] as Country[],
    currencies: ['GHS'] as Currency[],
  }
  const own = await service.addShop()
  await database.transaction((tx) => addIntegration(tx, { merchantId: own.merchantId, mode: 'sandbox' }, ghana))
  for (const [query, providers] of [
    ['', ['elsewhere', 'gateway']],
    ['?country=GH', ['elsewhere', 'gateway']],
    ['?country=ghana&currency=ghs', ['elsewhere', 'gateway']],
    ['?country=NGA', ['gateway']],
    ['?currency=USD', ['gateway']],
    ['?country=FR', []],
    ['?currency=EUR', []],
    ['?country=&currency=', undefined],
  ] as const) {
    const { status, body } = await own.call('GET', `/payments/v1/integrations${query}`)
    if (!providers) assert.equal(status, 400, query)
    else assert.deepEqual(body.data.map(({ provider }: { provider: string }) => provider).sort(), providers, query)
  }
  for (const query of ['?country=Atlantis', '?currency=kobo', '?country=NG&country=GH']) {
    const { status, body } = await own.call('GET', `/payments/v1/integrations${query}`)
    assert.deepEqual([status, body.code], [400, 'invalid_request'], query)
  }
})

test('in live mode there is neither an integration nor a quote of a provider that moves no real money', async () => {
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId, 'live')
  const live = { 'client-id': clientId, 'client-secret': clientSecret }
  const list = await request(`${baseUrl}/payments/v1/integrations`, 'GET', live)
  const rows = await request(`${baseUrl}/payments/v1/fees/quote`, 'POST', live, { amount: 5, country: 'NG' })
  assert.deepEqual(
    [list.body, rows.body],
    [
      { data: [], nextCursor: null },
      { data: [], nextCursor: null },
    ],
  )
})
