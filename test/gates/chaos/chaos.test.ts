import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newSeed } from '../random.ts'
import { chaos } from './main.ts'

test('INV-4: with a provider that misbehaves and copies that are killed, our books come to be the provider’s ledger, to the unit', async () => {
  const report = await chaos({
    payments: 60,
    kills: 2,
    clients: 60,
    settleSeconds: 75,
    refundSeconds: 75,
    seed: newSeed(),
  })
  assert.ok(report.clean, report.print())
})
