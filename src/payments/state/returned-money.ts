import type { Receipt } from '../../providers/provider.ts'

// Transactions that the provider had returned in part or in full (reversal, refund in its dashboard, lost dispute) before we first saw
// them.

/** The returned amount of the transaction, at most its amount. */
export function returnedOf({ amount, returned = 0 }: Receipt): number {
  return Math.min(Math.max(returned, 0), amount.amount)
}

/** Returned in full before we first saw it. Such a transaction never counts towards a payment. */
export function isReversed(receipt: Receipt): boolean {
  return returnedOf(receipt) > 0 && returnedOf(receipt) === receipt.amount.amount
}

export interface Totals {
  received: number
  /** Of that: returned. */
  returned: number
  /** Of that: transactions that were returned in full. */
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
 * New receipts, without returns that are on record already. Some providers refund an order, not a transfer: the return that they report
 * for a new transfer may be the refund of an earlier one. `receipts`: all receipts of the answer.
 */
export function withoutKnownReturns(newReceipts: Receipt[], receipts: Receipt[], onRecord: number): Receipt[] {
  let left = Math.max(0, totalsOf(receipts).returned - onRecord)
  return newReceipts.map((receipt) => {
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
