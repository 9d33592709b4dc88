import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Channel } from '../../kernel/channel.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Outcome } from '../provider.ts'
import { outcomeOf } from './mapping.ts'
import { readEnvelope, readStart, readToken, readTransaction } from './wire.ts'

const THEIRS = 'MNFY|17|20260626231846|000311'
const PAID_ON = '25/07/2026 11:20:20 AM'
const startedAt = new Date('2026-07-25T10:00:00Z')

/** A query's answer, as they write it. */
function outcome(changes: object, channel: Channel = 'card', isWithCustomer = true): Outcome {
  const body = {
    transactionReference: THEIRS,
    paymentReference: 'pay-7f3c',
    amountPaid: '0.00',
    totalPayable: '0.00',
    settlementAmount: null,
    paidOn: null,
    paymentStatus: 'PENDING',
    currency: 'NGN',
    paymentMethod: channel === 'card' ? 'CARD' : 'ACCOUNT_TRANSFER',
    product: { type: 'API_NOTIFICATION', reference: 'pay-7f3c' },
    cardDetails: null,
    accountPayments: [],
    customer: { email: 'ada@example.com', name: 'Ada' },
    metaData: {},
    ...changes,
  }
  const envelope = readEnvelope(JSON.stringify({ responseMessage: 'success', responseCode: '0', responseBody: body }))
  const transaction = readTransaction(envelope?.body)
  if (!transaction) return { kind: 'unknown', because: 'unreadable' }
  return outcomeOf(transaction, { channel, otherwiseAt: startedAt, isWithCustomer })
}

const paid = (changes: object = {}) => ({
  paymentStatus: 'PAID',
  amountPaid: '5000.00',
  totalPayable: '5000.00',
  paidOn: PAID_ON,
  ...changes,
})
const transfers = (...amounts: unknown[]) => ({
  accountPayments: amounts.map((amountPaid) => ({ accountName: 'ADA', accountNumber: '******4015', amountPaid })),
})
const receipt = (id: string, kobo: number, at = new Date('2026-07-25T10:20:20Z')) => ({
  transactionId: id,
  ...(!id.includes('#') && { idIsProviders: true }),
  amount: money(kobo, 'NGN' as Currency),
  at,
})
const unreadable = { kind: 'unknown', because: 'unreadable' }
const account = 'virtual-bank-account'

test('a card that paid is one receipt, by the name of its transaction', () => {
  assert.deepEqual(outcome(paid()), { kind: 'paid', receipts: [receipt(THEIRS, 500_000)] })
  assert.deepEqual(outcome(paid({ paidOn: 'lately' })), {
    kind: 'paid',
    receipts: [receipt(THEIRS, 500_000, startedAt)],
  })
  assert.deepEqual(outcome(paid({ amountPaid: 5000, totalPayable: 5000 })), outcome(paid()), 'numbers or strings')
  for (const accountPayments of [[{}], {}, null, undefined, 'odd']) {
    assert.deepEqual(outcome(paid({ accountPayments })), outcome(paid()), 'what stands there for a card')
  }
})

test('before anything is paid, nothing is: totals of 0.00 say nothing', () => {
  assert.deepEqual(outcome({}), { kind: 'pending', receipts: [] })
  assert.deepEqual(outcome({}, account), { kind: 'pending', receipts: [] })
  assert.deepEqual(outcome({}, 'card', false), { kind: 'processing' })
  assert.deepEqual(outcome({ paymentStatus: 'SOMETHING_NEW' }), { kind: 'pending', receipts: [] })
})

test('paid by no money is unknown, and so is money of another currency, or by no means', () => {
  assert.equal(outcome(paid({ amountPaid: '0.00' })).kind, 'unknown')
  assert.deepEqual(outcome(paid({ currency: 'USD' })), {
    kind: 'unknown',
    because: 'it answered with another currency',
  })
  assert.deepEqual(outcome(paid({ paymentMethod: null })), unreadable)
})

const ENDS: [string, Channel, string][] = [
  ['FAILED', 'card', 'card_declined'],
  ['CANCELLED', 'card', 'customer_cancelled'],
  ['EXPIRED', 'card', 'customer_cancelled'],
  ['ABANDONED', 'card', 'customer_cancelled'],
  ['FAILED', account, 'provider_error'],
  ['CANCELLED', account, 'customer_cancelled'],
  ['EXPIRED', account, 'transfer_expired'],
  ['ABANDONED', account, 'transfer_expired'],
]
for (const [paymentStatus, channel, code] of ENDS) {
  test(`${paymentStatus} for ${channel} is declined with ${code}`, () => {
    const declined = outcome({ paymentStatus }, channel)
    assert.ok(declined.kind === 'declined')
    assert.deepEqual(
      [declined.failure.code, declined.failure.providerCode, declined.tryId],
      [code, paymentStatus, null],
    )
  })
}

test('an end with money is no end: a card that failed and paid is unknown, a part that came by transfer is there', () => {
  const { kind } = outcome(paid({ paymentStatus: 'FAILED' }))
  assert.equal(kind, 'unknown')
  const part = { amountPaid: '2000.00', totalPayable: '5000.00', paidOn: PAID_ON, ...transfers('2000.00') }
  for (const paymentStatus of ['EXPIRED', 'CANCELLED', 'FAILED', 'PARTIALLY_PAID', 'PENDING']) {
    const receipts = [receipt(`${THEIRS}#200000.1`, 200_000)]
    assert.deepEqual(outcome({ ...part, paymentStatus }, account), { kind: 'pending', receipts }, paymentStatus)
  }
})

test('reversed is money that came and went back; without money it is a failure', () => {
  const back = (id: string, kobo: number) => ({ ...receipt(id, kobo), returned: kobo })
  assert.deepEqual(outcome(paid({ paymentStatus: 'REVERSED' })), { kind: 'paid', receipts: [back(THEIRS, 500_000)] })
  const two = { ...transfers('2000.00', '3000.00'), paymentStatus: 'REVERSED' }
  assert.deepEqual(outcome(paid(two), account), {
    kind: 'paid',
    receipts: [back(`${THEIRS}#200000.1`, 200_000), back(`${THEIRS}#300000.1`, 300_000)],
  })
  const empty = outcome({ paymentStatus: 'REVERSED' })
  assert.ok(empty.kind === 'declined' && empty.failure.code === 'reversed')
})

test('transfers are read from accountPayments, or from paymentSourceInformation where that has them', () => {
  const { accountPayments } = transfers('2000.00', '3000.00')
  const listed = outcome(paid({ accountPayments }), account)
  assert.ok(listed.kind === 'paid' && listed.receipts.length === 2)
  for (const empty of [[], {}, null, undefined]) {
    const asInNotices = paid({ accountPayments: empty, paymentSourceInformation: accountPayments })
    assert.deepEqual(outcome(asInNotices, account), listed)
    assert.deepEqual(outcome(paid({ accountPayments, paymentSourceInformation: empty }), account), listed)
  }
  const odd = paid({ accountPayments: [], paymentSourceInformation: [{ amountPaid: 'much' }] })
  assert.deepEqual(outcome(odd, account), unreadable)
})

test('each transfer is a receipt, and too much is paid', () => {
  const some = { ...transfers('2000.00', 3000.5, '2000.00'), amountPaid: '7000.50', totalPayable: 5000 }
  assert.deepEqual(outcome(paid({ ...some, paymentStatus: 'OVERPAID' }), account), {
    kind: 'paid',
    receipts: [
      receipt(`${THEIRS}#200000.1`, 200_000),
      receipt(`${THEIRS}#300050.1`, 300_050),
      receipt(`${THEIRS}#200000.2`, 200_000),
    ],
  })
})

test('paid by less than was asked for is not paid', () => {
  const less = paid({ amountPaid: '4999.99', ...transfers('4999.99') })
  assert.equal(outcome(less, account).kind, 'pending')
  assert.equal(outcome(paid({ ...transfers('5000.00') }), account).kind, 'paid')
})

test('transfers keep their ids when more arrive, in any order', () => {
  const amount = fc.constantFrom(100, 250, 250_00, 1_000_00) // few, so that equal ones are common
  const idsOf = (kobo: number[]) => {
    const sum = kobo.reduce((all, one) => all + one, 0)
    const written = transfers(...kobo.map((one) => (one / 100).toFixed(2)))
    const said = outcome(paid({ ...written, amountPaid: (sum / 100).toFixed(2), totalPayable: '1.00' }), account)
    assert.ok(said.kind === 'paid')
    return new Map(said.receipts.map(({ transactionId, amount }) => [transactionId, amount.amount]))
  }
  fc.assert(
    fc.property(
      fc.array(amount, { minLength: 1, maxLength: 8 }),
      fc.array(amount, { maxLength: 4 }),
      fc.nat(),
      (first, later, by) => {
        const all = [...first, ...later]
        const turned = [...all.slice(by % all.length), ...all.slice(0, by % all.length)]
        const [before, after] = [idsOf(first), idsOf(turned)]
        assert.equal(after.size, all.length, 'one for each')
        for (const [id, kobo] of before) assert.equal(after.get(id), kobo, 'the same as before')
      },
    ),
  )
})

test('all of it without a list is one transfer, by the name that the list would give it', () => {
  const listed = outcome(paid(transfers('5000.00')), account)
  for (const accountPayments of [[], null, undefined, {}]) {
    assert.deepEqual(outcome(paid({ accountPayments }), account), listed)
  }
})

test('a part of it without a list is unknown: who knows how many that were', () => {
  const part = { paymentStatus: 'PARTIALLY_PAID', amountPaid: '2000.00', totalPayable: '5000.00' }
  assert.equal(outcome(part, account).kind, 'unknown')
})

test('a list that is not the money it names is unknown, and one that cannot be read makes all unreadable', () => {
  assert.equal(outcome(paid(transfers('2000.00')), account).kind, 'unknown')
  assert.equal(outcome(paid(transfers('5000.00', '1.00')), account).kind, 'unknown')
  for (const odd of [
    transfers('5000.00', null),
    transfers('5000.001'),
    { accountPayments: [{}] },
    { accountPayments: 5 },
  ]) {
    assert.deepEqual(outcome(paid(odd), account), unreadable)
  }
})

const CARD = { last4: '1111', expMonth: '10', expYear: '29', bin: '506099', reusable: true, cardToken: 'MNFY_1B4B' }
test('a card can be kept when there is a token, and one that cannot be read hides no money', () => {
  const kept = outcome(paid({ cardDetails: CARD }))
  assert.ok(kept.kind === 'paid')
  const savedCard = { token: 'MNFY_1B4B', brand: 'Verve', last4: '1111', expiryMonth: 10, expiryYear: 2029 }
  assert.deepEqual(kept.savedCard, savedCard)
  const named = outcome(paid({ cardDetails: { ...CARD, cardType: 'MasterCard', expYear: '2031', expMonth: '7' } }))
  assert.ok(named.kind === 'paid')
  assert.deepEqual(named.savedCard, { ...savedCard, brand: 'MasterCard', expiryMonth: 7, expiryYear: 2031 })
  for (const odd of [
    { cardToken: null },
    { cardToken: '' },
    { reusable: false },
    { last4: '111' },
    { expMonth: '13' },
    { expMonth: '1.5' },
    { expYear: '1999' },
    { expYear: null },
  ]) {
    assert.deepEqual(outcome(paid({ cardDetails: { ...CARD, ...odd } })), outcome(paid()), JSON.stringify(odd))
  }
})

test('a word of theirs has 200 characters at the most, a token that opens their doors 8,192', () => {
  const long = (length: number) => 'x'.repeat(length)
  const names = (transactionReference: string) => ({ transactionReference, paymentReference: 'pay-7f3c' })
  assert.equal(readStart(names(long(200)))?.transactionReference, long(200))
  assert.equal(readStart(names(long(201))), undefined)
  const login = (accessToken: unknown) => readToken({ accessToken, expiresIn: '3600' })?.accessToken
  assert.equal(login(long(8_192)), long(8_192))
  for (const odd of [long(8_193), 'a b', 'a\r\nb', '', 5, undefined]) assert.equal(login(odd), undefined)
})

test('a bar in a link is written so that a header and a page can have it', () => {
  const names = { transactionReference: THEIRS, paymentReference: 'pay-7f3c' }
  const checkoutUrl = `https://sandbox.example/checkout/${THEIRS}`
  assert.equal(readStart({ ...names, checkoutUrl })?.checkoutUrl, checkoutUrl.replaceAll('|', '%7C'))
  assert.equal(readStart({ ...names, checkoutUrl: 'javascript:alert(1)' })?.checkoutUrl, null)
})

test('an object that looks like a number of ours is none of theirs', () => {
  assert.deepEqual(outcome(paid({ amountPaid: { digits: '5000.00' } })), unreadable)
  assert.deepEqual(outcome({ ...paid(), ...transfers({ digits: '5000.00' }) }, account), unreadable)
})
