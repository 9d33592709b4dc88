import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  first,
  NGN,
  newPaymentState,
  PRICE,
  paid,
  pending,
  receipt,
  reviewOfFirst,
  settleWith,
  types,
  UNKNOWN,
  waiting,
} from '../../../test/support/payment-state.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import { cancel, type Decision, expire, type PaymentState } from './payment-state.ts'
import { newRefund, planRefund, type Refund } from './refund.ts'
import { beyondDue } from './reversed-money.ts'

const WANTED = { kind: 'merchant' as const, counted: true, reason: null, transactionIds: [] }
const givenBack = (amount: number, returned = amount): Receipt => ({ ...receipt(amount), returned })
const sums = ({ payment: { status, amountPaid, amountRefunded } }: PaymentState) => [status, amountPaid, amountRefunded]
const moneyOf = ({ amountReceived, amountReturned, amountRefunded }: PaymentState['attempts'][number]) => [
  amountReceived,
  amountReturned,
  amountRefunded,
]
const rowsOf = ({ earlyReversals }: Decision) => earlyReversals.map(({ amount, counted }) => [amount, counted])

for (const channel of ['card', 'virtual-bank-account'] as const) {
  test(`money that was given back before we saw it fails an open ${channel} attempt as reversed and pays nothing`, () => {
    const { state, attempt } = waiting(channel)
    const decision = settleWith(state, attempt, paid(givenBack(PRICE)))
    assert.deepEqual(types(decision), ['attempt.failed'])
    assert.deepEqual([first(decision).status, first(decision).failure?.code], ['failed', 'reversed'])
    assert.deepEqual(moneyOf(first(decision)), [PRICE, PRICE, 0])
    assert.deepEqual(sums(decision.state), ['pending', 0, 0])
    assert.deepEqual(rowsOf(decision), [[PRICE, false]])
    assert.equal(reviewOfFirst(decision), null)
  })
}

test('a cancelled or expired payment does not become successful by money that was given back; its attempt keeps its status', () => {
  for (const end of [cancel, expire]) {
    const { state, attempt } = waiting('card')
    const ended = end(state, after(30)).state
    const decision = settleWith(ended, attempt, paid(givenBack(PRICE)))
    assert.deepEqual(types(decision), [])
    assert.equal(first(decision).status, 'abandoned')
    assert.deepEqual(sums(decision.state), [ended.payment.status, 0, 0])
    assert.deepEqual(moneyOf(first(decision)), [PRICE, PRICE, 0])
    assert.throws(() => planRefund(decision.state, [], undefined), { code: 'refund_exceeds_payment' })
  }
})

test('a reversed attempt is not opened again by a late notice, and is paid by money that comes after all', () => {
  const { state, attempt } = waiting('card')
  const reversed = settleWith(state, attempt, paid(givenBack(PRICE))).state
  const told = settleWith(reversed, attempt, UNKNOWN, { noticeSays: 'paid', newReceipts: [] })
  assert.deepEqual([first(told).status, types(told)], ['failed', []])
  const done = settleWith(reversed, attempt, paid(receipt(PRICE)))
  assert.deepEqual(sums(done.state), ['successful', PRICE, 0])
  assert.deepEqual(moneyOf(first(done)), [2 * PRICE, PRICE, 0])
  assert.equal(types(done).includes('payment.overpaid'), false)
})

test('when a part was given back and the rest is less than was due, the attempt needs review', () => {
  const card = waiting('card')
  const wrong = settleWith(card.state, card.attempt, paid(givenBack(PRICE, 400)))
  assert.deepEqual(types(wrong), ['attempt.failed', 'attempt.needs_review'])
  assert.match(reviewOfFirst(wrong) ?? '', /₦4\.00 was given back at the provider; ₦6\.00 is left/)
  assert.deepEqual(sums(wrong.state), ['pending', PRICE, 400])
  assert.deepEqual(rowsOf(wrong), [[400, true]])

  const account = waiting('virtual-bank-account')
  const short = settleWith(account.state, account.attempt, paid(givenBack(PRICE, 400)))
  assert.deepEqual(types(short), ['payment.underpaid', 'attempt.needs_review'])
  assert.deepEqual(short.changes[0]?.data, { missing: { amount: 400, currency: NGN } })
  const done = settleWith(short.state, account.attempt, paid(receipt(400)))
  assert.deepEqual(sums(done.state), ['successful', PRICE + 400, 400])
  assert.equal(types(done).includes('payment.overpaid'), false)
})

test('a notice that calls a partly returned transfer paid leaves the attempt in no doubt', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const partly = givenBack(PRICE, 400)
  const short = settleWith(state, attempt, paid(partly)).state
  const told = settleWith(short, attempt, paid(partly), { newReceipts: [], noticeSays: 'paid' })
  assert.deepEqual([first(told).status, types(told)], ['pending', []])
})

test('a reversed transfer beside held money leaves the attempt open and needs review', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const part = settleWith(state, attempt, pending(receipt(400))).state
  const decision = settleWith(part, attempt, pending(givenBack(600)))
  assert.deepEqual([first(decision).status, types(decision)], ['pending', ['attempt.needs_review']])
  assert.deepEqual(sums(decision.state), ['pending', 400, 0])
})

test('when the rest is still enough the payment is successful, and only what is held can be overpaid', () => {
  const { state, attempt } = waiting('card')
  const exact = settleWith(state, attempt, paid(givenBack(PRICE + 300, 300)))
  assert.deepEqual(sums(exact.state), ['successful', PRICE + 300, 300])
  assert.equal(types(exact).includes('payment.overpaid'), false)
  const more = settleWith(state, attempt, paid(givenBack(PRICE + 300, 100)))
  assert.deepEqual(more.changes.find(({ type }) => type === 'payment.overpaid')?.data, {
    excess: { amount: 200, currency: NGN },
  })
})

test('surplus that the provider has given back already is not refunded again', () => {
  const one = waiting('card')
  const two = waiting('card', one.state)
  const won = settleWith(two.state, one.attempt, paid(receipt(PRICE))).state
  const whole = settleWith(won, two.attempt, paid(givenBack(PRICE)))
  assert.deepEqual([whole.surplus, types(whole)], [[], []])
  assert.equal(whole.state.attempts[1]?.status, 'abandoned')
  assert.deepEqual(rowsOf(whole), [[PRICE, false]])

  const part = settleWith(won, two.attempt, paid(givenBack(PRICE, 400)))
  assert.deepEqual(
    part.surplus.map(({ amount }) => amount),
    [600],
  )
  assert.deepEqual(rowsOf(part), [[400, false]])
  assert.deepEqual(moneyOf(part.state.attempts[1] ?? assert.fail()), [PRICE, PRICE, 0])
  assert.deepEqual(sums(part.state), ['successful', PRICE, 0])
})

test('money that an attempt has given back is not sent back again when another attempt pays', () => {
  const one = waiting('virtual-bank-account', newPaymentState())
  const two = waiting('card', one.state)
  const reversed = settleWith(two.state, one.attempt, paid(givenBack(PRICE))).state
  const done = settleWith(reversed, two.attempt, paid(receipt(PRICE)))
  assert.deepEqual([done.surplus, types(done).includes('payment.surplus')], [[], false])
  assert.deepEqual(sums(done.state), ['successful', PRICE, 0])
})

test('what an attempt holds beyond the due is what came after it, also when the payment is given back', () => {
  const { state, attempt } = waiting('card')
  const twice = settleWith(settleWith(state, attempt, paid(receipt(PRICE))).state, attempt, paid(receipt(PRICE))).state
  const refund = newRefund(twice.payment, { ...WANTED, attemptId: attempt.id, amount: PRICE }, after(90))
  const holding = (changes: Partial<Attempt>, refunds: Refund[] = []) =>
    beyondDue({ ...twice, refunds }, { ...first({ state: twice }), amountReceived: 2 * PRICE, ...changes })
  assert.equal(holding({ amountReturned: 0 }), PRICE)
  assert.equal(holding({ amountReturned: PRICE }), 0, 'the surplus is on its way')
  assert.equal(holding({ amountReturned: PRICE }, [refund]), PRICE, 'what was due is on its way')
  assert.equal(holding({ amountReturned: PRICE, amountRefunded: PRICE }), PRICE, 'what was due is refunded')
  assert.equal(holding({ amountReturned: 2 * PRICE, amountRefunded: PRICE }), 0, 'both are')
})

test('of an overpayment that counted, a refund gives the excess back first', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const over = settleWith(state, attempt, paid(receipt(PRICE + 200))).state
  const holding = (refunded: number) =>
    beyondDue(over, { ...first({ state: over }), amountReturned: refunded, amountRefunded: refunded })
  assert.deepEqual([0, 150, 200, 500, PRICE + 200].map(holding), [200, 50, 0, 0, 0])
})
