import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  first,
  NGN,
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
import { type Currency, money } from '../../kernel/money.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import { restartSchedule } from './check-schedule.ts'
import { cancel, endAttempt, type PaymentState } from './payment-state.ts'
import { newRefund } from './refund.ts'

/** So much of what an attempt has received went back, at the merchant's wish. */
function refunded(state: PaymentState, { id }: Attempt, amount: number): PaymentState {
  return {
    ...state,
    payment: { ...state.payment, amountRefunded: state.payment.amountRefunded + amount },
    attempts: state.attempts.map((each) =>
      each.id === id
        ? { ...each, amountReturned: each.amountReturned + amount, amountRefunded: each.amountRefunded + amount }
        : each,
    ),
  }
}

const sums = ({ payment: { status, amountPaid, amountRefunded } }: PaymentState) => [status, amountPaid, amountRefunded]

test('refunds of another attempt do not count for the payment that this attempt paid', () => {
  const card = waiting('card')
  const { state, attempt } = waiting('virtual-bank-account', card.state)
  const short = settleWith(state, card.attempt, paid(receipt(PRICE - 1))).state
  const given = refunded(cancel(short, after(70)).state, card.attempt, PRICE - 1)
  const done = settleWith(given, attempt, paid(receipt(PRICE)))
  assert.deepEqual(sums(done.state), ['successful', PRICE, 0])
  assert.equal(done.state.payment.late, true)
  assert.deepEqual(done.surplus, [], 'nothing is there to send back')
  assert.deepEqual(done.uncounted, [card.attempt.id])
  assert.equal(types(done).includes('payment.surplus'), false)
})

test('returned money completes nothing: only held money counts', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const part = settleWith(state, attempt, pending(receipt(400))).state
  const given = refunded(cancel(part, after(70)).state, attempt, 400)
  const rest = settleWith(given, attempt, pending(receipt(600)))
  assert.deepEqual(sums(rest.state), ['cancelled', 1_000, 400])
  assert.deepEqual(rest.changes.find(({ type }) => type === 'payment.underpaid')?.data, {
    missing: { amount: 400, currency: NGN },
  })
  const done = settleWith(rest.state, attempt, pending(receipt(400)))
  assert.deepEqual(sums(done.state), ['successful', 1_400, 400])
  assert.equal(types(done).includes('payment.overpaid'), false)
})

test('only the held money of another attempt is refunded as surplus', () => {
  const one = waiting('virtual-bank-account')
  const { state, attempt } = waiting('virtual-bank-account', one.state)
  const part = settleWith(state, one.attempt, pending(receipt(400))).state
  const given = refunded(cancel(part, after(70)).state, one.attempt, 300)
  const done = settleWith(given, attempt, paid(receipt(PRICE)))
  assert.deepEqual(sums(done.state), ['successful', PRICE, 0])
  assert.deepEqual(done.surplus, [{ attemptId: one.attempt.id, amount: 100, receipt: null }])
  assert.equal(first(done).amountReturned, 400, 'the rest is promised')
})

test('surplus of a payment that the merchant has refunded goes back; after a loss a person decides', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const done = settleWith(state, attempt, paid(receipt(PRICE))).state
  for (const kind of ['merchant', 'provider', 'chargeback'] as const) {
    const of = { attemptId: attempt.id, amount: 300, kind, counted: true, reason: null, transactionIds: [] }
    const refunds = [newRefund(done.payment, { ...of, isDone: true }, after(61))]
    const again = settleWith(refunded(done, attempt, 300), attempt, paid(receipt(PRICE)), { refunds })
    assert.equal(again.surplus.length, kind === 'merchant' ? 1 : 0)
    assert.equal(/^surplus: money of this payment went back/.test(reviewOfFirst(again) ?? ''), kind !== 'merchant')
  }
})

test('an answer to a check from before the last status change is ignored', () => {
  const { state, attempt } = waiting()
  const whenAsked = { status: attempt.status, since: attempt.checks.since }
  const processing = settleWith(state, attempt, { kind: 'processing' })
  assert.equal(first(processing).status, 'processing')
  const old = settleWith(processing.state, attempt, pending(), { source: 'check', whenAsked })
  assert.deepEqual([first(old).status, types(old)], ['processing', []])
  const { status, checks } = first(processing)
  const now = settleWith(processing.state, attempt, pending(), {
    source: 'check',
    whenAsked: { status, since: checks.since },
  })
  assert.equal(first(now).status, 'pending')
})

test('money counts, also in the answer to an old check', () => {
  const { state, attempt } = waiting()
  const whenAsked = { status: attempt.status, since: attempt.checks.since }
  const processing = settleWith(state, attempt, { kind: 'processing' }).state
  const done = settleWith(processing, attempt, paid(receipt(PRICE)), { source: 'check', whenAsked })
  assert.deepEqual(sums(done.state), ['successful', PRICE, 0])
})

test('money in another currency needs review before, with or after the success, and is announced once', () => {
  const dollars = () => receipt(7, 'USD' as Currency)
  const { state, attempt } = waiting('virtual-bank-account')
  const before = settleWith(state, attempt, paid(dollars()))
  const thenPaid = settleWith(before.state, attempt, paid(receipt(PRICE)))
  const together = settleWith(state, attempt, paid(dollars(), receipt(PRICE)))
  const later = settleWith(settleWith(state, attempt, paid(receipt(PRICE))).state, attempt, paid(dollars()))
  for (const decision of [thenPaid, together, later]) {
    assert.deepEqual(sums(decision.state), ['successful', PRICE, 0])
    assert.match(reviewOfFirst(decision) ?? '', /another currency/)
  }
  const told = [before, thenPaid, together, later].map((each) => types(each).includes('attempt.needs_review'))
  assert.deepEqual(told, [true, false, true, true])
  assert.deepEqual(later.surplus, [], 'and is nothing that we could send back')
})

test('a card that took what was asked is paid, though dollars came with it; dollars alone never are', () => {
  const { state, attempt } = waiting('card')
  const dollars = receipt(PRICE, 'USD' as Currency)
  assert.equal(settleWith(state, attempt, paid(dollars)).state.payment.status, 'pending')
  assert.equal(settleWith(state, attempt, paid(dollars, receipt(PRICE))).state.payment.status, 'successful')
})

test('a saved card that is being charged stays so while the provider says "not yet": another try could charge twice', () => {
  const { state } = waiting('card')
  const charging: Attempt = {
    ...(state.attempts[0] as Attempt),
    status: 'processing',
    chargedAtOnce: true,
    instructions: null,
    askedAt: after(0),
    checks: restartSchedule(after(0)),
  }
  const open = { ...state, attempts: [charging] }
  const heard = (seconds: number, attempt = charging) =>
    first(settleWith({ ...open, attempts: [attempt] }, attempt, pending(), { now: after(seconds) })).status
  assert.equal(heard(10), 'processing')
  assert.equal(heard(599), 'processing')
  assert.equal(heard(600), 'pending', 'no charge takes that long')
  assert.equal(heard(10, { ...charging, chargedAtOnce: false }), 'pending', 'a link that got lost on its way')
  assert.equal(first(settleWith(open, charging, paid(receipt(PRICE)), { now: after(10) })).status, 'successful')
})

test('an announced partial payment that arrives after the payment was paid does not leave its attempt processing', () => {
  const account = waiting('virtual-bank-account')
  const both = waiting('card', account.state)
  const told = settleWith(both.state, account.attempt, UNKNOWN, { noticeSays: 'paid' })
  assert.equal(first(told).status, 'processing')
  const done = settleWith(told.state, both.attempt, paid(receipt(PRICE)))
  const part = receipt(PRICE / 2)
  const back = settleWith(done.state, account.attempt, pending(part), { source: 'check' })
  assert.deepEqual(types(back), ['payment.surplus'])
  const after = settleWith(back.state, account.attempt, pending(part), { newReceipts: [], source: 'check' })
  assert.equal(first(after).status, 'abandoned')
})

test('a check that was asked for while the provider was answering stays due', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const requested = (nextAt: Date) => ({ ...state, attempts: [{ ...attempt, checks: { ...attempt.checks, nextAt } }] })
  const answer = (nextAt: Date) =>
    first(settleWith(requested(nextAt), attempt, pending(), { source: 'check', askedAt: after(60), now: after(90) }))
  assert.deepEqual(answer(after(75)).checks.nextAt, after(75))
  assert.ok((answer(after(60)).checks.nextAt as Date) > after(90), 'the check that was made is not due again')
})

test('a person can end an attempt in progress; only money changes it after that', () => {
  const { state, attempt } = waiting()
  const unknown = settleWith(state, attempt, UNKNOWN).state
  const ended = endAttempt(unknown, attempt.id, after(86_400))
  assert.deepEqual([first(ended).status, types(ended)], ['failed', ['attempt.failed']])
  assert.throws(() => endAttempt(ended.state, attempt.id, after(86_401)), /Only one in progress/)
  assert.ok(first(ended).checks.nextAt, 'it is still asked about')
  const again = settleWith(ended.state, attempt, { kind: 'processing' }, { source: 'check', now: after(90_000) })
  assert.equal(first(again).status, 'failed', 'it does not block the customer again')
  const late = settleWith(ended.state, attempt, paid(receipt(PRICE)), { now: after(172_800) })
  assert.deepEqual([late.state.payment.status, first(late).failure], ['successful', null])
})

test('an answer that denies recorded money pays nothing; the next one that does not, pays', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const part = settleWith(state, attempt, pending(receipt(400))).state
  const contradiction = 'contradiction: ₦4.00 is on record, and the provider now names ₦6.00.'
  const decision = settleWith(part, attempt, paid(receipt(600)), { contradiction })
  assert.deepEqual(sums(decision.state), ['pending', PRICE, 0])
  const next = settleWith(decision.state, attempt, paid(), { now: after(120) })
  assert.deepEqual(sums(next.state), ['successful', PRICE, 0])
  for (const each of [decision, next]) assert.equal(reviewOfFirst(each), contradiction)
  assert.deepEqual(types(decision), ['attempt.needs_review'], 'nothing is missing')
  const card = waiting('card')
  const less = settleWith(card.state, card.attempt, paid(receipt(400))).state
  const denied = settleWith(less, card.attempt, paid(receipt(600)), { contradiction })
  assert.deepEqual(sums(denied.state), ['pending', PRICE, 0])
  assert.deepEqual(sums(settleWith(denied.state, card.attempt, paid()).state), ['successful', PRICE, 0])
})

test('a second transaction in another currency is told while the case of the first one is open', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const dollars = (amount: number) => paid(receipt(amount, 'USD' as Currency))
  const one = settleWith(state, attempt, dollars(100))
  const two = settleWith(one.state, attempt, dollars(100))
  assert.deepEqual(types(two), ['attempt.needs_review'])
  assert.match(reviewOfFirst(two) ?? '', /\(transaction tx\d+\)\. amount_mismatch: .*\(transaction tx\d+\)\.$/)
})

test('surplus goes back by itself only if the provider issued the ids of the money that paid, too', () => {
  const made = ({ idIsProviders: _, ...rest }: Receipt): Receipt => rest
  for (const [paying, surplus, isRefunded] of [
    [receipt(PRICE), receipt(PRICE), true],
    [made(receipt(PRICE)), receipt(PRICE), false],
    [receipt(PRICE), made(receipt(PRICE)), false],
  ] as const) {
    const transfer = waiting('virtual-bank-account')
    const { state, attempt } = waiting('card', transfer.state)
    const done = settleWith(state, transfer.attempt, paid(paying)).state
    const later = settleWith(done, attempt, paid(surplus))
    assert.equal(later.surplus.length, isRefunded ? 1 : 0)
    assert.equal(later.state.cases.length, isRefunded ? 0 : 1)
    const part = settleWith(state, transfer.attempt, pending({ ...paying, amount: money(400, NGN) })).state
    const byCard = settleWith(part, attempt, paid(surplus))
    assert.equal(byCard.surplus.length, isRefunded ? 1 : 0)
  }
})
