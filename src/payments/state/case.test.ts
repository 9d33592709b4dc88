import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  first,
  NGN,
  PRICE,
  paid,
  receipt,
  reviewOfFirst,
  settleWith,
  UNKNOWN,
  waiting,
} from '../../../test/support/payment-state.ts'
import type { Currency } from '../../kernel/money.ts'
import { caseView, isOpenCase, raise, settleCases, withoutCases } from './case.ts'
import { UNANSWERED } from './check-schedule.ts'
import { cancel, type Decision, decide, markReviewed, type PaymentState } from './payment-state.ts'
import { newRefund, type Refund, withCaseOfRefund } from './refund.ts'

const now = after(60)
const open = ({ cases }: PaymentState) => cases.filter(isOpenCase).map(({ reason, summary }) => [reason, summary])
const told = ({ changes }: Decision) => changes.map(({ type }) => type)
const CONTRADICTION = 'contradiction: the provider names ₦7.00.'
const MISMATCH = 'refund_mismatch: a refund of 7 USD is listed.'

test('a second, different reason is kept beside the first one, and needsReview is the first', () => {
  const { state, attempt } = waiting()
  const one = decide(raise(state, attempt, CONTRADICTION, { now }), [], now)
  const two = decide(raise(one.state, attempt, MISMATCH, { now }), [], now)
  assert.deepEqual(told(two), ['attempt.needs_review', 'case.opened'])
  assert.deepEqual(open(two.state), [
    ['contradiction', CONTRADICTION],
    ['refund_mismatch', MISMATCH],
  ])
  assert.equal(reviewOfFirst(two), CONTRADICTION)
  assert.equal(two.state.payment.sequence, state.payment.sequence + 4, 'one step for each event')
})

test('a second fact of the same reason is a line of the open case, once', () => {
  const { state, attempt } = waiting()
  const one = decide(raise(state, attempt, MISMATCH, { now }), [], now)
  const other = 'refund_mismatch: a refund of 9 USD is listed.'
  const two = decide(raise(one.state, attempt, other, { now }), [], now)
  assert.deepEqual(told(two), ['attempt.needs_review', 'case.opened'])
  assert.deepEqual(open(two.state), [['refund_mismatch', `${MISMATCH}\n${other}`]])
  assert.equal(two.state.cases[0]?.id, one.state.cases[0]?.id)
  for (const why of [MISMATCH, other]) assert.equal(raise(two.state, attempt, why, { now }).cases, two.state.cases)
  const [shown] = two.state.cases.map((each) => caseView(each, 'order-1'))
  assert.equal(shown?.summary, 'A refund of 7 USD is listed. A refund of 9 USD is listed.')
})

test('what a person closed is not opened again for the same fact; what the books closed is', () => {
  const { state, attempt } = waiting()
  const one = decide(raise(state, attempt, MISMATCH, { now }), [], now).state
  const reviewed = markReviewed(one, { by: 'member:1', note: 'Looked at.' }, now)
  assert.deepEqual(told(reviewed), ['attempt.reviewed', 'case.closed'])
  assert.equal(raise(reviewed.state, attempt, MISMATCH, { now }).cases, reviewed.state.cases)
  assert.deepEqual(open(raise(reviewed.state, attempt, MISMATCH, { now, isNew: true })), [
    ['refund_mismatch', MISMATCH],
  ])
  assert.throws(() => markReviewed(reviewed.state, { by: 'member:1', note: 'x' }, now), { code: 'conflict' })

  const agreed = decide(settleCases(one, attempt.id, now), [], now)
  assert.deepEqual(told(agreed), ['case.closed'])
  assert.deepEqual(open(raise(agreed.state, attempt, MISMATCH, { now })), [['refund_mismatch', MISMATCH]])
})

test('a case that is opened and closed in one decision was never there', () => {
  const { state, attempt } = waiting()
  const raised = raise(state, attempt, MISMATCH, { now })
  const cases = withoutCases(raised.cases, () => true, { by: 'books', note: null, now })
  assert.deepEqual(told(decide({ ...raised, cases }, [], now)), [])
})

test('a success answers what was unknown, and nothing else', () => {
  const { state, attempt } = waiting()
  const used = settleWith(state, attempt, UNKNOWN).state
  const end = settleWith(used, attempt, UNKNOWN, { source: 'check', now: after(8 * 86_400) })
  assert.deepEqual(open(end.state), [['unanswered', UNANSWERED]])
  const doubtful = decide(raise(end.state, attempt, MISMATCH, { now }), [], now).state
  const done = settleWith(doubtful, attempt, paid(receipt(PRICE)))
  assert.equal(first(done).status, 'successful')
  assert.deepEqual(open(done.state), [['refund_mismatch', MISMATCH]])
})

test('money in another currency needs a person each time that it comes', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const dollars = () => paid(receipt(7, 'USD' as Currency))
  const one = settleWith(state, attempt, dollars()).state
  const reviewed = markReviewed(one, { by: 'member:1', note: 'Returned.' }, now).state
  assert.equal(open(settleWith(reviewed, attempt, dollars()).state).length, 1)
})

test('money that an ended payment holds has a case, which follows the amount until it is returned', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const ended = cancel(settleWith(state, attempt, paid(receipt(400))).state, now)
  assert.deepEqual(told(ended), ['attempt.abandoned', 'payment.cancelled', 'case.opened'])
  assert.equal(reviewOfFirst(ended), null, 'no review of the attempt: it is on the list of transfers')
  const [held] = ended.state.cases
  assert.deepEqual([held?.reason, held?.amount, held?.subject.id], ['underpaid', 400, attempt.id])
  const more = settleWith(ended.state, attempt, paid(receipt(100)))
  assert.deepEqual(
    more.state.cases.map(({ id, amount }) => [id, amount]),
    [[held?.id, 500]],
  )

  const noted = withoutCases(more.state.cases, () => true, { by: 'member:1', note: 'Kept.', now })
  const kept = decide({ ...more.state, cases: noted }, [], now).state
  assert.deepEqual(open(decide(kept, [], now).state), [], 'it stays closed while the amount is the same')
  assert.deepEqual(open(settleWith(kept, attempt, paid(receipt(1))).state).length, 1)

  const late = settleWith(more.state, attempt, paid(receipt(PRICE)))
  assert.deepEqual(
    late.state.cases.filter(isOpenCase).map(({ reason, amount }) => [reason, amount]),
    [['surplus', 500]],
  )
  const returned = late.state.attempts.map((each) => ({ ...each, amountReturned: 500 }))
  assert.deepEqual(open(decide({ ...late.state, attempts: returned }, [], now).state), [])
})

test('a failed refund has a case until a later refund of the same amount is successful, one for each', () => {
  const { state, attempt } = waiting()
  const done = settleWith(state, attempt, paid(receipt(PRICE))).state
  const of = { attemptId: attempt.id, kind: 'merchant' as const, counted: true }
  const wanted = { ...of, reason: null, transactionIds: [] }
  const made = newRefund(done.payment, { ...wanted, amount: 600 }, now)
  const failed = { ...made, status: 'failed' as const, failure: 'The account is closed.', resolvedAt: after(70) }
  const one = decide(withCaseOfRefund(done, [failed], failed, after(70)), [], after(70)).state
  assert.deepEqual(open(one), [
    ['refund_failed', 'refund_failed: ₦6.00 could not be given back. The account is closed.'],
  ])
  assert.deepEqual([one.cases[0]?.amount, one.cases[0]?.currency], [600, NGN])
  const again = (amount: number, isDone: boolean) => {
    const pending = newRefund(done.payment, { ...wanted, amount }, after(80))
    return isDone ? { ...pending, status: 'successful' as const, resolvedAt: after(85) } : pending
  }
  const openAfter = (later: Refund) => open(withCaseOfRefund(one, [failed, later], later, after(85))).length
  assert.equal(openAfter(again(599, true)), 1, 'not the same money')
  assert.equal(openAfter(again(601, true)), 1, 'not the same money')
  assert.equal(openAfter(again(600, false)), 1, 'it may fail, too')
  assert.equal(openAfter(again(600, true)), 0)
  const other = { ...failed, id: again(600, true).id }
  const two = withCaseOfRefund(one, [failed, other], other, after(70))
  const first = again(600, true)
  const closed = withCaseOfRefund(two, [failed, other, first], first, after(85))
  assert.deepEqual([open(two).length, open(closed).length], [2, 1], 'the other one did not go back')
  const second = again(600, true)
  assert.equal(open(withCaseOfRefund(closed, [failed, other, first, second], second, after(85))).length, 0)
  const before = newRefund(done.payment, { ...wanted, amount: 600 }, after(65))
  const earlier = { ...before, status: 'successful' as const, resolvedAt: after(90) }
  assert.equal(
    open(withCaseOfRefund(one, [failed, earlier], earlier, after(90))).length,
    1,
    'asked for before it failed',
  )
})
