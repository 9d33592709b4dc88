import type { BigNumberInput } from '@medusajs/framework/types'
import { BigNumber, MathBN } from '@medusajs/framework/utils'

/** Medusa counts in whole units with decimals of any length, Manilla in the lowest denomination: 125.5 NGN is 12550. Decimal arithmetic. */
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
