import { formatMoney } from '../../kernel/money.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'

/** A receipt that is not on record for an attempt yet. */
export interface NewReceipt extends Receipt {
  /** A person returned by hand what may be the same money: it is on record with other keys of the merchant. */
  isReturnedUnderOtherKeys?: true
}

export const WRONG_CURRENCY = 'amount_mismatch: money came in another currency.'
const RETURNED_UNDER_OTHER_KEYS =
  'reversed: equal money is on record with other keys, and was returned by hand. If those are of another account, this money is still there.'

/** Surplus that is not refunded automatically. */
export const SURPLUS_WITHOUT_IDS =
  'surplus: the provider has no ids for these transactions, so this may be money that is on record already. Return it if the provider’s dashboard has it twice.'

/** Whether the provider issued the ids of all money of the attempt, with these receipts. */
export function areIdsProviders({ amountReceived, idsAreProviders }: Attempt, receipts: Receipt[]): boolean {
  if (receipts.length === 0) return idsAreProviders
  return (amountReceived === 0 || idsAreProviders) && receipts.every(({ idIsProviders }) => idIsProviders)
}

/**
 * What is on record of an attempt and not in an answer that names new money by ids that an adapter made up. It may be the same money under
 * another id: two transfers, and then one of their sum.
 */
export function missingInAnswer(onRecord: string[], answered: Receipt[], newReceipts: Receipt[]): string[] {
  if (newReceipts.every(({ idIsProviders }) => idIsProviders)) return []
  const named = new Set(answered.map(({ transactionId }) => transactionId))
  return onRecord.filter((transactionId) => !named.has(transactionId))
}

export function contradictionOf(answered: Receipt[]): string {
  const amounts = answered.map(({ amount }) => formatMoney(amount)).join(', ')
  return `contradiction: the provider names ${amounts}, and not the transactions on record. Nothing was counted. Compare with its dashboard.`
}

/** The reason for a review of an answer with new money, or null. */
export function reviewReasonOf(
  { newReceipts, contradiction }: { newReceipts: NewReceipt[]; contradiction?: string | undefined },
  { currency, reviewed }: Attempt,
): string | null {
  if (contradiction && contradiction !== reviewed) return contradiction
  if (newReceipts.some(({ amount }) => amount.currency !== currency)) return WRONG_CURRENCY
  return newReceipts.some(({ isReturnedUnderOtherKeys }) => isReturnedUnderOtherKeys) ? RETURNED_UNDER_OTHER_KEYS : null
}

/** Whether the review is still needed after the attempt was successful. */
export function remainsAfterSuccess(needsReview: string | null): boolean {
  return needsReview === WRONG_CURRENCY || needsReview === RETURNED_UNDER_OTHER_KEYS
}
