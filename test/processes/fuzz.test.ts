import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from '../gates/fuzz/main.ts'
import { newSeed } from '../gates/random.ts'

test('the service answers every fuzzed request with a valid response and stays up', async () => {
  // Other test files share the machine, and a clock would measure them too: only the full gate, which runs alone, has one.
  const report = await fuzz({ requests: 400, seed: newSeed(), concurrency: 8, maxMs: Number.POSITIVE_INFINITY })
  assert.equal(report.failures.length, 0, report.print())
})
