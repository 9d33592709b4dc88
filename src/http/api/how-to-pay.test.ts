import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt } from '../../payments/state/attempt.ts'
import { howToPay } from './how-to-pay.ts'

const account = {
  ...{ kind: 'account', accountName: 'Paystack Payments Kenya Limited', accountNumber: '1234567891' },
  ...{ bankName: 'Diamond Trust Bank Kenya Ltd', amountToTransfer: 130_000, narration: '12&34567' },
}

test('a narration that the transfer must have is in the answer, and in its sentence', () => {
  const money = { amountCharged: 130_000, amountReceived: 0, amountReturned: 0 }
  const attempt = { channel: 'virtual-bank-account', currency: 'KES', ...money, instructions: account }
  const { narration, message, dialCodes } = howToPay(attempt as unknown as Attempt)
  assert.equal(narration, '12&34567')
  assert.match(String(message), /Write <strong>12&amp;34567<\/strong> as the narration\.$/)
  assert.equal(dialCodes, undefined)
})

test('after a part has come, the answer asks for the rest, and so does what is dialled', () => {
  const { narration: _, ...instructions } = { ...account, amountToTransfer: 500_000 }
  const money = { amountCharged: 500_000, amountReceived: 250_000, amountReturned: 50_000 }
  const attempt = { channel: 'virtual-bank-account', currency: 'NGN', ...money, instructions }
  const { message, dialCodes } = howToPay(attempt as unknown as Attempt)
  assert.match(String(message), /^Transfer <strong>₦3,000\.00<\/strong> to account/)
  assert.ok((dialCodes as { code: string }[]).some(({ code }) => code === '*737*2*3000*1234567891#'))
})
