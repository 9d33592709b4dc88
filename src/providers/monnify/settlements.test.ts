import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEYS, sign } from '../../../test/fakes/monnify/fake.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import { monnify } from './adapter.ts'

const live = monnify.connect({ settings: KEYS, baseURL: 'http://localhost', http: providerHttp(), mode: 'live' })
const receivedAt = new Date('2021-11-12T08:00:00Z')

/** `tests/Monnify.Tests/Webhooks/MonnifyWebhookEventDataTests.cs` in Monnify/monnify-dotnet-lib, commit 9d49e61. */
const payer = { bankCode: '000014', amountPaid: '1234.00', accountName: 'Okeke', accountNumber: '******1070' }
const transaction = {
  ...{
    product: { reference: '2134565wda', type: '2134565wda' },
    transactionReference: 'MNFY|26|20211111142601|000001',
  },
  ...{ paymentReference: 'MNFY|26|20211111142601|000001', paidOn: '11/11/2021 02:26:02 PM', accountPayments: [payer] },
  ...{ amountPaid: '1234.00', totalPayable: '1234.00', accountDetails: payer, cardDetails: {}, currency: 'NGN' },
  ...{ paymentMethod: 'ACCOUNT_TRANSFER', paymentStatus: 'PAID', customer: { name: 'Segun', email: 's@example.com' } },
}
const sample = {
  ...{ amount: '1199.00', settlementTime: '11/11/2021 02:29:00 PM', settlementReference: 'LB8HG1PNZT4ATJGZXQBY' },
  ...{ destinationAccountNumber: '6000000249', destinationBankName: 'Fidelity Bank', transactionsCount: 1 },
  transactions: [transaction],
}
const read = (eventData: object, eventType = 'SETTLEMENT') =>
  live.readNotice(sign(Buffer.from(JSON.stringify({ eventType, eventData })), receivedAt))
const settlementOf = (changes: object) => {
  const reading = read({ ...sample, ...changes })
  return reading.kind === 'notice' ? reading.settlement : undefined
}

const settlement = {
  ...{ id: 'LB8HG1PNZT4ATJGZXQBY', currency: 'NGN', status: 'paid', because: null, expectedOn: null },
  // Nigerian time.
  ...{ madeAt: new Date('2021-11-11T13:29:00Z'), paidAt: new Date('2021-11-11T13:29:00Z') },
  ...{ gross: null, fees: null, deductions: null, net: 119_900, bankReference: null, hasLines: true, difference: null },
}
const name = 'MNFY|26|20211111142601|000001'
const line = {
  id: name,
  kind: 'payment',
  transactionId: name,
  orderReference: name,
  gross: 123_400,
  fee: null,
  net: null,
}

test('monnify: the settlement of their sample is read, with its one payment and without a fee', () => {
  const notice = { kind: 'notice', reference: null, says: 'other', receipts: [] }
  assert.deepEqual(read(sample), { ...notice, settlement: { settlement, lines: [line] } })
})

test('monnify: the day comes before the month, and midnight and noon are twelve', () => {
  for (const [said, at] of [
    ['30/08/2023 05:13:57 PM', '2023-08-30T16:13:57Z'],
    ['01/02/2023 12:00:00 AM', '2023-01-31T23:00:00Z'],
    ['01/02/2023 12:00:00 PM', '2023-02-01T11:00:00Z'],
    ['2023-02-01 12:00:00.000', '2023-02-01T11:00:00Z'],
  ] as const)
    assert.deepEqual(settlementOf({ settlementTime: said })?.settlement.paidAt, new Date(at))
})

const other = { ...transaction, transactionReference: 'MNFY|26|2|2', paymentReference: 'r2', amountPaid: 500 }
for (const [what, changes, ours, lines] of [
  [
    'a member that is missing',
    { transactionsCount: 2 },
    'transactionsCount is 2, and 1 of the transactions can be read.',
    1,
  ],
  [
    'a member that cannot be read',
    { transactionsCount: 2, transactions: [transaction, { ...other, amountPaid: '-5' }] },
    'transactionsCount is 2, and 1 of the transactions can be read.',
    1,
  ],
  [
    'dollars',
    { transactions: [{ ...transaction, currency: 'USD' }] },
    'transactionsCount is 1, and 0 of the transactions can be read.',
    0,
  ],
  ['no list', { transactions: null }, 'transactionsCount is 1, and 0 of the transactions can be read.', 0],
  ['no list and no count', { transactions: 'none', transactionsCount: undefined }, null, 0],
  ['amounts as numbers', { transactionsCount: '2', amount: 1_600, transactions: [transaction, other] }, null, 2],
] as const) {
  test(`monnify: a settlement with ${what} is shown as it stands`, () => {
    const said = settlementOf(changes)
    assert.deepEqual([said?.settlement.difference, said?.lines.length], [ours, lines])
    assert.equal(said?.settlement.hasLines, lines > 0)
  })
}

test('monnify: a settlement without its name or amount is kept for a person, and one without a time is of now', () => {
  for (const changes of [
    { settlementReference: null },
    { amount: '-1.00' },
    { amount: '1.001' },
    { amount: undefined },
  ])
    assert.equal(read({ ...sample, ...changes }).kind, 'unreadable', JSON.stringify(changes))
  const { madeAt, paidAt } = settlementOf({ settlementTime: 'today' })?.settlement ?? assert.fail()
  assert.deepEqual([madeAt, paidAt], [receivedAt, null])
  const unsigned = { headers: {}, body: Buffer.from(JSON.stringify({ eventType: 'SETTLEMENT', eventData: sample })) }
  assert.equal(live.readNotice({ ...unsigned, receivedAt }).kind, 'forged')
})

// Three notices of the same tests, and what may stand in their place: paid, settled, status.
for (const [amountPaid, settlementAmount, paymentStatus, fee] of [
  ['3000', '2990.00', 'PAID', 1_000],
  [15_000, 14_990, 'PAID', 1_000],
  [78_000, 77_600, 'PAID', 40_000],
  ['3000', '2990.00', 'OVERPAID', 1_000],
  ['3000', '2990.00', 'PARTIALLY_PAID', undefined],
  ['3000', null, 'PAID', undefined],
  ['3000', '0.00', 'PAID', undefined],
  ['3000', '3000.01', 'PAID', undefined],
  ['3000', 'soon', 'PAID', undefined],
  ['3000', '-10', 'PAID', undefined],
] as const) {
  test(`monnify: of ${amountPaid} that is ${paymentStatus}, with ${settlementAmount} settled, the fee is ${fee}`, () => {
    const changes = { amountPaid, totalPayable: amountPaid, accountPayments: [{ ...payer, amountPaid }] }
    const notice = read({ ...transaction, ...changes, settlementAmount, paymentStatus }, 'SUCCESSFUL_TRANSACTION')
    assert.ok(notice.kind === 'notice' && notice.receipts.length === 1)
    assert.equal(notice.receipts[0]?.fee, fee)
  })
}

test('monnify: an order that several transfers paid has a line for each, with the id of its receipt', () => {
  const parts = [1_000, 500, 1_000].map((amountPaid) => ({ ...payer, amountPaid }))
  const whole = { ...transaction, amountPaid: 2_500, totalPayable: 2_500, accountPayments: parts }
  const notice = read(whole, 'SUCCESSFUL_TRANSACTION')
  assert.ok(notice.kind === 'notice')
  const said = settlementOf({ transactions: [whole] })
  assert.equal(said?.settlement.difference, null, 'it is one transaction')
  assert.deepEqual(
    said?.lines.map(({ id, transactionId, gross }) => [id, transactionId, gross]),
    notice.receipts.map(({ transactionId, amount }) => [transactionId, transactionId, amount.amount]),
  )
  assert.deepEqual(said?.lines[1], { ...line, id: `${name}#50000.1`, transactionId: `${name}#50000.1`, gross: 50_000 })
  const torn = settlementOf({ transactions: [{ ...whole, amountPaid: 2_400 }] })
  assert.deepEqual(torn?.lines, [{ ...line, gross: 240_000 }], 'transfers that do not sum up are one line')
})

test('monnify: the fee of several transfers is of none of them', () => {
  const parts = [1_000, 2_000].map((amountPaid) => ({ ...payer, amountPaid }))
  const whole = { ...transaction, amountPaid: 3_000, totalPayable: 3_000, settlementAmount: 2_990 }
  const notice = read({ ...whole, accountPayments: parts }, 'SUCCESSFUL_TRANSACTION')
  assert.ok(notice.kind === 'notice')
  assert.deepEqual(
    notice.receipts.map(({ fee }) => fee),
    [undefined, undefined],
  )
})
