import type { Receipt } from '../../providers/provider.ts'

// Transactions of which the provider had already given something back (reversal, refund in its dashboard, lost dispute) when we
// first saw them.

/** What the provider had given back of the transaction: never more than its amount. */
export function returnedOf({ amount, returned = 0 }: Receipt): number {
  return Math.min(Math.max(returned, 0), amount.amount)
}

/** Given back in full before we first saw it. Such a transaction never counts towards a payment. */
export function isReversed(receipt: Receipt): boolean {
  return returnedOf(receipt) > 0 && returnedOf(receipt) === receipt.amount.amount
}

export interface Totals {
  received: number
  /** Of that: given back. */
  returned: number
  /** Of that: by transactions that were given back in full. */
  reversed: number
}

export function totalsOf(receipts: Receipt[]): Totals {
  const add = (total: number, amount: number) => total + amount
  return {
    received: receipts.map(({ amount }) => amount.amount).reduce(add, 0),
    returned: receipts.map(returnedOf).reduce(add, 0),
    reversed: receipts.filter(isReversed).map(returnedOf).reduce(add, 0),
  }
}

/**
 * Fresh transactions, without what is on record as returned already. Some providers refund an order, not a transfer of it: what they say was
 * given back of a new transfer may be a refund of an earlier one. `told`: every transaction of the answer.
 */
export function withoutKnownReturns(fresh: Receipt[], told: Receipt[], onRecord: number): Receipt[] {
  let left = Math.max(0, totalsOf(told).returned - onRecord)
  return fresh.map((receipt) => {
    const { returned: _, returnedIsOfOrder: __, ...rest } = receipt
    const returned = Math.min(returnedOf(receipt), left)
    left -= returned
    return returned > 0 ? { ...rest, returned } : rest
  })
}

/**
 * A refund row to be written with the receipt: kind `provider`, successful, without the provider's refund id, which we do not know.
 * Reconciliation matches the provider's listed refunds and lost disputes with this row, so that they are not counted again.
 */
export interface ReturnedAtFirstSight {
  transactionId: string
  amount: number
  /** Whether it counts as refunded of the payment: only if its transaction counts as paid. */
  counted: boolean
}

export function returnedAtFirstSight(receipts: Receipt[], areCounted: boolean): ReturnedAtFirstSight[] {
  return receipts
    .filter((receipt) => returnedOf(receipt) > 0)
    .map((receipt) => ({
      transactionId: receipt.transactionId,
      amount: returnedOf(receipt),
      counted: areCounted && !isReversed(receipt),
    }))
}
