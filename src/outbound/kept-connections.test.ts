import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConnections } from './kept-connections.ts'
import type { Target } from './post-target.ts'

const target: Target = { protocol: 'http:', hostname: 'hooks.test', host: 'hooks.test', port: 80, path: '/' }
const never = () => () => {}

test('a kept connection serves its own place alone, the last used first, and each time one call', () => {
  const { open, keep, take } = createConnections()
  const [first, second] = [
    open('public http: hooks.test', target, never),
    open('public http: hooks.test', target, never),
  ]
  keep(first)
  keep(second)
  assert.equal(take('anywhere http: hooks.test'), undefined)
  assert.equal(take('public http: hooks.test'), second)
  assert.equal(take('public http: hooks.test'), first)
  assert.equal(take('public http: hooks.test'), undefined)
})

test('D7: of connections that nobody uses 512 are kept: the one that was idle longest goes first', () => {
  const { open, keep, take } = createConnections()
  for (let i = 0; i < 514; i++) keep(open(`place ${i}`, target, never))
  assert.equal(take('place 0'), undefined)
  assert.equal(take('place 1'), undefined)
  assert.equal(take('place 2')?.place, 'place 2')
  assert.equal(take('place 513')?.place, 'place 513')
})
