import type { Receipt } from './provider.ts'

/**
 * For a provider that refunds an order, not a transaction of it: spreads the reversed sum over the transactions of the
 * order. The newest are taken to have gone back first. `receipts`: the oldest first.
 */
export function spreadReversed<R extends Receipt>(receipts: R[], returned: number): R[] {
  let left = returned
  return receipts
    .toReversed()
    .map((receipt) => {
      const part = Math.min(left, receipt.amount.amount)
      left -= part
      return { ...receipt, ...(part > 0 && { returned: part }), returnedIsOfOrder: true as const }
    })
    .toReversed()
}
