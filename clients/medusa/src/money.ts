import type { Payment } from '@manilla/client'
import type { BigNumberInput } from '@medusajs/framework/types'
import { BigNumber, MathBN } from '@medusajs/framework/utils'

/**
 * Medusa counts in whole units with decimals of any length, Manilla in the lowest denomination: 125.5 NGN is 12550.
 * Decimal arithmetic.
 */
export function toLowestDenomination(amount: BigNumberInput, currency: string): number {
  return MathBN.mult(amount, unitOf(currency)).integerValue().toNumber()
}

export function fromLowestDenomination(amount: number, currency: string): BigNumber {
  return new BigNumber(MathBN.div(amount, unitOf(currency)))
}

function unitOf(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  return 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2)
}

/**
 * What is left of the amount of a successful payment, without what was refunded or is about to be. An excess of the
 * customer, and surplus, may go back without that.
 */
export function amountLeft({ amount, amountCharged, amountPaid, amountRefunded, refunds }: Payment): number {
  const excess = amountPaid - (amountCharged ?? amount)
  const pending = refunds.filter(({ kind, status }) => kind !== 'surplus' && status === 'pending')
  const returned = pending.reduce((sum, refund) => sum + refund.amount, amountRefunded)
  return Math.max(0, amount - Math.max(0, returned - excess))
}
