import type { Receipt } from '../../providers/provider.ts'

/** A receipt that is not on record for an attempt yet. */
export interface NewReceipt extends Receipt {
  /** A person returned by hand what may be the same money: it is on record with other keys of the merchant. */
  isReturnedUnderOtherKeys?: true
}

export const WRONG_CURRENCY = 'amount_mismatch: money came in another currency.'
const RETURNED_UNDER_OTHER_KEYS =
  'reversed: equal money is on record with other keys, and was returned by hand. If those are of another account, this money is still there.'

/** The reason for a review of new money, or null. */
export function reviewReasonOf(receipts: NewReceipt[], currency: string): string | null {
  if (receipts.some(({ amount }) => amount.currency !== currency)) return WRONG_CURRENCY
  return receipts.some(({ isReturnedUnderOtherKeys }) => isReturnedUnderOtherKeys) ? RETURNED_UNDER_OTHER_KEYS : null
}

/** Whether the review is still needed after the attempt was successful. */
export function remainsAfterSuccess(needsReview: string | null): boolean {
  return needsReview === WRONG_CURRENCY || needsReview === RETURNED_UNDER_OTHER_KEYS
}
