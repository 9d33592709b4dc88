import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startFakePawapay } from '../../../test/fakes/pawapay/fake.ts'
import { handleOf, orderOf } from '../../../test/fakes/rig.ts'
import { httpTo, type Said } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { ChannelInput, Order, ProviderHttp } from '../provider.ts'
import { pawapay } from './adapter.ts'
import { uuidOf } from './mapping.ts'

async function rigFor(t: TestContext) {
  const fake = await startFakePawapay(t)
  const { settings, upstream } = fake
  const connection = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  return { ...fake, connection }
}

type Rig = Awaited<ReturnType<typeof rigFor>>

const RWANDA: Partial<Order> = { amount: money(100, 'RWF' as Currency), country: 'RW' }
const orderIn = (rig: Rig, changes: Partial<Order>) => orderOf(rig, changes)
const inRwanda = (rig: Rig, input: ChannelInput = {}) =>
  orderIn(rig, { ...RWANDA, input: { phoneNumber: '+250783456700', network: 'mtn', ...input } })
const handleFor = ({ reference }: Order) =>
  handleOf({ reference }, { providerReference: uuidOf(reference) }, 'mobile-money')
const bodyOfLast = ({ asked }: Rig, path = '/v2/deposits') =>
  JSON.parse(asked.findLast((each) => each.method === 'POST' && each.path === path)?.body ?? 'null')
const depositsAsked = ({ asked }: Rig) =>
  asked.filter(({ method, path }) => method === 'POST' && path === '/v2/deposits').length

test('a deposit has a UUID v4 that follows from our reference, the operator, and our reference', async (t) => {
  const rig = await rigFor(t)
  const order = inRwanda(rig)
  const start = await rig.connection.start(order)
  const { depositId } = bodyOfLast(rig)
  assert.match(depositId, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  assert.equal(depositId, uuidOf(order.reference))
  assert.equal(uuidOf(depositId), depositId, 'the id of a deposit is one itself')
  assert.deepEqual(bodyOfLast(rig), {
    ...{ depositId, amount: '100', currency: 'RWF' },
    payer: { type: 'MMO', accountDetails: { phoneNumber: '250783456700', provider: 'MTN_MOMO_RWA' } },
    clientReferenceId: order.reference,
    customerMessage: 'Ada Sons',
    metadata: [{ orderReference: order.reference }],
  })
  assert.deepEqual(start, {
    ...{ kind: 'prompt', providerReference: depositId, expiresAt: order.expiresAt, shownAs: 'PAWAPAY LTD' },
    message: 'Dial *182*1*3# Enter your PIN',
  })
})

test('a prompt that comes by itself says how it comes again, in the language of the country', async (t) => {
  const rig = await rigFor(t)
  const start = await rig.connection.start(orderOf(rig))
  assert.ok(start.kind === 'prompt')
  assert.deepEqual([start.message, start.again], [undefined, 'Dial *115# to see what waits Enter your PIN'])
  const wished = rig.conf.countries.find(({ country }) => country === 'SEN')?.providers[1]?.currencies[0]
  Object.assign(wished?.operationTypes.DEPOSIT ?? assert.fail(), {
    pinPromptRevivable: true,
    pinPromptInstructions: { channels: [{ type: 'USSD', instructions: { fr: [{ text: 'Composez #144#' }] } }] },
  })
  const french = pawapay.connect({
    ...{ mode: 'sandbox', settings: rig.settings, baseURL: rig.upstream.url, http: httpTo(rig.upstream) },
  })
  const input = { phoneNumber: '+221773456700', network: 'orange' } as const
  const there = await french.start(orderIn(rig, { amount: money(500, 'XOF' as Currency), country: 'SN', input }))
  assert.ok(there.kind === 'prompt')
  assert.equal(there.again, 'Composez #144#')
})

test('the number is sent as they write it, and the operator is the one that the customer chose', async (t) => {
  const rig = await rigFor(t)
  const heard: string[] = []
  rig.upstream.garble = (said, { path, body }) => {
    if (path !== '/v2/predict-provider') return said
    heard.push(body)
    // From their document: "25007 834-56789a" becomes this.
    return { status: 200, text: '{"country":"RWA","provider":"AIRTEL_RWA","phoneNumber":"250783456789"}' }
  }
  await rig.connection.start(inRwanda(rig))
  assert.deepEqual(heard, ['{"phoneNumber":"+250783456700"}'])
  assert.deepEqual(bodyOfLast(rig).payer.accountDetails, { phoneNumber: '250783456789', provider: 'MTN_MOMO_RWA' })
})

test('a number that is none is declined, and without an answer about it the typed one is sent', async (t) => {
  const rig = await rigFor(t)
  let text = '{"failureReason":{"failureCode":"INVALID_PARAMETER","failureMessage":"No such number"}}'
  rig.upstream.garble = (said, { path }) => (path === '/v2/predict-provider' ? { status: 400, text } : said)
  const start = await rig.connection.start(inRwanda(rig))
  assert.ok(start.kind === 'declined' && start.failure.code === 'subscriber_unknown')
  assert.equal(depositsAsked(rig), 0)
  text = '<html>'
  assert.equal((await rig.connection.start(inRwanda(rig))).kind, 'prompt')
  assert.equal(bodyOfLast(rig).payer.accountDetails.phoneNumber, '250783456700')
})

test('a code that was made beforehand is sent along, and without one no deposit is made', async (t) => {
  const rig = await rigFor(t)
  const order = (input: ChannelInput) =>
    orderIn(rig, { amount: money(500, 'XOF' as Currency), country: 'BF', input: { network: 'orange', ...input } })
  const start = await rig.connection.start(order({ phoneNumber: '+22607123456', preAuthorisationCode: '367025' }))
  assert.equal(start.kind, 'prompt')
  assert.equal(bodyOfLast(rig).preAuthorisationCode, '367025')
  const without = await rig.connection.start(order({ phoneNumber: '+22607123456' }))
  assert.ok(without.kind === 'declined')
  assert.equal(depositsAsked(rig), 1)
})

test('the page of a network is awaited, and the customer comes back by our address', async (t) => {
  const rig = await rigFor(t)
  const input = { phoneNumber: '+221773456700', network: 'wave' } as const
  const order = orderIn(rig, { amount: money(500, 'XOF' as Currency), country: 'SN', input })
  const start = await rig.connection.start(order)
  const { successfulUrl, failedUrl } = bodyOfLast(rig)
  assert.deepEqual([successfulUrl, failedUrl], [order.returnURL, order.returnURL])
  assert.ok(start.kind === 'link' && start.paidOnce)
  assert.equal(start.link, `${rig.upstream.url}/authorize/${uuidOf(order.reference)}`)
  assert.equal((await rig.connection.check(handleFor(order))).kind, 'pending')
})

test('without the page of a network in time, what was started is unknown, and checked', async (t) => {
  const rig = await rigFor(t)
  const input = { phoneNumber: '+221773456700', network: 'wave' } as const
  const order = orderIn(rig, { amount: money(500, 'XOF' as Currency), country: 'SN', input })
  rig.upstream.garble = (said, { method, path }) => {
    if (method !== 'GET' || !path.startsWith('/v2/deposits/')) return said
    const { data, ...rest } = JSON.parse(said.text)
    const { authorizationUrl: _, ...open } = data
    return { ...said, text: JSON.stringify({ ...rest, data: { ...open, nextStep: 'GET_AUTH_URL' } }) }
  }
  assert.equal((await rig.connection.start(order)).kind, 'unknown')
  assert.equal((await rig.connection.check(handleFor(order))).kind, 'pending')
})

for (const [what, order, code, ours] of [
  ['too little', { network: 'zamtel', amount: 499 }, 'AMOUNT_OUT_OF_BOUNDS', 'limit_exceeded'],
  ['too much', { network: 'zamtel', amount: 50_001 }, 'AMOUNT_OUT_OF_BOUNDS', 'limit_exceeded'],
  ['a fraction where there is none', { network: 'zamtel', amount: 1_050 }, 'INVALID_AMOUNT', 'provider_error'],
  [
    'a closed operator',
    { network: 'airtel', amount: 1_000 },
    'PROVIDER_TEMPORARILY_UNAVAILABLE',
    'provider_unavailable',
  ],
  [
    'an operator that the account does not have',
    { network: 'orange', amount: 1_000 },
    'INVALID_PROVIDER',
    'provider_error',
  ],
] as const) {
  test(`${what} is declined as they would, without a deposit`, async (t) => {
    const rig = await rigFor(t)
    const { network, amount } = order
    const input = { phoneNumber: '+260763456700', network }
    const start = await rig.connection.start(orderIn(rig, { amount: money(amount, 'ZMW' as Currency), input }))
    assert.ok(start.kind === 'declined')
    assert.deepEqual([start.failure.code, start.failure.providerCode], [ours, code])
    assert.equal(depositsAsked(rig), 0)
  })
}

test('an operator that closes after the deposit was made does not decline it', async (t) => {
  const rig = await rigFor(t)
  const order = orderOf(rig)
  await rig.connection.start(order)
  const operator = rig.conf.countries[0]?.providers[0]?.currencies[0]?.operationTypes.DEPOSIT
  Object.assign(operator ?? assert.fail(), { status: 'CLOSED' })
  const { settings, upstream } = rig
  const later = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  assert.equal((await later.start(order)).kind, 'prompt')
})

for (const [amount, currency, wire] of [
  [1_025_381, 'ZMW', '10253.81'],
  [1_025_380, 'ZMW', '10253.8'],
  [1_025_300, 'ZMW', '10253'],
  [100, 'ZMW', '1'],
] as const) {
  test(`${amount} ${currency} is written ${wire}, without zeros at its end`, async (t) => {
    const rig = await rigFor(t)
    await rig.connection.start(orderIn(rig, { amount: money(amount, currency as Currency) }))
    assert.equal(bodyOfLast(rig).amount, wire)
  })
}

for (const failureCode of ['AMOUNT_OUT_OF_BOUNDS', 'DEPOSITS_NOT_ALLOWED', 'PROVIDER_TEMPORARILY_UNAVAILABLE']) {
  test(`a refusal in an HTTP 200, ${failureCode}, is a decline only of a deposit that they do not know`, async (t) => {
    const rig = await rigFor(t)
    const order = inRwanda(rig)
    const text = JSON.stringify({
      ...{ depositId: uuidOf(order.reference), status: 'REJECTED' },
      failureReason: { failureCode, failureMessage: 'for staff' },
    })
    rig.upstream.trouble = ({ method, path }) =>
      method === 'POST' && path === '/v2/deposits' ? { status: 200, text } : undefined
    const start = await rig.connection.start(order)
    assert.ok(start.kind === 'declined' && start.failure.providerCode === failureCode)
    assert.ok(!start.failure.message.includes('for staff'), 'their words are for staff')
    rig.upstream.trouble = undefined
    await rig.connection.start(order)
    rig.upstream.trouble = ({ method, path }) =>
      method === 'POST' && path === '/v2/deposits' ? { status: 200, text } : undefined
    assert.equal((await rig.connection.start(order)).kind, 'prompt', 'the refused repeat is no answer')
  })
}

test('an HTTP 500 without a status is unknown, and only what they do not find was not started', async (t) => {
  const rig = await rigFor(t)
  const order = inRwanda(rig)
  const error: Said = { status: 500, text: '{"failureReason":{"failureCode":"UNKNOWN_ERROR"}}' }
  rig.upstream.trouble = ({ path }) => (path === '/v2/deposits' ? error : undefined)
  const start = await rig.connection.start(order)
  assert.ok(start.kind === 'unknown' && !start.neverSent)
  assert.equal((await rig.connection.check(handleFor(order))).kind, 'missing')
})

test('a repeat is ignored by them, and the deposit says what became of it', async (t) => {
  const rig = await rigFor(t)
  const order = inRwanda(rig)
  const first = await rig.connection.start(order)
  assert.deepEqual(await rig.connection.start(order), first)
  await rig.customer.approve?.(order.reference)
  assert.equal((await rig.connection.start(order)).kind, 'paid')
  const refused = inRwanda(rig)
  await rig.connection.start(refused)
  await rig.customer.refuse?.(refused.reference)
  assert.equal((await rig.connection.start(refused)).kind, 'declined')
  assert.equal(rig.ordersMade(), 2)
})

test('a repeat of a deposit that they then do not find is unknown', async (t) => {
  const rig = await rigFor(t)
  const order = inRwanda(rig)
  rig.upstream.trouble = ({ method, path }) =>
    method === 'POST' && path === '/v2/deposits'
      ? { status: 200, text: JSON.stringify({ depositId: uuidOf(order.reference), status: 'DUPLICATE_IGNORED' }) }
      : undefined
  assert.equal((await rig.connection.start(order)).kind, 'unknown')
})

for (const [status, minutes, kind] of [
  ['ACCEPTED', 1, 'pending'],
  ['PROCESSING', 1, 'pending'],
  ['SUBMITTED', 1, 'pending'],
  // The customer has gone. It is not clear what became of it, so it is no answer either.
  ['PROCESSING', 20, 'processing'],
  ['SUBMITTED', 60 * 24 * 30, 'processing'],
  ['IN_RECONCILIATION', 1, 'processing'],
  ['IN_RECONCILIATION', 60 * 24 * 30, 'processing'],
  ['COMPLETED', 60 * 24 * 30, 'paid'],
  ['FAILED', 1, 'declined'],
  ['NEW_STATUS', 1, 'unknown'],
] as const) {
  test(`${status} after ${minutes} minutes is ${kind}`, async (t) => {
    const rig = await rigFor(t)
    const order = inRwanda(rig)
    await rig.connection.start(order)
    const deposit = rig.depositOf(order.reference)
    Object.assign(deposit, { status, created: new Date(Date.now() - minutes * 60_000) })
    assert.equal((await rig.connection.check(handleFor(order))).kind, kind)
  })
}

test('an amount with decimals of a currency without them is that amount', async (t) => {
  const rig = await rigFor(t)
  const order = inRwanda(rig)
  await rig.connection.start(order)
  await rig.customer.approve?.(order.reference)
  const said: string[] = []
  rig.upstream.garble = (each) => {
    said.push(JSON.parse(each.text).data?.amount)
    return each
  }
  const outcome = await rig.connection.check(handleFor(order))
  assert.deepEqual(said, ['100.00'])
  assert.ok(outcome.kind === 'paid')
  assert.deepEqual(outcome.receipts[0]?.amount, order.amount)
  rig.upstream.garble = (each) => ({ ...each, text: each.text.replace('100.00', '100.50') })
  assert.equal((await rig.connection.check(handleFor(order))).kind, 'unknown', 'half a franc is not readable')
})

for (const [failureCode, ours] of Object.entries({
  PAYER_NOT_FOUND: 'subscriber_unknown',
  PAYMENT_NOT_APPROVED: 'customer_cancelled',
  PAYER_LIMIT_REACHED: 'limit_exceeded',
  INSUFFICIENT_BALANCE: 'insufficient_funds',
  PAYMENT_IN_PROGRESS: 'other',
  UNSPECIFIED_FAILURE: 'other',
  UNKNOWN_ERROR: 'other',
  INVALID_INPUT: 'provider_error',
})) {
  test(`a deposit that failed with ${failureCode} is declined as ${ours}`, async (t) => {
    const rig = await rigFor(t)
    const order = inRwanda(rig)
    await rig.connection.start(order)
    Object.assign(rig.depositOf(order.reference), { status: 'FAILED', failureCode })
    const outcome = await rig.connection.check(handleFor(order))
    assert.ok(outcome.kind === 'declined')
    assert.deepEqual([outcome.failure.code, outcome.failure.providerCode], [ours, failureCode])
  })
}

test('an answer about another deposit is unknown', async (t) => {
  const rig = await rigFor(t)
  const [one, other] = [inRwanda(rig), inRwanda(rig)]
  for (const order of [one, other]) await rig.connection.start(order)
  rig.upstream.garble = (said) => ({
    ...said,
    text: said.text.replaceAll(uuidOf(one.reference), uuidOf(other.reference)),
  })
  assert.equal((await rig.connection.check(handleFor(one))).kind, 'unknown')
})

test('a question that was never sent does not mean that the deposit was not', async (t) => {
  const { upstream, settings } = await rigFor(t)
  const order = orderOf(await rigFor(t))
  const way = httpTo(upstream)
  for (const said of ['DUPLICATE_IGNORED', 'REJECTED']) {
    const http: ProviderHttp = {
      async request(call) {
        if (!call.url.includes('/v2/deposits')) return way.request(call)
        if (call.method === 'GET') return { kind: 'unknown', because: 'not asked for a moment', neverSent: true }
        const failureReason = { failureCode: 'AMOUNT_OUT_OF_BOUNDS' }
        const text = JSON.stringify({ depositId: uuidOf(order.reference), status: said, failureReason })
        return { kind: 'answer', status: 200, text }
      },
    }
    const client = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
    assert.deepEqual(await client.start(order), { kind: 'unknown', because: 'not asked for a moment' })
  }
})
