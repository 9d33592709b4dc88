import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEYS, sign } from '../../../test/fakes/monnify/fake.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import { monnify } from './adapter.ts'

const at = { settings: KEYS, baseURL: 'http://localhost', http: providerHttp() }
const [sandbox, live] = (['sandbox', 'live'] as const).map((mode) => monnify.connect({ ...at, mode }))
assert(sandbox && live)

const receivedAt = new Date('2026-11-20T12:00:00Z')
const naira = (kobo: number) => money(kobo, 'NGN' as Currency)
const THEIRS = 'MNFY|17|20260626231846|000340'

// As in their documents, with amounts as numbers.
const paid = {
  product: { reference: 'pay-7f40', type: 'API_NOTIFICATION' },
  transactionReference: THEIRS,
  paymentReference: 'pay-7f40',
  paidOn: '2026-11-20 11:28:42.615',
  paymentDescription: 'Order 1001',
  metaData: {},
  paymentSourceInformation: [
    { bankCode: '', amountPaid: 5000, accountName: 'ADA', sessionId: 'x', accountNumber: '0065432190' },
  ],
  destinationAccountInformation: { bankCode: '232', bankName: 'Sterling bank', accountNumber: '6000140770' },
  amountPaid: 5000,
  totalPayable: 5000,
  cardDetails: {},
  paymentMethod: 'ACCOUNT_TRANSFER',
  currency: 'NGN',
  settlementAmount: '4925.00',
  paymentStatus: 'PAID',
  customer: { name: 'Ada', email: 'ada@example.com' },
}
const refunded = {
  merchantReason: 'defective',
  transactionReference: THEIRS,
  completedOn: '14/04/2026 4:24:05 PM',
  refundStatus: 'COMPLETED',
  customerNote: 'Refund',
  createdOn: '14/04/2026 4:23:37 PM',
  refundReference: 'ref001',
  refundAmount: '100.00',
}
const bodyOf = (eventType: string, eventData: object) => Buffer.from(JSON.stringify({ eventType, eventData }))
const read = (eventType: string, eventData: object) => live.readNotice(sign(bodyOf(eventType, eventData), receivedAt))
const receipt = {
  transactionId: `${THEIRS}#500000.1`,
  amount: naira(500_000),
  at: new Date('2026-11-20T10:28:42.615Z'),
}
const fee = 7_500

test('a signature is an HMAC-SHA512 of the body with the secret key, and not the hash that their prose tells of', () => {
  // By: printf '%s' '{"eventType":"X"}' | openssl dgst -sha512 -hmac SAMPLE0SECRET0KEY0FOR0TESTS00001
  const right =
    'f795a0490f05c7f02f10e4ffe0d3a8c0dfc68608220ea6587c2394497e7b6a05d464db93a1ec66d5bdba6868e17e43811eca830ca997540b4ee3689ed8c2a3bc'
  const hash =
    '7c391f774bd153157f67eb3424cf3a74fff2dec795ff596c7ca859b342f5bc0e5e16b1dc001117b4d8e2dbe08357d946bef940700fc3bd408ff1adc87804d4e6'
  const kindOf = (signature: string) =>
    live.readNotice({ headers: { 'monnify-signature': signature }, body: Buffer.from('{"eventType":"X"}'), receivedAt })
      .kind
  assert.equal(kindOf(right), 'notice')
  assert.equal(kindOf(right.toUpperCase()), 'notice')
  for (const wrong of [hash, `${right} `, ` ${right}`, `${right}, ${right}`, `sha512=${right}`, right.slice(2)]) {
    assert.equal(kindOf(wrong), 'forged', wrong)
  }
})

test('in the sandbox nothing is signed: such a notice is a hint to ask, and says nothing', () => {
  for (const [type, data, reference] of [
    ['SUCCESSFUL_TRANSACTION', paid, 'pay-7f40'],
    ['SUCCESSFUL_REFUND', refunded, THEIRS],
    ['REJECTED_PAYMENT', { transactionReference: THEIRS }, THEIRS],
  ] as const) {
    const body = bodyOf(type, data)
    assert.deepEqual(sandbox.readNotice({ headers: {}, body, receivedAt }), { kind: 'hint', reference })
    assert.equal(live.readNotice({ headers: {}, body, receivedAt }).kind, 'forged')
  }
  for (const text of ['{}', 'odd', JSON.stringify({ eventType: 'SUCCESSFUL_TRANSACTION', eventData: {} })]) {
    const unsigned = { headers: {}, body: Buffer.from(text), receivedAt }
    assert.equal(sandbox.readNotice(unsigned).kind, 'forged', 'nothing of it is kept')
  }
})

test('a wrong signature is forged in the sandbox as well, and a right one is believed', () => {
  const notice = sign(bodyOf('SUCCESSFUL_TRANSACTION', paid), receivedAt)
  for (const odd of ['', ' ', '0'.repeat(128), notice.headers['monnify-signature']?.replace(/^./, 'x')]) {
    const headers = { 'monnify-signature': odd }
    assert.equal(sandbox.readNotice({ ...notice, headers }).kind, 'forged', odd)
  }
  const reading = sandbox.readNotice(notice)
  assert.ok(reading.kind === 'notice' && reading.says === 'paid')
})

test('money is told with the receipts that a check would name', () => {
  const says = { kind: 'notice', reference: 'pay-7f40', says: 'paid', receipts: [{ ...receipt, fee }] }
  assert.deepEqual(read('SUCCESSFUL_TRANSACTION', paid), says)
  const one = { ...paid, paymentSourceInformation: paid.paymentSourceInformation[0], amountPaid: '5000.00' }
  assert.deepEqual(read('SUCCESSFUL_TRANSACTION', one), says, 'one that is not in a list')
  const card = { ...paid, paymentMethod: 'CARD', paymentSourceInformation: {} }
  assert.deepEqual(read('SUCCESSFUL_TRANSACTION', card), {
    ...says,
    receipts: [{ ...receipt, transactionId: THEIRS, idIsProviders: true, fee }],
  })
  const untimed = read('SUCCESSFUL_TRANSACTION', { ...paid, paidOn: null })
  assert.deepEqual(untimed, { ...says, receipts: [{ ...receipt, at: receivedAt, fee }] })
})

test('a part of the money says pending, and names no transfers when it may not list them all', () => {
  const part = { ...paid, paymentStatus: 'PARTIALLY_PAID', totalPayable: 9000 }
  assert.deepEqual(read('SUCCESSFUL_TRANSACTION', part), {
    kind: 'notice',
    reference: 'pay-7f40',
    says: 'pending',
    receipts: [receipt],
  })
  const second = { ...part, amountPaid: 9000, paymentStatus: 'PAID' }
  const reading = read('SUCCESSFUL_TRANSACTION', second)
  assert.ok(reading.kind === 'notice' && reading.says === 'paid' && reading.receipts.length === 0)
  const less = read('SUCCESSFUL_TRANSACTION', { ...paid, totalPayable: 5000.01 })
  assert.ok(less.kind === 'notice' && less.says === 'pending')
})

test('a signed notice with a readable reference and incomplete money leads to a check', () => {
  const check = { kind: 'notice', reference: 'pay-7f40', says: 'other', receipts: [] }
  for (const odd of [
    { amountPaid: 0.001 },
    { amountPaid: undefined },
    { totalPayable: undefined },
    { currency: undefined },
    { paymentMethod: null },
    { paymentStatus: undefined },
    { transactionReference: undefined },
    { paymentSourceInformation: [{ amountPaid: 'much' }] },
  ]) {
    assert.deepEqual(read('SUCCESSFUL_TRANSACTION', { ...paid, ...odd }), check, JSON.stringify(odd))
  }
  const nameless = { ...paid, transactionReference: undefined, paymentReference: undefined }
  assert.equal(read('SUCCESSFUL_TRANSACTION', nameless).kind, 'unreadable')
})

test('a transfer that was turned away leaves the order open', () => {
  const rejected = {
    transactionReference: THEIRS,
    paymentReference: 'pay-7f40',
    amount: 100,
    created_on: '2026-11-20 11:28:42.615',
    paymentSourceInformation: { bankCode: '', amountPaid: 100, accountName: 'ADA', accountNumber: '0065432190' },
    paymentRejectionInformation: { rejectionReason: 'UNDER_PAYMENT', expectedAmount: 5000 },
  }
  assert.deepEqual(read('REJECTED_PAYMENT', rejected), {
    kind: 'notice',
    reference: 'pay-7f40',
    says: 'pending',
    receipts: [],
  })
})

test('a notice about a refund is a reason to list the refunds of its transaction, and tells nothing else', () => {
  const about = { kind: 'notice', reference: THEIRS, says: 'refund', receipts: [], transactionId: THEIRS }
  for (const type of ['SUCCESSFUL_REFUND', 'FAILED_REFUND']) {
    assert.deepEqual(read(type, refunded), about)
    assert.deepEqual(read(type, { ...refunded, refundAmount: null }), about, 'incomplete money is no reason to wait')
    assert.equal(read(type, { ...refunded, transactionReference: null }).kind, 'unreadable')
  }
})

test('a payout names no order, so that it is ignored', () => {
  const payout = { amount: 10, transactionReference: 'MFDS|20260620144218|000041', reference: 'ref-17', fee: 20 }
  for (const type of ['SUCCESSFUL_DISBURSEMENT', 'FAILED_DISBURSEMENT', 'REVERSED_DISBURSEMENT'])
    assert.deepEqual(read(type, payout), { kind: 'notice', reference: null, says: 'other', receipts: [] }, type)
})

test('what we have no use for says something else', () => {
  for (const type of ['MANDATE_UPDATE', 'SOMETHING_NEW']) {
    const reading = read(type, refunded)
    assert.deepEqual(reading, { kind: 'notice', reference: THEIRS, says: 'other', receipts: [] }, type)
  }
  assert.equal(live.readNotice(sign(Buffer.from('{"eventData":{}}'), receivedAt)).kind, 'unreadable')
})
