import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from '../gates/fuzz/main.ts'
import { casesOf } from '../gates/fuzz/parameter-cases.ts'
import { parameters } from '../gates/fuzz/parameters.ts'
import { newSeed } from '../gates/random.ts'

test('the service answers every fuzzed request with a valid response and stays up', async () => {
  // Other test files share the machine, and a clock would measure them too: only the full gate, which runs alone, has
  // one.
  const report = await fuzz({ requests: 400, seed: newSeed(), concurrency: 8, maxMs: Number.POSITIVE_INFINITY })
  assert.equal(report.failures.length, 0, report.print())
})

test('a share of the extreme values for the parameters of every route is answered, below 500, by a process that stays healthy', async () => {
  const { failures, routes, text } = await parameters({ every: 40, seed: newSeed() })
  assert.deepEqual(failures, [], text)
  const urls = new Set(routes.map(({ url }) => url))
  for (const url of ['/payments/v1/events', '/dashboard/api/merchants/:merchant/:mode/charts', '/pay/:id'])
    assert.ok(urls.has(url), `${url} is in the table of routes`)
})

test('no share leaves out %00 in a parameter, and the last day of the calendar in all days together', () => {
  const day = (description: string) => ({ type: 'string', format: 'day', description })
  const query = { from: day('first'), to: { ...day('last'), default: 'today' }, zone: { type: 'string' } }
  const route = { method: 'GET', url: '/:merchant/charts', query, required: ['from', 'to'] }
  const killers = casesOf(route, { merchant: 'm' }).filter(({ isKnownKiller }) => isKnownKiller)
  const targets = killers.map(({ target }) => target)
  for (const target of [
    '/%00/charts?from=2026-11-15&to=2026-11-15',
    '/m/charts?to=2026-11-15&from=%00',
    '/m/charts?from=2026-11-15&to=2026-11-15&zone=%00',
    '/m/charts?from=9999-12-31&to=9999-12-31',
  ])
    assert.ok(targets.includes(target), `${target} is among ${targets.join(' ')}`)
})
