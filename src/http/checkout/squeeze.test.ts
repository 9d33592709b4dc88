import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beginWith, gzip } from './squeeze.ts'

test('a beginning that was squeezed before and a rest are one gzip file of both', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 70_000, unit: 'binary' }), fc.string({ unit: 'binary' }), (first, second) => {
      const beginning = beginWith(first)
      for (const rest of [second, `${second}${first.slice(0, 500)}`]) {
        assert.equal(gunzipSync(gzip(beginning, rest)).toString(), Buffer.from(first + rest).toString())
      }
    }),
    { numRuns: 50 },
  )
})
