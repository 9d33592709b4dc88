import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RateLimiter } from './rate-limit.ts'

test('a burst is allowed at once, then the rate, with a Retry-After time', () => {
  let nowMs = 0
  const limiter = new RateLimiter({ perSecond: 2, burst: 4 }, () => nowMs)
  assert.deepEqual(
    Array.from({ length: 5 }, () => limiter.take('a').allowed),
    [true, true, true, true, false],
  )
  assert.equal(limiter.take('a').retryAfterSeconds, 1)
  nowMs = 500
  assert.deepEqual([limiter.take('a').allowed, limiter.take('a').allowed], [true, false])
  nowMs = 1_000_000
  assert.deepEqual(
    Array.from({ length: 5 }, () => limiter.take('a').allowed),
    [true, true, true, true, false],
  )
})

test('keys are independent, and looking takes no token', () => {
  const limiter = new RateLimiter({ perSecond: 1 / 60, burst: 1 }, () => 0)
  assert.ok(limiter.look('a').allowed)
  assert.ok(limiter.take('a').allowed)
  assert.equal(limiter.look('a').allowed, false)
  assert.equal(limiter.look('a').retryAfterSeconds, 60)
  assert.ok(limiter.take('b').allowed)
})

test('the number of remembered keys is bounded', () => {
  const limiter = new RateLimiter({ perSecond: 1, burst: 1 }, () => 0)
  for (let key = 0; key < 60_000; key++) limiter.take(String(key))
  assert.ok(limiter.take('0').allowed, 'the oldest was forgotten')
  assert.equal(limiter.take('59999').allowed, false, 'the newest was not')
})
