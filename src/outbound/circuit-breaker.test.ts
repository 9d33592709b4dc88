import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Breaker, type BreakerOptions, createBreaker, type Permit } from './circuit-breaker.ts'

function setUp(options: BreakerOptions = {}) {
  const time = { now: 1_000_000 }
  const breaker = createBreaker({ now: () => time.now, random: () => 0.5, ...options })
  const fail = (times = 1) => {
    for (let i = 0; i < times; i++) permitOf(breaker).failed('it answered 503')
  }
  return { breaker, time, fail }
}

function permitOf(breaker: Breaker): Permit {
  const answer = breaker.ask()
  assert.ok(!('refused' in answer), 'the call may go out')
  return answer
}

const isRefused = (breaker: Breaker) => 'refused' in breaker.ask()

test('eight failures in a row open the circuit breaker, and a refusal names the reason', () => {
  const { breaker, fail } = setUp()
  fail(7)
  assert.equal(isRefused(breaker), false)
  fail()
  assert.deepEqual(breaker.ask(), { refused: 'it answered 503' })
})

test('a success resets the count of failures', () => {
  const { breaker, fail } = setUp()
  fail(7)
  permitOf(breaker).succeeded()
  fail(7)
  assert.equal(isRefused(breaker), false)
})

test('timeouts that arrive together count only if no later call was answered', () => {
  const { breaker } = setUp()
  const silent = Array.from({ length: 20 }, () => permitOf(breaker))
  const answered = permitOf(breaker)
  answered.succeeded()
  for (const permit of silent) permit.failed('silence')
  assert.equal(isRefused(breaker), false, 'it answered a later one')
  const away = Array.from({ length: 8 }, () => permitOf(breaker))
  for (const permit of away) permit.failed('silence')
  assert.equal(isRefused(breaker), true, 'it has answered none since')
})

test('a late success of an older call does not reset the failures of calls that were sent after it', () => {
  const { breaker, fail } = setUp()
  const slow = permitOf(breaker)
  fail(7)
  slow.succeeded()
  fail()
  assert.equal(isRefused(breaker), true)
})

test('after ten seconds one call probes the provider, and the others are refused until it ends', () => {
  const { breaker, time, fail } = setUp()
  fail(8)
  time.now += 9_999
  assert.ok(isRefused(breaker))
  time.now += 1
  const probe = permitOf(breaker)
  assert.ok(isRefused(breaker))
  probe.succeeded()
  assert.equal(isRefused(breaker), false)
  assert.equal(isRefused(breaker), false)
})

test('each failed probe doubles the wait, up to a minute, and a success resets it', () => {
  const { breaker, time, fail } = setUp()
  fail(8)
  for (const seconds of [10, 20, 40, 60, 60]) {
    time.now += seconds * 1000 - 1
    assert.ok(isRefused(breaker), `closed for ${seconds} s`)
    time.now += 1
    permitOf(breaker).failed('silence')
  }
  time.now += 60_000
  permitOf(breaker).succeeded()
  fail(8)
  time.now += 10_000
  assert.equal(isRefused(breaker), false)
})

test('the wait has a jitter of 20 %', () => {
  for (const [random, ms] of [
    [0, 8_000],
    [1, 12_000],
  ] as const) {
    const { breaker, time, fail } = setUp({ random: () => random })
    fail(8)
    time.now += ms - 1
    assert.ok(isRefused(breaker))
    time.now += 1
    assert.equal(isRefused(breaker), false)
  }
})

test('Retry-After opens the circuit breaker at once, for a minute at most', () => {
  const { breaker, time } = setUp()
  permitOf(breaker).failed('it answered 429', 3_000)
  time.now += 2_999
  assert.ok(isRefused(breaker))
  time.now += 1
  permitOf(breaker).failed('it answered 429', 3_600_000)
  time.now += 59_999
  assert.ok(isRefused(breaker))
  time.now += 1
  assert.equal(isRefused(breaker), false)
})

test('results of calls from before the circuit breaker opened are ignored', () => {
  const { breaker, time, fail } = setUp()
  const [early, late] = [permitOf(breaker), permitOf(breaker)]
  fail(8)
  early.succeeded()
  assert.ok(isRefused(breaker))
  time.now += 10_000
  const probe = permitOf(breaker)
  late.failed('silence')
  probe.succeeded()
  late.failed('silence')
  fail(7)
  assert.equal(isRefused(breaker), false)
})

test('a probe that was not sent lets the next call probe', () => {
  const { breaker, time, fail } = setUp()
  fail(8)
  time.now += 10_000
  permitOf(breaker).unused()
  permitOf(breaker).succeeded()
  assert.equal(isRefused(breaker), false)
})

test('its state is for the metrics: closed, open, and half-open once the wait has passed', () => {
  const { breaker, time, fail } = setUp()
  assert.equal(breaker.state(), 'closed')
  fail(8)
  assert.equal(breaker.state(), 'open')
  time.now += 60_000
  assert.equal(breaker.state(), 'half_open')
  permitOf(breaker).succeeded()
  assert.equal(breaker.state(), 'closed')
})
