import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newSeed, randomOf } from '../random.ts'
import { crowdOfEndpoints } from './crowd.ts'
import { reportOf } from './main.ts'

test('D7, INV-11: among many endpoints, a third of them sick, the healthy hear everything in time, and the sick when they are well', async () => {
  const seed = newSeed()
  const report = reportOf(seed, [await crowdOfEndpoints(randomOf(seed, 2), { endpoints: 20, events: 200 })])
  assert.ok(report.clean, report.print())
})
