import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newSeed } from '../random.ts'
import { crash } from './main.ts'

test('A5: no kill -9 loses or doubles a checkout, whoever lost the answer finds it again, and the service comes back by itself', async () => {
  const report = await crash({ kills: 2, restarts: 1, seed: newSeed() })
  assert.ok(report.clean, report.print())
})
