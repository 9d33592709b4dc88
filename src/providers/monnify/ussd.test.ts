import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KEYS, startFakeMonnify } from '../../../test/fakes/monnify/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Order, OrderHandle } from '../provider.ts'
import { monnify } from './adapter.ts'

const naira = (kobo: number) => money(kobo, 'NGN' as Currency)
const reference = 'r'.repeat(32)

const order = (bank?: string): Order => ({
  ...{ reference, amount: naira(10_000), country: 'NG', channel: 'ussd', input: bank === undefined ? {} : { bank } },
  ...{ customer: { email: 'ada@example.com', name: 'Ada', phoneNumber: null }, merchantName: 'Ada & Sons' },
  ...{ returnURL: 'https://shop.example/return', startedAt: new Date(), saveCard: false },
  expiresAt: new Date(Date.now() + 7_200_000),
})
const handle: OrderHandle = {
  ...{ reference, providerReference: 'MNFY|17|20260626231846|000001', channel: 'ussd' },
  ...{ startedAt: new Date(), amount: naira(10_000) },
}

async function setUp(t: TestContext) {
  const fake = await startFakeMonnify(t)
  const http = httpTo(fake.upstream)
  const connection = monnify.connect({ mode: 'live', settings: KEYS, baseURL: fake.upstream.url, http })
  /** In the answers to this call alone. */
  const alter = (path: string, changes: object) => {
    fake.upstream.garble = (said, asked) => {
      if (!asked.path.includes(path)) return said
      const { responseBody, ...envelope } = JSON.parse(said.text)
      return { ...said, text: JSON.stringify({ ...envelope, responseBody: { ...responseBody, ...changes } }) }
    }
  }
  return { ...fake, connection, alter }
}

test('monnify: a code to dial is that of the customer’s bank, for an account of this order', async (t) => {
  const { connection, asked, customer } = await setUp(t)
  const start = await connection.start(order('044'))
  assert.ok(start.kind === 'dial')
  assert.deepEqual([start.code, start.bankName], ['*901*100.00*2209149705#', 'Access Bank'])
  assert.ok(Math.abs(start.expiresAt.getTime() - Date.now() - 2_400_000) < 10_000)
  const [begun, taken] = asked.filter(({ path }) => path.includes('init-')).map(({ body }) => JSON.parse(body))
  assert.deepEqual([begun.paymentMethods, begun.redirectUrl], [['ACCOUNT_TRANSFER'], undefined])
  assert.deepEqual(taken, { transactionReference: start.providerReference, bankCode: '044' })

  assert.deepEqual(await connection.check(handle), { kind: 'pending', receipts: [] })
  await customer.approve?.(reference)
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'paid')
  assert.deepEqual(outcome.receipts[0]?.amount, naira(10_000))
})

const ACCOUNTS: [string, object, object][] = [
  // developers.monnify.com/api, 2026-06-30.
  [
    'of their API reference',
    {
      ...{ accountNumber: '6795542937', accountName: 'jiggyjiggy-Trial transaction', bankCode: '50515' },
      ...{
        bankName: 'Moniepoint Microfinance Bank',
        accountDurationSeconds: 2400,
        ussdPayment: '*901*100.00*6795542937#',
      },
      ...{ requestTime: '2026-06-30T09:31:46.814667464', expiresOn: '2026-06-30T10:11:46', amount: 100, fee: 0 },
      ...{ totalPayable: 100, collectionChannel: 'API_NOTIFICATION', productInformation: null },
    },
    { kind: 'dial', code: '*901*100.00*6795542937#' },
  ],
  [
    'of their old form',
    { ussdPayment: undefined, ussdCode: '*737*2*100*2209149705#' },
    { kind: 'dial', code: '*737*2*100*2209149705#' },
  ],
  ['with nothing to dial', { ussdPayment: null }, { kind: 'declined', failure: { providerCode: 'bank_has_no_ussd' } }],
  [
    'with a text to dial',
    { ussdPayment: 'Dial 901' },
    { kind: 'declined', failure: { providerCode: 'bank_has_no_ussd' } },
  ],
  ['with another amount', { amount: 99 }, { kind: 'unknown' }],
  ['of another order', { paymentReference: 'another' }, { kind: 'unknown' }],
  ['without a number', { accountNumber: null }, { kind: 'unknown' }],
]
for (const [name, changes, wanted] of ACCOUNTS) {
  test(`monnify answers with an account ${name}`, async (t) => {
    const { connection, alter } = await setUp(t)
    alter('init-payment', changes)
    assert.partialDeepStrictEqual(await connection.start(order('044')), wanted)
  })
}

test('monnify: a bank of its list may have nothing to dial, and one that it does not list is not asked for', async (t) => {
  const { connection, ordersMade } = await setUp(t)
  for (const bank of [undefined, '999', '']) {
    const outcome = await connection.start(order(bank))
    assert.ok(outcome.kind === 'declined' && outcome.failure.providerCode === 'bank_not_supported')
  }
  assert.equal(ordersMade(), 0)
  const outcome = await connection.start(order('076'))
  assert.ok(outcome.kind === 'declined' && outcome.failure.providerCode === 'bank_has_no_ussd')
})

const ENDS: [string, object, object][] = [
  ['USSD', { paymentMethod: 'USSD', accountPayments: [], paymentSourceInformation: {} }, { kind: 'paid' }],
  ['their pay by phone', { paymentMethod: 'PHONE_NUMBER', accountPayments: null }, { kind: 'paid' }],
  [
    'a part of it',
    { paymentStatus: 'PARTIALLY_PAID', amountPaid: '51.00', accountPayments: [{ amountPaid: '51.00' }] },
    { kind: 'pending' },
  ],
]
for (const [name, changes, wanted] of ENDS) {
  test(`monnify: a code was dialled, and it says ${name}`, async (t) => {
    const { connection, customer, alter } = await setUp(t)
    await connection.start(order('058'))
    await customer.approve?.(reference)
    alter('/query', changes)
    const outcome = await connection.check(handle)
    assert.partialDeepStrictEqual(outcome, wanted)
    assert.ok((outcome.kind === 'paid' || outcome.kind === 'pending') && outcome.receipts.length === 1)
    assert.ok(!('savedCard' in outcome))
  })
}

test('monnify: a code that was not dialled in time has expired, and what comes late is found', async (t) => {
  const { connection, customer } = await setUp(t)
  await connection.start(order('058'))
  await customer.expire?.(reference)
  const outcome = await connection.check(handle)
  assert.ok(outcome.kind === 'declined' && outcome.failure.code === 'prompt_expired')
  await customer.approve?.(reference)
  assert.equal((await connection.check(handle)).kind, 'paid')
})

test('monnify: notices of a dialled code are read, and a transfer that it rejected leaves the order open', async (t) => {
  const { connection, customer, takeNotices, notices } = await setUp(t)
  await connection.start(order('058'))
  const rejected = {
    ...{ paymentReference: reference, transactionReference: handle.providerReference, amount: 51, currency: 'NGN' },
    paymentSourceInformation: { bankCode: '', amountPaid: 51, accountName: 'ADA', accountNumber: '0065432190' },
    paymentRejectionInformation: {
      ...{ bankCode: '50515', destinationAccountNumber: '2209149705', bankName: 'Moniepoint Microfinance Bank' },
      ...{ rejectionReason: 'UNDER_PAYMENT', expectedAmount: '100.00' },
    },
  }
  const body = Buffer.from(JSON.stringify({ eventType: 'REJECTED_PAYMENT', eventData: rejected }))
  const said = connection.readNotice(notices.sign(body, new Date()))
  assert.ok(said.kind === 'notice' && said.says === 'pending' && said.reference === reference)
  await customer.approve?.(reference)
  const [paid = assert.fail('a notice')] = takeNotices()
  const reading = connection.readNotice({ ...paid, receivedAt: new Date() })
  assert.ok(reading.kind === 'notice' && reading.says === 'paid')
  assert.deepEqual(reading.receipts[0]?.amount, naira(10_000))
})
