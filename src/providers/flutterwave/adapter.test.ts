import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import { fakeFlutterwave, startFakeFlutterwave } from '../../../test/fakes/flutterwave/fake.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import type { Channel } from '../../kernel/channel.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { Order, OrderHandle } from '../provider.ts'
import { flutterwave } from './adapter.ts'

async function setUp(t: TestContext) {
  const fake = await startFakeFlutterwave(t)
  const { settings, upstream } = fake
  const http = httpTo(upstream)
  const connection = flutterwave.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  /** A link that was handed out, and how to ask about it. */
  const start = async (changes: Partial<Order> = {}) => {
    const order = orderOf(changes)
    const link = await connection.start(order)
    assert.equal(link.kind, 'link')
    return { link: link.link, handle: handleOf(order, link.providerReference) }
  }
  return { ...fake, connection, start }
}

const NGN = 'NGN' as Currency
const R = 'r'.repeat(32)
const STARTED = new Date()

const orderOf = (changes: Partial<Order> = {}): Order => ({
  reference: R,
  amount: money(500_010, NGN),
  country: 'NG',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: '+2348012345678' },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return?order=1',
  startedAt: STARTED,
  expiresAt: new Date(STARTED.getTime() + 1_800_000),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

const handleOf = (order: Order, providerReference = order.reference, channel: Channel = 'card'): OrderHandle => ({
  ...{ reference: order.reference, providerReference, channel, startedAt: new Date(), amount: order.amount },
})

const bodyOf = (asked: { body: string } | undefined) => JSON.parse(asked?.body ?? '')

conformanceSuite(fakeFlutterwave, setUp)

test('a link is asked for in naira with their names for things, and never longer than a day', async (t) => {
  const { start, asked } = await setUp(t)
  await start()
  assert.equal(`${asked[0]?.method} ${asked[0]?.path}`, 'POST /v3/payments')
  assert.deepEqual(bodyOf(asked[0]), {
    tx_ref: R,
    amount: '5000.10',
    currency: 'NGN',
    redirect_url: 'https://shop.example/return?order=1',
    customer: { email: 'ada@example.com', name: 'Ada', phonenumber: '+2348012345678' },
    payment_options: 'card',
    configurations: { session_duration: 30 },
    customizations: { title: 'Ada & Sons' },
  })
  const customer = { email: 'ada@example.com', name: null, phoneNumber: null }
  const month = new Date(STARTED.getTime() + 30 * 86_400_000)
  await start({ reference: 'm'.repeat(32), expiresAt: month, customer })
  assert.equal(bodyOf(asked[1]).configurations.session_duration, 1_440)
  assert.deepEqual(bodyOf(asked[1]).customer, { email: 'ada@example.com' })
})

test('a saved card is charged with the e-mail that it was kept with, and always with a way back', async (t) => {
  const { connection, asked, savedCards } = await setUp(t)
  const outcome = await connection.chargeSavedCard(orderOf(), savedCards.paying)
  assert.ok(outcome.kind === 'paid' && outcome.savedCard === undefined, 'it is saved already')
  assert.equal(`${asked[0]?.method} ${asked[0]?.path}`, 'POST /v3/tokenized-charges')
  assert.deepEqual(bodyOf(asked[0]), {
    token: savedCards.paying,
    email: 'ada@example.com',
    currency: 'NGN',
    country: 'NG',
    amount: '5000.10',
    tx_ref: R,
    narration: 'Ada & Sons',
    redirect_url: 'https://shop.example/return?order=1',
  })
})

test('an account is asked for until the order ends', async (t) => {
  const { connection, asked } = await setUp(t)
  await connection.start(byTransfer(orderOf()))
  assert.equal(`${asked[0]?.method} ${asked[0]?.path}`, 'POST /v3/charges?type=bank_transfer')
  assert.deepEqual(bodyOf(asked[0]), {
    expires: 1_800,
    ...{ tx_ref: R, amount: '5000.10', currency: 'NGN', email: 'ada@example.com', fullname: 'Ada' },
    ...{ phone_number: '+2348012345678', narration: 'Ada & Sons', is_permanent: false },
  })
})

for (const expiryAs of ['milliseconds', 'milliseconds as text', 'ISO', 'local'] as const) {
  test(`an account's end as ${expiryAs} is read, or is the end that we asked for; it has no name`, async (t) => {
    const { connection, odd } = await setUp(t)
    odd.expiryAs = expiryAs
    const order = orderOf()
    t.mock.timers.enable({ apis: ['Date'], now: STARTED })
    const account = await connection.start(byTransfer(order))
    assert.ok(account.kind === 'account' && account.accountName === null)
    assert.deepEqual([account.accountNumber, account.bankName], ['0067100155', 'Mock Bank'])
    assert.deepEqual(account.expiresAt, order.expiresAt)
  })
}

for (const notFoundAs of [400, 404] as const) {
  test(`a ${notFoundAs} is missing for an unknown order, and pending for an unused link or account`, async (t) => {
    const { connection, odd, start } = await setUp(t)
    odd.notFoundAs = notFoundAs
    assert.deepEqual(await connection.check(handleOf(orderOf())), { kind: 'missing' })
    const { handle, link } = await start()
    assert.equal(handle.providerReference, link.split('/').at(-1))
    assert.deepEqual(await connection.check(handle), { kind: 'pending', receipts: [] })
    const order = orderOf({ reference: 'a'.repeat(32) })
    const account = await connection.start(byTransfer(order))
    assert.ok(account.kind === 'account' && account.providerReference.startsWith('MockFLWRef-'))
    const asked = await connection.check(handleOf(order, account.providerReference, 'virtual-bank-account'))
    assert.deepEqual(asked, { kind: 'pending', receipts: [] })
  })
}

for (const shows of ['first', 'last'] as const) {
  test(`a success is seen before and after failures, when they show the ${shows} try`, async (t) => {
    const { connection, odd, start, customer, triesOf, savedCards } = await setUp(t)
    odd.shows = shows
    const { handle } = await start()
    await customer.failByCard(R)
    await customer.failByCard(R)
    const declined = await connection.check(handle)
    assert.ok(declined.kind === 'declined' && declined.tryId === String(triesOf(R)[1]?.id), 'the last counts')
    await customer.payByCard(R, { save: true })
    await customer.failByCard(R)
    const outcome = await connection.check(handle)
    assert.equal(outcome.kind, 'paid')
    assert.deepEqual(
      outcome.receipts.map(({ transactionId }) => transactionId),
      [String(triesOf(R)[2]?.id)],
    )
    assert.deepEqual(outcome.savedCard, {
      ...{ token: savedCards.paying, brand: 'MASTERCARD', last4: '2950', expiryMonth: 9, expiryYear: 2032 },
    })
  })
}

test('a refused key leaves the outcome unknown, also when the answer names the order', async (t) => {
  const { connection, upstream } = await setUp(t)
  for (const status of [401, 403]) {
    const text = '{"status":"error","message":"No transaction was found for this id","data":null}'
    upstream.garble = () => ({ status, text })
    assert.equal((await connection.check(handleOf(orderOf()))).kind, 'unknown')
  }
})

test('without the list a failure is no verdict, and money is money', async (t) => {
  const { connection, odd, start, customer, upstream } = await setUp(t)
  const { handle } = await start()
  await customer.failByCard(R)
  upstream.garble = (said) => (said.text.includes('Transactions fetched') ? { status: 403, text: '{}' } : said)
  assert.equal((await connection.check(handle)).kind, 'unknown')
  await customer.payByCard(R, { save: false })
  odd.shows = 'last'
  assert.equal((await connection.check(handle)).kind, 'paid')
})

test('a success behind a page full of failures is found', async (t) => {
  const { connection, odd, start, customer } = await setUp(t)
  const { handle } = await start()
  odd.pageSize = 2
  await customer.failByCard(R)
  await customer.payByCard(R, { save: false })
  for (let i = 0; i < 3; i++) await customer.failByCard(R)
  assert.equal((await connection.check(handle)).kind, 'paid')
})

test('who pays in two windows has paid twice, and both are told', async (t) => {
  const { connection, start, customer } = await setUp(t)
  const { handle } = await start()
  await customer.payByCard(R, { save: false })
  await customer.payByCard(R, { save: false })
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'paid' && outcome.receipts.length === 2)
})

test('a success that is listed and not stood by is unknown', async (t) => {
  const { connection, start, customer, upstream, triesOf } = await setUp(t)
  const { handle } = await start()
  await customer.failByCard(R)
  await customer.payByCard(R, { save: false })
  const id = triesOf(R)[1]?.id
  upstream.garble = (said) => {
    const isVerified = said.text.includes(`"data":{"id":${id}`)
    return isVerified ? { ...said, text: said.text.replace('"status":"successful"', '"status":"failed"') } : said
  }
  assert.equal((await connection.check(handle)).kind, 'unknown')
})

test('a reference that they know already is unknown, never declined; another link for it is the same order', async (t) => {
  const { connection, start, odd, savedCards, ordersMade, linksMade, customer } = await setUp(t)
  const { handle } = await start()
  const known = { kind: 'unknown', because: 'it knows this reference already' }
  assert.deepEqual(await connection.start(orderOf()), known)
  assert.deepEqual(await connection.chargeSavedCard(orderOf(), savedCards.paying), known)
  assert.deepEqual(await connection.start(byTransfer(orderOf())), known)
  odd.repeatedLink = 'another link'
  assert.equal((await connection.start(orderOf())).kind, 'link')
  assert.deepEqual([ordersMade(), linksMade()], [1, 2])
  await customer.payByCard(R, { save: false })
  assert.equal((await connection.check(handle)).kind, 'paid', 'whichever of the two was used')
})

const NEW = { kind: 'unknown', because: 'it says a status that is new to us' }
const PENDING = { kind: 'pending', receipts: [] }
const STATES: [string, { status: string; authModel?: string; response?: string }[], object][] = [
  ['pending', [{ status: 'pending' }], PENDING],
  ['pending auth', [{ status: 'pending auth' }], PENDING],
  ['success-pending-validation', [{ status: 'success-pending-validation' }], PENDING],
  ['pending without a question to the customer', [{ status: 'pending', authModel: 'noauth' }], { kind: 'processing' }],
  ['failed after one that is still open', [{ status: 'pending' }, { status: 'failed' }], PENDING],
  ['a word that is new', [{ status: 'failed' }, { status: 'dreaming' }], NEW],
  ['success, which is the word of the call and not of a payment', [{ status: 'success' }], NEW],
]
for (const [name, tries, outcome] of STATES) {
  test(`a transaction of flutterwave: ${name}`, async (t) => {
    const { connection, start, addTry } = await setUp(t)
    const { handle } = await start()
    for (const changes of tries) addTry(R, changes)
    assert.deepEqual(await connection.check(handle), outcome)
  })
}

test('an answer about another order, amount or currency is unknown', async (t) => {
  const { connection, upstream, savedCards, start, customer } = await setUp(t)
  for (const [i, [from, to]] of [
    ['"tx_ref":"', '"tx_ref":"another'],
    ['"amount":5000.1,', '"amount":5000.11,'],
    ['"amount":5000.1,', '"amount":500010,'],
    ['"currency":"NGN"', '"currency":"USD"'],
  ].entries()) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from ?? '', to ?? '') })
    const order = orderOf({ reference: String(i).padStart(32, 'c') })
    assert.equal((await connection.chargeSavedCard(order, savedCards.paying)).kind, 'unknown', to)
  }
  upstream.garble = undefined
  const { handle } = await start()
  await customer.payByCard(R, { save: false })
  upstream.garble = (said) => ({ ...said, text: said.text.replaceAll(R, 'another') })
  assert.equal((await connection.check(handle)).kind, 'unknown')
  upstream.garble = (said) => ({ ...said, text: said.text.replaceAll('5000.1,', '5000.101,') })
  assert.equal((await connection.check(handle)).kind, 'unknown', 'a third decimal')
})

test('amounts as text are amounts, and a fee that the customer bears is no part of what was paid for the order', async (t) => {
  const { connection, odd, start, customer } = await setUp(t)
  odd.amountsAs = 'text'
  odd.customerBears = 7_000
  const { handle } = await start()
  await customer.payByCard(R, { save: false })
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'paid')
  assert.deepEqual(outcome.receipts[0]?.amount, orderOf().amount)
  const account = await connection.start(byTransfer(orderOf({ reference: 'a'.repeat(32) })))
  assert.ok(account.kind === 'account' && account.amountToTransfer === 507_010, 'what they want to be sent')
})

test('an account that wants less than the order is unknown', async (t) => {
  const { connection, upstream } = await setUp(t)
  upstream.garble = (said) => ({ ...said, text: said.text.replace('"5000.10"', '"5000.09"') })
  assert.equal((await connection.start(byTransfer(orderOf()))).kind, 'unknown')
})

for (const smallTransfer of ['less amount', 'less charged_amount'] as const) {
  test(`a transfer that is too small is pending with its money, told by ${smallTransfer}; the rest makes it paid`, async (t) => {
    const { connection, odd, customer } = await setUp(t)
    odd.smallTransfer = smallTransfer
    const account = await connection.start(byTransfer(orderOf()))
    assert.ok(account.kind === 'account')
    const handle = handleOf(orderOf(), account.providerReference, 'virtual-bank-account')
    await customer.transfer?.(R, 500_000)
    const part = await connection.check(handle)
    assert.ok(part.kind === 'pending' && part.receipts[0]?.amount.amount === 500_000)
    await customer.transfer?.(R, 10)
    const whole = await connection.check(handle)
    assert.ok(whole.kind === 'paid' && whole.receipts.length === 2)
  })
}

test('a transfer that is too large is paid, and says how much came', async (t) => {
  const { connection, customer } = await setUp(t)
  const account = await connection.start(byTransfer(orderOf()))
  assert.ok(account.kind === 'account')
  await customer.transfer?.(R, 600_000)
  const outcome = await connection.check(handleOf(orderOf(), account.providerReference, 'virtual-bank-account'))
  assert.ok(outcome.kind === 'paid' && outcome.receipts[0]?.amount.amount === 600_000)
})

test('without a setting flutterwave is not connected, for anybody could send notices with an empty one', async (t) => {
  const { settings } = await setUp(t)
  for (const name of ['secretKey', 'publicKey', 'secretHash']) {
    for (const value of ['', undefined]) {
      const incomplete = { ...settings, [name]: value } as Record<string, string>
      const account = {
        mode: 'sandbox' as const,
        settings: incomplete,
        baseURL: 'http://localhost',
        http: providerHttp(),
      }
      assert.throws(() => flutterwave.connect(account), new RegExp(`flutterwave needs the setting ${name}`))
    }
  }
})

test('a live key is refused in sandbox mode, and a test key in live mode', () => {
  for (const kind of ['FLWSECK', 'FLWPUBK']) {
    const setting = flutterwave.settings.find(({ looksLike }) => looksLike.live.startsWith(kind))
    assert.ok(setting)
    const [test, live] = [`${kind}_TEST-SANDBOXDEMOKEY-X`, `${kind}-e6db11d1f8a6208de8cb2f94e293450e-18b6f2a1d2dvt-X`]
    assert.ok(setting.pattern.sandbox.test(test) && setting.pattern.live.test(live))
    assert.ok(!setting.pattern.sandbox.test(live) && !setting.pattern.live.test(test))
  }
})
