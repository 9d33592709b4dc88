import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallLimits, callLimits, startWithin } from './call-limits.ts'

function timed(options: Partial<Parameters<typeof callLimits>[0]> = {}) {
  const clock = { ms: 0 }
  const limits = callLimits({ maxInFlight: 2, perSecond: 10, burst: 3, now: () => clock.ms, ...options })
  return { clock, limits }
}

const take = (limits: CallLimits, account: string, maxWaitMs?: number) => {
  const place = limits.enter(account, maxWaitMs)
  return 'waitMs' in place ? place.waitMs : place
}

test('calls in flight are limited for each account', () => {
  const { clock, limits } = timed()
  const first = take(limits, 'a')
  assert.ok(typeof first !== 'number' && typeof take(limits, 'a') !== 'number')
  assert.equal(take(limits, 'a'), 1_000, 'full: it comes back in a second')
  assert.notEqual(typeof take(limits, 'b'), 'number')
  clock.ms = 1_000
  assert.equal(typeof take(limits, 'a'), 'number', 'still full')
  first.leave()
  assert.notEqual(typeof take(limits, 'a'), 'number')
})

test('work beyond the rate limit waits for its own slot, in order', () => {
  const { clock, limits } = timed({ maxInFlight: 1_000 })
  const waits = Array.from({ length: 33 }, () => take(limits, 'a')).map((each) => (typeof each === 'number' ? each : 0))
  assert.deepEqual(waits.slice(0, 4), [0, 0, 0, 1_000], 'the burst, then a second at least')
  assert.equal(waits[32], 3_000)
  clock.ms = 10_000
  assert.notEqual(typeof take(limits, 'a'), 'number', 'the allowance has grown again')
})

test('work that returns before its slot does not count against the rate limit', () => {
  const { clock, limits } = timed({ maxInFlight: 1_000 })
  for (let times = 0; times < 10_000; times++) take(limits, 'a')
  clock.ms = 1_000
  assert.notEqual(typeof take(limits, 'a'), 'number')
})

test('much work is postponed to the time of its slot, up to a limit', () => {
  const { clock, limits } = timed({ maxInFlight: 1_000 })
  assert.equal(limits.longestWaitMs(), 0)
  const takeMany = (account: string, times: number, maxWaitMs?: number) =>
    Array.from({ length: times }, () => take(limits, account, maxWaitMs)).at(-1)
  assert.equal(takeMany('urgent', 10_003), 600_000)
  assert.equal(limits.longestWaitMs(), 600_000)
  assert.equal(takeMany('background', 10_003, 7_200_000), 1_000_000)
  assert.equal(takeMany('background', 100_000, 7_200_000), 7_200_000)
  assert.equal(limits.longestWaitMs(), 7_200_000)
  clock.ms = 7_000_000
  assert.equal(limits.longestWaitMs(), 200_000)
  clock.ms = 7_300_000
  assert.equal(limits.longestWaitMs(), 0)
})

test('work without a slot is postponed and does not delay another account', async () => {
  const { limits } = timed({ maxInFlight: 1 })
  const never = Promise.withResolvers<void>()
  const done: string[] = []
  const postponed: string[] = []
  const { claimed } = await startWithin(limits, ['silent 1', 'silent 2', 'healthy 1'], {
    keyOf: (item) => item.slice(0, -2),
    work: async (item) => {
      if (item.startsWith('silent')) await never.promise
      done.push(item)
    },
    postpone: async (late) => {
      postponed.push(...late.map(({ item }) => item))
    },
  })
  assert.deepEqual([claimed, done, postponed], [3, ['healthy 1'], ['silent 2']])
  never.resolve()
})
