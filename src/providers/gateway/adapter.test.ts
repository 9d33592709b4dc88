import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { conformanceSuite, type NoticeKind, type Rig } from '../../../test/fakes/conformance.ts'
import { type Asked, httpTo, type Said, startUpstream } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { Order, RawNotice } from '../provider.ts'
import { gateway } from './adapter.ts'

const SECRET_KEY = 'gsk_0190a1b2c3d47e5f8a9b0c1d2e3f4a5b_0123456789abcdef0123456789abcdef01234567'
const PUBLIC_KEY = 'gpk_0190a1b2c3d47e5f8a9b0c1d2e3f4a5b'
const CARD = { token: 'tok_paying', brand: 'Visa', last4: '4081', expiryMonth: 12, expiryYear: 2030 }

interface Payment {
  asked: Record<string, unknown>
  body: string
  transactions: { id: string; kind: string; status: string; amount: unknown; [field: string]: unknown }[]
  saved: boolean
}

/** The protocol, as small as it can be: payments in a map, and a customer who acts on them. */
function smallGateway() {
  const payments = new Map<string, Payment>()
  const refunds = new Map<string, { id: string; [field: string]: unknown }>()
  const disputes: { of: string; id: string; amount: number; status: string; [field: string]: unknown }[] = []
  let pageSize = 100
  const asked: Asked[] = []
  let [ids, namesHidden] = [0, false]

  function add(payment: Payment, kind: string, status: string, amount: unknown, more: object = {}): string {
    const id = `gtx_${++ids}`
    const { currency } = payment.asked
    payment.transactions.push({ id, kind, status, amount, currency, at: new Date().toISOString(), ...more })
    return id
  }
  const fail = (payment: Payment, code: string) =>
    add(payment, 'charge', 'failed', payment.asked.amount, { failure: { code, message: `No: ${code}.` } })

  function recordOf({ asked, transactions, saved }: Payment) {
    const { reference, channel = 'card', currency, expiresAt, amount: requested } = asked
    const sum = (kinds: string[]) =>
      transactions
        .filter(({ kind, status }) => kinds.includes(kind) && status === 'paid')
        .reduce((sum, { amount }) => sum + (amount as number), 0)
    const [amount, refunded] = [sum(['charge', 'transfer']), sum(['refund', 'dispute'])]
    const last = transactions.findLast(({ kind }) => kind === 'charge')?.status
    const isPaid = amount > 0 && (channel === 'card' || amount >= (requested as number))
    const status =
      amount > 0 && amount === refunded ? 'refunded' : isPaid ? 'paid' : last === 'failed' ? 'failed' : 'pending'
    const name = namesHidden ? undefined : 'Ada & Sons'
    return {
      ...{ reference, channel, status, requested, amount, refunded, currency, publicKey: PUBLIC_KEY, expiresAt },
      ...(channel === 'card'
        ? { link: `https://gateway.example/pay/${reference}` }
        : { account: { name, number: '9912345678', bank: 'Sandbox Bank', expiresAt } }),
      transactions,
      ...(saved && amount > 0 && { savedCard: CARD }),
    }
  }

  const ok = (data: object, status = 200): Said => ({ status, text: JSON.stringify({ data }) })
  const refuse = (status: number, code: string): Said => ({
    status,
    text: JSON.stringify({ type: `urn:manilla:problem:${code}`, code, detail: `Refused: ${code}` }),
  })

  function open(body: string, charge: boolean): Said {
    const asked = JSON.parse(body)
    const existing = payments.get(asked.reference)
    if (existing) return existing.body === body ? ok(recordOf(existing)) : refuse(409, 'duplicate_reference')
    if (asked.savedCard && !asked.savedCard.startsWith('tok_')) return refuse(422, 'invalid_token')
    const payment: Payment = { asked, body, transactions: [], saved: false }
    payments.set(asked.reference, payment)
    if (charge && asked.savedCard === 'tok_paying') add(payment, 'charge', 'paid', asked.amount)
    if (charge && asked.savedCard === 'tok_declining') fail(payment, 'insufficient_funds')
    return ok(recordOf(payment), charge ? 200 : 201)
  }

  function leftOf(payment: Payment): number {
    const { amount, refunded } = recordOf(payment)
    return amount - refunded
  }

  function refund(body: string): Said {
    const { reference, payment: of, amount } = JSON.parse(body)
    const payment = payments.get(of)
    if (!payment) return refuse(404, 'not_found')
    const earlier = refunds.get(reference)
    if (earlier) return ok(earlier)
    if (amount > leftOf(payment)) return refuse(422, 'refund_exceeds_payment')
    const { currency } = recordOf(payment)
    const given = { id: add(payment, 'refund', 'paid', amount), reference, payment: of, amount, currency }
    refunds.set(reference, { ...given, status: 'successful' })
    return ok({ ...given, status: 'successful' })
  }

  function returnsOf(payment: Payment) {
    const { reference, currency } = payment.asked
    const listed = payment.transactions
      .filter(({ kind }) => kind === 'refund')
      .map(({ id, amount, currency, at }) => {
        const ours = [...refunds.entries()].find(([, refund]) => refund.id === id)?.[0] ?? null
        return { id, reference: ours, amount, currency, at, status: 'successful' }
      })
    const own = disputes.filter(({ of }) => of === reference).map(({ of, ...dispute }) => ({ ...dispute, currency }))
    return ok({ reference, refunds: listed, disputes: own })
  }

  function transactions(query: URLSearchParams): Said {
    const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
    const taken = [...payments.values()].flatMap((payment) =>
      payment.transactions
        .filter(({ kind, status }) => (kind === 'charge' || kind === 'transfer') && status === 'paid')
        .filter(({ at }) => String(at) >= from && String(at) < to)
        .map(({ id, amount, currency, at }) => {
          const { reference, refunded } = recordOf(payment)
          return { id, reference, amount, currency, at, refunded }
        }),
    )
    const start = Number(query.get('cursor') ?? 0)
    const end = start + Math.min(pageSize, Number(query.get('limit')))
    return ok({ transactions: taken.slice(start, end), nextCursor: end < taken.length ? String(end) : null })
  }

  return {
    asked,
    payments,
    refunds,
    disputes,
    leftOf,
    limitPages: (size: number) => {
      pageSize = size
    },
    add,
    fail,
    recordOf,
    hideNames: () => {
      namesHidden = true
    },
    speak(request: Asked): Said {
      asked.push(request)
      const { method, path, headers, body } = request
      if (headers.authorization !== `Bearer ${SECRET_KEY}`) return refuse(401, 'unauthorized')
      if (method === 'POST' && path === '/sandbox/gateway/v1/payments') return open(body, false)
      if (method === 'POST' && path === '/sandbox/gateway/v1/charges') return open(body, true)
      if (method === 'POST' && path === '/sandbox/gateway/v1/refunds') return refund(body)
      const [, name = '', rest] = /^\/sandbox\/gateway\/v1\/payments\/([^/]+)(\/returns)?$/.exec(path) ?? []
      if (path.startsWith('/sandbox/gateway/v1/transactions?'))
        return transactions(new URLSearchParams(path.split('?')[1]))
      const payment = payments.get(name)
      if (method === 'GET' && payment && rest) return returnsOf(payment)
      return method === 'GET' && payment ? ok(recordOf(payment)) : refuse(404, 'not_found')
    },
  }
}

function sign(body: Buffer, at: Date, secretKey = SECRET_KEY): RawNotice {
  const t = Math.floor(at.getTime() / 1000)
  const v1 = createHmac('sha256', secretKey)
    .update(Buffer.concat([Buffer.from(`${t}.`), body]))
    .digest('hex')
  return { headers: { 'gateway-signature': `t=${t},v1=${v1}` }, body, receivedAt: at }
}

const TYPES: Partial<Record<NoticeKind, string>> = {
  paid: 'payment.paid',
  failed: 'payment.failed',
  processing: 'payment.processing',
  refund: 'refund.successful',
  dispute: 'dispute.opened',
}

async function setUp(t: TestContext) {
  const server = smallGateway()
  const upstream = await startUpstream(t, server.speak)
  const settings = { secretKey: SECRET_KEY, publicKey: PUBLIC_KEY }
  const baseURL = `${upstream.url}/sandbox/gateway`
  const connection = gateway.connect({ mode: 'sandbox', settings, baseURL, http: httpTo(upstream) })
  const find = (reference: string) => server.payments.get(reference) ?? assert.fail('there is such a payment')

  const rig: Rig = {
    provider: gateway,
    baseURL,
    settings,
    connection,
    upstream,
    secrets: [SECRET_KEY],
    price: { amount: 1_025_381, currency: 'NGN', country: 'NG' },
    ordersMade: () => server.payments.size,
    refundsMade: () => server.refunds.size,
    customer: {
      async payByCard(reference, { save }) {
        const payment = find(reference)
        payment.saved = save
        server.add(payment, 'charge', 'paid', payment.asked.amount)
      },
      async failByCard(reference) {
        server.fail(find(reference), 'card_declined')
      },
      async transfer(reference, amount) {
        server.add(find(reference), 'transfer', 'paid', amount)
      },
    },
    savedCards: {
      paying: 'tok_paying',
      declining: 'tok_declining',
      unheardOf: 'nobody',
      askingForAStep: 'tok_asking',
    },
    hideAccountNames: server.hideNames,
    limitPages: server.limitPages,
    async refundAtProvider(reference, amount) {
      const left = server.leftOf(find(reference))
      return amount > left ? undefined : server.add(find(reference), 'refund', 'paid', amount)
    },
    async disputeAtProvider(reference, { amount, reason }) {
      const id = `gds_${server.disputes.length + 1}`
      const openedAt = new Date().toISOString()
      const respondBy = new Date(Date.now() + 86_400_000).toISOString()
      server.disputes.push({ of: reference, id, amount, reason, status: 'open', openedAt, respondBy })
      return id
    },
    async closeDispute(id, outcome) {
      const dispute = server.disputes.find((each) => each.id === id) ?? assert.fail('there is such a dispute')
      dispute.status = outcome
      if (outcome === 'lost') server.add(find(dispute.of), 'dispute', 'paid', dispute.amount)
    },
    notices: {
      sign,
      signAsAnother: (body, at) => sign(body, at, SECRET_KEY.replace('gsk_0', 'gsk_1')),
      covers: { body: true, time: true },
      bodyOf(kind, reference) {
        const type = TYPES[kind]
        if (!type) return undefined
        const given = find(reference).transactions.find((transaction) => transaction.kind === 'refund')
        const refund = given && { id: given.id, amount: given.amount, currency: given.currency }
        return noticeBody({ type, reference, data: server.recordOf(find(reference)), ...(refund && { refund }) })
      },
    },
  }
  return { ...rig, server, find }
}

const noticeBody = (fields: object) =>
  Buffer.from(JSON.stringify({ id: 'ntc_1', createdAt: new Date().toISOString(), ...fields }))

const order = (changes: Partial<Order> = {}): Order => ({
  reference: 'r'.repeat(32),
  amount: money(50_000, 'GHS' as Currency),
  country: 'GH',
  customer: { email: 'ada@example.com', name: null, phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return',
  startedAt: new Date(),
  expiresAt: new Date('2036-01-02T03:04:05.678Z'),
  saveCard: false,
  ...changes,
})

const handle = (channel: 'card' | 'virtual-bank-account' = 'card') => ({
  reference: order().reference,
  providerReference: order().reference,
  channel,
  startedAt: new Date(),
})

const features = {
  notices: ['paid', 'failed', 'processing', 'refund', 'dispute'],
  asksForSteps: true,
  hidesAccountNames: true,
  listsReturns: true,
  listsDisputes: true,
  listsTransactions: true,
  reportsRefusedKeys: true,
} as const
conformanceSuite({ provider: gateway, features }, setUp)

test('gateway is asked in its own words', async (t) => {
  const { connection, server } = await setUp(t)
  await connection.startCard(order(), 'tok_paying')
  const [asked] = server.asked
  assert.equal(`${asked?.method} ${asked?.path}`, 'POST /sandbox/gateway/v1/payments')
  assert.equal(asked?.headers['content-type'], 'application/json')
  assert.deepEqual(JSON.parse(asked?.body ?? ''), {
    reference: order().reference,
    channel: 'card',
    amount: 50_000,
    currency: 'GHS',
    email: 'ada@example.com',
    merchantName: 'Ada & Sons',
    returnURL: 'https://shop.example/return',
    expiresAt: '2036-01-02T03:04:05.678Z',
    savedCard: 'tok_paying',
  })
})

test('gateway gives its public key, its link and when that ends', async (t) => {
  const { connection } = await setUp(t)
  assert.deepEqual(await connection.startCard(order()), {
    kind: 'link',
    link: `https://gateway.example/pay/${order().reference}`,
    providerReference: order().reference,
    publicKey: PUBLIC_KEY,
    expiresAt: order().expiresAt,
    paidOnce: true,
  })
})

test('a refused start is declined, with their code kept', async (t) => {
  const { connection, upstream } = await setUp(t)
  for (const [status, code, ours] of [
    [401, 'unauthorized', 'provider_error'],
    [422, 'invalid_request', 'provider_error'],
    [422, 'invalid_token', 'invalid_token'],
  ] as const) {
    upstream.garble = () => ({
      status,
      text: JSON.stringify({ type: `urn:manilla:problem:${code}`, code, detail: 'No.\u0000' }),
    })
    assert.deepEqual(await connection.startCard(order()), {
      kind: 'declined',
      failure: { code: ours, message: 'No.', providerCode: code },
      tryId: null,
      ...(status === 401 && { keysRefused: true }),
    })
  }
})

test('a reference that stands for something else is unknown: an earlier try may have taken money', async (t) => {
  const { connection } = await setUp(t)
  await connection.startCard(order())
  const charge = await connection.chargeSavedCard(order(), 'tok_paying')
  assert.deepEqual(charge, { kind: 'unknown', because: 'it answered 409 with what we cannot read' })
})

test('an answer about another order, amount or currency is unknown', async (t) => {
  const { connection, upstream } = await setUp(t)
  const swaps: [string, string][] = [
    [`"reference":"${order().reference}"`, '"reference":"another"'],
    ['"requested":50000', '"requested":49999'],
    ['"currency":"GHS"', '"currency":"USD"'],
  ]
  for (const [from, to] of swaps) {
    upstream.garble = (said) => ({ ...said, text: said.text.replace(from, to) })
    assert.equal((await connection.startCard(order())).kind, 'unknown', to)
  }
  upstream.garble = (said) => ({ ...said, text: said.text.replace(order().reference, 'another') })
  assert.equal((await connection.check(handle())).kind, 'unknown')
})

const at = '2026-01-02T03:04:05.000Z'
const charge = (status: string) => ({ id: 'gtx_1', kind: 'charge', status, amount: 50_000, currency: 'GHS', at })
const receipt = {
  transactionId: 'gtx_1',
  idIsProviders: true,
  amount: money(50_000, 'GHS' as Currency),
  at: new Date(at),
  returnedIsOfOrder: true,
}
const failure = { code: 'do_not_honour', message: 'Ask your bank.' }

const STATES: [string, object, object][] = [
  ['a word that is new to us is pending', { status: 'thinking' }, { kind: 'pending', receipts: [] }],
  ['processing is processing', { status: 'processing', transactions: [charge('processing')] }, { kind: 'processing' }],
  [
    'what was refunded was paid',
    { status: 'refunded', transactions: [charge('paid')] },
    { kind: 'paid', receipts: [receipt] },
  ],
  [
    'part of a transfer that was given back never paid the order',
    { status: 'refunded', channel: 'transfer', transactions: [{ ...charge('paid'), kind: 'transfer', amount: 1 }] },
    { kind: 'pending', receipts: [{ ...receipt, amount: money(1, 'GHS' as Currency) }] },
  ],
  ['paid by no money is unknown', { status: 'paid' }, { kind: 'unknown', because: 'it says paid, and names no money' }],
  [
    'failed with money is unknown',
    { status: 'failed', transactions: [charge('paid')] },
    { kind: 'unknown', because: 'it says failed, and names money' },
  ],
  [
    'a code that is new to us is other, and kept',
    { status: 'failed', transactions: [{ ...charge('failed'), failure }] },
    {
      kind: 'declined',
      failure: { code: 'other', message: 'Ask your bank.', providerCode: 'do_not_honour' },
      tryId: 'gtx_1',
    },
  ],
  [
    'a card that cannot be read does not hide the money',
    { status: 'paid', transactions: [charge('paid')], savedCard: { ...CARD, last4: '40' } },
    { kind: 'paid', receipts: [receipt] },
  ],
  [
    'a fraction of a unit makes the whole answer unreadable',
    { status: 'paid', transactions: [charge('paid'), { ...charge('paid'), id: 'gtx_2', amount: 0.5 }] },
    { kind: 'unknown', because: 'it answered 200 with what we cannot read' },
  ],
]
for (const [name, fields, outcome] of STATES) {
  test(`a record of gateway: ${name}`, async (t) => {
    const { connection, upstream } = await setUp(t)
    await connection.startCard(order())
    upstream.garble = ({ status, text }) => {
      const { data } = JSON.parse(text)
      return { status, text: JSON.stringify({ data: { ...data, transactions: [], ...fields } }) }
    }
    assert.deepEqual(await connection.check(handle()), outcome)
  })
}

test('a key that was refused does not turn a refund down: an earlier try may have given it', async (t) => {
  const { connection, upstream } = await setUp(t)
  const wanted = { reference: 'f', order: handle(), transactionIds: [], amount: order().amount, reason: null }
  for (const status of [401, 403, 409]) {
    upstream.garble = () => ({ status, text: '{"type":"urn:manilla:problem:x","code":"x","detail":"No."}' })
    assert.equal((await connection.refund(wanted)).kind, 'unknown')
  }
})

test('a transfer that pays the order says paid, a part of it says pending, and both name the money', async (t) => {
  const { connection, customer, server, find } = await setUp(t)
  await connection.openVirtualAccount(order())
  const { reference } = order()
  for (const [amount, says] of [
    [20_000, 'pending'],
    [30_000, 'paid'],
  ] as const) {
    await customer.transfer?.(reference, amount)
    const body = noticeBody({ type: 'transfer.received', reference, data: server.recordOf(find(reference)) })
    const reading = connection.readNotice(sign(body, new Date()))
    assert.ok(reading.kind === 'notice' && reading.says === says, says)
    assert.equal(reading.receipts.at(-1)?.amount.amount, amount)
  }
})

test('a notice of a new type is something else, and one that contradicts itself is unreadable', async (t) => {
  const { connection, server, find } = await setUp(t)
  await connection.startCard(order())
  const { reference } = order()
  const data = server.recordOf(find(reference))
  const read = (fields: object) => connection.readNotice(sign(noticeBody(fields), new Date()))
  assert.deepEqual(read({ type: 'gift.sent', reference, data: 1 }), {
    kind: 'notice',
    reference,
    says: 'other',
    receipts: [],
  })
  assert.equal(read({ type: 'payment.paid', reference: 'another', data }).kind, 'unreadable')
  assert.equal(read({ type: 'refund.successful', reference, data: 1 }).kind, 'unreadable')
  const reading = read({ type: 'payment.paid', reference, data })
  assert.ok(reading.kind === 'notice' && reading.says === 'pending', 'paid by no money is to be checked')
})

test('a signature holds for five minutes to the second, and only as it was written', async (t) => {
  const { connection } = await setUp(t)
  const signedAt = new Date('2026-01-02T03:04:05Z')
  const notice = sign(noticeBody({ type: 'gift.sent' }), signedAt)
  const kindAfter = (seconds: number) =>
    connection.readNotice({ ...notice, receivedAt: new Date(signedAt.getTime() + seconds * 1000) }).kind
  assert.deepEqual([-301, -300, 0, 300, 301].map(kindAfter), ['forged', 'notice', 'notice', 'notice', 'forged'])
  const header = notice.headers['gateway-signature'] ?? ''
  for (const odd of [
    header.toUpperCase(),
    `${header}, ${header}`,
    header.replace('t=', 't=0'),
    header.replace('v1', 'v0'),
  ]) {
    assert.equal(connection.readNotice({ ...notice, headers: { 'gateway-signature': odd } }).kind, 'forged', odd)
  }
})

test('without its settings gateway is not connected, for anybody could sign with an empty key', () => {
  const http = providerHttp()
  const baseURL = 'http://localhost'
  const publicKey = PUBLIC_KEY
  const incomplete: Record<string, string>[] = [
    {},
    { publicKey },
    { publicKey, secretKey: '' },
    { secretKey: SECRET_KEY },
  ]
  for (const settings of incomplete) {
    assert.throws(() => gateway.connect({ mode: 'sandbox', settings, baseURL, http }), /gateway needs the setting/)
  }
})
