import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  after,
  assertHeldMoneyHasCase,
  declined,
  first,
  NGN,
  newAttempt,
  newPaymentState,
  PRICE,
  paid,
  pending,
  receipt,
  reviewOfFirst,
  START,
  settleWith,
  types,
  UNKNOWN,
  waiting,
} from '../../../test/support/payment-state.ts'
import type { Currency } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Outcome, Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import type { OutcomeReport } from './outcome-report.ts'
import { addAttempt, cancel, type Decision, expire, type PaymentState, storeInstructions } from './payment-state.ts'
import { contradictsNotice, settle } from './settle.ts'

const refusal = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
  return undefined
}

test('a new attempt is processing, because after a crash its outcome is unknown', () => {
  const state = newPaymentState()
  const begun = addAttempt(state, newAttempt(state, 'card', START))
  assert.equal(first(begun).status, 'processing')
  assert.deepEqual(first(begun).checks.nextAt, after(5))
  assert.equal(
    refusal(() => addAttempt(begun.state, newAttempt(begun.state, 'card', START))),
    'attempt_in_progress',
  )
})

test('a full payment succeeds once, and other pending attempts are abandoned', () => {
  const { state, attempt } = waiting()
  const second = addAttempt(state, newAttempt(state, 'virtual-bank-account', START)).state
  const open = storeInstructions(
    second,
    (second.attempts[1] as Attempt).id,
    { instructions: null, instructionsExpireAt: after(9), providerReference: 'q' },
    START,
  ).state
  const done = settleWith(open, attempt, paid(receipt(PRICE)))
  assert.deepEqual(types(done), ['attempt.successful', 'payment.successful', 'attempt.abandoned'])
  assert.equal(done.state.payment.status, 'successful')
  assert.equal(done.state.payment.amountPaid, PRICE)
  assert.equal(done.state.attempts[1]?.status, 'abandoned')
})

test('money after a decline still completes the payment', () => {
  const { state, attempt } = waiting()
  const failed = settleWith(state, attempt, declined())
  assert.deepEqual(types(failed), ['attempt.failed'])
  assert.deepEqual(types(settleWith(failed.state, attempt, declined())), [], 'the same decline told twice')
  assert.deepEqual(
    types(settleWith(failed.state, attempt, declined('t2'))),
    ['attempt.failed'],
    'another try on the same page',
  )
  assert.deepEqual(types(settleWith(failed.state, attempt, paid(receipt(PRICE)))), [
    'attempt.successful',
    'payment.successful',
  ])
})

test('less than the amount by card is never a success and needs review', () => {
  const { state, attempt } = waiting()
  for (const wrong of [receipt(PRICE - 1), receipt(PRICE, 'USD' as Currency)]) {
    const decision = settleWith(state, attempt, paid(wrong))
    assert.equal(decision.state.payment.status, 'pending')
    assert.equal(first(decision).failure?.code, 'amount_mismatch')
    assert.match(reviewOfFirst(decision) ?? '', /amount_mismatch/)
    assert.deepEqual(types(decision), ['attempt.failed', 'attempt.needs_review'])
    assert.deepEqual(types(settleWith(decision.state, attempt, paid(wrong), { newReceipts: [] })), [], 'told again')
  }
})

test('transfers add up: underpaid waits, the rest completes, an excess is announced', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const part = settleWith(state, attempt, pending(receipt(400)))
  assert.deepEqual(types(part), ['payment.underpaid'])
  assert.deepEqual(part.changes[0]?.data, { missing: { amount: 600, currency: NGN } })
  assert.equal(part.state.payment.amountPaid, 400)
  const whole = settleWith(part.state, attempt, pending(receipt(700)))
  assert.deepEqual(types(whole), ['attempt.successful', 'payment.successful', 'payment.overpaid'])
  assert.equal(whole.state.payment.amountPaid, 1_100)
})

test('a second success is surplus on its own attempt, and is sent back', () => {
  const { state, attempt } = waiting()
  const second = addAttempt(state, newAttempt(state, 'card', START)).state
  const other = second.attempts[1] as Attempt
  const done = settleWith(second, attempt, paid(receipt(PRICE)))
  const again = settleWith(done.state, other, paid(receipt(PRICE)))
  assert.deepEqual(types(again), ['attempt.surplus', 'payment.surplus'])
  assert.equal(again.state.payment.amountPaid, PRICE)
  assert.equal(again.surplus[0]?.amount, PRICE)
})

test('partial payments of another attempt are refunded when the payment is paid', () => {
  const { state, attempt } = waiting('virtual-bank-account')
  const part = settleWith(state, attempt, pending(receipt(400))).state
  const second = addAttempt(part, newAttempt(part, 'card', START)).state
  const done = settleWith(second, second.attempts[1] as Attempt, paid(receipt(PRICE)))
  assert.ok(types(done).includes('payment.surplus'))
  assert.deepEqual(done.surplus, [{ attemptId: attempt.id, amount: 400, receipt: null }])
  assert.equal(done.state.payment.amountPaid, PRICE)
})

test('money after cancelled or expired makes the payment successful, and late', () => {
  for (const end of [cancel, expire]) {
    const { state, attempt } = waiting()
    const ended = end(state, after(30))
    assert.equal(first(ended).status, 'abandoned')
    const late = settleWith(ended.state, attempt, paid(receipt(PRICE)))
    assert.equal(late.state.payment.status, 'successful')
    assert.equal(late.state.payment.late, true)
  }
})

test('an unanswered check makes a used attempt processing, which only a known outcome ends', () => {
  const { state, attempt } = waiting()
  assert.equal(
    first(settleWith(state, attempt, UNKNOWN, { source: 'check' })).status,
    'pending',
    'the card has not been used yet',
  )
  const unknown = settleWith(state, attempt, UNKNOWN)
  assert.equal(first(unknown).status, 'processing')
  assert.equal(
    refusal(() => cancel(unknown.state, after(61))),
    'attempt_in_progress',
  )
  let current = unknown.state
  for (let day = 0; day < 7; day++) {
    current = settleWith(current, attempt, UNKNOWN, { source: 'check', now: after(day * 86_400 + 70) }).state
    assert.equal(current.attempts[0]?.status, 'processing')
    assert.equal(reviewOfFirst({ state: current }), null)
  }
  const end = settleWith(current, attempt, UNKNOWN, { source: 'check', now: after(8 * 86_400) })
  assert.deepEqual(types(end), ['attempt.needs_review'])
  assert.equal(first(end).status, 'processing', 'never failed by itself')
  const daily = (first(end).checks.nextAt?.getTime() ?? 0) - after(8 * 86_400).getTime()
  assert.ok(daily > 0 && daily <= 86_400_000, 'it is still asked about once a day')
  const again = settleWith(end.state, attempt, UNKNOWN, { source: 'check', now: after(9 * 86_400 + 61) })
  assert.deepEqual(types(again), [], 'announced once')
  assert.equal(first(settleWith(end.state, attempt, paid(receipt(PRICE)))).status, 'successful')
})

test('an unknown outcome is checked every minute while the link is open, and needs a review after a week', () => {
  const { state, attempt } = waiting()
  const lasting: PaymentState = { ...state, attempts: [{ ...attempt, instructionsExpireAt: after(30 * 86_400) }] }
  let current = settleWith(lasting, attempt, UNKNOWN, { source: 'return', now: after(60) }).state
  const times: number[] = []
  for (let next = current.attempts[0]?.checks.nextAt; next && times.length < 5; ) {
    times.push((next.getTime() - START.getTime()) / 1_000 - 60)
    current = settleWith(current, attempt, UNKNOWN, { source: 'check', now: next }).state
    next = current.attempts[0]?.checks.nextAt
  }
  assert.deepEqual(times, [10, 30, 60, 120, 180])
  const end = settleWith(current, attempt, UNKNOWN, { source: 'check', now: after(8 * 86_400) })
  assert.deepEqual(types(end), ['attempt.needs_review'])
})

test('a paid link is checked again after ten minutes and six hours, because some accept a second card', () => {
  const { state, attempt } = waiting()
  const instructions = { kind: 'link' as const, link: 'https://provider.example/pay', publicKey: 'pk' }
  const linked: PaymentState = { ...state, attempts: [{ ...attempt, instructions }] }
  const once = receipt(PRICE)
  let current = settleWith(linked, attempt, paid(once), { now: after(60) }).state
  const times: number[] = []
  for (let next = current.attempts[0]?.checks.nextAt; next; next = current.attempts[0]?.checks.nextAt) {
    times.push((next.getTime() - START.getTime()) / 1_000 - 60)
    current = settleWith(current, attempt, paid(once), { newReceipts: [], source: 'check', now: next }).state
  }
  assert.deepEqual(times, [600, 21_600])
  const another = receipt(PRICE)
  const twice = settleWith(current, attempt, paid(once, another), {
    newReceipts: [another],
    source: 'check',
    now: after(700),
  })
  assert.deepEqual(twice.surplus, [{ attemptId: attempt.id, amount: PRICE, receipt: another.transactionId }])
  const charged = settleWith(state, attempt, paid(receipt(PRICE)), { now: after(60) })
  assert.equal(first(charged).checks.nextAt, null, 'a saved card that was charged has no link')
})

test('"no such order" of a saved card that may be charged is believed after ten minutes, and only the second time', () => {
  const state = newPaymentState()
  const begun = addAttempt(state, { ...newAttempt(state, 'card', START), chargedAtOnce: true }).state
  const attempt = begun.attempts[0] as Attempt
  const missing = (current: PaymentState, seconds: number) =>
    settleWith(current, attempt, { kind: 'missing' }, { source: 'check', now: after(seconds) })
  const early = missing(missing(missing(begun, 10).state, 30).state, 120)
  assert.equal(first(early).status, 'processing')
  const once = missing(settleWith(early.state, attempt, UNKNOWN, { source: 'check', now: after(130) }).state, 599)
  assert.equal(first(once).status, 'processing')
  const failed = missing(missing(early.state, 601).state, 3_600)
  assert.equal(first(failed).failure?.code, 'provider_unavailable')
})

test('a notice that says paid while the provider does not leaves the attempt processing', () => {
  const { state, attempt } = waiting()
  const doubt = settleWith(state, attempt, declined(), { noticeSays: 'paid' })
  assert.equal(first(doubt).status, 'processing')
  const still = settleWith(doubt.state, attempt, declined(), { source: 'check', now: after(70) })
  assert.equal(first(still).status, 'processing', 'nor is it failed')
  assert.ok(contradictsNotice('failed', paid(receipt(PRICE))), 'the reverse is not decided on either')
})

test('nothing undoes a success', () => {
  const { state, attempt } = waiting()
  const done = settleWith(state, attempt, paid(receipt(PRICE)))
  for (const outcome of [declined(), pending(), UNKNOWN, { kind: 'missing' }, { kind: 'processing' }] as Outcome[]) {
    const later = settleWith(done.state, attempt, outcome)
    assert.deepEqual(later.changes, [])
    assert.equal(first(later).status, 'successful')
  }
  assert.equal(
    refusal(() => cancel(done.state, after(99))),
    'payment_already_completed',
  )
  assert.equal(
    refusal(() => expire(done.state, after(99))),
    'payment_already_completed',
  )
})

type Step =
  | { do: 'begin'; channel: Attempt['channel'] }
  | { do: 'cancel' }
  | { do: 'expire' }
  | {
      do: 'outcome'
      attempt: number
      outcome: Outcome
      noticeSays: 'paid' | 'failed' | undefined
      source: OutcomeReport['source']
    }

const someReceipt = fc.record({
  transactionId: fc.constantFrom(...Array.from({ length: 12 }, (_, index) => `tx-${index}`)),
  amount: fc.record({
    amount: fc.constantFrom(1, 400, 600, PRICE, PRICE + 50),
    currency: fc.constantFrom(NGN, NGN, NGN, 'USD' as Currency),
  }),
  at: fc.constant(START),
})
const someOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({ kind: fc.constant('paid' as const), receipts: fc.array(someReceipt, { maxLength: 2 }) }),
  fc.record({ kind: fc.constant('pending' as const), receipts: fc.array(someReceipt, { maxLength: 2 }) }),
  fc.constantFrom<Outcome>(UNKNOWN, { kind: 'missing' }, { kind: 'processing' }, declined('t1'), declined('t2')),
)
const someStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('begin' as const),
      channel: fc.constantFrom('card' as const, 'virtual-bank-account' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ do: 'cancel' }, { do: 'expire' }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('outcome' as const),
      attempt: fc.nat(5),
      outcome: someOutcome,
      noticeSays: fc.constantFrom(undefined, undefined, 'paid' as const, 'failed' as const),
      source: fc.constantFrom('notice' as const, 'return' as const, 'check' as const),
    }),
  },
)

/** Who recorded a transaction first keeps it: the database's unique index, in small. */
function freshOf(seen: Map<string, Receipt>, outcome: Outcome): Receipt[] {
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const newReceipts = [...new Map(receipts.map((each) => [each.transactionId, each])).values()].filter(
    ({ transactionId }) => !seen.has(transactionId),
  )
  for (const each of newReceipts) seen.set(each.transactionId, each)
  return newReceipts
}

test('in every order of signals: one success, money counted once, valid transitions, one event per change', () => {
  const run = fc.property(fc.array(someStep, { maxLength: 50 }), (steps) => {
    let state = newPaymentState()
    const changes: string[] = []
    const seen = new Map<string, Receipt>()
    let now = START
    for (const [index, step] of steps.entries()) {
      now = after(index * 37)
      const before = state
      const decision = take(state, step, seen, now)
      if (!decision) continue
      state = decision.state
      changes.push(...decision.changes.map(({ type }) => type))
      check(before, decision, seen)
    }
    const successes = changes.filter((type) => type === 'payment.successful').length
    assert.equal(successes, state.payment.status === 'successful' ? 1 : 0, 'one success, told once')
    assert.equal(state.payment.sequence, changes.length)
  })
  fc.assert(run, { numRuns: 5_000, verbose: 1 })
})

function take(state: PaymentState, step: Step, seen: Map<string, Receipt>, now: Date): Decision | undefined {
  try {
    if (step.do === 'begin') return addAttempt(state, newAttempt(state, step.channel, now))
    if (step.do === 'cancel') return cancel(state, now)
    if (step.do === 'expire') return expire(state, now)
  } catch (error) {
    if (error instanceof Problem) return undefined // refused, and nothing changed
    throw error
  }
  const attempt = state.attempts[step.attempt % Math.max(1, state.attempts.length)]
  if (!attempt) return undefined
  const outcome: Outcome = contradictsNotice(step.noticeSays, step.outcome) ? UNKNOWN : step.outcome
  const newReceipts = freshOf(seen, outcome)
  const { source, noticeSays } = step
  const report = { attemptId: attempt.id, outcome, newReceipts, source, now }
  return settle(state, { ...report, ...(noticeSays && { noticeSays }) })
}

const FORWARD: Record<Attempt['status'], Attempt['status'][]> = {
  pending: ['processing', 'successful', 'failed', 'abandoned', 'surplus'],
  processing: ['pending', 'successful', 'failed', 'abandoned', 'surplus'],
  failed: ['processing', 'successful', 'surplus'],
  abandoned: ['successful', 'failed', 'surplus'],
  successful: [],
  surplus: [],
}

function check(before: PaymentState, { state, changes }: Decision, seen: Map<string, Receipt>): void {
  const { payment, attempts } = state
  assert.ok(attempts.filter(({ status }) => status === 'successful').length <= 1, 'INV-2: one success')
  assert.equal(
    payment.status === 'successful',
    attempts.some(({ status }) => status === 'successful'),
  )
  for (const attempt of attempts) {
    const old = before.attempts.find(({ id }) => id === attempt.id)
    if (old && old.status !== attempt.status) {
      assert.ok(FORWARD[old.status].includes(attempt.status), `INV-5: ${old.status} to ${attempt.status}`)
      assert.ok(
        changes.some(({ attemptId }) => attemptId === attempt.id),
        'INV-6: a change has its event',
      )
    }
    if (attempt.status === 'successful') {
      assert.ok(attempt.amountReceived >= attempt.amountCharged, 'INV-3: never for less')
    }
  }
  if (before.payment.status === 'successful') assert.equal(payment.status, 'successful', 'nothing undoes a success')
  if (before.payment.status !== 'pending') assert.ok([before.payment.status, 'successful'].includes(payment.status))
  assert.equal(payment.sequence - before.payment.sequence, changes.length, 'INV-5: one event, one step')
  const all = [...seen.values()]
    .filter(({ amount }) => amount.currency === NGN)
    .reduce((sum, { amount }) => sum + amount.amount, 0)
  const received = attempts.reduce((sum, { amountReceived }) => sum + amountReceived, 0)
  assert.equal(received, all, 'INV-4: every unit is on one attempt')
  assert.ok(payment.amountPaid <= received, 'INV-4: counted once')
  assertHeldMoneyHasCase(state)
  const winner = attempts.find(({ status }) => status === 'successful')
  if (!winner) assert.equal(payment.amountPaid, received)
  if (payment.status === 'successful' && before.payment.status === 'successful') {
    assert.equal(payment.amountPaid, before.payment.amountPaid, 'what comes after is surplus')
  }
}
