import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ACCOUNT,
  BANK,
  CAMEROON,
  GHANA,
  handleOf,
  KENYA,
  nameOf,
  orderOf,
  RWANDA,
  setUp,
  TANZANIA,
  USSD,
  type Wanted,
} from '../../../test/fakes/flutterwave/charge-orders.ts'
import { CHANNELS } from '../../../test/fakes/flutterwave/samples.ts'
import { CHANNELS as EVERY_CHANNEL } from '../../kernel/channel.ts'
import { offerOf } from '../capabilities.ts'
import type { ChannelInput } from '../provider.ts'
import { capabilities, MOBILE_MONEY, USSD_BANKS } from './capabilities.ts'

const PENDING = { kind: 'pending', receipts: [] }

for (const sample of CHANNELS) {
  test(`${nameOf(sample)}: the notice and the list have the same money as the check`, async (t) => {
    const { connection, customer, takeNotices, triesOf } = await setUp(t)
    const order = orderOf(sample)
    const start = await connection.start(order)
    assert.equal(start.kind, sample.starts)
    const handle = handleOf(order, start)
    assert.notEqual(handle.providerReference, order.reference, 'an unused page is not one that they never heard of')
    assert.deepEqual(await connection.check(handle), PENDING)
    await customer.approve?.(order.reference)
    const paid = await connection.check(handle)
    assert.ok(paid.kind === 'paid' && paid.savedCard === undefined)
    const [receipt] = paid.receipts
    assert.deepEqual(receipt?.amount, order.amount)
    const [notice] = takeNotices().map((each) => connection.readNotice({ ...each, receivedAt: new Date() }))
    assert.deepEqual(notice, { kind: 'notice', reference: order.reference, says: 'paid', receipts: [receipt] })
    const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
    const listed = await connection.lists?.transactions?.(range, null)
    assert.ok(
      listed?.kind === 'page' && listed.entries.some(({ transactionId }) => transactionId === receipt?.transactionId),
    )
    assert.equal(triesOf(order.reference).length, 1)
  })
}

test('there is a sample for each channel and currency beside cards and transfers', () => {
  const sampled = new Set(CHANNELS.map(({ channel, price }) => `${channel} ${price.currency}`))
  const offered = EVERY_CHANNEL.filter((each) => each !== 'card' && each !== 'virtual-bank-account').flatMap(
    (channel) => Object.keys(capabilities.offers[channel] ?? {}).map((currency) => `${channel} ${currency}`),
  )
  assert.deepEqual([...sampled].sort(), offered.sort())
  for (const [country, { currency, networks }] of Object.entries(MOBILE_MONEY)) {
    const offer = offerOf(capabilities, 'mobile-money', currency)
    assert.deepEqual(offer?.networks?.[country], Object.keys(networks))
    assert.ok(capabilities.countries.includes(country))
  }
  assert.equal(USSD_BANKS.length, 18)
})

const R = 'r'.repeat(32)
const RETURN = { redirect_url: 'https://shop.example/return?order=1' }
const ADA = { tx_ref: R, email: 'ada@example.com', fullname: 'Ada' }
const BODIES: [Wanted, string, object][] = [
  [
    GHANA,
    'mobile_money_ghana',
    { amount: '150.00', currency: 'GHS', phone_number: '233547099292', network: 'Telecel', ...RETURN },
  ],
  [KENYA, 'mpesa', { amount: '10.00', currency: 'KES', phone_number: '254709929220', ...RETURN }],
  [
    RWANDA,
    'mobile_money_rwanda',
    { amount: '1500', currency: 'RWF', phone_number: '250780992922', network: 'MTN', order_id: R, ...RETURN },
  ],
  [
    CAMEROON,
    'mobile_money_franco',
    { amount: '10', currency: 'XAF', phone_number: '237690000020', network: 'ORANGEMONEY', country: 'CM', ...RETURN },
  ],
  [
    TANZANIA,
    'mobile_money_tanzania',
    { amount: '150.00', currency: 'TZS', phone_number: '255620835136', network: 'Halopesa', ...RETURN },
  ],
  [USSD, 'ussd', { amount: '1500.00', currency: 'NGN', account_bank: '058' }],
  [BANK, 'mono', { amount: '300.00', currency: 'NGN', ...RETURN }],
  [ACCOUNT, 'bank_transfer', { amount: '1500.00', currency: 'GHS', bank_transfer_options: { expires: 900 } }],
]
for (const [wanted, type, body] of BODIES) {
  test(`${nameOf(wanted)} is asked for as ${type}, with their names for things`, async (t) => {
    const { connection, bodyOf } = await setUp(t)
    await connection.start(orderOf(wanted, R))
    assert.deepEqual(bodyOf(0), [`POST /v3/charges?type=${type}`, { ...ADA, ...body }])
  })
}

test('a code that the customer made beforehand goes with the charge', async (t) => {
  const { connection, bodyOf } = await setUp(t)
  await connection.start(orderOf({ ...GHANA, input: { ...GHANA.input, preAuthorisationCode: '128373' } }))
  assert.equal(bodyOf(0)[1].voucher, '128373')
})

test('nothing is asked for without a number, or for a network, a country or a bank that is not offered', async (t) => {
  const { connection, asked } = await setUp(t)
  const { network, phoneNumber } = GHANA.input
  for (const wanted of [
    { ...GHANA, input: { network } as ChannelInput },
    { ...GHANA, input: { phoneNumber } as ChannelInput },
    { ...GHANA, input: { phoneNumber, network: 'airtel' } as ChannelInput },
    { ...GHANA, price: { ...GHANA.price, country: 'KE' } },
    { ...GHANA, price: { ...GHANA.price, country: 'constructor' } },
    { ...USSD, input: {} },
    { ...USSD, input: { bank: '999' } },
    { ...USSD, channel: 'qr' as const },
  ]) {
    const start = await connection.start(orderOf(wanted))
    assert.ok(start.kind === 'declined' && start.failure.code === 'provider_error', nameOf(wanted))
  }
  assert.deepEqual(asked, [])
})

test('their timeout after 28 seconds, a 503, says nothing about the charge', async (t) => {
  const { connection, upstream } = await setUp(t)
  const text = '{"status":"error","message":"An error occurred. Please contact support","data":null}'
  upstream.garble = () => ({ status: 503, text })
  for (const wanted of [GHANA, KENYA, USSD, BANK, ACCOUNT]) {
    assert.equal((await connection.start(orderOf(wanted))).kind, 'unknown', nameOf(wanted))
  }
})

for (const trouble of ['reset after the work', 'silent after the work', 'answering 503 after the work'] as const) {
  test(`a prompt whose answer is lost by ${trouble} is found by its reference`, async (t) => {
    const { connection, upstream, customer } = await setUp(t)
    const order = orderOf(KENYA)
    upstream.trouble = trouble
    const start = await connection.start(order)
    assert.equal(start.kind, 'unknown')
    upstream.trouble = undefined
    assert.equal((await connection.start(order)).kind, 'unknown', 'a reference is used once')
    assert.deepEqual(await connection.check(handleOf(order, start)), PENDING)
    await customer.approve?.(order.reference)
    assert.equal((await connection.check(handleOf(order, start))).kind, 'paid')
  })
}

const TYPES = ['mobilemoneygh', 'mpesa', 'ussd', 'bank_transfer', 'account', 'applepay', 'qr', 'one-that-is-new']
for (const type of TYPES) {
  test(`a card link can be paid by ${type}, for their dashboard decides what the page offers`, async (t) => {
    const { connection, addTry, takeNotices } = await setUp(t)
    const order = orderOf({ ...BANK, channel: 'card' })
    const handle = handleOf(order, await connection.start(order))
    addTry(order.reference, { type, status: 'failed', response: 'Declined' })
    const declined = await connection.check(handle)
    assert.ok(declined.kind === 'declined')
    assert.equal(declined.failure.code, type === 'applepay' ? 'card_declined' : 'other')
    addTry(order.reference, { type })
    const paid = await connection.check(handle)
    assert.ok(paid.kind === 'paid' && paid.receipts.length === 1 && paid.savedCard === undefined)
    const said = takeNotices().map((notice) => connection.readNotice({ ...notice, receivedAt: new Date() }))
    assert.deepEqual(
      said.map((each) => each.kind === 'notice' && each.says),
      ['failed', 'paid'],
    )
  })
}
