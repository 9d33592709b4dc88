import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConnectionPool } from './connection-pool.ts'
import type { Target } from './request-target.ts'

const targetOf = (host: string): Target => {
  return { protocol: 'http:', origin: `http://${host}`, hostname: host, host, port: 80, path: '/' }
}
const never = () => () => {}

test('a kept connection serves its own origin, one request at a time, the last used first', () => {
  const { open, keep, take } = createConnectionPool(never)
  const target = targetOf('hooks.test')
  const [first, second] = [open(target), open(target)]
  keep(first)
  keep(second)
  assert.equal(take(targetOf('other.test')), undefined)
  assert.equal(take(target), second)
  assert.equal(take(target), first)
  assert.equal(take(target), undefined)
})

test('D7: 512 idle connections are kept; beyond that the one that was idle longest is closed', () => {
  const { open, keep, take } = createConnectionPool(never)
  for (let i = 0; i < 514; i++) keep(open(targetOf(`host-${i}.test`)))
  assert.equal(take(targetOf('host-0.test')), undefined)
  assert.equal(take(targetOf('host-1.test')), undefined)
  assert.equal(take(targetOf('host-2.test'))?.origin, 'http://host-2.test')
  assert.equal(take(targetOf('host-513.test'))?.origin, 'http://host-513.test')
})
