import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from '../gates/fuzz/main.ts'
import { parameters } from '../gates/fuzz/parameters.ts'
import { newSeed } from '../gates/random.ts'

test('the service answers every fuzzed request with a valid response and stays up', async () => {
  // Other test files share the machine, and a clock would measure them too: only the full gate, which runs alone, has one.
  const report = await fuzz({ requests: 400, seed: newSeed(), concurrency: 8, maxMs: Number.POSITIVE_INFINITY })
  assert.equal(report.failures.length, 0, report.print())
})

test('a share of the extreme values for the parameters of every route is answered, below 500, by a process that stays healthy', async () => {
  const { failures, routes, text } = await parameters({ every: 40 })
  assert.deepEqual(failures, [], text)
  const urls = new Set(routes.map(({ url }) => url))
  for (const url of ['/payments/v1/events', '/dashboard/api/merchants/:merchant/:mode/charts', '/pay/:id'])
    assert.ok(urls.has(url), `${url} is in the table of routes`)
})
