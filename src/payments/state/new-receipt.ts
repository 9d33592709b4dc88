import type { AttemptId, PaymentId } from '../../kernel/ids.ts'
import { type Currency, formatMoney, type Money, money } from '../../kernel/money.ts'
import type { Outcome, Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import type { Case, CaseReason } from './case.ts'
import { heldAmount, isReversed, reversedAmount, sharesOf, totalsOf } from './reversed-money.ts'

/** A transaction that is on record, under any version of the merchant's keys. */
export interface RecordedReceipt {
  id: number
  transactionId: string
  keysVersion: number
  /** Null: unmatched. */
  attemptId: AttemptId | null
  paymentId: PaymentId | null
  amount: number
  currency: string
  /** By the provider. */
  returned: number
  /** A person returned this of unmatched money by hand. */
  returnedByHand: number | null
  /** Of unmatched money. */
  openCase: Case | null
}

/** A receipt that is not on record for an attempt yet. */
export interface NewReceipt extends Receipt {
  /** It is on record as unmatched, under this id. */
  unmatchedId?: number
  /** A person returned by hand what may be the same money: it is on record with other keys of the merchant. */
  isReturnedUnderOtherKeys?: true
}

const WRONG_CURRENCY = 'amount_mismatch: money came in another currency'
const RETURNED_UNDER_OTHER_KEYS =
  'reversed: equal money is on record with other keys, and was returned by hand. If those are of another account, this money is still there.'

/** What is on record about an answer's receipts. Read under the lock of the payment. */
export interface RecordedMoney {
  receipts: RecordedReceipt[]
  /**
   * Of an answer that names one reversed sum for an order: what the payments that have money of this order have
   * refunded.
   */
  returnedByPayments: number
}

export const isShareOfOrder = ({ returnedIsOfOrder }: Receipt) => returnedIsOfOrder === true

/** Whether the provider names one reversed sum for all of these receipts, so that each has a share of it. */
export const areSharesOfOrder = (receipts: Receipt[]) =>
  receipts.some(isShareOfOrder) && totalsOf(receipts).returned > 0

/**
 * The receipts of an answer that are not recorded for an attempt yet. What a person has returned by hand of unmatched
 * money is returned. Other keys of the merchant may be of the same account at the provider, or of another one with an
 * equal id: a record under them counts if it has the same amount, and a person is asked. Where the provider names one
 * sum for an order, `receipts` are all of that order, and each new one has its share.
 */
export function newReceiptsOf({ keysVersion }: Attempt, receipts: Receipt[], recorded: RecordedMoney): NewReceipt[] {
  const own = recorded.receipts.filter((each) => each.keysVersion === keysVersion)
  const assigned = new Set(own.filter(({ attemptId }) => attemptId !== null).map(({ transactionId }) => transactionId))
  // one that occurs twice counts once
  const all = [...new Map(receipts.map((receipt) => [receipt.transactionId, receipt])).values()]
  const shares = areSharesOfOrder(all) ? sharesOfOrder(all, recorded) : undefined
  const byHand = recorded.receipts.filter(
    ({ attemptId, returnedByHand }) => attemptId === null && returnedByHand !== null,
  )
  const mostReturned = (some: RecordedReceipt[]) =>
    some.reduce((most, each) => Math.max(most, Math.min(each.amount, each.returned + (each.returnedByHand ?? 0))), 0)
  return all
    .filter(({ transactionId }) => !assigned.has(transactionId))
    .map((receipt) => {
      const { returned: _, returnedIsOfOrder: __, ...alone } = receipt
      const { transactionId, amount } = receipt
      const unmatched = own.find((each) => each.transactionId === transactionId)
      const same = byHand.filter((each) => each.transactionId === transactionId && each.currency === amount.currency)
      const underOwn = mostReturned(same.filter((each) => each.keysVersion === keysVersion))
      const underOther = mostReturned(
        same.filter((each) => each.keysVersion !== keysVersion && each.amount === amount.amount),
      )
      const certain = Math.max(shares?.get(transactionId) ?? reversedAmount(receipt), Math.min(underOwn, amount.amount))
      const returned = Math.max(certain, underOther)
      return {
        ...alone,
        ...(unmatched && { unmatchedId: unmatched.id }),
        ...(returned > 0 && { returned }),
        ...(underOther > certain && { isReturnedUnderOtherKeys: true as const }),
      }
    })
}

/** The share of each transaction of an order that is not money of a payment. */
export function sharesOfOrder(receipts: Receipt[], money: RecordedMoney): Map<string, number> {
  const ids = new Set(receipts.map(({ transactionId }) => transactionId))
  const recorded = money.receipts.filter(({ transactionId }) => ids.has(transactionId))
  const taken = recorded.filter(({ attemptId }) => attemptId !== null).reduce((sum, { amount }) => sum + amount, 0)
  const known = recorded.map(({ transactionId, returned, attemptId, returnedByHand }) => ({
    transactionId,
    returned,
    isAssigned: attemptId !== null,
    isReturnedByHand: returnedByHand !== null,
  }))
  return sharesOf(receipts, known, Math.min(money.returnedByPayments, taken))
}

/** Surplus that is not refunded automatically. */
export const SURPLUS_WITHOUT_IDS =
  'surplus: the provider has no ids for all of these transactions, so this may be money that is on record already. Return it if the provider’s dashboard has it twice.'

export const AFTER_LOSS =
  'money of this payment went back, and this came in later: it may make up for it. Keep it and close this case, or give it back.'

/** Whether the provider issued the ids of all money of the attempt, with these receipts. */
export function areIdsProviders({ amountReceived, idsAreProviders }: Attempt, receipts: Receipt[]): boolean {
  if (receipts.length === 0) return idsAreProviders
  return (amountReceived === 0 || idsAreProviders) && receipts.every(({ idIsProviders }) => idIsProviders)
}

/** What is on record of an attempt, for the comparison with an answer. */
type OnRecord = { transactionId: string; amount: number; currency: string; isMatched: boolean }

/**
 * Why an answer of the provider contradicts the money on record: it lacks a transaction, or names another amount for
 * it. Money of another order, which a person matched with the payment, is in no answer about this one. The text names
 * amounts only, so that the same contradiction has the same text.
 */
export function contradictionOf(onRecord: OnRecord[], outcome: Outcome): string | undefined {
  if (outcome.kind === 'unknown' || outcome.kind === 'processing') return undefined
  const own = onRecord.filter(({ isMatched }) => !isMatched)
  const answered = 'receipts' in outcome ? outcome.receipts : []
  const isNamed = ({ transactionId, amount, currency }: OnRecord) =>
    answered.some(
      (each) =>
        each.transactionId === transactionId && each.amount.amount === amount && each.amount.currency === currency,
    )
  if (own.every(isNamed)) return undefined
  const recorded = namesOf(own.map(({ amount, currency }) => money(amount, currency as Currency)))
  if (outcome.kind === 'missing')
    return `missing_at_provider: ${recorded} ${DENIED} does not know the order any more. Compare with its dashboard.`
  const named = namesOf(answered.map(({ amount }) => amount)) || 'no money'
  return `contradiction: ${recorded} ${DENIED} now names ${named}. Nothing was changed. Compare with its dashboard.`
}

const DENIED = 'is on record, and the provider'

/** Each line of the case is about money on record that the provider did not name. */
export function isDenial({ reason, summary }: Case): boolean {
  return reason === 'missing_at_provider' || summary.split('\n').every((line) => line.includes(DENIED))
}

const namesOf = (amounts: Money[]) =>
  amounts
    .toSorted((a, b) => a.amount - b.amount)
    .map((amount) => formatMoney(amount))
    .join(' + ')

/**
 * The new receipts that pay the attempt, the oldest first, and those that came after it was paid. One link that is
 * charged twice before the first answer is the same as in two answers.
 */
export function splitSurplus(attempt: Attempt, receipts: NewReceipt[]): [NewReceipt[], NewReceipt[]] {
  let held = heldAmount(attempt)
  const needed: NewReceipt[] = []
  const surplus: NewReceipt[] = []
  for (const receipt of receipts.toSorted((a, b) => a.at.getTime() - b.at.getTime())) {
    const isHeld = receipt.amount.currency === attempt.currency && !isReversed(receipt)
    if (isHeld && held >= attempt.amountCharged) surplus.push(receipt)
    else needed.push(receipt)
    if (isHeld) held += receipt.amount.amount - reversedAmount(receipt)
  }
  return [needed, surplus]
}

/** The reason for a review of new money, or null. It names the transactions: the next ones are another fact. */
export function reviewReasonOf(newReceipts: NewReceipt[], { currency }: Attempt): string | null {
  const wrong = newReceipts.filter(({ amount }) => amount.currency !== currency)
  const names = wrong.map(({ amount, transactionId }) => `${formatMoney(amount)} (transaction ${transactionId})`)
  if (wrong.length > 0) return `${WRONG_CURRENCY}: ${names.join(', ')}.`
  return newReceipts.some(({ isReturnedUnderOtherKeys }) => isReturnedUnderOtherKeys) ? RETURNED_UNDER_OTHER_KEYS : null
}

const ANSWERED_BY_SUCCESS: ReadonlySet<CaseReason> = new Set(['unanswered', 'underpaid', 'review'])

/** A success answers an unknown outcome. Money in another currency, or perhaps returned by hand, still needs a person. */
export function isAnsweredBySuccess({ reason, summary }: Case): boolean {
  const remains = [WRONG_CURRENCY, RETURNED_UNDER_OTHER_KEYS].some((why) => summary.includes(why))
  return ANSWERED_BY_SUCCESS.has(reason) && !remains
}
