import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEYS } from '../../../test/fakes/mpesa/fake.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import type { RefundOrder } from '../provider.ts'
import { mpesa } from './adapter.ts'
import { accountTyped } from './api.ts'
import { callbackURL, NO_ORDER, paybillURLs } from './notices.ts'

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
    receipts: [{ transactionId: '29115-34620561-1', idIsProviders: true, amount, at }],
    facts: {
      ...{ request: '29115-34620561-1', code: '0', receipt: 'NLJ7RT61SV', amount: '100' },
      at: '2019-12-19T07:21:15.000Z',
    },
    personalFacts: { checkout: 'ws_CO_191220191020363925' },
  })
  const text = JSON.stringify(read(PAID))
  assert.ok(!text.includes('254708374149'), 'the number of the customer is not kept')
})

test('a callback about a prompt that was not approved says failed, with its code', () => {
  assert.deepEqual(read(CANCELLED), {
    ...{ kind: 'notice', reference: REFERENCE, says: 'failed', receipts: [] },
    facts: { request: 'f1e2-4b95-a71d-b30d3cdbb7a7942864', code: '1032' },
    personalFacts: { checkout: 'ws_CO_21072024125243250722943992' },
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

const REGISTERED = paybillURLs(KEYS.consumerSecret, BASE)
const toPaybill = (changes: object = {}) => ({ ...C2B, BusinessShortCode: '174379', ...changes })

test('a payment to the paybill names money of an account number, at the registered address alone', () => {
  assert.equal(read(C2B, BASE).kind, 'forged')
  const about = { kind: 'notice', says: 'other', receipts: [] }
  assert.deepEqual(read(toPaybill()), { ...about, reference: REFERENCE })
  assert.deepEqual(read(C2B, REGISTERED.ConfirmationURL), { ...about, reference: null }, 'of another short code')
  const reading = read(toPaybill({ BillRefNumber: ' 0f8c fcd2-d687' }), REGISTERED.ConfirmationURL)
  const [amount, at] = [{ amount: 20_000, currency: 'KES' }, new Date('2017-08-16T16:02:43Z')]
  assert.deepEqual(reading, {
    ...{ kind: 'notice', reference: '0F8CFCD2D687', says: 'paid' },
    receipts: [{ transactionId: 'LHG31AA5TX', receiptNumber: 'LHG31AA5TX', idIsProviders: true, amount, at }],
    facts: { paid: 'LHG31AA5TX', amount: '20000', at: '2017-08-16T16:02:43.000Z' },
  })
  assert.ok(!JSON.stringify(reading).match(/254708374149|John|Doe/), 'the customer is not named')
})

test('account numbers are read as people type them', () => {
  for (const [typed, read] of [
    ['OFBCFCD2D6B7', '0FBCFCD2D6B7'],
    ['il8cfcd2d687', '118CFCD2D687'],
    ['', ''],
  ] as const)
    assert.equal(accountTyped(typed), read)
})

test('M-PESA asks whether a payment may be made, and is answered in its words', () => {
  const asked = read(toPaybill({ BillRefNumber: '0F8CFCD2D687' }), REGISTERED.ValidationURL)
  assert.deepEqual(asked, {
    ...{ kind: 'question', reference: '0F8CFCD2D687' },
    answers: {
      yes: { ResultCode: '0', ResultDesc: 'Accepted' },
      no: { ResultCode: 'C2B00012', ResultDesc: 'Rejected' },
    },
  })
})

/** As it was seen for a payment to a paybill. */
const STATUS = (changes: Record<string, unknown> = {}, Result: object = {}) => ({
  Result: {
    ...{ ResultType: 0, ResultCode: 0, ResultDesc: 'The service request is processed successfully.' },
    ...{ OriginatorConversationID: '21dc-4436-8408', ConversationID: 'AG_20250117_2030', TransactionID: 'TAH0000000' },
    ResultParameters: {
      ResultParameter: Object.entries({
        ...{
          DebitPartyName: '0790422909 - Dennis',
          CreditPartyName: '174379 -  TECH TUTOR',
          InitiatedTime: 20250117170614,
        },
        ...{
          DebitAccountType: 'MMF Account For Customer',
          ReasonType: 'Pay Bill Online',
          TransactionStatus: 'Completed',
        },
        ...{ FinalisedTime: 20250117170614, Amount: 1.0, ReceiptNo: 'TAH5J2K991' },
        ...changes,
      }).map(([Key, Value]) => ({ Key, Value })),
    },
    ...Result,
  },
})

test('the answer about a receipt number is money only if all of it agrees', () => {
  const url = callbackURL(KEYS.consumerSecret, BASE, { reference: REFERENCE, receipt: 'TAH5J2K991' })
  const [amount, at] = [{ amount: 100, currency: 'KES' }, new Date('2025-01-17T14:06:14Z')]
  assert.deepEqual(read(STATUS(), url), {
    ...{ kind: 'notice', reference: REFERENCE, says: 'paid' },
    receipts: [{ transactionId: 'TAH5J2K991', receiptNumber: 'TAH5J2K991', idIsProviders: true, amount, at }],
    facts: { asked: 'TAH5J2K991', code: '0', amount: '100', at: '2025-01-17T14:06:14.000Z' },
  })
  for (const [changes, result, code] of [
    [{ TransactionStatus: 'Declined' }, {}, 'Declined'],
    [{ TransactionStatus: undefined }, {}, 'unknown'],
    [{ ReceiptNo: 'TAH5J2K992' }, {}, 'another'],
    [{ CreditPartyName: '600610 - ANOTHER SHOP' }, {}, 'another'],
    [{ Amount: '1.005' }, {}, 'Completed'],
    [{}, { ResultCode: 'SFC_IC0003' }, 'SFC_IC0003'],
  ] as const)
    assert.deepEqual(read(STATUS(changes, result), url), {
      ...{ kind: 'notice', reference: REFERENCE, says: 'other', receipts: [] },
      facts: { asked: 'TAH5J2K991', code },
    })
  const ofNone = callbackURL(KEYS.consumerSecret, BASE, { reference: NO_ORDER, receipt: 'TAH5J2K991' })
  const reading = read(STATUS(), ofNone)
  assert.ok(reading.kind === 'notice' && reading.reference === 'TAH5J2K991' && reading.receipts.length === 0)
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
      { request: 'ws_CO_1', code: '0', receipt: 'SKC82PACB8' },
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
  const named = (receipt: string) => ({ request: 'ws_CO_1', code: '0', receipt })
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
  const facts = [{ request: 'ws_CO_1', code: '0', receipt: 'NLJ7RT61SV' }]
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
