import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { startFakeFlutterwave } from '../../../test/fakes/flutterwave/fake.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order, OrderHandle } from '../provider.ts'
import { flutterwave } from './adapter.ts'

const NGN = 'NGN' as Currency
const R = 'r'.repeat(32)
const ORDER: Order = {
  reference: R,
  amount: money(500_000, NGN),
  country: 'NG',
  customer: { email: 'ada@example.com', name: null, phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return?order=1',
  startedAt: new Date(),
  expiresAt: new Date(Date.now() + 3_600_000),
  channel: 'card',
  input: {},
  saveCard: false,
}
const HANDLE: OrderHandle = { reference: R, providerReference: 'x', channel: 'card', startedAt: new Date() }

async function setUp(t: TestContext) {
  const fake = await startFakeFlutterwave(t)
  const { settings, upstream } = fake
  const http = httpTo(upstream)
  const connection = flutterwave.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  const read = (body: object | string, hash = settings.secretHash) =>
    connection.readNotice({
      headers: { 'verif-hash': hash },
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
      receivedAt: new Date('2026-03-04T05:06:07Z'),
    })
  /** Their notices since the last time, as we read them. */
  const said = () =>
    fake.takeNotices().map(({ headers, body }) => {
      const reading = connection.readNotice({ headers, body, receivedAt: new Date() })
      return reading.kind === 'notice' ? [reading.says, reading.reference, reading.receipts.length] : reading.kind
    })
  return { ...fake, connection, read, said }
}

/** The customer presses a button, and is sent somewhere or stays. */
async function press(page: string, button: string): Promise<URLSearchParams | undefined> {
  const answer = await fetch(page, { method: 'POST', body: new URLSearchParams({ press: button }), redirect: 'manual' })
  const to = answer.headers.get('location')
  return to ? new URL(to).searchParams : undefined
}

test('on their page a decline leaves the page open; each try is told, and the way back names it', async (t) => {
  const { connection, said, triesOf } = await setUp(t)
  const start = await connection.start(ORDER)
  assert.equal(start.kind, 'link')
  assert.equal(await press(start.link, 'decline'), undefined)
  assert.deepEqual(said(), [['failed', R, 0]])
  assert.equal((await connection.check(HANDLE)).kind, 'declined')

  const back = await press(start.link, 'pay')
  assert.deepEqual(Object.fromEntries(back ?? []), {
    ...{ order: '1', status: 'successful', tx_ref: R, transaction_id: String(triesOf(R).at(-1)?.id) },
  })
  assert.deepEqual(said(), [['paid', R, 1]])
  assert.equal((await connection.check(HANDLE)).kind, 'paid')
})

test('who cancels comes back without a transaction, and may still pay', async (t) => {
  const { connection, said } = await setUp(t)
  const start = await connection.start(ORDER)
  assert.equal(start.kind, 'link')
  const back = await press(start.link, 'cancel')
  assert.deepEqual(Object.fromEntries(back ?? []), { order: '1', status: 'cancelled', tx_ref: R })
  assert.deepEqual(said(), [])
  assert.deepEqual(await connection.check(HANDLE), { kind: 'pending', receipts: [] })
})

test("a saved card that needs a code leads to the bank's page, whose address may have a space in it, and is paid there", async (t) => {
  const { connection, said, savedCards } = await setUp(t)
  const charge = await connection.chargeSavedCard(ORDER, savedCards.askingForAStep ?? '')
  assert.equal(charge.kind, 'step')
  assert.match(charge.link, /message=Approved\.%20Successful$/)
  assert.deepEqual(await connection.check(HANDLE), { kind: 'pending', receipts: [] })
  const back = await press(charge.link, 'pay')
  assert.deepEqual([...(back?.keys() ?? [])], ['order', 'response'], 'JSON in one parameter')
  assert.deepEqual(said(), [['paid', R, 1]])
  assert.equal((await connection.check(HANDLE)).kind, 'paid')
})

test('a saved card with a wrong code is declined, and a charge without a question is processing', async (t) => {
  const { connection, savedCards, upstream } = await setUp(t)
  const charge = await connection.chargeSavedCard(ORDER, savedCards.askingForAStep ?? '')
  assert.equal(charge.kind, 'step')
  await press(charge.link, 'decline')
  const outcome = await connection.check(HANDLE)
  assert.ok(outcome.kind === 'declined' && outcome.failure.code === 'authentication_failed')
  upstream.garble = (said) => ({ ...said, text: said.text.replace(/,"meta":\{"authorization".*?\}\}/, '') })
  const another = { ...ORDER, reference: 's'.repeat(32) }
  assert.deepEqual(await connection.chargeSavedCard(another, savedCards.askingForAStep ?? ''), { kind: 'processing' })
})

const DECLINES: [string, string][] = [
  ['Insufficient Funds', 'insufficient_funds'],
  ['Insufficient fund', 'insufficient_funds'],
  ['Do Not Honour', 'card_declined'],
  ['Do not honor', 'card_declined'],
  ['Transaction declined', 'card_declined'],
  ['Invalid transaction', 'card_declined'],
  ['Expired card', 'card_expired'],
  ['Incorrect PIN', 'incorrect_pin'],
  ['Invalid OTP', 'incorrect_otp'],
  ['Fraudulent', 'suspected_fraud'],
  ['Suspected fraud', 'suspected_fraud'],
  ['Restricted card', 'card_not_supported'],
  ['Transaction not permitted to cardholder', 'card_not_supported'],
  ['Exceeds withdrawal limit', 'limit_exceeded'],
  ['Address verification decline', 'authentication_failed'],
  ['Issuer or switch inoperative', 'provider_unavailable'],
  ['Transaction cancelled by customer', 'customer_cancelled'],
  ['The moon was full', 'other'],
]
test('their sentences become our codes, and are kept', async (t) => {
  const { connection, addTry } = await setUp(t)
  await connection.start(ORDER)
  for (const [response, code] of DECLINES) {
    const { id } = addTry(R, { status: 'failed', response })
    const outcome = await connection.check(HANDLE)
    assert.ok(outcome.kind === 'declined')
    const { failure, tryId } = outcome
    assert.deepEqual([failure.code, failure.providerCode, tryId], [code, response, String(id)])
    assert.ok(!failure.message.includes(response), 'customers read our words')
  }
  const { id } = addTry(R, { status: 'cancelled', response: '' })
  const outcome = await connection.check(HANDLE)
  assert.ok(outcome.kind === 'declined' && outcome.failure.code === 'customer_cancelled')
  assert.deepEqual([outcome.failure.providerCode, outcome.tryId], ['cancelled', String(id)])
})

test('card numbers, addresses, tokens and keys in notices are not stored', async (t) => {
  const { connection, addTry } = await setUp(t)
  await connection.start(ORDER)
  const response =
    'Enter the code sent to 0803****21 and ada@example.com for card 5531886652142950 (flw-t1nf-f9b3bf384cd30d6fca42b6df-m03k)'
  addTry(R, { status: 'failed', response })
  const outcome = await connection.check(HANDLE)
  assert.ok(outcome.kind === 'declined')
  assert.equal(outcome.failure.providerCode, 'Enter the code sent to … and … for card … …')
  addTry(R, { status: 'failed', response: 'No card for flw-t1nf-abc-m03k, by a-word-of-the-merchants-own' })
  const next = await connection.check(HANDLE)
  assert.ok(next.kind === 'declined')
  assert.equal(next.failure.providerCode, 'No card for … by …')
})

test('a refused start is declined by a word of ours; a refusal that is not theirs is unknown', async (t) => {
  const { connection, upstream, savedCards } = await setUp(t)
  for (const [status, message, code] of [
    [400, 'customer.email is required', 'provider_error'],
    [401, 'Invalid authorization key', 'provider_error'],
    [401, 'Invalid token', 'provider_error'], // the key's, not the card's
    [403, 'Your account has a limit', 'provider_error'],
    [400, 'Invalid token', 'invalid_token'],
    [400, 'Token not found', 'invalid_token'],
    [400, 'Token Not Generated. Customer Not Registered on Token Platform', 'provider_error'],
    [400, 'Insufficient Funds', 'insufficient_funds'],
  ] as const) {
    upstream.garble = () => ({ status, text: JSON.stringify({ status: 'error', message, data: null }) })
    for (const outcome of [
      await connection.start(ORDER),
      await connection.start(byTransfer(ORDER)),
      await connection.chargeSavedCard(ORDER, savedCards.paying),
    ]) {
      assert.ok(outcome.kind === 'declined' && outcome.failure.code === code, message)
      assert.equal(outcome.failure.providerCode, message)
    }
  }
  upstream.garble = () => ({ status: 400, text: '<html>Bad Request</html>' })
  assert.equal((await connection.start(ORDER)).kind, 'unknown')
})

const PAID = {
  event: 'charge.completed',
  data: {
    ...{ id: 8321945, tx_ref: 'pay-7f3c', flw_ref: '80169', amount: 5000, currency: 'NGN', charged_amount: 5000 },
    ...{ app_fee: 70, processor_response: 'success', auth_model: 'AUTH', status: 'successful' },
    ...{ payment_type: 'bank_transfer', customer: { id: 1, email: 'ada@example.com' } },
  },
  meta_data: { originatorname: 'ADA', originatoraccountnumber: '123*******90', bankname: 'Access Bank' },
  'event.type': 'BANK_TRANSFER_TRANSACTION',
}

test('their own sample of a notice is read, which has no time of its own', async (t) => {
  const { read } = await setUp(t)
  const at = new Date('2026-03-04T05:06:07Z')
  const receipts = [{ transactionId: '8321945', idIsProviders: true, amount: money(500_000, NGN), at, fee: 7_000 }]
  assert.deepEqual(read(PAID), { kind: 'notice', reference: 'pay-7f3c', says: 'paid', receipts })
})

test('a charge that is completed may have failed: the status says so, not the event', async (t) => {
  const { read } = await setUp(t)
  for (const [changes, says] of [
    [{ status: 'failed' }, 'failed'],
    [{ status: 'cancelled' }, 'failed'],
    [{ status: 'pending' }, 'pending'],
    [{ status: 'dreaming' }, 'other'],
    [{ charged_amount: 4999 }, 'pending'],
  ] as const) {
    const reading = read({ ...PAID, data: { ...PAID.data, ...changes } })
    assert.ok(reading.kind === 'notice' && reading.says === says, says)
  }
  const unclear = read({ ...PAID, data: { ...PAID.data, amount: 5000.001 } })
  assert.deepEqual(unclear, { kind: 'notice', reference: 'pay-7f3c', says: 'other', receipts: [] })
  assert.equal(read({ event: 'charge.completed', data: { status: 'successful' } }).kind, 'unreadable')
  // Payouts have ids of their own, which belong to no transaction.
  const other = { kind: 'notice', reference: null, says: 'other', receipts: [] }
  assert.deepEqual(read({ event: 'transfer.completed', data: { id: 33286 } }), other)
})

test('a notice without our reference names its transaction, whose reference can be asked for', async (t) => {
  const { connection, customer, triesOf, read } = await setUp(t)
  await connection.start(ORDER)
  await customer.payByCard(R, { save: false })
  const id = String(triesOf(R)[0]?.id)
  const reading = read({ event: 'charge.completed', data: { ...PAID.data, id, tx_ref: null } })
  assert.ok(reading.kind === 'notice' && reading.reference === null && reading.transactionId === id)
  assert.deepEqual(await connection.findReference?.(id), { kind: 'found', reference: R })
  assert.deepEqual(await connection.findReference?.('1'), { kind: 'missing' })
  assert.deepEqual(await connection.findReference?.('../../x?y'), { kind: 'missing' })
})

test('the hash is a password that does not cover body or time, so a check decides', async (t) => {
  const { connection, read, settings } = await setUp(t)
  assert.equal(read(PAID).kind, 'notice')
  for (const hash of [`${settings.secretHash} `, settings.secretHash?.toUpperCase(), settings.secretKey, 'é', '']) {
    assert.equal(read(PAID, hash).kind, 'forged', hash)
  }
  // Somebody who has learnt it can say that anything was paid. Nothing comes of it.
  const said = read({ ...PAID, data: { ...PAID.data, tx_ref: R } })
  assert.ok(said.kind === 'notice' && said.says === 'paid' && said.reference === R)
  await connection.start(ORDER)
  assert.deepEqual(await connection.check(HANDLE), { kind: 'pending', receipts: [] })
})

test('a signature over the body is as good as the hash, and a wrong one is forged whatever the hash is', async (t) => {
  const { connection, settings } = await setUp(t)
  const body = Buffer.from(JSON.stringify(PAID))
  const secret = settings.secretHash ?? ''
  const read = (headers: Record<string, string>) =>
    connection.readNotice({ headers, body, receivedAt: new Date() }).kind
  const sign = (text: Buffer | string, key = secret) => createHmac('sha256', key).update(text).digest('base64')
  assert.equal(read({ 'flutterwave-signature': sign(body) }), 'notice')
  assert.equal(read({ 'flutterwave-signature': secret }), 'notice', 'as one of their pages has it')
  for (const signature of [sign(`${body} `), sign(body, 'another-word'), sign(body).toLowerCase(), 'é']) {
    assert.equal(read({ 'flutterwave-signature': signature, 'verif-hash': secret }), 'forged', signature)
  }
})

// Their samples, by `event.type`. In the flat ones the customer bore the fee.
const CHANNEL_NOTICES: [type: string, amount: number, currency: string, more: object][] = [
  ['MOBILEMONEYGH_TRANSACTION', 5_000, 'GHS', { id: 560_930, amount: 50, charged_amount: 50.72 }],
  ['MPESA_TRANSACTION', 200_000, 'KES', { id: 130_438, amount: 2000, charged_amount: 2028 }],
  ['USSD_TRANSACTION', 150_000, 'NGN', { id: 4_517_159, amount: 1500, charged_amount: 1500, payment_type: 'ussd' }],
  ['ACCOUNT_TRANSACTION', 20_000, 'NGN', { id: 125_837, amount: 200, charged_amount: 200, payment_type: 'account' }],
  ['BANK_TRANSFER_TRANSACTION', 150_000, 'GHS', { id: 125_838, amount: 1500, charged_amount: 1500 }],
  ['MOBILEMONEYSN_TRANSACTION', 10, 'XAF', { id: 4_193_429, amount: 10, charged_amount: 10 }],
]
for (const [type, amount, currency, more] of CHANNEL_NOTICES) {
  test(`a notice of ${type} is read, with an envelope and flat, for both ends`, async (t) => {
    const { read } = await setUp(t)
    const at = new Date('2026-03-04T05:06:07Z')
    const charge = { ...more, currency, status: 'successful' }
    const { id } = more as { id: number }
    const receipts = [
      { transactionId: String(id), idIsProviders: true, amount: money(amount, currency as Currency), at },
    ]
    const paid = { kind: 'notice', reference: 'pay-7f3c', says: 'paid', receipts }
    const failed = { kind: 'notice', reference: 'pay-7f3c', says: 'failed', receipts: [] }
    const withEnvelope = (data: object) => ({ event: 'charge.completed', data, 'event.type': type })
    assert.deepEqual(read(withEnvelope({ ...charge, tx_ref: 'pay-7f3c' })), paid)
    assert.deepEqual(read(withEnvelope({ ...charge, tx_ref: 'pay-7f3c', status: 'failed' })), failed)
    const flat = { ...charge, txRef: 'pay-7f3c', entity: { id: 'NO-ENTITY' }, 'event.type': type }
    assert.deepEqual(read(flat), paid)
    assert.deepEqual(read({ ...flat, status: 'failed' }), failed)
  })
}

// As accounts with the older webhook setting get them.
const FLAT = {
  ...{ id: 126_122, txRef: 'pay-7f3c', flwRef: 'FLW-MOCK-1', orderRef: 'URF_1', createdAt: '2026-03-04T05:00:00.000Z' },
  ...{ amount: 5000, charged_amount: 5070, status: 'successful', currency: 'NGN', appfee: 70 },
  ...{ customer: { id: 1, email: 'ada@example.com' }, 'event.type': 'CARD_TRANSACTION' },
}

test('a flat notice of a charge is read like one with an envelope', async (t) => {
  const { read } = await setUp(t)
  const about = { kind: 'notice', reference: 'pay-7f3c' }
  const receipts = [
    { transactionId: '126122', idIsProviders: true, amount: money(500_000, NGN), at: new Date(FLAT.createdAt) },
  ]
  assert.deepEqual(read(FLAT), { ...about, says: 'paid', receipts })
  assert.deepEqual(read({ ...FLAT, status: 'failed' }), { ...about, says: 'failed', receipts: [] })
  assert.equal(read(FLAT, 'another-hash').kind, 'forged')
})

test('a flat notice without money is a reason to check its order', async (t) => {
  const { read } = await setUp(t)
  const { id, txRef, flwRef, status } = FLAT
  const bare = { id, txRef, flwRef, status, 'event.type': 'BANK_TRANSFER_TRANSACTION' }
  assert.deepEqual(read(bare), { kind: 'notice', reference: 'pay-7f3c', says: 'other', receipts: [] })
  assert.equal(read({ id, status, 'event.type': 'CARD_TRANSACTION' }).kind, 'unreadable')
})

test('a flat refund notice names its transaction, and is a reason to list refunds', async (t) => {
  const { connection, customer, triesOf, read, said, refundAtProvider, takeNotices } = await setUp(t)
  const sample = {
    ...{ id: 75_923, AccountId: 73_362, TransactionId: 908_790, FlwRef: 'URF_1577867664541_3572735', walletId: 74_639 },
    ...{ AmountRefunded: 6900, status: 'completed', destination: 'payment_source', comments: 'Product out of stock.' },
  }
  const reading = { kind: 'notice', reference: null, transactionId: '908790', says: 'refund', receipts: [] }
  assert.deepEqual(read(sample), reading)
  assert.deepEqual(read({ ...sample, AmountRefunded: null, comments: null }), reading)
  assert.equal(read(sample, 'another-hash').kind, 'forged')

  await connection.start(ORDER)
  await customer.payByCard(R, { save: false })
  takeNotices()
  await refundAtProvider(R, 100)
  assert.deepEqual(said(), [['refund', null, 0]])
  assert.deepEqual(await connection.findReference?.(String(triesOf(R)[0]?.id)), { kind: 'found', reference: R })
})

test('refunds and chargebacks with an envelope are told by their event, and never by their own id', async (t) => {
  const { read } = await setUp(t)
  const data = { id: 17, transaction_id: 908_790, tx_ref: 'pay-7f3c' }
  const about = { kind: 'notice', receipts: [] }
  assert.deepEqual(read({ event: 'refund.completed', data }), { ...about, reference: 'pay-7f3c', says: 'refund' })
  const { tx_ref: _, ...unnamed } = data
  assert.deepEqual(read({ event: 'chargeback.initiated', data: unnamed }), {
    ...{ ...about, reference: null, transactionId: '908790', says: 'dispute' },
  })
  assert.equal(read({ event: 'refund.completed', data: { id: 17 } }).kind, 'unreadable')
})

test('a flat notice of a payout is about something else, and not unreadable', async (t) => {
  const { read } = await setUp(t)
  // Their sample of a payout, as accounts with the older webhook setting get it.
  const transfer = {
    ...{ id: 570, account_number: '0690000040', bank_code: '044', fullname: 'Alexis Sanchez' },
    ...{ date_created: '2018-06-11T14:07:49.000Z', currency: 'NGN', amount: 9000, fee: 45, status: 'SUCCESSFUL' },
    ...{ reference: 'rave-transfer-152812343460966', narration: 'New transfer', bank_name: 'ACCESS BANK NIGERIA' },
  }
  const other = { kind: 'notice', reference: null, says: 'other', receipts: [] }
  assert.deepEqual(read({ 'event.type': 'Transfer', transfer }), other)
  assert.deepEqual(read({ 'event.type': 'TRANSFER', transfer }), other)
  assert.deepEqual(read({ event: 'transfer.completed', 'event.type': 'Transfer', data: transfer }), other)
  // Their sample of a bill that was paid. Its `tx_ref` is of the bill.
  const bill = {
    ...{ customer: '+23490803840303', amount: 500, network: '9MOBILE', tx_ref: 'CF-FLYAPI-20200311081921359990' },
    ...{ flw_reference: 'BPUSSD1583957963415840', customer_reference: '13588002', status: 'success', reference: null },
  }
  assert.deepEqual(read({ event: 'singlebillpayment.status', 'event.type': 'SingleBillPayment', data: bill }), other)
})
