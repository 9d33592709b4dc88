import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import { fakeMonnify, KEYS, startFakeMonnify } from '../../../test/fakes/monnify/fake.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { httpTo, type Said } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { Order, OrderHandle, ProviderHttp } from '../provider.ts'
import { findProvider } from '../registry.ts'
import { monnify } from './adapter.ts'

const naira = (kobo: number) => money(kobo, 'NGN' as Currency)

async function setUp(t: TestContext) {
  const fake = await startFakeMonnify(t)
  const [calls, logins] = [httpTo(fake.upstream), httpTo(fake.upstream)]
  // Logins have a way out of their own, so that the first call after one meets no kept connection: the suite tells
  // those apart.
  const http: ProviderHttp = {
    request: (call) => (call.url.endsWith('/auth/login') ? logins : calls).request(call),
  }
  const at = { settings: KEYS, baseURL: fake.upstream.url, http }
  const sandbox = monnify.connect({ ...at, mode: 'sandbox' })
  const live = monnify.connect({ ...at, mode: 'live' })
  const paths = () => fake.asked.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`)
  return {
    ...fake,
    http,
    sandbox,
    live,
    paths,
    loginsMade: () => paths().filter((path) => path === 'POST /api/v1/auth/login').length,
    lastBody: () => fake.asked.findLast(({ method }) => method === 'POST')?.body ?? '',
    // Keys of the sandbox, and the notices of live mode, which are signed.
    connection: { ...sandbox, readNotice: live.readNotice },
  }
}

conformanceSuite(fakeMonnify, async (t) => {
  const rig = await setUp(t)
  // What the suite loses on the way is then the call itself, not the login before it.
  await rig.connection.verifyKeys()
  return rig
})

const order = (changes: Partial<Order> = {}): Order => ({
  reference: 'r'.repeat(32),
  amount: naira(500_010),
  country: 'NG',
  customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return?order=1',
  startedAt: new Date(),
  expiresAt: new Date('2036-01-02T03:04:05.678Z'),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

const handle = (changes: Partial<OrderHandle> = {}): OrderHandle => ({
  reference: order().reference,
  providerReference: 'MNFY|17|20260626231846|000001',
  channel: 'card',
  startedAt: new Date('2026-07-01T10:00:00Z'),
  ...changes,
})

const envelope = (responseBody: unknown): Said => ({
  status: 200,
  text: JSON.stringify({ requestSuccessful: true, responseMessage: 'success', responseCode: '0', responseBody }),
})

test('monnify is found by its name, at an address for each mode', () => {
  assert.equal(findProvider('monnify'), monnify)
  assert.deepEqual(monnify.baseURL, { sandbox: 'https://sandbox.monnify.com', live: 'https://api.monnify.com' })
})

test('a key of live mode is none of the sandbox, and the other way round', () => {
  const [apiKey] = monnify.settings
  assert.match('MK_PROD_ABCDEFGHIJ', apiKey?.pattern.live ?? /^$/)
  assert.doesNotMatch('MK_PROD_ABCDEFGHIJ', apiKey?.pattern.sandbox ?? /./)
  assert.doesNotMatch('MK_TEST_ABCDEFGHIJ', apiKey?.pattern.live ?? /./)
})

test('without any of its settings monnify is not connected', () => {
  for (const name of Object.keys(KEYS)) {
    for (const settings of [
      { ...KEYS, [name]: '' },
      Object.fromEntries(Object.entries(KEYS).filter(([n]) => n !== name)),
    ]) {
      const account = { mode: 'sandbox', settings, baseURL: 'http://localhost', http: providerHttp() } as const
      assert.throws(() => monnify.connect(account), new RegExp(`monnify needs the setting ${name}`))
    }
  }
})

test('monnify is asked for a page in its own words, with the amount in digits', async (t) => {
  const { connection, lastBody, asked } = await setUp(t)
  await connection.start(order())
  assert.match(lastBody(), /^\{"amount":5000\.10,/)
  assert.deepEqual(JSON.parse(lastBody()), {
    amount: 5000.1,
    customerName: 'Ada',
    customerEmail: 'ada@example.com',
    paymentReference: order().reference,
    paymentDescription: 'Payment to Ada & Sons',
    currencyCode: 'NGN',
    contractCode: '1234567890',
    paymentMethods: ['CARD'],
    metaData: { startedAs: 'page' },
    redirectUrl: 'https://shop.example/return?order=1',
  })
  assert.deepEqual(
    asked.map(({ headers }) => headers.authorization?.split(' ')[0]),
    ['Basic', 'Bearer'],
  )
})

test('texts are cut at whole characters, and a missing name is filled in', async (t) => {
  const { connection, lastBody } = await setUp(t)
  const customer = { email: 'ada@example.com', name: null, phoneNumber: null }
  await connection.start(order({ customer, merchantName: '😀'.repeat(100) }))
  const { customerName, paymentDescription } = JSON.parse(lastBody())
  assert.equal(customerName, 'Customer')
  assert.equal(paymentDescription, `Payment to ${'😀'.repeat(44)}`)
})

test('a link is given without the bars that are in theirs, for forty minutes', async (t) => {
  const { connection, upstream } = await setUp(t)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const start = await connection.start(order())
  assert.equal(start.kind, 'link')
  assert.equal(start.link, `${upstream.url}/checkout/MNFY%7C17%7C20260626231846%7C000001`)
  assert.equal(start.providerReference, 'MNFY|17|20260626231846|000001')
  assert.equal(start.publicKey, KEYS.apiKey)
  assert.equal(start.expiresAt.getTime() - Date.now(), 2_400_000)
  const page = await fetch(start.link)
  assert.match(await page.text(), /Pay ₦5,000\.10/)
})

test('the page leads back with our reference', async (t) => {
  const { connection } = await setUp(t)
  const start = await connection.start(order())
  assert.equal(start.kind, 'link')
  const pressed = await fetch(start.link, { method: 'POST', body: 'press=pay', redirect: 'manual' })
  assert.equal(
    pressed.headers.get('location'),
    `https://shop.example/return?order=1&paymentReference=${order().reference}`,
  )
  assert.equal((await connection.check(handle())).kind, 'paid')
})

test('a page that was paid takes no second card', async (t) => {
  const { connection, ledger } = await setUp(t)
  const start = await connection.start(order())
  assert.equal(start.kind, 'link')
  for (let press = 0; press < 2; press++)
    await fetch(start.link, { method: 'POST', body: 'press=pay', redirect: 'manual' })
  assert.equal(ledger().taken.length, 1)
})

test('a refusal is declined when they do not know the reference, under any status that they use', async (t) => {
  const { connection, upstream } = await setUp(t)
  for (const status of [200, 400, 403, 404, 422]) {
    const refusal = {
      status,
      text: '{"requestSuccessful":false,"responseMessage":"No: secret words","responseCode":"99"}',
    }
    const missing = { ...refusal, status: 404 }
    let answers = [refusal, missing]
    upstream.garble = (said) => (said.text.includes('accessToken') ? said : (answers.shift() ?? said))
    assert.deepEqual(await connection.start(order()), {
      kind: 'declined',
      failure: {
        code: 'provider_error',
        message: 'The provider rejected the request. Nothing was charged.',
        providerCode: '99',
      },
      tryId: null,
      ...(status === 403 && { keysRefused: true }),
    })
    answers = [refusal, missing]
    const charge = await connection.chargeSavedCard(order({ reference: `s${status}` }), 'MNFY_PAYING')
    assert.ok(charge.kind === 'declined' && charge.failure.code === 'card_declined')
    upstream.garble = undefined
  }
})

test('a refused start whose reference they know is unknown, and so is one when they cannot be asked', async (t) => {
  const { connection, upstream } = await setUp(t)
  await connection.start(order())
  const again = await connection.start(order())
  assert.deepEqual(again, { kind: 'unknown', because: 'it refused, and knows the reference (pending)' })
  upstream.garble = (said) => (said.status === 200 ? { status: 502, text: '<html>Bad gateway</html>' } : said)
  assert.equal((await connection.start(order())).kind, 'unknown')
})

test('a reference that stands for an order may get the first answer again', async (t) => {
  const { connection, switches, ordersMade } = await setUp(t)
  switches.repeatsFirstAnswer = true
  const [first, again] = [await connection.start(order()), await connection.start(order())]
  assert.ok(first.kind === 'link' && again.kind === 'link')
  assert.deepEqual([again.link, again.providerReference], [first.link, first.providerReference])
  assert.equal(ordersMade(), 1)
})

test('an answer about another order, account or amount is unknown', async (t) => {
  const { connection, upstream } = await setUp(t)
  const swaps: [RegExp, string][] = [
    [/"paymentReference":"\w+"/, '"paymentReference":"another"'],
    [/"apiKey":"\w+"/, '"apiKey":"MK_PROD_ANOTHER"'],
    [/"amount":[\d.]+/, '"amount":5000.11'],
    [/"totalPayable":[\d.]+/, '"totalPayable":5000.09'],
    [/"accountNumber":"\d+","accountName"/, '"accountNumber":"","accountName"'],
  ]
  for (const [i, [from, to]] of swaps.entries()) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from, to) })
    const opened = await connection.start(byTransfer(order({ reference: `order${i}` })))
    assert.equal(opened.kind, 'unknown', to)
  }
  upstream.garble = (said) => ({ ...said, text: said.text.replace('"currency":"NGN"', '"currency":"USD"') })
  const foreign = await connection.chargeSavedCard(order(), 'MNFY_PAYING')
  assert.deepEqual(foreign, { kind: 'unknown', because: 'it answered with another currency' })
  upstream.garble = (said) => ({ ...said, text: said.text.replaceAll(order().reference, 'another') })
  assert.equal((await connection.check(handle())).kind, 'unknown')
})

test('an account number takes two calls, and lives as long as they say', async (t) => {
  const { connection, paths, upstream } = await setUp(t)
  upstream.garble = (said) => ({ ...said, text: said.text.replace('":2400', '":1200') })
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const account = await connection.start(byTransfer(order()))
  assert.equal(account.kind, 'account')
  const { expiresAt, ...rest } = account
  assert.deepEqual(rest, {
    kind: 'account',
    accountName: 'Demo-Ada & Sons',
    accountNumber: '2209149705',
    bankName: 'Sterling bank',
    amountToTransfer: 500_010,
    providerReference: 'MNFY|17|20260626231846|000001',
  })
  assert.equal(expiresAt.getTime() - Date.now(), 1_200_000)
  assert.deepEqual(paths().slice(1), [
    'POST /api/v1/merchant/transactions/init-transaction',
    'POST /api/v1/merchant/bank-transfer/init-payment',
  ])
})

test('when the contract has the customer bear the fee, that is what is to be transferred', async (t) => {
  const { connection, switches, customer } = await setUp(t)
  switches.feeOnTop = 7_500
  const account = await connection.start(byTransfer(order()))
  assert.ok(account.kind === 'account' && account.amountToTransfer === 507_510)
  await customer.transfer?.(order().reference, 507_510)
  const outcome = await connection.check(handle({ channel: 'virtual-bank-account' }))
  assert.ok(outcome.kind === 'paid' && outcome.receipts[0]?.amount.amount === 507_510)
})

test('an account whose second call is lost is unknown, even if that call never left: the order is theirs already', async (t) => {
  const { connection, http, upstream, live } = await setUp(t)
  await live.verifyKeys()
  const cut: ProviderHttp = {
    request: async (call) =>
      call.url.endsWith('/init-payment')
        ? { kind: 'unknown', because: 'no line', neverSent: true }
        : http.request(call),
  }
  const connected = monnify.connect({ mode: 'sandbox', settings: KEYS, baseURL: upstream.url, http: cut })
  assert.deepEqual(await connected.start(byTransfer(order())), { kind: 'unknown', because: 'no line' })
  const outcome = await connection.check(
    handle({ providerReference: order().reference, channel: 'virtual-bank-account' }),
  )
  assert.deepEqual(outcome, { kind: 'pending', receipts: [] })
})

test('the charge of a saved card that is under way is processing, at once and in every check', async (t) => {
  const { connection } = await setUp(t)
  assert.deepEqual(await connection.chargeSavedCard(order(), 'MNFY_WORKING'), { kind: 'processing' })
  const unnamed = handle({ providerReference: order().reference })
  assert.deepEqual(await connection.check(unnamed), { kind: 'processing' })
  // A page whose answer was lost: the customer never got the link, so nothing is under way.
  const lost = order({ reference: 'lost' })
  await connection.start(lost)
  const outcome = await connection.check(handle({ reference: 'lost', providerReference: 'lost' }))
  assert.deepEqual(outcome, { kind: 'pending', receipts: [] })
})

test('a charge is asked for with all that they need', async (t) => {
  const { connection, lastBody } = await setUp(t)
  await connection.chargeSavedCard(order(), 'MNFY_PAYING')
  assert.deepEqual(Object.keys(JSON.parse(lastBody())).sort(), [
    'amount',
    'apiKey',
    'cardToken',
    'contractCode',
    'currencyCode',
    'customerEmail',
    'customerName',
    'paymentDescription',
    'paymentReference',
  ])
})

test('a charge that was refused although it was made is what a check says it is', async (t) => {
  const { connection, upstream } = await setUp(t)
  upstream.garble = (said) => {
    upstream.garble = said.text.includes('accessToken') ? upstream.garble : undefined
    if (upstream.garble) return said
    return { status: 422, text: '{"requestSuccessful":false,"responseMessage":"Oops","responseCode":"99"}' }
  }
  assert.equal((await connection.chargeSavedCard(order(), 'MNFY_PAYING')).kind, 'paid')
})

async function paidCard(t: TestContext) {
  const rig = await setUp(t)
  await rig.connection.start(order())
  await rig.customer.payByCard(order().reference, { save: false })
  return rig
}

test('the reference of a transaction is found by its own', async (t) => {
  const { connection, asked } = await paidCard(t)
  const found = await connection.findReference?.('MNFY|17|20260626231846|000001#500010.1')
  assert.deepEqual(found, { kind: 'found', reference: order().reference })
  assert.equal(asked.at(-1)?.path, '/api/v2/transactions/MNFY%7C17%7C20260626231846%7C000001')
  assert.deepEqual(await connection.findReference?.('MNFY|17|20260626231846|000009'), { kind: 'missing' })
})

test('an answer that says yes and no at once is unknown', async (t) => {
  const { connection, upstream } = await paidCard(t)
  const swap = (from: string, to: string) => {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from, to) })
    return connection.check(handle())
  }
  assert.equal((await swap('"requestSuccessful":true', '"requestSuccessful":false')).kind, 'unknown')
  assert.equal((await swap('"responseCode":"0"', '"responseCode":"99"')).kind, 'unknown')
  assert.equal((await swap('"requestSuccessful":true,', '')).kind, 'paid', 'some endpoints leave it out')
})

test('transfers are counted once each, in any order, under the ids of their notices', async (t) => {
  const { connection, customer, switches, ledger, takeNotices, live } = await setUp(t)
  await connection.start(byTransfer(order()))
  const of = handle({ channel: 'virtual-bank-account' })
  const seen = new Map<string, number>()
  for (const [amount, kind] of [
    [200_000, 'pending'],
    [100_010, 'pending'],
    [200_000, 'paid'],
    [200_000, 'paid'],
  ] as const) {
    await customer.transfer?.(order().reference, amount)
    switches.listsNewestFirst = !switches.listsNewestFirst
    const outcome = await connection.check(of)
    assert.ok(outcome.kind === kind)
    for (const { transactionId, amount: each } of outcome.receipts) seen.set(transactionId, each.amount)
  }
  assert.deepEqual(
    [...seen].sort(),
    ledger()
      .taken.map(({ id, amount }) => [id, amount.amount])
      .sort(),
  )
  for (const notice of takeNotices()) {
    const reading = live.readNotice({ ...notice, receivedAt: new Date() })
    assert.ok(reading.kind === 'notice' && reading.receipts.every(({ transactionId }) => seen.has(transactionId)))
  }
})

test('what a gateway in front of them says is unknown', async (t) => {
  const { connection, upstream } = await setUp(t)
  await connection.start(order())
  const page = '{"timestamp":"2026-01-01T00:00:00Z","status":404,"error":"Not Found","path":"/api"}'
  for (const said of [
    { status: 404, text: page },
    { status: 403, text: page },
    { status: 502, text: '<html>Bad gateway</html>' },
    { status: 200, text: '{"requestSuccessful":false,"responseMessage":"No","responseCode":"0","responseBody":{}}' },
    { status: 200, text: '{"requestSuccessful":false,"responseMessage":"No","responseCode":"99"}' },
    envelope(null),
  ]) {
    upstream.garble = () => said
    assert.equal((await connection.check(handle())).kind, 'unknown', said.text)
    assert.equal((await connection.start(order({ reference: 'other' }))).kind, 'unknown', said.text)
  }
})
