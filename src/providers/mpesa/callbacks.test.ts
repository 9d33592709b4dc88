import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEYS } from '../../../test/fakes/mpesa/fake.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { RefundOrder } from '../provider.ts'
import { mpesa } from './adapter.ts'
import { callbackURL } from './notices.ts'

// The bodies are those of Safaricom's documentation.

const BASE = 'https://pay.example/notices/mpesa/live/mer_1'
const REFERENCE = '01a1f57faf2573a19d420f8cfcd2d687'
const REFUND = '01a1f58240517583a4336b81f68095d9'
const receivedAt = new Date('2026-11-19T20:00:00Z')
const connect = (settings: Record<string, string> = KEYS) =>
  mpesa.connect({ mode: 'sandbox', settings, baseURL: 'http://127.0.0.1:9', http: providerHttp() })
const connection = connect()
const addressOf = (refund?: string) => callbackURL(KEYS.consumerSecret, BASE, { reference: REFERENCE, refund })
const read = (body: unknown, url: string | undefined = addressOf()) =>
  connection.readNotice({ headers: {}, body: Buffer.from(JSON.stringify(body)), receivedAt, url: url ?? '' })

const PAID = {
  Body: {
    stkCallback: {
      ...{ MerchantRequestID: '29115-34620561-1', CheckoutRequestID: 'ws_CO_191220191020363925', ResultCode: 0 },
      ResultDesc: 'The service request is processed successfully.',
      CallbackMetadata: {
        Item: [
          { Name: 'Amount', Value: 1.0 },
          { Name: 'MpesaReceiptNumber', Value: 'NLJ7RT61SV' },
          { Name: 'Balance' },
          { Name: 'TransactionDate', Value: 20191219102115 },
          { Name: 'PhoneNumber', Value: 254708374149 },
        ],
      },
    },
  },
}
const CANCELLED = {
  Body: {
    stkCallback: {
      MerchantRequestID: 'f1e2-4b95-a71d-b30d3cdbb7a7942864',
      CheckoutRequestID: 'ws_CO_21072024125243250722943992',
      ...{ ResultCode: 1032, ResultDesc: 'Request cancelled by user' },
    },
  },
}
const ReferenceData = { ReferenceItem: { Key: 'QueueTimeoutURL', Value: 'https://internalsandbox.safaricom.co.ke/' } }
const REVERSED = {
  Result: {
    ...{ ResultType: 0, ResultCode: 0, ResultDesc: 'The service request is processed successfully.' },
    OriginatorConversationID: 'dad6-4c34-8787-c8cb963a496d1268232',
    ...{ ConversationID: 'AG_20211114_201018edbbf9f1582eaa', TransactionID: 'SKE52PAWR9' },
    ResultParameters: {
      ResultParameter: [
        { Key: 'DebitAccountBalance', Value: 'Utility Account|KES|7722179.62|7722179.62|0.00|0.00' },
        { Key: 'Amount', Value: 1.0 },
        { Key: 'TransCompletedTime', Value: 20211114132711 },
        { Key: 'OriginalTransactionID', Value: 'SKC82PACB8' },
        { Key: 'Charge', Value: 0.0 },
        { Key: 'CreditPartyPublicName', Value: '254705912645 - NICHOLAS JOHN SONGOK' },
        { Key: 'DebitPartyPublicName', Value: '600992 - Safaricom Daraja 992' },
      ],
    },
    ReferenceData,
  },
}
const NOT_REVERSED = {
  Result: {
    ...{ ResultType: 0, ResultCode: 'R000002', ResultDesc: 'The OriginalTransactionID is invalid.' },
    OriginatorConversationID: '3124-481d-b706-10bdd6fbc8e21792398',
    ...{ ConversationID: 'AG_20211114_2010573069aefb6b625a', TransactionID: 'SKE0000000', ReferenceData },
  },
}
const C2B = {
  ...{ TransactionType: 'Pay Bill', TransID: 'LHG31AA5TX', TransTime: '20170816190243', TransAmount: '200.00' },
  ...{ BusinessShortCode: '600610', BillRefNumber: 'account', InvoiceNumber: '', OrgAccountBalance: '' },
  ...{ ThirdPartyTransID: '', MSISDN: '254708374149', FirstName: 'John', MiddleName: '', LastName: 'Doe' },
}

test('a callback about money names it, its time in Nairobi and its receipt number', () => {
  const amount = { amount: 100, currency: 'KES' }
  const at = new Date('2019-12-19T07:21:15Z')
  assert.deepEqual(read(PAID), {
    ...{ kind: 'notice', reference: REFERENCE, says: 'paid' },
    receipts: [{ transactionId: 'ws_CO_191220191020363925', idIsProviders: true, amount, at }],
    facts: {
      ...{ checkout: 'ws_CO_191220191020363925', code: '0', receipt: 'NLJ7RT61SV', amount: '100' },
      at: '2019-12-19T07:21:15.000Z',
    },
  })
  const text = JSON.stringify(read(PAID))
  assert.ok(!text.includes('254708374149'), 'the number of the customer is not kept')
})

test('a callback about a prompt that was not approved says failed, with its code', () => {
  assert.deepEqual(read(CANCELLED), {
    ...{ kind: 'notice', reference: REFERENCE, says: 'failed', receipts: [] },
    facts: { checkout: 'ws_CO_21072024125243250722943992', code: '1032' },
  })
})

test('the result of a reversal is read at the address of its refund alone', () => {
  const about = { kind: 'notice', reference: REFERENCE, receipts: [] }
  assert.deepEqual(read(REVERSED, addressOf(REFUND)), {
    ...{ ...about, says: 'refund' },
    facts: { refund: REFUND, code: '0', amount: '100', reversal: 'SKE52PAWR9', original: 'SKC82PACB8' },
  })
  assert.deepEqual(read(NOT_REVERSED, addressOf(REFUND)), {
    ...{ ...about, says: 'refund' },
    facts: { refund: REFUND, code: 'R000002', reversal: 'SKE0000000' },
  })
  assert.deepEqual(read(REVERSED), { ...about, says: 'other' })
  assert.deepEqual(read(PAID, addressOf(REFUND)), { ...about, says: 'other' })
})

test('an address without our token, with another one or of another order is forged', () => {
  const own = addressOf()
  const token = own.slice(-32)
  const forged = [undefined, '', BASE, `${BASE}/${REFERENCE}`, `${BASE}/${REFERENCE}.${'A'.repeat(32)}`]
  forged.push(`${BASE}/${REFUND}.${token}`, `${BASE}/${REFERENCE}.${REFUND}.${token}`, `${own}/x`, `${own}.x`)
  forged.push(callbackURL('another secret', BASE, { reference: REFERENCE }))
  for (const url of forged)
    assert.equal(
      connection.readNotice({ headers: {}, body: Buffer.from('{}'), receivedAt, url: url ?? '' }).kind,
      'forged',
      url,
    )
})

test('a payment to the paybill is nothing that is believed', () => {
  assert.equal(read(C2B, BASE).kind, 'forged')
  assert.equal(read(C2B).kind, 'unreadable')
})

test('amounts with odd digits are no money, and the callback is a reason to ask all the same', () => {
  for (const Value of ['1.005', '-1', 1e21, '', null, {}]) {
    const body = structuredClone(PAID) as { Body: { stkCallback: { CallbackMetadata: { Item: object[] } } } }
    body.Body.stkCallback.CallbackMetadata.Item[0] = { Name: 'Amount', Value }
    const reading = read(body)
    assert.ok(reading.kind === 'notice' && reading.says === 'paid' && reading.receipts.length === 0, String(Value))
  }
})

test('what became of a reversal is known from its callback, and is asked for no more', async () => {
  const refundOf = (facts: object): RefundOrder => ({
    ...{
      reference: REFUND,
      transactionIds: ['ws_CO_1'],
      amount: { amount: 100, currency: 'KES' as never },
      reason: null,
    },
    order: {
      ...{ reference: REFERENCE, providerReference: 'ws_CO_1', channel: 'mobile-money', startedAt: receivedAt },
      notices: { url: BASE, facts: [{ refund: REFUND, ...facts }] },
    },
    mayAsk: () => assert.fail('it is asked for once'),
  })
  const outcomeOf = (facts: object) => connection.refund(refundOf(facts))
  assert.deepEqual(await outcomeOf({ code: '0', reversal: 'SKE52PAWR9' }), { kind: 'refunded', refundId: 'SKE52PAWR9' })
  assert.deepEqual(await outcomeOf({ code: 'R000001' }), { kind: 'refunded', refundId: REFUND })
  for (const [code, why] of [
    ['1', /not enough money/],
    ['21', /lacks the role/],
    ['2001', /not valid/],
    ['R000002', /receipt number/],
    ['999', /result code 999/],
  ] as const) {
    const outcome = await outcomeOf({ code })
    assert.ok(outcome.kind === 'refused')
    assert.match(outcome.because, why)
  }
})

test('a reversal of another payment or amount is no refund: a person looks', async () => {
  const order = {
    ...{ reference: REFERENCE, providerReference: 'ws_CO_1', channel: 'mobile-money' as const, startedAt: receivedAt },
  }
  const outcomeOf = (result: object) => {
    const facts = [
      { checkout: 'ws_CO_1', code: '0', receipt: 'SKC82PACB8' },
      { refund: REFUND, code: '0', reversal: 'SKE52PAWR9', ...result },
    ]
    const amount = { amount: 100, currency: 'KES' as never }
    return connection.refund({
      ...{ reference: REFUND, transactionIds: ['ws_CO_1'], amount, reason: null },
      order: { ...order, notices: { url: BASE, facts } },
    })
  }
  assert.equal((await outcomeOf({ amount: '100', original: 'SKC82PACB8' })).kind, 'refunded')
  assert.equal((await outcomeOf({ amount: '100', original: 'SKC00OTHER' })).kind, 'unknown')
  assert.equal((await outcomeOf({ amount: '9900', original: 'SKC82PACB8' })).kind, 'unknown')
})

test('a payment for which callbacks name two receipt numbers is not reversed', async () => {
  const amount = { amount: 10_000, currency: 'KES' as never }
  const named = (receipt: string) => ({ checkout: 'ws_CO_1', code: '0', receipt })
  const order = {
    ...{ reference: REFERENCE, providerReference: 'ws_CO_1', channel: 'mobile-money' as const, startedAt: receivedAt },
    ...{ amount, notices: { url: BASE, facts: [named('NLJ7RT61SV'), named('NLJ7RT61SW')] } },
  }
  const wanted = { reference: REFUND, transactionIds: ['ws_CO_1'], amount, reason: null, order }
  const refused = await connection.refund({ ...wanted, mayAsk: () => assert.fail('M-PESA is not asked') })
  assert.ok(refused.kind === 'refused')
  assert.match(refused.because, /two receipt numbers.*M-PESA portal/)
})

test('a refund that M-PESA cannot make says what a person does', async () => {
  const amount = { amount: 10_000, currency: 'KES' as never }
  const facts = [{ checkout: 'ws_CO_1', code: '0', receipt: 'NLJ7RT61SV' }]
  const order = {
    ...{ reference: REFERENCE, providerReference: 'ws_CO_1', channel: 'mobile-money' as const, startedAt: receivedAt },
    ...{ amount, notices: { url: BASE, facts } },
  }
  const wanted: RefundOrder = { reference: REFUND, transactionIds: ['ws_CO_1'], amount, reason: null, order }
  const { initiatorName: _, securityCredential: __, ...bare } = KEYS
  const refusals = [
    await connect(bare).refund(wanted),
    await connection.refund({ ...wanted, amount: { ...amount, amount: 5_000 } }),
    await connection.refund({ ...wanted, transactionIds: ['ws_CO_1', 'ws_CO_2'] }),
  ]
  for (const refused of refusals) {
    assert.ok(refused.kind === 'refused')
    assert.match(refused.because, /M-PESA portal/)
  }
  const waits = await connection.refund({ ...wanted, order: { ...order, notices: { url: BASE, facts: [] } } })
  assert.ok(waits.kind === 'unknown' && waits.neverSent, 'its callback may still come')
  const asked = await connection.refund({ ...wanted, mayAsk: async () => false })
  assert.ok(asked.kind === 'unknown' && !asked.neverSent, 'it was asked for before')
})
