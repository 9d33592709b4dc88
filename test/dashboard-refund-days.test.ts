import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysOf } from '../src/payments/state/refund.ts'
import { PROVIDERS } from '../src/providers/registry.ts'
import { refundDays } from '../web/dashboard/refund-days.ts'

test('the dashboard gives a refund as many days as its provider does', () => {
  for (const { capabilities } of PROVIDERS) assert.equal(refundDays(capabilities.name), daysOf(capabilities))
})
