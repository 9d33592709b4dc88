import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Place } from '../../kernel/place.ts'
import { writeTogether } from './group-commit.ts'

test('a batch of many places has four statements at once, and its results in order', async () => {
  const items = Array.from({ length: 40 }, (_, index) => ({ place: (index * 7) % 20, index }))
  let running = 0
  let most = 0
  const write = async (_: Place, group: typeof items) => {
    most = Math.max(most, ++running)
    await turn()
    running--
    return group.map(({ index }) => index)
  }
  assert.deepEqual(
    await writeTogether(items, ({ place }) => place, write),
    items.map(({ index }) => index),
  )
  assert.equal(most, 4)
})
