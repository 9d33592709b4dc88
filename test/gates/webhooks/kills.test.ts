import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newSeed, randomOf } from '../random.ts'
import { killsUnderStream } from './kills.ts'
import { reportOf } from './main.ts'

test('D5, INV-10: no kill -9 between a commit and its webhook, or between a webhook and its note, loses one; repeats are the same', async () => {
  const seed = newSeed()
  const report = reportOf(seed, [await killsUnderStream(randomOf(seed, 1), 4, { copies: 1, hasten: true })])
  assert.ok(report.clean, report.print())
})
