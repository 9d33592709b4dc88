import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byPesalink,
  byQr,
  byUssd,
  handle,
  inAbidjan,
  inGhana,
  inKenya,
  order,
  orderBy,
  pending,
  setUp,
  unknown,
} from '../../../test/fakes/paystack/rig.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order } from '../provider.ts'
import { paystack } from './adapter.ts'

// The bodies are those of PaystackOSS/doc-code-snippets, `src/doc/payments/payment-methods`, with our reference.

const in180s = (at: Date) => assert.ok(Math.abs(at.getTime() - Date.now() - 180_000) < 10_000, at.toISOString())

const { reference } = order()

const REQUESTS: [string, Order, object][] = [
  ['MTN in Ghana', inGhana('mtn'), { mobile_money: { phone: '0551234987', provider: 'mtn' } }],
  ['AT', inGhana('at', '0271234987'), { mobile_money: { phone: '0271234987', provider: 'atl' } }],
  ['Telecel', inGhana('telecel', '+233201234987'), { mobile_money: { phone: '0201234987', provider: 'vod' } }],
  [
    'M-PESA',
    inKenya({ network: 'mpesa', phoneNumber: '0710000000' }),
    { mobile_money: { phone: '+254710000000', provider: 'mpesa' } },
  ],
  [
    'Airtel',
    inKenya({ network: 'airtel', phoneNumber: '+254730000000' }),
    { mobile_money: { phone: '+254730000000', provider: 'atl' } },
  ],
  ['a paybill without a phone', inKenya({ network: 'mpesa-paybill' }), { mobile_money: { provider: 'mpesa_offline' } }],
  [
    'Wave',
    inAbidjan({ network: 'wave', phoneNumber: '+2250700000000' }),
    { amount: 500_000, mobile_money: { phone: '0700000000', provider: 'wave' } },
  ],
  ['USSD of Zenith Bank', byUssd('057'), { ussd: { type: '966' } }],
  ['a QR code', byQr(), { qr: { provider: 'scan-to-pay' } }],
]
for (const [name, asked, wanted] of REQUESTS) {
  test(`paystack is asked for ${name} in the documented words`, async (t) => {
    const { connection, asked: requests } = await setUp(t)
    await connection.start({ ...asked, customer: { ...asked.customer, phoneNumber: null } })
    assert.equal(`${requests[0]?.method} ${requests[0]?.path}`, 'POST /charge')
    const { amount, currency } = asked.amount
    const common = { email: 'ada@example.com', amount, currency, reference }
    assert.deepEqual(JSON.parse(requests[0]?.body ?? ''), { ...common, ...wanted })
  })
}

for (const [currency, country, channel] of [
  ['NGN', 'NG', 'bank'],
  ['ZAR', 'ZA', 'eft'],
] as const) {
  test(`paystack: pay with bank in ${currency} is its page with ${channel} alone`, async (t) => {
    const { connection, asked, customer } = await setUp(t)
    const start = await connection.start(orderBy('bank', 18_900, currency, {}, country))
    assert.ok(start.kind === 'link' && start.paidOnce)
    assert.deepEqual(JSON.parse(asked[0]?.body ?? '').channels, [channel])
    assert.deepEqual(await connection.check(handle('bank')), pending)
    await customer.approve?.(reference)
    const outcome = await connection.check(handle('bank'))
    assert.ok(outcome.kind === 'paid' && outcome.savedCard === undefined)
  })
}

test('paystack: a phone that the customer gave with the payment will do', async (t) => {
  const { connection, asked } = await setUp(t)
  const ofPayment = { ...order().customer, phoneNumber: '+233551234987' }
  const { network } = inGhana('mtn').input
  await connection.start({ ...inGhana('mtn'), input: network ? { network } : {}, customer: ofPayment })
  assert.equal(JSON.parse(asked[0]?.body ?? '').mobile_money.phone, '0551234987')
})

const NOT_ASKED: [string, Order, string][] = [
  ['a network that it does not have', inGhana('moov' as 'mtn'), 'network_not_supported'],
  ['no network', inKenya({ phoneNumber: '+254710000000' }), 'network_not_supported'],
  ['no phone', { ...inGhana('mtn', ''), customer: { ...order().customer, phoneNumber: null } }, 'phone_number_missing'],
  ['a phone of another country', inGhana('mtn', '+254710000000'), 'phone_number_missing'],
  ['no bank', byUssd(), 'bank_not_supported'],
  ['a bank without a documented type', byUssd('constructor'), 'bank_not_supported'],
  ['pay with bank in Ghana', orderBy('bank', 10_000, 'GHS', {}, 'GH'), 'currency_not_supported'],
]
for (const [name, asked, code] of NOT_ASKED) {
  test(`paystack is not asked with ${name}`, async (t) => {
    const { connection, asked: requests } = await setUp(t)
    const outcome = await connection.start(asked)
    assert.ok(outcome.kind === 'declined' && outcome.failure.providerCode === code)
    assert.deepEqual(requests, [])
  })
}

test('paystack: mobile money in XOF is off until the merchant has confirmed its amounts', async (t) => {
  const { upstream, settings, asked } = await setUp(t)
  const { xofAmounts, ...others } = settings
  const http = { request: () => assert.fail('nothing is asked for') }
  const connection = paystack.connect({ mode: 'sandbox', settings: others, baseURL: upstream.url, http })
  const outcome = await connection.start(inAbidjan({ network: 'mtn', phoneNumber: '+2250500000000' }))
  assert.ok(outcome.kind === 'declined' && outcome.failure.providerCode === 'xof_amounts_not_confirmed')
  assert.deepEqual([xofAmounts, asked], ['hundredths', []])
})

const PHONE_TEXT = 'Please complete authorization process on your mobile phone'
const transaction = (changes: object = {}) => ({
  ...{
    amount: 10_000,
    channel: 'mobile_money',
    created_at: '2018-11-17T14:39:56.000Z',
    currency: 'GHS',
    domain: 'test',
  },
  ...{ fees: 153, gateway_response: 'Approved', id: 59_333, ip_address: '35.177.189.123', message: 'madePayment' },
  ...{
    paid_at: '2018-11-17T14:40:18.000Z',
    reference,
    status: 'success',
    transaction_date: '2018-11-17T14:39:56.000Z',
  },
  authorization: {
    ...{ authorization_code: 'AUTH_33lz7ev5tq', bank: 'MTN Mobile Money', bin: '055XXX', brand: 'Mtn mobile money' },
    ...{ channel: 'mobile_money', country_code: 'GH', exp_month: 12, exp_year: 9999, last4: 'X149', reusable: false },
    account_name: null,
  },
  customer: { customer_code: 'CUS_16763', email: 'customer@email.com', id: 16_763, risk_action: 'default' },
  ...changes,
})
const paid = {
  kind: 'paid',
  receipts: [
    {
      ...{ transactionId: '59333', idIsProviders: true, amount: money(10_000, 'GHS' as Currency) },
      at: new Date('2018-11-17T14:40:18.000Z'),
    },
  ],
}
const failure = (code: string, providerCode: string) => ({ code, providerCode })

const ANSWERS: [string, Order, object, object][] = [
  [
    'pay_offline',
    inGhana('mtn'),
    { status: 'pay_offline', display_text: PHONE_TEXT },
    { kind: 'prompt', message: PHONE_TEXT },
  ],
  ['pay_offline without words', inGhana('mtn'), { status: 'pay_offline' }, { kind: 'prompt' }],
  ['pending', inGhana('mtn'), { status: 'pending' }, { kind: 'prompt' }],
  [
    'pending with words',
    inGhana('mtn'),
    { status: 'pending', display_text: 'Processing transaction' },
    { kind: 'prompt' },
  ],
  [
    'a number and an account',
    inKenya({ network: 'mpesa-paybill' }),
    { status: 'pay_offline', display_text: PHONE_TEXT, account_number: '4084333', account_reference: 1_234_567 },
    { kind: 'pay to', number: '4084333', account: '1234567' },
  ],
  [
    'a voucher that is wanted',
    inGhana('telecel'),
    { status: 'send_otp', display_text: 'Please dial *110# to generate a voucher code. Then input the voucher' },
    {
      kind: 'code wanted',
      code: 'voucher',
      message: 'Please dial *110# to generate a voucher code. Then input the voucher',
    },
  ],
  ['a code that is wanted', inGhana('mtn'), { status: 'send_otp' }, { kind: 'code wanted', code: 'otp', message: '' }],
  [
    'a page',
    inAbidjan({ network: 'wave', phoneNumber: '+2250700000000' }),
    { status: 'open_url', url: 'https://standard.paystack.co/close' },
    { kind: 'link', link: 'https://standard.paystack.co/close', paidOnce: true },
  ],
  [
    'a code to dial',
    byUssd('058'),
    {
      ...{ status: 'pay_offline', ussd_code: '*737*33*4*18791#' },
      display_text: 'Please dial *737*33*4*18791# on your mobile phone to complete the transaction',
    },
    {
      ...{ kind: 'dial', code: '*737*33*4*18791#', bankName: 'Guaranty Trust Bank' },
      message: 'Please dial *737*33*4*18791# on your mobile phone to complete the transaction',
    },
  ],
  [
    'a QR code',
    byQr(),
    {
      status: 'pay_offline',
      qr_code: '0002010216421527000104176|16304713a',
      url: 'https://files.paystack.co/qr/1.png',
    },
    { kind: 'qr', text: '0002010216421527000104176|16304713a' },
  ],
  ['success at once', inGhana('mtn'), transaction(), paid],
  ['success at once with fees on top', inGhana('mtn'), transaction({ amount: 10_153 }), paid],
  [
    'success of another amount',
    inGhana('mtn'),
    transaction({ amount: 9_000 }),
    unknown('it answered with another amount'),
  ],
  ['success in live mode', inGhana('mtn'), transaction({ domain: 'live' }), unknown('it answered in another mode')],
  ['success without a transaction', inGhana('mtn'), { status: 'success' }, { kind: 'unknown' }],
  [
    'failed',
    inGhana('mtn'),
    { status: 'failed', message: 'Insufficient funds' },
    { kind: 'declined', tryId: null, failure: failure('insufficient_funds', 'Insufficient funds') },
  ],
  [
    'failed at the bank',
    inGhana('mtn'),
    { status: 'failed', message: 'Error occured while enrolling you for OTP!' },
    { kind: 'declined', failure: failure('other', 'Error occured while enrolling you for OTP!') },
  ],
  ['nothing to dial', byUssd('058'), { status: 'pay_offline' }, { kind: 'unknown' }],
  ['nothing to scan', byQr(), { status: 'pay_offline' }, { kind: 'unknown' }],
  ['no number to pay to', inKenya({ network: 'mpesa-paybill' }), { status: 'pay_offline' }, { kind: 'unknown' }],
  ['no page', inGhana('mtn'), { status: 'open_url', url: 'javascript:alert(1)' }, { kind: 'unknown' }],
  [
    'another order',
    inGhana('mtn'),
    { status: 'pay_offline', reference: 'other' },
    unknown('it answered about another order'),
  ],
  ['a new status', inGhana('mtn'), { status: 'thinking' }, unknown('it says a status that is new to us')],
  ...['send_pin', 'send_phone', 'send_birthday', 'send_address'].map((status): [string, Order, object, object] => [
    status,
    inGhana('mtn'),
    { status, display_text: 'Please enter it' },
    { kind: 'declined', failure: failure('provider_error', status) },
  ]),
  [
    'a code for a bank',
    byUssd('058'),
    { status: 'send_otp' },
    { kind: 'declined', failure: failure('provider_error', 'send_otp') },
  ],
  [
    'a code not yet there',
    byUssd('058'),
    { status: 'pending' },
    { kind: 'declined', failure: failure('provider_error', 'pending') },
  ],
]
for (const [name, asked, data, wanted] of ANSWERS) {
  test(`paystack answers a charge with ${name}`, async (t) => {
    const { connection, say } = await setUp(t)
    say(200, { status: true, message: 'Charge attempted', data: { reference, ...data } })
    const start = await connection.start(asked)
    assert.partialDeepStrictEqual(start, wanted)
    if (start.kind === 'prompt') {
      in180s(start.expiresAt)
      assert.equal(start.message !== undefined, 'message' in wanted)
    }
    if ('expiresAt' in start && start.kind !== 'prompt') assert.deepEqual(start.expiresAt, asked.expiresAt)
    if (start.kind === 'paid') assert.equal(start.savedCard, undefined)
  })
}

test('paystack: a prompt ends with its payment', async (t) => {
  const { connection } = await setUp(t)
  const expiresAt = new Date(Date.now() + 60_000)
  const start = await connection.start({ ...inGhana('mtn'), expiresAt })
  assert.ok(start.kind === 'prompt')
  assert.deepEqual(start.expiresAt, expiresAt)
})

test('paystack: a charge that failed behind them may have sent a prompt', async (t) => {
  const { connection, say } = await setUp(t)
  say(400, { status: false, message: 'Network error', type: 'processor_error', code: 'processor_error' })
  assert.deepEqual(await connection.start(inGhana('mtn')), unknown('its processor failed'))
})

test('paystack: a voucher is given, and a wrong one again', async (t) => {
  const { connection, asked, customer, say, upstream } = await setUp(t)
  const asWanted = inGhana('telecel', '+233201234987')
  assert.equal((await connection.start(asWanted)).kind, 'code wanted')
  const waiting = { ...handle('mobile-money'), amount: asWanted.amount }
  assert.equal((await connection.submit?.(waiting, '000000'))?.kind, 'code refused')
  const { path, body } = asked.at(-1) ?? assert.fail()
  assert.deepEqual([path, JSON.parse(body)], ['/charge/submit_otp', { otp: '000000', reference }])
  for (const said of [
    { status: true, message: 'Charge attempted', data: { reference, status: 'send_otp', display_text: 'Try again' } },
    { status: true, message: 'Charge attempted', data: { reference, status: 'send_otp' } },
  ]) {
    say(200, said)
    const refused = await connection.submit?.(waiting, '000000')
    assert.ok(refused?.kind === 'code refused' && refused.because)
  }
  upstream.garble = undefined
  const prompt = await connection.submit?.(waiting, '123456')
  assert.ok(prompt?.kind === 'prompt' && prompt.message === PHONE_TEXT)
  in180s(prompt.expiresAt)
  assert.deepEqual(await connection.check(waiting), pending)
  assert.equal((await connection.submit?.(waiting, '123456'))?.kind, 'unknown', 'a check tells')
  await customer.approve?.(reference)
  assert.equal((await connection.check(waiting)).kind, 'paid')
})

const AFTER_CODE: [string, number, object, object][] = [
  ['success', 200, { status: true, data: transaction() }, paid],
  ['pending', 200, { status: true, data: { reference, status: 'pending' } }, { kind: 'prompt' }],
  [
    'failed',
    200,
    { status: true, data: { reference, status: 'failed', message: 'Insufficient funds' } },
    { kind: 'declined', failure: failure('insufficient_funds', 'Insufficient funds') },
  ],
  [
    'a page',
    200,
    { status: true, data: { reference, status: 'open_url', url: 'https://x.example/' } },
    { kind: 'link' },
  ],
  ['no such charge', 400, { status: false, message: 'Transaction reference is invalid' }, { kind: 'unknown' }],
  ['its processor’s failure', 400, { status: false, message: 'No', type: 'processor_error' }, { kind: 'unknown' }],
  ['a refused key', 401, { status: false, message: 'Invalid key' }, { kind: 'unknown' }],
  ['an error page', 400, {}, { kind: 'unknown' }],
]
for (const [name, status, said, wanted] of AFTER_CODE) {
  test(`paystack answers a code with ${name}`, async (t) => {
    const { connection, say } = await setUp(t)
    say(status, said)
    const waiting = { ...handle('mobile-money'), amount: inGhana('telecel').amount }
    assert.partialDeepStrictEqual(await connection.submit?.(waiting, '123456'), wanted)
  })
}

test('paystack: Pesalink is an account with a narration to type, for 25 minutes', async (t) => {
  const { connection, asked, customer, alter, takeNotices } = await setUp(t)
  const wanted = byPesalink()
  const start = await connection.start({ ...wanted, expiresAt: new Date(wanted.startedAt.getTime() + 3_600_000) })
  assert.ok(start.kind === 'account')
  assert.equal(start.bankName, 'Diamond Trust Bank Kenya Ltd')
  assert.match(start.narration ?? '', /^\d{7}$/)
  const { currency, bank_transfer } = JSON.parse(asked[0]?.body ?? '')
  assert.equal(currency, 'KES')
  assert.equal(Date.parse(bank_transfer.account_expires_at) - wanted.startedAt.getTime(), 1_500_000)
  await customer.transfer?.(reference, 9_999)
  assert.deepEqual(await connection.check(handle('virtual-bank-account')), pending)
  const [{ body, headers } = assert.fail('a notice')] = takeNotices()
  const reading = connection.readNotice({ body, headers, receivedAt: new Date() })
  assert.ok(reading.kind === 'notice' && reading.says === 'failed' && reading.transactionId)
  assert.deepEqual(await connection.findReference?.(reading.transactionId), { kind: 'found', reference })
  await customer.transfer?.(reference, 10_000)
  assert.equal((await connection.check(handle('virtual-bank-account'))).kind, 'paid')

  alter({ reference: 'another', transaction_reference: 1_234_567 })
  const second = await connection.start({ ...byPesalink(), reference: 'another' })
  assert.ok(second.kind === 'account' && second.narration === '1234567', 'a number is text')
  alter({ reference: 'third', transaction_reference: null })
  const third = await connection.start({ ...byPesalink(), reference: 'third' })
  assert.ok(third.kind === 'declined' && third.failure.providerCode === 'narration_missing')
})
