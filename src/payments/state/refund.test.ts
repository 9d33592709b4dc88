import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  NGN,
  PRICE,
  paid,
  pending,
  receipt,
  START,
  settleWith,
  waiting,
} from '../../../test/support/payment-state.ts'
import { newId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Attempt } from './attempt.ts'
import { type Review, refundsByPeople } from './open-money.ts'
import { cancel, type PaymentState } from './payment-state.ts'
import { assertMayRefund, planRefund, type Refund } from './refund.ts'

function refundOf({ payment }: PaymentState, attempt: Attempt, changes: Partial<Refund> = {}): Refund {
  return {
    id: newId('refund', START, 7),
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
    askedAt: null,
    tries: 0,
    needsReview: null,
    createdAt: START,
    hasAccount: false,
    accountTakenAt: null,
    resolvedAt: null,
    ...changes,
  }
}

/** Cancelled, with 300 on its first attempt and 500 on its second. */
function inTwoParts() {
  const one = waiting('virtual-bank-account')
  const two = waiting('virtual-bank-account', one.state)
  const half = settleWith(two.state, one.attempt, pending(receipt(300))).state
  const both = settleWith(half, two.attempt, pending(receipt(500))).state
  return { state: cancel(both, after(70)).state, one: one.attempt, two: two.attempt }
}

const plan = (...[state, refunds, wanted]: Parameters<typeof planRefund>) => {
  const { attempt, amount } = planRefund(state, refunds, wanted)
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

test('partial payments of two attempts are refunded separately, the larger first without an amount', () => {
  const { state, one, two } = inTwoParts()
  assert.deepEqual(plan(state, [], undefined), [2, 500])
  assert.deepEqual(plan(state, [refundOf(state, two, { amount: 500 })], undefined), [1, 300])
  assert.deepEqual(plan(state, [refundOf(state, two, { amount: 400 })], 200), [1, 200], 'from where there is enough')
  assert.deepEqual(plan(state, [refundOf(state, one, { amount: 300 })], undefined), [2, 500])
})

test('more than one attempt has is refused with how much can go back at once, and how much there is in all', () => {
  const { state, one, two } = inTwoParts()
  const { code, message, extra } = refusal(() => planRefund(state, [], 501))
  assert.deepEqual([code, extra], ['refund_exceeds_payment', { refundable: 500 }])
  assert.match(message, /^800 NGN \(₦8.00\) of 800 NGN \(₦8.00\) can .* 500 NGN \(₦5.00\) at most can go back at once/)
  const all = [refundOf(state, one, { amount: 300 }), refundOf(state, two, { amount: 500 })]
  const nothing = refusal(() => planRefund(state, all, undefined))
  assert.deepEqual(nothing.extra, { refundable: 0 })
  assert.doesNotMatch(nothing.message, /at once/)
})

test('pending refunds reserve their amount; failed ones release it', () => {
  const { state, two } = inTwoParts()
  const refund = refundOf(state, two, { amount: 500 })
  assert.deepEqual(plan(state, [{ ...refund, status: 'pending' }], undefined), [1, 300])
  assert.deepEqual(plan(state, [{ ...refund, status: 'failed' }], undefined), [2, 500])
})

test('a paid payment is refunded through the attempt that paid it', () => {
  const { state, one, two } = inTwoParts()
  const done = settleWith(state, two, paid(receipt(PRICE - 500))).state
  const others = [
    refundOf(done, one, { amount: 300, counted: false, kind: 'surplus' }),
    refundOf(done, one, { amount: 300, counted: false, kind: 'provider' }),
  ]
  assert.deepEqual(plan(done, others, undefined), [2, PRICE])
  assert.deepEqual(refusal(() => planRefund(done, others, PRICE + 1)).extra, { refundable: PRICE })
})

test('while a payment is open nothing is refunded', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const part = settleWith(state, attempt, pending(receipt(300))).state
  assert.equal(refusal(() => planRefund(part, [], undefined)).code, 'payment_not_completed')
})

test('people may ask for 50 refunds of a payment: returns of surplus are among them, automatic refunds are not', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const surplus = Array.from({ length: 50 }, () => refundOf(state, attempt, { kind: 'surplus', counted: false }))
  const reviews = surplus.map(
    ({ id }): Review => ({
      ...{ kind: 'surplus', act: 'returned', attemptId: attempt.id, amount: 1, received: 1, refundId: id },
    }),
  )
  assertMayRefund(refundsByPeople(surplus, []))
  assertMayRefund(refundsByPeople(surplus, reviews.slice(1)))
  assert.equal(refusal(() => assertMayRefund(refundsByPeople(surplus, reviews))).code, 'too_many_refunds')
})
