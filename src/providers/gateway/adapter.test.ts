import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import type { Features } from '../../../test/fakes/conformance-rig.ts'
import { CARD, noticeBody, PUBLIC_KEY, SECRET_KEY, setUp, sign } from '../../../test/fakes/gateway/small-gateway.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { Order } from '../provider.ts'
import { gateway } from './adapter.ts'

const order = (changes: Partial<Order> = {}): Order => ({
  reference: 'r'.repeat(32),
  amount: money(50_000, 'GHS' as Currency),
  country: 'GH',
  customer: { email: 'ada@example.com', name: null, phoneNumber: null },
  merchantName: 'Ada & Sons',
  returnURL: 'https://shop.example/return',
  startedAt: new Date(),
  expiresAt: new Date('2036-01-02T03:04:05.678Z'),
  channel: 'card',
  input: {},
  saveCard: false,
  ...changes,
})

const handle = (channel: 'card' | 'virtual-bank-account' = 'card') => ({
  reference: order().reference,
  providerReference: order().reference,
  channel,
  startedAt: new Date(),
})

const NAIRA = { amount: 1_025_381, currency: 'NGN', country: 'NG' }
const ENDS = { refused: 'customer_cancelled', expired: 'prompt_expired' } as const
const BY_PHONE = {
  channel: 'mobile-money',
  price: { amount: 1_025_381, currency: 'GHS', country: 'GH' },
  input: { network: 'mtn', phoneNumber: '+233551234000' },
} as const

const features = {
  notices: ['paid', 'failed', 'processing', 'refund', 'dispute'],
  asksForSteps: true,
  hidesAccountNames: true,
  listsReversals: true,
  listsDisputes: true,
  listsTransactions: true,
  reportsRefusedKeys: true,
  channels: [
    { ...BY_PHONE, starts: 'prompt', ...ENDS },
    {
      ...{ ...BY_PHONE, input: { network: 'telecel', phoneNumber: '+233201234059' }, starts: 'code wanted' },
      code: { right: '123456', leadsTo: 'paid' },
    },
    {
      channel: 'mobile-money',
      price: { amount: 1_025_381, currency: 'KES', country: 'KE' },
      input: { network: 'mpesa-paybill' },
      starts: 'pay to',
    },
    { channel: 'ussd', price: NAIRA, input: { bank: '058' }, starts: 'dial', ...ENDS },
    { channel: 'bank', price: NAIRA, input: { bank: '058' }, starts: 'link', refused: 'customer_cancelled' },
    { channel: 'qr', price: NAIRA, input: {}, starts: 'qr', ...ENDS },
  ],
} as const satisfies Features
conformanceSuite({ provider: gateway, features }, setUp)

test('gateway is asked in its own words', async (t) => {
  const { connection, server } = await setUp(t)
  await connection.start(order({ savedCard: 'tok_paying' }))
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
  assert.deepEqual(await connection.start(order()), {
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
    assert.deepEqual(await connection.start(order()), {
      kind: 'declined',
      failure: { code: ours, message: 'No.', providerCode: code },
      tryId: null,
      ...(status === 401 && { keysRefused: true }),
    })
  }
})

test('a reference that stands for something else is unknown: an earlier try may have taken money', async (t) => {
  const { connection } = await setUp(t)
  await connection.start(order())
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
    assert.equal((await connection.start(order())).kind, 'unknown', to)
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
    await connection.start(order())
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
  await connection.start(byTransfer(order()))
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
  await connection.start(order())
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
