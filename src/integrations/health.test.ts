import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHealth } from './health.ts'

function setUp() {
  const time = { now: 0 }
  const health = createHealth(() => time.now)
  const note = (went: 'well' | 'badly', times: number) => {
    for (let i = 0; i < times; i++) health.note('it', went)
  }
  return { time, health, note }
}

test('a provider is healthy until a failure is recorded', () => {
  assert.equal(setUp().health.isWell('it'), true)
})

test('three bad answers in a row are unwell, and one good answer ends that', () => {
  const { health, note } = setUp()
  note('badly', 2)
  assert.equal(health.isWell('it'), true)
  note('badly', 1)
  assert.equal(health.isWell('it'), false)
  note('well', 1)
  assert.equal(health.isWell('it'), true)
})

test('half of the last ten are unwell, however they came', () => {
  const { health, note } = setUp()
  for (let i = 0; i < 5; i++) {
    note('badly', 1)
    note('well', 1)
  }
  assert.equal(health.isWell('it'), false)
  note('well', 1)
  assert.equal(health.isWell('it'), true)
})

test('what was is forgotten after a minute, so that it is tried again; others are not concerned', () => {
  const { time, health, note } = setUp()
  note('badly', 3)
  assert.equal(health.isWell('another'), true)
  time.now = 59_999
  assert.equal(health.isWell('it'), false)
  time.now = 60_000
  assert.equal(health.isWell('it'), true)
})
