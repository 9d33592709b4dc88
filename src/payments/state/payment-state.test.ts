import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  after,
  declined,
  first,
  NGN,
  newAttempt,
  newBook,
  PRICE,
  paid,
  pending,
  propose,
  receipt,
  START,
  types,
  UNKNOWN,
  waiting,
} from '../../../test/support/pure-book.ts'
import type { Currency } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Outcome, Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import { type Book, begin, cancel, type Decision, expire, issue } from './payment-state.ts'
import { disagree, type Proposal, settle } from './settle.ts'

const refusal = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
  return undefined
}

test('an attempt begins as processing, for if we die now nobody knows what the provider did', () => {
  const book = newBook()
  const begun = begin(book, newAttempt(book, 'card', START))
  assert.equal(first(begun).status, 'processing')
  assert.deepEqual(first(begun).watch.nextCheckAt, after(5))
  assert.equal(
    refusal(() => begin(begun.book, newAttempt(begun.book, 'card', START))),
    'attempt_in_progress',
  )
})

test('what is paid in full succeeds once, and the others are given up', () => {
  const { book, attempt } = waiting()
  const second = begin(book, newAttempt(book, 'virtual-bank-account', START)).book
  const open = issue(
    second,
    (second.attempts[1] as Attempt).id,
    { instructions: null, instructionsExpireAt: after(9), providerReference: 'q' },
    START,
  ).book
  const done = propose(open, attempt, paid(receipt(PRICE)))
  assert.deepEqual(types(done), ['attempt.successful', 'payment.successful', 'attempt.abandoned'])
  assert.equal(done.book.payment.status, 'successful')
  assert.equal(done.book.payment.amountPaid, PRICE)
  assert.equal(done.book.attempts[1]?.status, 'abandoned')
})

test('money after a decline still completes the payment', () => {
  const { book, attempt } = waiting()
  const failed = propose(book, attempt, declined())
  assert.deepEqual(types(failed), ['attempt.failed'])
  assert.deepEqual(types(propose(failed.book, attempt, declined())), [], 'the same decline told twice')
  assert.deepEqual(
    types(propose(failed.book, attempt, declined('t2'))),
    ['attempt.failed'],
    'another try on the same page',
  )
  assert.deepEqual(types(propose(failed.book, attempt, paid(receipt(PRICE)))), [
    'attempt.successful',
    'payment.successful',
  ])
})

test('less than asked for by card is never a success, and a person has to look', () => {
  const { book, attempt } = waiting()
  for (const wrong of [receipt(PRICE - 1), receipt(PRICE, 'USD' as Currency)]) {
    const decision = propose(book, attempt, paid(wrong))
    assert.equal(decision.book.payment.status, 'pending')
    assert.equal(first(decision).failure?.code, 'amount_mismatch')
    assert.match(first(decision).needsReview ?? '', /amount_mismatch/)
    assert.deepEqual(types(decision), ['attempt.failed', 'attempt.needs_review'])
    assert.deepEqual(types(propose(decision.book, attempt, paid(wrong), { fresh: [] })), [], 'told again')
  }
})

test('transfers add up: less is missing and waited for, the rest completes, more is told beside it', () => {
  const { book, attempt } = waiting('virtual-bank-account')
  const part = propose(book, attempt, pending(receipt(400)))
  assert.deepEqual(types(part), ['payment.underpaid'])
  assert.deepEqual(part.facts[0]?.more, { missing: { amount: 600, currency: NGN } })
  assert.equal(part.book.payment.amountPaid, 400)
  const whole = propose(part.book, attempt, pending(receipt(700)))
  assert.deepEqual(types(whole), ['attempt.successful', 'payment.successful', 'payment.overpaid'])
  assert.equal(whole.book.payment.amountPaid, 1_100)
})

test('a second success is surplus on its own attempt, and is sent back', () => {
  const { book, attempt } = waiting()
  const second = begin(book, newAttempt(book, 'card', START)).book
  const other = second.attempts[1] as Attempt
  const done = propose(second, attempt, paid(receipt(PRICE)))
  const again = propose(done.book, other, paid(receipt(PRICE)))
  assert.deepEqual(types(again), ['attempt.surplus', 'payment.surplus'])
  assert.equal(again.book.payment.amountPaid, PRICE)
  assert.equal(again.surplus[0]?.amount, PRICE)
})

test('parts that came through another attempt are not lost when the payment is paid elsewhere', () => {
  const { book, attempt } = waiting('virtual-bank-account')
  const part = propose(book, attempt, pending(receipt(400))).book
  const second = begin(part, newAttempt(part, 'card', START)).book
  const done = propose(second, second.attempts[1] as Attempt, paid(receipt(PRICE)))
  assert.ok(types(done).includes('payment.surplus'))
  assert.deepEqual(done.surplus, [{ attemptId: attempt.id, amount: 400, receipt: null }])
  assert.equal(done.book.payment.amountPaid, PRICE)
})

test('money after cancelled or expired makes the payment successful, and late', () => {
  for (const end of [cancel, expire]) {
    const { book, attempt } = waiting()
    const ended = end(book, after(30))
    assert.equal(first(ended).status, 'abandoned')
    const late = propose(ended.book, attempt, paid(receipt(PRICE)))
    assert.equal(late.book.payment.status, 'successful')
    assert.equal(late.book.payment.late, true)
  }
})

test('silence makes a used attempt processing, which nothing but evidence ends', () => {
  const { book, attempt } = waiting()
  assert.equal(first(propose(book, attempt, UNKNOWN, { source: 'check' })).status, 'pending', 'nobody has used it yet')
  const unknown = propose(book, attempt, UNKNOWN)
  assert.equal(first(unknown).status, 'processing')
  assert.equal(
    refusal(() => cancel(unknown.book, after(61))),
    'attempt_in_progress',
  )
  let state = unknown.book
  for (let day = 0; day < 7; day++) {
    state = propose(state, attempt, UNKNOWN, { source: 'check', now: after(day * 86_400 + 70) }).book
    assert.equal(state.attempts[0]?.status, 'processing')
    assert.equal(state.attempts[0]?.needsReview, null)
  }
  const end = propose(state, attempt, UNKNOWN, { source: 'check', now: after(8 * 86_400) })
  assert.deepEqual(types(end), ['attempt.needs_review'])
  assert.equal(first(end).status, 'processing', 'never failed by itself')
  assert.equal(first(end).watch.nextCheckAt, null)
  assert.equal(first(propose(end.book, attempt, paid(receipt(PRICE)))).status, 'successful')
})

test('the schedule of an unknown outcome: 10 s, 30 s, 2 m, 10 m, 1 h, 6 h, then daily for a week', () => {
  const book = newBook()
  let state = begin(book, { ...newAttempt(book, 'card', START), chargedAtOnce: true }).book
  const times: number[] = []
  for (let next = state.attempts[0]?.watch.nextCheckAt; next; next = state.attempts[0]?.watch.nextCheckAt) {
    times.push((next.getTime() - START.getTime()) / 1_000)
    state = propose(state, state.attempts[0] as Attempt, UNKNOWN, { source: 'check', now: next }).book
  }
  const days = [1, 2, 3, 4, 5, 6, 7].map((day) => day * 86_400)
  assert.deepEqual(times, [10, 30, 120, 600, 3_600, 21_600, ...days])
})

test('an outcome in doubt is asked for every minute while the customer holds the link, and still for a week at most', () => {
  const { book, attempt } = waiting()
  const lasting: Book = { ...book, attempts: [{ ...attempt, instructionsExpireAt: after(30 * 86_400) }] }
  let state = propose(lasting, attempt, UNKNOWN, { source: 'return', now: after(60) }).book
  const times: number[] = []
  for (let next = state.attempts[0]?.watch.nextCheckAt; next && times.length < 5; ) {
    times.push((next.getTime() - START.getTime()) / 1_000 - 60)
    state = propose(state, attempt, UNKNOWN, { source: 'check', now: next }).book
    next = state.attempts[0]?.watch.nextCheckAt
  }
  assert.deepEqual(times, [10, 30, 60, 120, 180])
  const end = propose(state, attempt, UNKNOWN, { source: 'check', now: after(8 * 86_400) })
  assert.deepEqual([first(end).watch.nextCheckAt, types(end)], [null, ['attempt.needs_review']])
})

test('a link that was paid is looked at again after ten minutes and six hours: some take a second card, whose money goes back', () => {
  const { book, attempt } = waiting()
  const instructions = { kind: 'link' as const, link: 'https://provider.example/pay', publicKey: 'pk' }
  const linked: Book = { ...book, attempts: [{ ...attempt, instructions }] }
  const once = receipt(PRICE)
  let state = propose(linked, attempt, paid(once), { now: after(60) }).book
  const times: number[] = []
  for (let next = state.attempts[0]?.watch.nextCheckAt; next; next = state.attempts[0]?.watch.nextCheckAt) {
    times.push((next.getTime() - START.getTime()) / 1_000 - 60)
    state = propose(state, attempt, paid(once), { fresh: [], source: 'check', now: next }).book
  }
  assert.deepEqual(times, [600, 21_600])
  const another = receipt(PRICE)
  const twice = propose(state, attempt, paid(once, another), { fresh: [another], source: 'check', now: after(700) })
  assert.deepEqual(twice.surplus, [{ attemptId: attempt.id, amount: PRICE, receipt: another.transactionId }])
  const charged = propose(book, attempt, paid(receipt(PRICE)), { now: after(60) })
  assert.equal(first(charged).watch.nextCheckAt, null, 'a saved card that was charged has no link')
})

test('"no such order" of a saved card that may be charged is believed after ten minutes, and only the second time', () => {
  const book = newBook()
  const begun = begin(book, { ...newAttempt(book, 'card', START), chargedAtOnce: true }).book
  const attempt = begun.attempts[0] as Attempt
  const missing = (state: Book, seconds: number) =>
    propose(state, attempt, { kind: 'missing' }, { source: 'check', now: after(seconds) })
  const early = missing(missing(missing(begun, 10).book, 30).book, 120)
  assert.equal(first(early).status, 'processing')
  const once = missing(propose(early.book, attempt, UNKNOWN, { source: 'check', now: after(130) }).book, 599)
  assert.equal(first(once).status, 'processing')
  const failed = missing(missing(early.book, 601).book, 3_600)
  assert.equal(first(failed).failure?.code, 'provider_unavailable')
})

test('a notice that says paid against a provider that does not: nobody decides', () => {
  const { book, attempt } = waiting()
  const doubt = propose(book, attempt, declined(), { noticeSays: 'paid' })
  assert.equal(first(doubt).status, 'processing')
  const still = propose(doubt.book, attempt, declined(), { source: 'check', now: after(70) })
  assert.equal(first(still).status, 'processing', 'nor is it failed')
  assert.ok(disagree('failed', paid(receipt(PRICE))), 'the reverse is not decided on either')
})

test('nothing undoes a success', () => {
  const { book, attempt } = waiting()
  const done = propose(book, attempt, paid(receipt(PRICE)))
  for (const outcome of [declined(), pending(), UNKNOWN, { kind: 'missing' }, { kind: 'processing' }] as Outcome[]) {
    const later = propose(done.book, attempt, outcome)
    assert.deepEqual(later.facts, [])
    assert.equal(first(later).status, 'successful')
  }
  assert.equal(
    refusal(() => cancel(done.book, after(99))),
    'payment_already_completed',
  )
  assert.equal(
    refusal(() => expire(done.book, after(99))),
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
      source: Proposal['source']
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
  const fresh = [...new Map(receipts.map((each) => [each.transactionId, each])).values()].filter(
    ({ transactionId }) => !seen.has(transactionId),
  )
  for (const each of fresh) seen.set(each.transactionId, each)
  return fresh
}

test('whatever comes in whatever order, one success, money counted once, states forward, an event for each change', () => {
  const run = fc.property(fc.array(someStep, { maxLength: 50 }), (steps) => {
    let book = newBook()
    const facts: string[] = []
    const seen = new Map<string, Receipt>()
    let now = START
    for (const [index, step] of steps.entries()) {
      now = after(index * 37)
      const before = book
      const decision = take(book, step, seen, now)
      if (!decision) continue
      book = decision.book
      facts.push(...types(decision))
      check(before, decision, seen)
    }
    const successes = facts.filter((type) => type === 'payment.successful').length
    assert.equal(successes, book.payment.status === 'successful' ? 1 : 0, 'one success, told once')
    assert.equal(book.payment.sequence, facts.length)
  })
  fc.assert(run, { numRuns: 5_000, verbose: 1 })
})

function take(book: Book, step: Step, seen: Map<string, Receipt>, now: Date): Decision | undefined {
  try {
    if (step.do === 'begin') return begin(book, newAttempt(book, step.channel, now))
    if (step.do === 'cancel') return cancel(book, now)
    if (step.do === 'expire') return expire(book, now)
  } catch (error) {
    if (error instanceof Problem) return undefined // refused, and nothing changed
    throw error
  }
  const attempt = book.attempts[step.attempt % Math.max(1, book.attempts.length)]
  if (!attempt) return undefined
  const outcome: Outcome = disagree(step.noticeSays, step.outcome) ? UNKNOWN : step.outcome
  const fresh = freshOf(seen, outcome)
  const { source, noticeSays } = step
  return settle(book, { attemptId: attempt.id, outcome, fresh, source, now, ...(noticeSays && { noticeSays }) })
}

const FORWARD: Record<Attempt['status'], Attempt['status'][]> = {
  pending: ['processing', 'successful', 'failed', 'abandoned', 'surplus'],
  processing: ['pending', 'successful', 'failed', 'abandoned', 'surplus'],
  failed: ['processing', 'successful', 'surplus'],
  abandoned: ['successful', 'failed', 'surplus'],
  successful: [],
  surplus: [],
}

function check(before: Book, { book, facts }: Decision, seen: Map<string, Receipt>): void {
  const { payment, attempts } = book
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
        facts.some(({ attemptId }) => attemptId === attempt.id),
        'INV-6: a change has its event',
      )
    }
    if (attempt.status === 'successful') {
      assert.ok(attempt.amountReceived >= attempt.amountCharged, 'INV-3: never for less')
    }
  }
  if (before.payment.status === 'successful') assert.equal(payment.status, 'successful', 'nothing undoes a success')
  if (before.payment.status !== 'pending') assert.ok([before.payment.status, 'successful'].includes(payment.status))
  assert.equal(payment.sequence - before.payment.sequence, facts.length, 'INV-5: one event, one step')
  const all = [...seen.values()]
    .filter(({ amount }) => amount.currency === NGN)
    .reduce((sum, { amount }) => sum + amount.amount, 0)
  const received = attempts.reduce((sum, { amountReceived }) => sum + amountReceived, 0)
  assert.equal(received, all, 'INV-4: every unit is on one attempt')
  assert.ok(payment.amountPaid <= received, 'INV-4: counted once')
  const winner = attempts.find(({ status }) => status === 'successful')
  if (!winner) assert.equal(payment.amountPaid, received)
  if (payment.status === 'successful' && before.payment.status === 'successful') {
    assert.equal(payment.amountPaid, before.payment.amountPaid, 'what comes after is surplus')
  }
}
