import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  declined,
  first,
  newAttempt,
  newPaymentState,
  PRICE,
  paid,
  pending,
  receipt,
  START,
  settleWith,
  types,
  UNKNOWN,
  waiting,
} from '../../../test/support/payment-state.ts'
import type { Outcome } from '../../providers/provider.ts'
import type { Attempt, Instructions } from './attempt.ts'
import type { Source } from './outcome-report.ts'
import { addAttempt, cancel, type PaymentState, storeInstructions } from './payment-state.ts'

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400
const LINK = { kind: 'link' as const, link: 'https://provider.example/pay', publicKey: 'pk' }

/** A card attempt whose link is open for a day. */
function openLink(instructions: Instructions = LINK): PaymentState {
  const before = newPaymentState()
  const begun = addAttempt(before, newAttempt(before, 'card', START)).state
  const issued = { instructions, instructionsExpireAt: after(DAY), providerReference: 'p' }
  return storeInstructions(begun, (begun.attempts[0] as Attempt).id, issued, START).state
}

/** Answers every check on time with this, and returns the times of the checks in seconds after the start. */
function checksOf(state: PaymentState, outcome: Outcome, from = 0): { times: number[]; state: PaymentState } {
  const times: number[] = []
  let current = state
  for (;;) {
    const attempt = current.attempts[0] as Attempt
    const next = attempt.checks.nextAt
    if (!next) return { times: times.filter((time) => time > from), state: current }
    times.push((next.getTime() - START.getTime()) / 1_000)
    current = settleWith(current, attempt, outcome, { source: 'check', now: next }).state
  }
}

function signal(state: PaymentState, source: Source, seconds: number, outcome: Outcome = pending()): PaymentState {
  return settleWith(state, state.attempts[0] as Attempt, outcome, { source, now: after(seconds) }).state
}

test('an abandoned link of 24 hours is checked about 60 times, less and less often', () => {
  const { times } = checksOf(openLink(), pending())
  assert.equal(times.length, 58)
  const between = (from: number, to: number) => times.filter((time) => time > from && time <= to)
  assert.deepEqual(between(0, MINUTE), [10, 30, 60])
  assert.equal(between(MINUTE, 15 * MINUTE).length, 14, 'every minute for 15 minutes')
  assert.equal(between(15 * MINUTE, 75 * MINUTE).length, 12, 'every 5 minutes for an hour')
  assert.equal(between(75 * MINUTE, 6 * HOUR).length, 10, 'every 30 minutes to 6 hours')
  assert.equal(between(6 * HOUR, DAY - 1).length, 17, 'hourly to the end')
  assert.deepEqual(between(DAY - 1, 30 * DAY), [DAY, 2 * DAY], 'at the end of the link, and a day later')
})

test('a paid link is checked after 10 minutes, 6 hours and at its end, unless the provider takes no second payment by it', () => {
  const money = paid(receipt(PRICE))
  const { times } = checksOf(signal(openLink(), 'notice', MINUTE, money), money)
  assert.deepEqual(times, [11 * MINUTE, 6 * HOUR + MINUTE, DAY], 'and at its end')
  assert.deepEqual(checksOf(signal(openLink({ ...LINK, paidOnce: true }), 'notice', MINUTE, money), money).times, [])
  const matched = signal(openLink({ ...LINK, paidOnce: true }), 'match', MINUTE, money)
  assert.equal(checksOf(matched, money).times.length, 3, 'money of another order did not pay the link')
  const unpaid = checksOf(openLink({ ...LINK, paidOnce: true }), pending())
  assert.equal(unpaid.times.length, 58, 'until it is paid, the schedule is the same')
})

test('a link whose payment was cancelled is checked on the same schedule', () => {
  const cancelled = cancel(openLink(), after(MINUTE)).state
  const { times } = checksOf(cancelled, pending())
  assert.ok(times.length < 60)
  assert.deepEqual(times.slice(-2), [DAY, 2 * DAY])
})

for (const source of ['return', 'notice'] as const) {
  test(`after a ${source} an open link is checked every minute again`, () => {
    const late = signal(openLink(), source, 10 * HOUR)
    const { times } = checksOf(late, pending(), 10 * HOUR)
    assert.deepEqual(
      times.slice(0, 4).map((time) => time - 10 * HOUR),
      [10, 30, MINUTE, 2 * MINUTE],
    )
    assert.equal(late.attempts[0]?.checks.since.getTime(), START.getTime(), 'answers that are under way still count')
  })
}

test('a start that cannot have been paid is checked after 5, 15 and 60 seconds and then fails', () => {
  const before = newPaymentState()
  const begun = addAttempt(before, newAttempt(before, 'card', START)).state
  const missing = { kind: 'missing' } as const
  const early = signal(signal(begun, 'check', 5, missing), 'check', 15, missing)
  assert.equal(early.attempts[0]?.status, 'processing')
  assert.deepEqual(early.attempts[0]?.checks.nextAt, after(60))
  const end = settleWith(early, early.attempts[0] as Attempt, missing, { source: 'check', now: after(60) })
  assert.deepEqual([first(end).status, first(end).failure?.code], ['failed', 'provider_unavailable'])
  assert.deepEqual(types(end), ['attempt.failed'])
  assert.ok(first(end).checks.nextAt, 'money that comes all the same is looked for')
  assert.deepEqual(checksOf(begun, missing).times.slice(0, 3), [5, 15, 60])
})

test('a start is not failed at 60 seconds by one answer, nor when the provider has known the order, nor when a card may be charged', () => {
  const before = newPaymentState()
  const missing = { kind: 'missing' } as const
  const newReceipts = newAttempt(before, 'card', START)
  const hear = (attempt: Attempt, answers: Outcome[]) =>
    [5, 15, 60].reduce(
      (state, seconds, index) => signal(state, 'check', seconds, answers[index] as Outcome),
      addAttempt(before, attempt).state,
    ).attempts[0]?.status
  assert.equal(hear(newReceipts, [UNKNOWN, UNKNOWN, missing]), 'processing')
  assert.equal(hear(newReceipts, [{ kind: 'processing' }, missing, missing]), 'processing')
  assert.equal(hear({ ...newReceipts, chargedAtOnce: true }, [missing, missing, missing]), 'processing')
  assert.equal(hear(newReceipts, [UNKNOWN, missing, missing]), 'failed')
})

test('an account number is checked while it is open and for a day after its end', () => {
  const { state } = waiting('virtual-bank-account')
  const { times } = checksOf(state, pending())
  assert.deepEqual(
    times.slice(-5).map((time) => time - 1_800),
    [60, 600, 3_600, 21_600, 86_400],
  )
})

for (const outcome of [UNKNOWN, { kind: 'processing' } as const]) {
  test(`J5: an ended attempt is asked about until there is a clear answer, here with "${outcome.kind}"`, () => {
    let state = cancel(openLink(), after(MINUTE)).state
    const at = () => state.attempts[0]?.checks.nextAt as Date
    const times: number[] = []
    const reviews: number[] = []
    const end = DAY
    while (times.length < 200 && (times.at(-1) ?? 0) < 12 * DAY) {
      const [now, before] = [at(), state.attempts[0] as Attempt]
      times.push((now.getTime() - START.getTime()) / 1_000 - end)
      const decision = settleWith(state, before, now < after(end) ? pending() : outcome, { source: 'check', now })
      if (types(decision).includes('attempt.needs_review')) reviews.push(times.at(-1) as number)
      state = decision.state
    }
    const late = times.filter((time) => time >= 0)
    assert.deepEqual(
      late.slice(0, 6),
      [0, 1, 2, 4, 8, 16].map((minutes) => minutes * MINUTE),
      'soon at first',
    )
    const gaps = late.slice(1).map((time, index) => time - (late[index] as number))
    assert.ok(Math.max(...gaps) <= DAY, 'at least once a day')
    assert.equal(reviews.length, 1, 'announced once')
    assert.ok((reviews[0] as number) >= 7 * DAY && (reviews[0] as number) <= 8 * DAY)
    assert.deepEqual(
      state.cases.map(({ reason }) => reason),
      ['unanswered'],
    )
    assert.equal(state.attempts[0]?.status, 'abandoned')

    const answered = settleWith(state, state.attempts[0] as Attempt, pending(), { source: 'check', now: at() }).state
    assert.equal(answered.attempts[0]?.checks.nextAt, null, 'a clear answer ends the schedule')
    assert.equal(answered.cases[0]?.closedBy, 'books', 'and its case')
  })
}

test('an order that cannot be asked for is a case after an hour, and any answer closes it', () => {
  const before = newPaymentState()
  const begun = addAttempt(before, newAttempt(before, 'mobile-money', START)).state
  const attempt = begun.attempts[0] as Attempt
  const lost: Outcome = { kind: 'unknown', because: 'its name is lost', unaskable: true }
  const check = (state: PaymentState, outcome: Outcome, seconds: number) =>
    settleWith(state, state.attempts[0] as Attempt, outcome, { source: 'check', now: after(seconds) })
  const soon = check(begun, lost, 59 * MINUTE)
  assert.deepEqual([soon.state.attempts[0]?.status, soon.state.cases], ['processing', []])
  assert.deepEqual(check(begun, UNKNOWN, 61 * MINUTE).state.cases, [], 'silence may end')
  const late = check(soon.state, lost, 61 * MINUTE)
  assert.deepEqual(
    late.state.cases.map(({ reason, subject }) => [reason, subject.id]),
    [['unanswered', attempt.id]],
  )
  assert.deepEqual(check(late.state, lost, 62 * MINUTE).state.cases, late.state.cases, 'once')
  for (const answer of [declined(), paid(receipt(PRICE))])
    assert.equal(check(late.state, answer, 63 * MINUTE).state.cases[0]?.closedBy, 'books')
})

test('a refused key is no answer', () => {
  const ended = signal(openLink(), 'check', DAY, { ...declined(), keysRefused: true } as Outcome)
  assert.equal(ended.attempts[0]?.answeredAt, null)
})

test('the schedule of an unknown outcome: 10 s, 30 s, 2 m, 10 m, 1 h, 6 h, then daily', () => {
  const state = newPaymentState()
  let current = addAttempt(state, { ...newAttempt(state, 'card', START), chargedAtOnce: true }).state
  const times: number[] = []
  const days = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((day) => day * 86_400)
  while (times.length < 6 + days.length) {
    const next = current.attempts[0]?.checks.nextAt as Date
    times.push((next.getTime() - START.getTime()) / 1_000)
    current = settleWith(current, current.attempts[0] as Attempt, UNKNOWN, { source: 'check', now: next }).state
  }
  assert.deepEqual(times, [10, 30, 120, 600, 3_600, 21_600, ...days])
})
