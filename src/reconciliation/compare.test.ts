import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../kernel/ids.ts'
import { type Currency, money } from '../kernel/money.ts'
import type { Dispute } from '../payments/state/dispute.ts'
import { newAttemptId, orderReferenceOf } from '../payments/state/new-attempt.ts'
import type { Refund } from '../payments/state/refund.ts'
import type { RecordedTransaction } from '../payments/store/provider-audit.ts'
import type { ListedDispute, ListedRefund, ListedTransaction, OfAccount } from '../providers/provider.ts'
import {
  compareDispute,
  compareOrder,
  compareRefund,
  compareTransaction,
  isSame,
  looksLikeOurs,
  returnedOfAttempt,
} from './compare.ts'

const NGN = 'NGN' as Currency
const at = new Date('2026-05-01T00:00:00Z')
const naira = (amount: number) => money(amount, NGN)

const theirs = (more: Partial<ListedTransaction> = {}): ListedTransaction => ({
  ...{ transactionId: 't1', reference: 'order', amount: naira(1_000), at },
  ...more,
})
const ours = (more: Partial<RecordedTransaction> = {}): RecordedTransaction =>
  ({
    ...{ receiptId: 1, transactionId: 't1', amount: 1_000, currency: 'NGN', attemptId: 'att_1' },
    ...{
      orderReference: 'order',
      providerReference: 'order',
      returned: 0,
      returning: 0,
      byHand: 0,
      receiptsOfAttempt: 1,
    },
    ...more,
  }) as RecordedTransaction
const says = (verdict: ReturnType<typeof compareTransaction>) =>
  verdict.kind === 'differs'
    ? verdict.finding
    : verdict.kind === 'unclear'
      ? `unclear: ${verdict.finding}`
      : verdict.kind

function transaction(
  listed: ListedTransaction,
  recorded?: RecordedTransaction,
  belongs: 'ours' | 'lost' | 'foreign' = 'ours',
) {
  const returned = recorded
    ? returnedOfAttempt(recorded, [{ ours: recorded, theirs: listed }])
    : { returned: 0, isWhole: true }
  return says(compareTransaction(listed, recorded, { belongs, ...returned }))
}

test('a transaction is equal when amount, currency and what went back agree', () => {
  assert.equal(transaction(theirs(), ours()), 'equal')
  assert.equal(transaction(theirs({ returned: 400 }), ours({ returned: 400 })), 'equal')
  assert.equal(transaction(theirs({ returned: 400 }), ours({ returned: 100, returning: 300 })), 'equal', 'pending')
  assert.equal(transaction(theirs({ returned: 100 }), ours({ returned: 100, returning: 300 })), 'equal')
  const byHand = (returned: number) => transaction(theirs({ returned }), ours({ byHand: 300, returning: 50 }))
  assert.deepEqual([0, 50, 300, 350].map(byHand), Array(4).fill('equal'), 'in the dashboard, or elsewhere')
  for (const returned of [51, 299, 351]) assert.match(byHand(returned), /^the provider gave back/, 'other money')
})

test('a transaction differs in what it names', () => {
  assert.match(transaction(theirs({ amount: naira(900) }), ours()), /took ₦9.00, our records have ₦10.00/)
  assert.match(transaction(theirs({ amount: money(1_000, 'USD' as Currency) }), ours()), /took \$10.00/)
  assert.match(
    transaction(theirs({ returned: 500 }), ours({ returned: 400 })),
    /gave back ₦5.00, our records have ₦4.00/,
  )
  assert.match(transaction(theirs({ returned: 1_000 }), ours()), /gave back ₦10.00, our records have ₦0.00/)
  const none = theirs({ returned: 0 })
  assert.match(transaction(none, ours({ returned: 400 })), /gave back ₦0.00/, 'less than on record')
  assert.equal(transaction(theirs(), ours({ returned: 400 })), 'equal', 'the list names no sum')
  assert.match(transaction(theirs()), /our records do not have it/)
})

test('an entry that names nothing of ours is foreign, and one with a reference of ours is not', () => {
  assert.equal(transaction(theirs({ reference: null }), undefined, 'foreign'), 'foreign')
  assert.match(transaction(theirs(), undefined, 'lost'), /our records do not have it/)
  const now = new Date('2026-05-01T00:00:00Z')
  const merchantId = newId('merchant', now)
  const reference = orderReferenceOf(newAttemptId(now, 7, merchantId))
  assert.equal(looksLikeOurs(reference, merchantId, now), true)
  assert.equal(looksLikeOurs(reference, newId('merchant', now), now), false, 'of another installation')
  assert.equal(looksLikeOurs(reference, merchantId, new Date('2026-04-01T00:00:00Z')), false, 'not made yet')
  for (const other of ['', 'order-1', 'd41d8cd98f00b204e9800998ecf8427e', reference.toUpperCase()])
    assert.equal(looksLikeOurs(other, merchantId, now), false, other)
})

test('two transactions of one attempt are compared together', () => {
  const [first, second] = [
    ours({ receiptsOfAttempt: 2, returned: 700 }),
    ours({ receiptId: 2, transactionId: 't2', receiptsOfAttempt: 2, returned: 700 }),
  ]
  const page = [
    { ours: first, theirs: theirs({ returned: 300 }) },
    { ours: second, theirs: theirs({ transactionId: 't2', returned: 400 }) },
  ]
  assert.deepEqual(returnedOfAttempt(first, page), { returned: 700, isWhole: true })
  assert.deepEqual(returnedOfAttempt(first, page.slice(1)), { returned: 400, isWhole: false })
  const twice = [...page, ...page] // listed with two versions of the keys
  assert.deepEqual(returnedOfAttempt(first, twice), { returned: 700, isWhole: true })
})

test('an entry that does not say enough is a reason to ask, and no difference', () => {
  assert.match(transaction(theirs({ isReversed: true }), ours()), /^unclear: money of it may have gone back/)
  assert.equal(transaction(theirs({ isReversed: true }), ours({ returned: 1_000 })), 'equal')
  assert.equal(transaction(theirs({ isReversed: true }), ours({ returning: 100 })), 'equal')
  const larger = refund({ amount: naira(515) })
  assert.match(compareOurs(larger, ourRefund()), /^unclear: .* refund of ₦5.15, our records have ₦5.00/)
  assert.match(compareOurs(refund({ amount: null }), ourRefund({ resolvedAt: new Date() })), /^unclear: /)
  assert.equal(compareOurs(refund({ amount: null }), ourRefund({ resolvedAt: new Date(0) })), 'equal', 'an old one')
})

test('an order that is listed without its transactions is asked for when its amounts cannot be right', () => {
  const listed = theirs({ transactionId: 'MNFY|1', isOfOrder: true })
  const money = { received: 1_000, returned: 0, currency: 'NGN', receiptIds: [1] }
  assert.equal(says(compareOrder(listed, money)), 'equal')
  assert.equal(says(compareOrder(listed, { ...money, received: 1_500 })), 'equal')
  assert.match(says(compareOrder(listed, { ...money, received: 900 })), /^unclear: .*₦10.00 or more.* have ₦9.00/)
  assert.match(says(compareOrder(listed, { ...money, received: 0 })), /^the provider took ₦10.00 or more/)
  assert.match(says(compareOrder({ ...listed, askFrom: 1_001 }, { ...money, received: 1_500 })), /^unclear: /)
  const reversed = { ...listed, isReversed: true as const }
  assert.match(says(compareOrder(reversed, money)), /^unclear: /)
  assert.match(says(compareOrder(reversed, { ...money, returned: 400 })), /^unclear: /, 'the rest went back, too')
  assert.equal(says(compareOrder(reversed, { ...money, returned: 1_000 })), 'equal')
})

test('the same id of another account is another transaction', () => {
  assert.equal(isSame(ours(), theirs()), true)
  assert.equal(isSame(ours(), theirs({ reference: 'of another account' })), false)
  assert.equal(isSame(ours({ providerReference: 'theirs' }), theirs({ reference: 'theirs' })), true)
  assert.equal(isSame(ours({ orderReference: null }), theirs()), true, 'a person matched it')
})

const refund = (more: Partial<OfAccount<ListedRefund>> = {}): OfAccount<ListedRefund> => ({
  ...{
    transactionId: 't1',
    orderReference: null,
    refundId: 'r1',
    reference: null,
    amount: naira(500),
    status: 'successful',
    at,
  },
  ...more,
})
const ourRefund = (more: Partial<Refund> = {}) =>
  ({ amount: 500, currency: 'NGN', status: 'successful', providerRefundId: 'r1', resolvedAt: null, ...more }) as Refund
const compareOurs = (listed: OfAccount<ListedRefund>, recorded?: Refund, settles = false) =>
  says(compareRefund(listed, recorded, { belongs: 'ours', settles, now: new Date() }))

test('a refund is equal when its amount and status agree', () => {
  assert.equal(compareOurs(refund(), ourRefund()), 'equal')
  assert.equal(compareOurs(refund({ status: 'pending' }), ourRefund()), 'equal', 'the bank can still refuse it')
  const pending = refund({ status: 'pending', at: new Date() })
  assert.equal(compareOurs(pending), 'equal', 'seen again when it is done')
  assert.match(compareOurs({ ...pending, needsAccount: true }), /has not finished it, and our records do not have it/)
  assert.match(compareOurs(refund({ status: 'pending' })), /has not finished it/, 'of months ago')
  assert.equal(compareOurs({ ...pending, needsAccount: true }, ourRefund({ status: 'pending' })), 'equal')
  assert.equal(compareOurs(refund({ status: 'failed' })), 'equal')
  assert.equal(compareOurs(refund(), undefined, true), 'equal', 'the money of a lost dispute')
  assert.equal(compareOurs(refund({ status: 'failed', refundId: 'r0' }), ourRefund()), 'equal', 'an earlier try')
  assert.equal(
    says(compareRefund(refund(), undefined, { belongs: 'foreign', settles: false, now: new Date() })),
    'foreign',
  )
})

test('a refund differs in amount or status, or is not on record', () => {
  assert.match(compareOurs(refund()), /refunded ₦5.00, our records do not have it/)
  assert.match(compareOurs(refund({ status: 'failed' }), ourRefund()), /is failed, ours is successful/)
  assert.match(compareOurs(refund(), ourRefund({ status: 'pending' })), /is successful, ours is pending/)
  assert.match(compareOurs(refund(), ourRefund({ status: 'failed' })), /is successful, ours is failed/)
})

test('a dispute is equal when nothing of it would change', () => {
  const listed: OfAccount<ListedDispute> = {
    ...{ transactionId: 't1', orderReference: null },
    ...{ disputeId: 'd1', amount: naira(500), status: 'open', reason: null, respondBy: null, openedAt: at },
  }
  const recorded = { amount: 500, currency: 'NGN', status: 'open', reason: null, respondBy: null } as Dispute
  const compare = (change: Partial<OfAccount<ListedDispute>>, known: Dispute | undefined = recorded) =>
    says(compareDispute({ ...listed, ...change }, known, 'ours'))
  assert.equal(compare({}), 'equal')
  assert.equal(compare({}, { ...recorded, status: 'lost' }), 'equal', 'a stale list does not reopen it')
  assert.match(compare({ status: 'won' }), /is won, ours is open/)
  assert.match(compare({ amount: naira(400) }), /^unclear: .* has changed/)
  assert.equal(compare({ amount: null }), 'equal', 'the list does not name it')
  assert.match(says(compareDispute(listed, undefined, 'ours')), /our records do not have it/)
  assert.equal(says(compareDispute(listed, undefined, 'foreign')), 'foreign')
})
