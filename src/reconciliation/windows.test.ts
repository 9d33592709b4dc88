import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isStale, nextDue, PLANNED, rangeOf, retryAt } from './windows.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const now = new Date('2026-06-01T12:00:00Z')
const before = (ms: number) => new Date(now.getTime() - ms)

test('each list of an account is read in its windows', () => {
  const count = (kind: string) => PLANNED.filter((each) => each.kind === kind).map(({ name }) => name)
  assert.deepEqual(count('transactions'), ['2 hours', '48 hours', '8 days', '180 days'])
  assert.deepEqual(count('refunds'), ['2 hours', '48 hours', '8 days', '180 days'])
  assert.deepEqual(count('disputes'), ['48 hours', '8 days', '180 days'])
  assert.deepEqual(count('open'), ['open'])
})

const live = { mode: 'live' as const, comparedTo: null }

test('no window begins before the integration was made, or before what retention may have deleted', () => {
  const old = before(400 * DAY)
  assert.deepEqual(rangeOf('48 hours', { ...live, since: old }, now), { from: before(48 * HOUR), to: now })
  assert.deepEqual(rangeOf('48 hours', { ...live, since: before(HOUR) }, now).from, before(65 * 60_000))
  assert.deepEqual(rangeOf('180 days', { ...live, since: old }, now).from, before(180 * DAY))
  assert.deepEqual(rangeOf('180 days', { ...live, mode: 'sandbox', since: old }, now).from, before(39 * DAY))
})

test('after an outage a window is longer by that time, and that of active accounts at most twice as long', () => {
  const since = before(400 * DAY)
  const from = (comparedTo: Date) => rangeOf('8 days', { mode: 'live', since, comparedTo }, now).from
  assert.deepEqual(from(before(DAY)), before(8 * DAY), 'on time')
  assert.deepEqual(from(before(3 * DAY)), before(10 * DAY))
  assert.deepEqual(from(before(90 * DAY)), before(97 * DAY))
  const idle = rangeOf('2 hours', { mode: 'live', since, comparedTo: before(90 * DAY) }, now)
  assert.deepEqual(idle.from, before(4 * HOUR))
})

test('accounts that started together do not stay together', () => {
  const due = (jitter: number) => (nextDue('8 days', now, jitter).getTime() - now.getTime()) / HOUR
  assert.ok(Math.abs(due(0) - 22.8) < 0.01 && Math.abs(due(1) - 25.2) < 0.01)
})

test('a run that cannot go on starts again, and is retried less and less often', () => {
  assert.equal(isStale('2 hours', before(5 * HOUR), now), false)
  assert.equal(isStale('2 hours', before(7 * HOUR), now), true)
  assert.equal(isStale('180 days', before(7 * DAY), now), false)
  assert.equal(isStale('by hand', before(30 * DAY), now), false)
  const wait = (failedFor: number | null) =>
    (retryAt(failedFor === null ? null : before(failedFor), now).getTime() - now.getTime()) / 60_000
  assert.deepEqual([null, HOUR / 12, HOUR / 2, 3 * HOUR].map(wait), [1, 5, 30, 60])
})
