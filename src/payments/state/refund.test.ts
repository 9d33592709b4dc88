import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, NGN, PRICE, paid, pending, propose, receipt, START, waiting } from '../../../test/support/pure-book.ts'
import { newId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Attempt } from './attempt.ts'
import { type Book, cancel } from './payment-state.ts'
import { planRefund, type Refund } from './refund.ts'

function refundOf({ payment }: Book, attempt: Attempt, changes: Partial<Refund> = {}): Refund {
  return {
    id: newId('refund', START),
    paymentId: payment.id,
    attemptId: attempt.id,
    amount: 1,
    currency: NGN,
    kind: 'merchant',
    counted: true,
    status: 'successful',
    reason: null,
    failure: null,
    providerRefundId: null,
    transactionIds: [],
    tries: 0,
    needsReview: null,
    createdAt: START,
    resolvedAt: null,
    ...changes,
  }
}

/** Cancelled, with 300 on its first attempt and 500 on its second. */
function inTwoParts() {
  const one = waiting('virtual-bank-account')
  const two = waiting('virtual-bank-account', one.book)
  const half = propose(two.book, one.attempt, pending(receipt(300))).book
  const both = propose(half, two.attempt, pending(receipt(500))).book
  return { book: cancel(both, after(70)).book, one: one.attempt, two: two.attempt }
}

const plan = (...[book, refunds, wanted]: Parameters<typeof planRefund>) => {
  const { attempt, amount } = planRefund(book, refunds, wanted)
  return [attempt.number, amount]
}

function refusal(work: () => unknown): Problem {
  try {
    work()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('it was not refused')
}

test('of parts on two attempts each can go back by itself, the larger first when nobody says how much', () => {
  const { book, one, two } = inTwoParts()
  assert.deepEqual(plan(book, [], undefined), [2, 500])
  assert.deepEqual(plan(book, [refundOf(book, two, { amount: 500 })], undefined), [1, 300])
  assert.deepEqual(plan(book, [refundOf(book, two, { amount: 400 })], 200), [1, 200], 'from where there is enough')
  assert.deepEqual(plan(book, [refundOf(book, one, { amount: 300 })], undefined), [2, 500])
})

test('more than one attempt has is refused with how much can go back at once, and how much there is in all', () => {
  const { book, one, two } = inTwoParts()
  const { code, message, extra } = refusal(() => planRefund(book, [], 501))
  assert.deepEqual([code, extra], ['refund_exceeds_payment', { refundable: 500 }])
  assert.match(message, /^800 of 800 NGN .* 500 at most can go back at once/)
  const all = [refundOf(book, one, { amount: 300 }), refundOf(book, two, { amount: 500 })]
  const nothing = refusal(() => planRefund(book, all, undefined))
  assert.deepEqual(nothing.extra, { refundable: 0 })
  assert.doesNotMatch(nothing.message, /at once/)
})

test('what is promised is not promised twice; what was refused is free again', () => {
  const { book, two } = inTwoParts()
  const refund = refundOf(book, two, { amount: 500 })
  assert.deepEqual(plan(book, [{ ...refund, status: 'pending' }], undefined), [1, 300])
  assert.deepEqual(plan(book, [{ ...refund, status: 'failed' }], undefined), [2, 500])
})

test('of a paid payment all goes back through the attempt that paid it, whatever went back of the others', () => {
  const { book, one, two } = inTwoParts()
  const done = propose(book, two, paid(receipt(PRICE - 500))).book
  const others = [
    refundOf(done, one, { amount: 300, counted: false, kind: 'surplus' }),
    refundOf(done, one, { amount: 300, counted: false, kind: 'provider' }),
  ]
  assert.deepEqual(plan(done, others, undefined), [2, PRICE])
  assert.deepEqual(refusal(() => planRefund(done, others, PRICE + 1)).extra, { refundable: PRICE })
})

test('while a payment is open nothing is refunded', () => {
  const { book, attempt } = waiting('virtual-bank-account')
  const part = propose(book, attempt, pending(receipt(300))).book
  assert.equal(refusal(() => planRefund(part, [], undefined)).code, 'payment_not_completed')
})
