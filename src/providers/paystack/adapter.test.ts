import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import { fakePaystack } from '../../../test/fakes/paystack/fake.ts'
import { handle, naira, order, paidCard, pending, setUp, unknown } from '../../../test/fakes/paystack/rig.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import type { Channel } from '../../kernel/channel.ts'
import { chargeFor, feeOf } from '../../kernel/fee.ts'
import { type Currency, MAX_AMOUNT, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import { paystack } from './adapter.ts'
import { fromHundredths, toHundredths } from './wire.ts'

conformanceSuite(fakePaystack, setUp)

test('paystack: a key of the one mode is none of the other, and both speak with one host', () => {
  assert.deepEqual(paystack.baseURL, { sandbox: 'https://api.paystack.co', live: 'https://api.paystack.co' })
  for (const [index, prefix] of ['sk', 'pk'].entries()) {
    const pattern = paystack.settings[index]?.pattern ?? assert.fail()
    const [test, live] = [`${prefix}_test_${'a1'.repeat(20)}`, `${prefix}_live_${'a1'.repeat(20)}`]
    assert.deepEqual([pattern.sandbox.test(test), pattern.live.test(live)], [true, true])
    assert.deepEqual([pattern.sandbox.test(live), pattern.live.test(test)], [false, false])
    assert.doesNotMatch(`${test}\n`, pattern.sandbox)
  }
})

test('paystack is not connected without its keys, for anybody could sign with an empty one', () => {
  const account = { mode: 'sandbox', baseURL: 'http://localhost', http: providerHttp() } as const
  const [secretKey, publicKey] = ['sk_test_x', 'pk_test_x']
  const incomplete: Record<string, string>[] = [{}, { publicKey }, { publicKey, secretKey: '' }, { secretKey }]
  for (const settings of incomplete) {
    assert.throws(() => paystack.connect({ ...account, settings }), /paystack needs the setting/)
  }
})

test('paystack is asked for a page in the documented words, and for nothing else', async (t) => {
  const { connection, asked, settings, find, upstream } = await setUp(t)
  const { expiresAt } = order()
  const start = await connection.start(order({ expiresAt, saveCard: true }))
  assert.equal(`${asked[0]?.method} ${asked[0]?.path}`, 'POST /transaction/initialize')
  assert.equal(asked[0]?.headers.authorization, `Bearer ${settings.secretKey}`)
  assert.deepEqual(JSON.parse(asked[0]?.body ?? ''), {
    email: 'ada@example.com',
    amount: 500_000,
    currency: 'NGN',
    reference: order().reference,
    callback_url: order().returnURL,
    channels: ['card'],
    metadata: { cancel_action: order().returnURL },
  })
  const { reference } = order()
  const link = `${upstream.url}/checkout/${find(reference).code}`
  assert.deepEqual(start, {
    kind: 'link',
    link,
    providerReference: reference,
    publicKey: connection.publicKey,
    expiresAt,
    paidOnce: true,
  })
})

test('paystack: the page takes the customer back with both names of the reference, or away without', async (t) => {
  const { connection } = await setUp(t)
  const start = await connection.start(order())
  assert.equal(start.kind, 'link')
  const press = (button: string) =>
    fetch(start.link, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ press: button }) })
  assert.equal((await press('decline')).status, 200, 'they stay')
  assert.equal((await connection.check(handle())).kind, 'declined')
  assert.equal((await press('cancel')).headers.get('location'), order().returnURL)
  const { reference, returnURL } = order()
  assert.equal((await press('pay')).headers.get('location'), `${returnURL}&trxref=${reference}&reference=${reference}`)
  assert.equal((await connection.check(handle())).kind, 'paid')
})

test('paystack: an account is opened in the currency of the order', async (t) => {
  const { connection, asked } = await setUp(t)
  const account = await connection.start(byTransfer(order()))
  assert.ok(account.kind === 'account' && account.accountName === 'PAYSTACK CHECKOUT')
  const { bank_transfer, ...body } = JSON.parse(asked[0]?.body ?? '')
  assert.equal(`${asked[0]?.method} ${asked[0]?.path}`, 'POST /charge')
  const { reference } = order()
  assert.deepEqual(body, { email: 'ada@example.com', amount: 500_000, currency: 'NGN', reference })
  assert.deepEqual(Object.keys(bank_transfer), ['account_expires_at'])
})

test('paystack: accounts are in naira alone, and nothing is asked for in another currency', async (t) => {
  const { connection, asked } = await setUp(t)
  const outcome = await connection.start(byTransfer(order({ amount: money(500_000, 'GHS' as Currency) })))
  assert.ok(outcome.kind === 'declined' && outcome.failure.code === 'provider_error')
  assert.deepEqual(asked, [])
})

test('paystack: an account stays open for 15 minutes to 8 hours, and their word on it counts', async (t) => {
  const { connection, asked, alter } = await setUp(t)
  const minutes = 60_000
  for (const [wanted, given] of [
    [1, 15],
    [-10, 15],
    [30, 30],
    [6_000, 480],
  ] as const) {
    const reference = `expiry-${wanted}`
    const { startedAt } = order()
    const expiresAt = new Date(startedAt.getTime() + wanted * minutes)
    await connection.start(byTransfer(order({ reference, startedAt, expiresAt })))
    const { account_expires_at } = JSON.parse(asked.at(-1)?.body ?? '').bank_transfer
    assert.equal(Date.parse(account_expires_at) - startedAt.getTime(), given * minutes)
  }
  alter({ account_expires_at: '2036-01-02T03:04:05.000Z' })
  const account = await connection.start(byTransfer(order()))
  assert.ok(account.kind === 'account')
  assert.deepEqual(account.expiresAt, new Date('2036-01-02T03:04:05.000Z'))
})

const ODD_ACCOUNTS: [string, object, string][] = [
  ['without a name is one all the same', { account_name: null }, 'account'],
  ['without its end keeps the one that we asked for', { account_expires_at: null }, 'account'],
  ['that repeats the amount is one', { amount: 500_000 }, 'account'],
  ['with another amount is unknown', { amount: 500_100 }, 'unknown'],
  ['whose number lost its zeros is unknown', { account_number: 1_260_257_501 }, 'unknown'],
  ['of another order is unknown', { reference: 'another' }, 'unknown'],
  ['that is paid already makes no sense', { status: 'success' }, 'unknown'],
  ['without a bank is unknown', { bank: null }, 'unknown'],
  ['with a narration to type is in Kenyan shillings, and refused', { transaction_reference: 'PSK7F40' }, 'declined'],
]
for (const [name, changes, kind] of ODD_ACCOUNTS) {
  test(`paystack: an account ${name}`, async (t) => {
    const { connection, alter } = await setUp(t)
    alter(changes)
    assert.equal((await connection.start(byTransfer(order()))).kind, kind)
  })
}

const at = '2026-11-20T10:01:00.000Z'
const transactionId = '9007199254740995'
const receipt = (amount: number, returned?: number) => ({
  kind: 'paid',
  receipts: [
    { transactionId, idIsProviders: true, amount: naira(amount), at: new Date(at), ...(returned && { returned }) },
  ],
})
const paidNow = { status: 'success', paid_at: at, paidAt: undefined }

const whole = receipt(500_000, 500_000)
const unlisted = { ...whole, receipts: whole.receipts.map((one) => ({ ...one, returnedIsUnlisted: true })) }
const STATES: [string, object, object, Channel?][] = [
  ['abandoned is a link that was never used', { status: 'abandoned' }, pending],
  ['ongoing is the customer at work', { status: 'ongoing' }, pending],
  ['a code is asked for', { status: 'send_otp' }, pending],
  ['pending is a bank at work', { status: 'pending' }, { kind: 'processing' }],
  ['queued is a bank at work, later', { status: 'queued' }, { kind: 'processing' }],
  ['a pending account waits for its transfer', { status: 'pending' }, pending, 'virtual-bank-account'],
  ['a word that is new is unknown', { status: 'thinking' }, unknown('it says a status that is new to us')],
  ['success is paid', paidNow, receipt(500_000)],
  ['the other spelling of the date', { ...paidNow, paid_at: null, paidAt: at }, receipt(500_000)],
  ['fees on top are not for the order', { ...paidNow, amount: 540_333, requested_amount: 500_000 }, receipt(500_000)],
  ['fees that are not given', { ...paidNow, amount: 540_333, requested_amount: 500_000, fees: null }, receipt(500_000)],
  ['less than was asked for is what there is', { ...paidNow, amount: 499_999 }, receipt(499_999)],
  ['without a requested amount', { ...paidNow, requested_amount: undefined }, receipt(500_000)],
  ['reversed without a refund went back as a whole', { ...paidNow, status: 'reversed' }, unlisted],
  [
    'a reversal under way without a refund is unknown',
    { ...paidNow, status: 'reversal-pending' },
    unknown('it says reversed, and lists nothing that was given back'),
  ],
  [
    'reversed and never paid is unknown',
    { status: 'reversed', paid_at: null },
    unknown('it says reversed, and not when it was paid'),
  ],
  ['live money in test mode is unknown', { ...paidNow, domain: 'live' }, unknown('it answered in another mode')],
  ['no mode at all', { ...paidNow, domain: null }, unknown('it answered 200 with what we cannot read')],
  ['another order is unknown', { ...paidNow, reference: 'another' }, unknown('it answered about another order')],
  ['paid by nothing is unknown', { ...paidNow, amount: 0 }, unknown('it says paid, and names no money')],
  ['part of a kobo', { ...paidNow, amount: 500_000.5 }, unknown('it answered 200 with what we cannot read')],
  [
    'more than can be counted',
    { ...paidNow, amount: 2 ** 60, requested_amount: 2 ** 60 },
    unknown('it answered 200 with what we cannot read'),
  ],
]
for (const [name, changes, outcome, channel = 'card'] of STATES) {
  test(`a transaction of paystack: ${name}`, async (t) => {
    const { connection, alter } = await setUp(t)
    await connection.start(order())
    alter({ id: transactionId, ...changes })
    assert.deepEqual(await connection.check(handle(channel)), outcome)
  })
}

for (const metadata of ['', 0, null, 'text', '{"a":1}', { custom_fields: [] }, []]) {
  test(`paystack: metadata of ${JSON.stringify(metadata)} hides no money`, async (t) => {
    const { connection, customer, behaviour, notices } = await setUp(t)
    behaviour.metadata = metadata
    await connection.start(order())
    await customer.payByCard(order().reference, { save: false })
    assert.equal((await connection.check(handle())).kind, 'paid')
    const body = notices.bodyOf('paid', order().reference) ?? assert.fail()
    const reading = connection.readNotice(notices.sign(body, new Date()))
    assert.ok(reading.kind === 'notice' && reading.says === 'paid')
  })
}

test('paystack: ids of 64 bits stay as they are written', async (t) => {
  const { connection, upstream, transactionId, notices } = await paidCard(t)
  for (const id of ['9007199254740993', '18446744073709551615', '1']) {
    upstream.garble = ({ status, text }) => ({ status, text: text.replace(`"id":${transactionId}`, `"id":${id}`) })
    const outcome = await connection.check(handle())
    assert.ok(outcome.kind === 'paid')
    assert.equal(outcome.receipts[0]?.transactionId, id)
    const body = notices.bodyOf('paid', order().reference)?.toString().replace(transactionId, id) ?? ''
    const reading = connection.readNotice(notices.sign(Buffer.from(body), new Date()))
    assert.ok(reading.kind === 'notice' && reading.receipts[0]?.transactionId === id)
  }
  for (const odd of ['1.0', '1e3', '-1', '"x"', 'null', '184467440737095516150']) {
    upstream.garble = ({ status, text }) => ({ status, text: text.replace(`"id":${transactionId}`, `"id":${odd}`) })
    assert.equal((await connection.check(handle())).kind, 'unknown', odd)
  }
})

test('paystack counts in hundredths, and a franc that has none is sent a hundredfold', () => {
  const amounts = fc.integer({ min: 0, max: MAX_AMOUNT })
  fc.assert(
    fc.property(amounts, fc.constantFrom(...paystack.capabilities.currencies), (amount, code) => {
      const currency = code as Currency
      const sent = toHundredths(money(amount, currency))
      assert.ok(Number.isSafeInteger(sent))
      assert.equal(BigInt(sent), BigInt(amount) * (code === 'XOF' ? 100n : 1n))
      assert.equal(fromHundredths(sent, currency), amount)
      if (code === 'XOF') assert.equal(fromHundredths(sent + 1, currency), undefined)
    }),
  )
})

test('paystack: francs go there and back by every way', async (t) => {
  const { connection, customer, asked, find, alter } = await setUp(t)
  const amount = money(5_000, 'XOF' as Currency)
  await connection.start(order({ amount, country: 'CI' }))
  assert.equal(JSON.parse(asked[0]?.body ?? '').amount, 500_000)
  await customer.payByCard(order().reference, { save: false })
  const outcome = await connection.check(handle())
  assert.ok(outcome.kind === 'paid')
  assert.deepEqual(outcome.receipts[0]?.amount, amount)

  const [transactionIds, reference] = [[String(find(order().reference).id)], 'f'.repeat(32)]
  const refund = await connection.refund({ reference, order: handle(), transactionIds, amount, reason: null })
  assert.equal(refund.kind, 'pending')
  assert.equal(JSON.parse(asked.at(-1)?.body ?? '').amount, 500_000)
  const charge = await connection.chargeSavedCard(order({ amount, reference: 'another-order' }), 'AUTH_paying')
  assert.ok(charge.kind === 'paid')
  assert.deepEqual(charge.receipts[0]?.amount, amount)

  alter({ amount: 500_050, requested_amount: 500_050 })
  assert.equal((await connection.check(handle())).kind, 'unknown', 'half a franc')
  alter({ amount: 517_333, requested_amount: 500_000 })
  assert.equal((await connection.check(handle())).kind, 'paid', 'their fee may be one')
})

test('paystack: fees that they pass on by themselves change nothing for us', async (t) => {
  const { connection, customer, behaviour, notices } = await setUp(t)
  behaviour.feesPassedOn = 17_767
  await connection.start(order())
  await customer.payByCard(order().reference, { save: false })
  const outcome = await connection.check(handle())
  assert.ok(outcome.kind === 'paid')
  assert.deepEqual(outcome.receipts[0]?.amount, order().amount)
  const body = notices.bodyOf('paid', order().reference) ?? assert.fail()
  const reading = connection.readNotice(notices.sign(body, new Date()))
  assert.ok(reading.kind === 'notice')
  assert.deepEqual(reading.receipts[0]?.amount, order().amount)
})

test('paystack: what it does not know is missing, whether it says so with 404 or with 400', async (t) => {
  const { connection, behaviour, say } = await setUp(t)
  for (const status of [404, 400] as const) {
    behaviour.missing = status
    assert.deepEqual(await connection.check(handle()), { kind: 'missing' })
    assert.deepEqual(await connection.findReference?.('17'), { kind: 'missing' })
  }
  say(400, { status: false, message: 'Transaction reference not found' })
  assert.deepEqual(await connection.check(handle()), { kind: 'missing' }, 'an old answer has no code')
  say(404, { status: false, message: 'Entity not found' })
  assert.deepEqual(await connection.check(handle()), { kind: 'missing' })
  say(400, { status: false, message: 'Something else' })
  assert.equal((await connection.check(handle())).kind, 'unknown')
  say(404, { message: 'no such page' })
  assert.equal((await connection.check(handle())).kind, 'unknown', 'somebody else answers')
})

test('paystack: a reference that it has already is unknown to every start, with a code and without', async (t) => {
  const { connection, say } = await setUp(t)
  await connection.start(order())
  const starts = [
    () => connection.start(order()),
    () => connection.chargeSavedCard(order(), 'AUTH_paying'),
    () => connection.start(byTransfer(order())),
  ]
  for (const start of starts) assert.deepEqual(await start(), unknown('it has this reference already'))
  say(400, { status: false, message: 'Duplicate Transaction Reference' })
  for (const start of starts) assert.deepEqual(await start(), unknown('it has this reference already'))
})

test('paystack: keys that may not be used from here are bad keys', async (t) => {
  const { connection, say, asked } = await setUp(t)
  await connection.verifyKeys()
  assert.equal(`${asked[0]?.method} ${asked[0]?.path}`, 'GET /balance')
  say(403, { status: false, message: 'Your IP address is not allowed to make this call' })
  assert.deepEqual(await connection.verifyKeys(), { kind: 'bad', because: 'it refused the key' })
  say(200, { status: false, message: 'hm' })
  assert.equal((await connection.verifyKeys()).kind, 'unknown')
})

test('paystack keeps what its price list says', () => {
  const { card, 'virtual-bank-account': account } = paystack.capabilities.offers
  const local = card?.NGN?.fee ?? assert.fail()
  assert.deepEqual(account?.NGN?.fee, local, 'a transfer costs as much as a local card')
  for (const [net, gross] of [
    [1_000_000, 1_025_381],
    [246_249, 249_999],
    [246_250, 260_153],
    [20_000_000, 20_200_000],
  ] as const) {
    assert.equal(chargeFor(local, net), gross)
  }
  assert.equal(feeOf(card?.ZAR?.fee ?? assert.fail(), 100_000), 3_450, '2.9 % and a rand, and 15 % of that')
})
