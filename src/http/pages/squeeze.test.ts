import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beginWith, gzip } from './squeeze.ts'

test('a beginning that was squeezed before and a rest are one gzip file of both', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 70_000, unit: 'binary' }), fc.string({ unit: 'binary' }), (first, second) => {
      const beginning = beginWith(first)
      for (const rest of [second, `${second}${first.slice(0, 500)}`]) {
        assert.equal(gunzipSync(gzip(beginning, Buffer.from(rest))).toString(), Buffer.from(first + rest).toString())
      }
    }),
    { numRuns: 50 },
  )
})

test('the rest refers back to the beginning: together they are hardly larger than in one piece', () => {
  const first = Array.from({ length: 400 }, (_, index) => `.rule-${index * 7919}{margin:${index}px}`).join('')
  const rest = first.slice(2_000, 6_000)
  const apart = gzip(beginWith(first), Buffer.from(rest)).length
  assert.ok(apart < gzipSync(first + rest).length * 1.05, `${apart} bytes`)
})
