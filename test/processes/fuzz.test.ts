import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from '../gates/fuzz/main.ts'
import { newSeed } from '../gates/random.ts'

test('whatever is sent, the service refuses it in its own words and stays up', async () => {
  // Other test files share the machine, so the clock of the full gate would measure them too.
  const report = await fuzz({ requests: 400, seed: newSeed(), concurrency: 8, maxMs: 2_500 })
  assert.equal(report.failures.length, 0, report.print())
})
