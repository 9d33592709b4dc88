import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KEYS, RESULTS, startFakeMpesa } from '../../../test/fakes/mpesa/fake.ts'
import { orderOf } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { Facts, Order, OrderHandle, PromptStart } from '../provider.ts'
import { mpesa } from './adapter.ts'

const shillings = (cents: number) => money(cents, 'KES' as Currency)

async function setUp(t: TestContext, settings: Record<string, string> = {}) {
  const fake = await startFakeMpesa(t)
  const account = { mode: 'sandbox' as const, baseURL: fake.upstream.url, http: httpTo(fake.upstream) }
  const connection = mpesa.connect({ ...account, settings: { ...KEYS, ...settings } })
  const order = (changes: Partial<Order> = {}) => orderOf({ ...fake, connection }, changes)
  const bodies = () => fake.asked.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body))
  return { fake, connection, order, bodies }
}

async function started(t: TestContext) {
  const rig = await setUp(t)
  const order = rig.order()
  const start = await rig.connection.start(order)
  assert.equal(start.kind, 'prompt')
  const { providerReference, personalId } = start as PromptStart
  const handle = (facts: Facts[] = [], changes: Partial<OrderHandle> = {}): OrderHandle => ({
    ...{ reference: order.reference, providerReference, channel: order.channel, startedAt: order.startedAt },
    ...{ amount: order.amount, notices: { url: 'https://pay.example/notices/1', facts } },
    ...{ startedAs: 'prompt', personalId },
    ...changes,
  })
  const push = rig.fake.find(order.reference)
  return { ...rig, handle, push, checkoutId: push.checkoutId, requestId: push.merchantId }
}

test('a push is asked for as in their sample, with a time in Nairobi', async (t) => {
  const { connection, order, bodies } = await setUp(t)
  const startedAt = new Date('2021-06-28T06:24:08Z')
  const reference = '01a1f57faf2573a19d420f8cfcd2d687'
  const noticeURL = 'https://mydomain.com/notices/mpesa/live/mer_1'
  await connection.start(order({ startedAt, reference, noticeURL, amount: shillings(100) }))
  const [{ CallBackURL, ...body }] = bodies()
  assert.deepEqual(body, {
    BusinessShortCode: '174379',
    Password:
      'MTc0Mzc5YmZiMjc5ZjlhYTliZGJjZjE1OGU5N2RkNzFhNDY3Y2QyZTBjODkzMDU5YjEwZjc4ZTZiNzJhZGExZWQyYzkxOTIwMjEwNjI4MDkyNDA4',
    Timestamp: '20210628092408',
    TransactionType: 'CustomerPayBillOnline',
    Amount: '1',
    PartyA: '254708374149',
    PartyB: '174379',
    PhoneNumber: '254708374149',
    AccountReference: '0F8CFCD2D687',
    TransactionDesc: 'Ada  Sons',
  })
  assert.match(
    CallBackURL,
    /^https:\/\/mydomain\.com\/notices\/mpesa\/live\/mer_1\/01a1f57faf2573a19d420f8cfcd2d687\.[\w-]{32}$/,
  )
})

test('a till is paid with the short code of its store', async (t) => {
  const { connection, order, bodies } = await setUp(t, { tillNumber: '6509715' })
  assert.equal((await connection.start(order())).kind, 'prompt')
  const [{ TransactionType, BusinessShortCode, PartyB }] = bodies()
  assert.deepEqual([TransactionType, BusinessShortCode, PartyB], ['CustomerBuyGoodsOnline', '174379', '6509715'])
})

test('an amount with cents, another network and a foreign number are refused before the call', async (t) => {
  const { fake, connection, order } = await setUp(t)
  const odd: Partial<Order>[] = [
    { amount: shillings(120_050) },
    { input: { phoneNumber: '+254708374149', network: 'airtel' } },
    { input: { phoneNumber: '+233551234987', network: 'mpesa' } },
    { channel: 'card', input: {} },
  ]
  for (const changes of odd) assert.equal((await connection.start(order(changes))).kind, 'declined')
  assert.deepEqual(fake.asked, [])
})

test('each result code that is known ends the order with a code of ours', async (t) => {
  const { connection, handle, fake, push } = await started(t)
  const codes: Record<string, string> = {
    ...{ '1': 'insufficient_funds', '2': 'limit_exceeded', '3': 'limit_exceeded', '4': 'limit_exceeded' },
    ...{ '8': 'provider_error', '17': 'other', '1001': 'other', '1019': 'prompt_expired' },
    ...{ '1025': 'provider_unavailable', '9999': 'provider_unavailable', '1032': 'customer_cancelled' },
    ...{ '1037': 'prompt_expired', '2001': 'incorrect_pin', '2028': 'provider_error', '8006': 'other' },
    SFC_IC0003: 'provider_error',
  }
  for (const [code, ours] of Object.entries(codes)) {
    fake.end(push, { code, says: 'in their words' })
    const outcome = await connection.check(handle())
    assert.ok(outcome.kind === 'declined', code)
    assert.deepEqual([outcome.failure.code, outcome.failure.providerCode, outcome.tryId], [ours, code, push.merchantId])
  }
})

test('a code in no table is unknown, until the callback says the same; 4999 is still open', async (t) => {
  const { connection, handle, fake, push, requestId } = await started(t)
  fake.end(push, { code: '2099', says: 'new' })
  assert.equal((await connection.check(handle())).kind, 'unknown')
  assert.equal((await connection.check(handle([{ request: requestId, code: '1' }]))).kind, 'unknown')
  assert.equal((await connection.check(handle([{ request: 'another', code: '2099' }]))).kind, 'unknown')
  const fact = [{ request: requestId, code: '2099' }]
  const outcome = await connection.check(handle(fact))
  assert.ok(outcome.kind === 'declined' && outcome.failure.code === 'other')
  push.result = undefined
  fake.behaviour.codeWhileOpen = '4999'
  assert.deepEqual(await connection.check(handle()), { kind: 'pending', receipts: [] })
})

test('HTTP 500 says that the customer is asked, or nothing, by its words', async (t) => {
  const { connection, handle, fake } = await started(t)
  assert.deepEqual(await connection.check(handle()), { kind: 'pending', receipts: [] })
  const startedAt = new Date(Date.now() - 3_700_000)
  assert.deepEqual(await connection.check(handle([], { startedAt })), { kind: 'processing' }, 'after an hour')
  for (const errorMessage of ['Wrong credentials', 'Merchant does not exist', 'Internal Server Error', '']) {
    const text = JSON.stringify({ requestId: '1', errorCode: '500.001.1001', errorMessage })
    fake.upstream.garble = () => ({ status: 500, text })
    assert.equal((await connection.check(handle())).kind, 'unknown', errorMessage)
  }
  const open = '{"requestId":"1","errorCode":"500.001.1001","errorMessage":"The transaction is being processed"}'
  fake.upstream.garble = () => ({ status: 503, text: open })
  assert.equal((await connection.check(handle())).kind, 'unknown')
})

test('an open prompt that is asked about for long does not open the circuit breaker', async (t) => {
  const { fake, handle } = await started(t)
  const http = providerHttp()
  const connection = mpesa.connect({ mode: 'sandbox', settings: KEYS, baseURL: fake.upstream.url, http })
  for (let times = 0; times < 20; times++) assert.equal((await connection.check(handle())).kind, 'pending')
  assert.equal(http.breaker.state(), 'closed')
})

test('a start that is refused says so, and what is not clear is unknown', async (t) => {
  const { connection, order, fake } = await setUp(t)
  await connection.verifyKeys()
  const refusals: [number, string, string, string, boolean][] = [
    [500, '500.001.1001', 'Wrong credentials', 'provider_error', true],
    [500, '500.001.1001', 'Merchant does not exist', 'provider_error', true],
    [500, '500.001.1001', 'Unable to lock subscriber, a transaction is already in process', 'other', false],
    [500, '500.003.02', 'Error Occurred: Spike Arrest Violation', 'provider_unavailable', false],
    [500, '500.003.03', 'Quota Violation', 'provider_unavailable', false],
    [400, '400.002.02', 'Bad Request - Invalid PhoneNumber', 'subscriber_unknown', false],
    [400, '400.002.02', 'Bad Request - Invalid CallBackURL', 'provider_error', false],
    [404, '404.001.01', 'Resource not found', 'provider_error', false],
    [405, '405.001', 'Method Not Allowed', 'provider_error', false],
  ]
  for (const [status, errorCode, errorMessage, code, keysRefused] of refusals) {
    fake.upstream.garble = () => ({ status, text: JSON.stringify({ requestId: '1', errorCode, errorMessage }) })
    const start = await connection.start(order())
    assert.ok(start.kind === 'declined', errorMessage)
    assert.deepEqual([start.failure.code, start.keysRefused ?? false], [code, keysRefused], errorMessage)
  }
  for (const errorMessage of ['System is busy. Please try again in few minutes.', 'Internal Server Error']) {
    const text = JSON.stringify({ requestId: '1', errorCode: '500.003.02', errorMessage })
    fake.upstream.garble = () => ({ status: 500, text })
    assert.equal((await connection.start(order())).kind, 'unknown', errorMessage)
  }
})

test('a token is used until its end, and one that ends early is replaced at once', async (t) => {
  const { fake, connection, order } = await setUp(t)
  const logins = () => fake.asked.filter(({ path }) => path.startsWith('/oauth/')).length
  await connection.start(order())
  await connection.start(order())
  assert.equal(logins(), 1)
  fake.endTokens()
  assert.equal((await connection.start(order())).kind, 'prompt')
  assert.deepEqual([logins(), fake.ordersMade()], [2, 3])
  // Two processes of ours end each other's tokens.
  fake.behaviour.endsEarlierTokens = true
  const http = httpTo(fake.upstream)
  const other = mpesa.connect({ mode: 'sandbox', settings: KEYS, baseURL: fake.upstream.url, http })
  for (const each of [other, connection, other]) assert.equal((await each.start(order())).kind, 'prompt')
  // Never accepted: nothing was started, and it is no fault of the customer.
  fake.upstream.garble = (said, { path }) =>
    path.startsWith('/oauth/')
      ? said
      : { status: 401, text: '{"errorCode":"404.001.03","errorMessage":"Invalid Access Token"}' }
  const refused = await connection.start(order())
  assert.ok(refused.kind === 'declined' && refused.keysRefused)
})

test('an order whose name was lost is not asked for, until a callback names it', async (t) => {
  const { connection, handle, fake, push, checkoutId, requestId } = await started(t)
  const lost = { personalId: undefined }
  const calls = fake.asked.length
  const unknown = await connection.check(handle([], lost))
  assert.ok(unknown.kind === 'unknown' && unknown.unaskable && unknown.neverSent)
  assert.equal(fake.asked.length, calls)
  const facts = [{ request: requestId, checkout: checkoutId, code: '0' }]
  assert.equal((await connection.check(handle(facts, lost))).kind, 'pending', 'the callback alone books nothing')
  fake.end(push, RESULTS.paid)
  const paid = await connection.check(handle(facts, lost))
  assert.ok(paid.kind === 'paid' && paid.receipts[0]?.transactionId === requestId)
})

test('a callback that names another amount, and an order without an amount, are unknown', async (t) => {
  const { connection, handle, fake, push, requestId } = await started(t)
  fake.end(push, RESULTS.paid)
  const said = (amount: string) => [{ request: requestId, code: '0', amount }]
  assert.equal((await connection.check(handle(said('120000')))).kind, 'paid')
  assert.equal((await connection.check(handle(said('100')))).kind, 'unknown')
  const { amount: _, ...bare } = handle()
  assert.equal((await connection.check(bare)).kind, 'unknown')
})

test('two prompts of a start whose answer was lost are each asked for, and a person gives surplus back', async (t) => {
  const { connection, order, handle, fake, push, requestId } = await started(t)
  const other = order()
  await connection.start(other)
  const second = fake.find(other.reference)
  const lost = { personalId: undefined }
  const facts = [push, second].map(({ checkoutId: checkout, merchantId: request }) => ({
    request,
    checkout,
    code: '0',
  }))
  fake.end(second, RESULTS.refused)
  assert.equal((await connection.check(handle(facts, lost))).kind, 'pending', 'the first still asks')
  fake.end(push, RESULTS.paid)
  fake.end(second, RESULTS.paid)
  const paid = await connection.check(handle(facts, lost))
  assert.ok(paid.kind === 'paid')
  assert.deepEqual(
    paid.receipts.map(({ transactionId, idIsProviders }) => [transactionId, idIsProviders]),
    [
      [requestId, undefined],
      [second.merchantId, undefined],
    ],
  )
})

test('a callback that names another prompt does not make us ask about it', async (t) => {
  const { connection, order, handle, fake, push, requestId } = await started(t)
  const other = order()
  await connection.start(other)
  const second = fake.find(other.reference)
  fake.end(second, RESULTS.paid)
  const facts = [{ request: second.merchantId, checkout: second.checkoutId, code: '0', receipt: second.receipt }]
  assert.equal((await connection.check(handle(facts))).kind, 'pending')
  fake.end(push, RESULTS.paid)
  const paid = await connection.check(handle(facts))
  assert.ok(paid.kind === 'paid')
  assert.deepEqual(
    paid.receipts.map(({ transactionId, idIsProviders }) => [transactionId, idIsProviders]),
    [[requestId, true]],
  )
})

test('an answer about another prompt is unknown', async (t) => {
  const { connection, handle, fake, push, checkoutId } = await started(t)
  fake.end(push, RESULTS.paid)
  fake.upstream.garble = (said) => ({ ...said, text: said.text.replaceAll(checkoutId, 'ws_CO_1') })
  assert.equal((await connection.check(handle())).kind, 'unknown')
})

test('a reversal is asked for as in their sample, and its callbacks have addresses of their own', async (t) => {
  const { connection, handle, fake, push, bodies, requestId } = await started(t)
  fake.end(push, RESULTS.paid)
  const facts = [{ request: requestId, code: '0', receipt: push.receipt }]
  const amount = shillings(120_000)
  const wanted = { reference: 'f'.repeat(32), order: handle(facts), transactionIds: [requestId], amount, reason: null }
  assert.deepEqual(await connection.refund(wanted), { kind: 'pending', refundId: null })
  const { ResultURL, QueueTimeOutURL, ...body } = bodies().at(-1)
  assert.deepEqual(body, {
    Initiator: 'testapi',
    SecurityCredential: KEYS.securityCredential,
    CommandID: 'TransactionReversal',
    TransactionID: push.receipt,
    Amount: '1200',
    ReceiverParty: '174379',
    RecieverIdentifierType: '11',
    Remarks: 'Refund',
  })
  assert.match(ResultURL, new RegExp(`/${push.reference}\\.f{32}\\.[\\w-]{32}$`))
  assert.match(QueueTimeOutURL, new RegExp(`/${push.reference}\\.[\\w-]{32}$`))
  const [{ body: result } = assert.fail()] = fake.takeNotices().slice(-1)
  const read = (url: string) => connection.readNotice({ headers: {}, body: result, receivedAt: new Date(), url })
  const [said, timedOut] = [read(ResultURL), read(QueueTimeOutURL)]
  assert.ok(said.kind === 'notice' && said.says === 'refund' && said.facts?.code === '0')
  assert.ok(timedOut.kind === 'notice' && timedOut.says === 'other' && timedOut.facts === undefined)
  assert.equal(fake.refundsMade(), 1)
})
