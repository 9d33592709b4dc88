import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt } from '../../payments/state/attempt.ts'
import { howToPay } from './how-to-pay.ts'

const account = {
  ...{ kind: 'account', accountName: 'Paystack Payments Kenya Limited', accountNumber: '1234567891' },
  ...{ bankName: 'Diamond Trust Bank Kenya Ltd', amountToTransfer: 130_000, narration: '12&34567' },
}

test('a narration that the transfer must have is in the answer, and in its sentence', () => {
  const attempt = { channel: 'virtual-bank-account', currency: 'KES', amountCharged: 130_000, instructions: account }
  const { narration, message, dialCodes } = howToPay(attempt as unknown as Attempt)
  assert.equal(narration, '12&34567')
  assert.match(String(message), /Write <strong>12&amp;34567<\/strong> as the narration\.$/)
  assert.equal(dialCodes, undefined)
})
