import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refreshingCache } from './refreshing-cache.ts'

/** A cache of what `stored` holds, with a clock and a read that the test controls. */
function start() {
  const state = { nowMs: 0, stored: 'first', reads: 0, waitFor: Promise.resolve() }
  const cache = refreshingCache<string, string>({
    async read() {
      state.reads++
      const value = state.stored
      await state.waitFor
      return value
    },
    nameOf: (key) => key,
    nowMs: () => state.nowMs,
  })
  return { state, cache }
}

test('a cached value is returned without a promise, and concurrent reads are one', async () => {
  const { state, cache } = start()
  assert.deepEqual(await Promise.all([cache.get('a'), cache.get('a')]), ['first', 'first'])
  assert.equal(state.reads, 1)
  assert.equal(cache.get('a'), 'first')
})

test('from one second on a value is refreshed in the background, from two seconds on the caller waits', async () => {
  const { state, cache } = start()
  await cache.get('a')
  state.stored = 'second'
  state.nowMs = 1_000
  assert.equal(cache.get('a'), 'first')
  await new Promise(setImmediate)
  assert.equal(cache.get('a'), 'second')
  state.stored = 'third'
  state.nowMs = 3_000
  assert.equal(await cache.get('a'), 'third')
})

test('a deleted value is read again, and a read that was under way is not cached', async () => {
  const { state, cache } = start()
  const slow = Promise.withResolvers<void>()
  state.waitFor = slow.promise
  const before = cache.get('a')
  state.stored = 'second'
  state.waitFor = Promise.resolve()
  cache.delete('a')
  assert.equal(await cache.get('a'), 'second')
  slow.resolve()
  assert.equal(await before, 'first')
  assert.equal(cache.get('a'), 'second')
  state.stored = 'third'
  cache.clear()
  assert.equal(await cache.get('a'), 'third')
})
