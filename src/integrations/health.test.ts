import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHealth } from './health.ts'

function setUp() {
  const time = { now: 0 }
  const health = createHealth(() => time.now)
  const record = (result: 'succeeded' | 'failed', times: number) => {
    for (let i = 0; i < times; i++) health.recordResult('it', result)
  }
  return { time, health, record }
}

test('a provider is healthy until a failure is recorded', () => {
  assert.equal(setUp().health.isHealthy('it'), true)
})

test('three failures in a row make a provider unhealthy, and one success ends that', () => {
  const { health, record } = setUp()
  record('failed', 2)
  assert.equal(health.isHealthy('it'), true)
  record('failed', 1)
  assert.equal(health.isHealthy('it'), false)
  record('succeeded', 1)
  assert.equal(health.isHealthy('it'), true)
})

test('five failures among the last ten calls make a provider unhealthy, in any order', () => {
  const { health, record } = setUp()
  for (let i = 0; i < 5; i++) {
    record('failed', 1)
    record('succeeded', 1)
  }
  assert.equal(health.isHealthy('it'), false)
  record('succeeded', 1)
  assert.equal(health.isHealthy('it'), true)
})

test('results older than a minute are ignored, and other providers are not affected', () => {
  const { time, health, record } = setUp()
  record('failed', 3)
  assert.equal(health.isHealthy('another'), true)
  time.now = 59_999
  assert.equal(health.isHealthy('it'), false)
  time.now = 60_000
  assert.equal(health.isHealthy('it'), true)
})
