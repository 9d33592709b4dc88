import { type MerchantId, timeOfUuid } from '../kernel/ids.ts'
import { formatMoney, type Money } from '../kernel/money.ts'
import { type Dispute, disputeChange } from '../payments/state/dispute.ts'
import { isOrderOf } from '../payments/state/new-attempt.ts'
import type { Refund } from '../payments/state/refund.ts'
import { reversedAmount } from '../payments/state/reversed-money.ts'
import type { MoneyOfAttempt, RecordedTransaction } from '../payments/store/provider-audit.ts'
import type { ListedDispute, ListedRefund, ListedTransaction, OfAccount } from '../providers/provider.ts'

/**
 * One entry of a provider's list beside our records.
 *
 * - equal: our records say the same
 * - foreign: it names nothing of ours. Other shops and other merchants may use the same account.
 * - differs: `finding` says how, in a sentence for a person
 * - unclear: the list does not say enough, so the order is asked for, and its own answer is booked
 */
export type Verdict =
  | { kind: 'equal' }
  | { kind: 'foreign' }
  | { kind: 'differs'; finding: string }
  | { kind: 'unclear'; finding: string }

const EQUAL: Verdict = { kind: 'equal' }
const FOREIGN: Verdict = { kind: 'foreign' }
const differs = (finding: string): Verdict => ({ kind: 'differs', finding })
const unclear = (finding: string): Verdict => ({ kind: 'unclear', finding })

/** What our records have about the order of an entry. */
export type Belongs =
  /** To an attempt, or to unmatched money. */
  | 'ours'
  /** Our reference, and no attempt: the database was restored from a backup, perhaps. */
  | 'lost'
  | 'foreign'

/**
 * `theirs.returned` and `ours.returned` are both of the whole attempt. `isWhole`: the list has all of its transactions,
 * so less than on record is a difference, too.
 */
export function compareTransaction(
  theirs: ListedTransaction,
  ours: RecordedTransaction | undefined,
  { belongs, returned, isWhole }: { belongs: Belongs; returned: number; isWhole: boolean },
): Verdict {
  const { amount } = theirs
  if (!ours) {
    if (belongs === 'foreign') return FOREIGN
    return differs(`the provider took ${formatMoney(amount)}, our records do not have it`)
  }
  const recorded = (of: number): Money => ({ amount: of, currency: ours.currency as Money['currency'] })
  const namesSum = theirs.returned !== undefined || theirs.returnedIsOfOrder
  if (ours.amount !== amount.amount || ours.currency !== amount.currency)
    return differs(`the provider took ${formatMoney(amount)}, our records have ${formatMoney(recorded(ours.amount))}`)
  // The provider may or may not have executed a pending refund, and may have made all that was returned by hand.
  const more = returned - ours.returned
  const isMore = more > ours.returning && (more < ours.byHand || more > ours.byHand + ours.returning)
  const isLess = namesSum && isWhole && returned < ours.returned
  if (isMore || isLess)
    return differs(
      `the provider gave back ${formatMoney(recorded(returned))}, our records have ${formatMoney(recorded(ours.returned))}`,
    )
  return theirs.isReversed && ours.returned + ours.returning + ours.byHand === 0 ? GONE : EQUAL
}

const GONE = unclear('money of it may have gone back at the provider, our records have nothing that did')

/**
 * For a list that names an order and the least that was paid of it, and no transactions. It may be wrong about that:
 * some contracts of Monnify call an order paid that is not. So other amounts are asked for.
 */
export function compareOrder(theirs: ListedTransaction, ours: MoneyOfAttempt): Verdict {
  const { amount, askFrom = Number.POSITIVE_INFINITY } = theirs
  const recorded = formatMoney({ amount: ours.received, currency: ours.currency as Money['currency'] })
  const finding = `the provider took ${formatMoney(amount)} or more, our records have ${recorded}`
  if (ours.currency !== amount.currency || ours.received === 0) return differs(finding)
  if (ours.received < amount.amount || ours.received >= askFrom) return unclear(finding)
  return theirs.isReversed && ours.returned < ours.received ? GONE : EQUAL
}

/**
 * `settles`: this refund is the money of a lost dispute that is on record. A pending refund that is not on record is
 * seen again when it is done, unless that takes a person, or too long. The amount of a list by account may have the
 * provider's fees in it, or be missing: the order's own list is exact. A new refund without an amount is asked for in
 * each run of its first two days.
 */
export function compareRefund(
  theirs: OfAccount<ListedRefund>,
  ours: Refund | undefined,
  { belongs, settles, now }: { belongs: Belongs; settles: boolean; now: Date },
): Verdict {
  if (belongs !== 'ours') return FOREIGN
  const amount = textOf(theirs.amount)
  if (!ours) {
    if (isStuck(theirs, now))
      return differs(`the provider began to refund ${amount}, has not finished it, and our records do not have it`)
    if (settles || theirs.status !== 'successful') return EQUAL
    return differs(`the provider refunded ${amount}, our records do not have it`)
  }
  // A refund that failed was tried again under the same reference.
  const isEarlierTry = theirs.status === 'failed' && ours.providerRefundId !== theirs.refundId
  const isSame = theirs.status === ours.status || theirs.status === 'pending'
  if (!isSame && !(isEarlierTry && ours.status === 'successful'))
    return differs(`the provider’s refund of ${amount} is ${theirs.status}, ours is ${ours.status}`)
  const isNew = ours.resolvedAt !== null && now.getTime() - ours.resolvedAt.getTime() < NEW_FOR_MS
  if (!theirs.amount && theirs.status === 'successful' && isNew)
    return unclear('the list does not name the amount of a new refund')
  const isOther = theirs.amount && (ours.amount !== theirs.amount.amount || ours.currency !== theirs.amount.currency)
  if (!isOther || theirs.status === 'failed') return EQUAL
  const recorded = formatMoney({ amount: ours.amount, currency: ours.currency as Money['currency'] })
  return unclear(`the provider has a refund of ${amount}, our records have ${recorded}`)
}

const NEW_FOR_MS = 2 * 24 * 3_600_000
/** Refunds to cards may take 15 working days. */
const PENDING_FOR_MS = 21 * 24 * 3_600_000

/** A pending refund that no provider finishes by itself any more. */
export function isStuck({ status, needsAccount, at }: Omit<ListedRefund, 'amount'>, now: Date): boolean {
  return status === 'pending' && (needsAccount === true || now.getTime() - at.getTime() > PENDING_FOR_MS)
}

export function compareDispute(theirs: OfAccount<ListedDispute>, ours: Dispute | undefined, belongs: Belongs): Verdict {
  if (belongs !== 'ours') return FOREIGN
  const amount = textOf(theirs.amount)
  if (!ours) return differs(`a dispute of ${amount} is ${theirs.status}, our records do not have it`)
  const known = { amount: ours.amount, currency: ours.currency as Money['currency'] }
  const change = disputeChange(ours, { ...theirs, amount: theirs.amount ?? known })
  if (change === null) return EQUAL
  return change === 'updated'
    ? unclear(`a dispute of ${amount} has changed`)
    : differs(`a dispute of ${amount} is ${theirs.status}, ours is ${ours.status}`)
}

const textOf = (amount: Money | null) => (amount ? formatMoney(amount) : 'an amount that the list does not name')

/** Whether it is the same transaction: ids are unique within one account, and a merchant may have several. */
export function isSame(ours: RecordedTransaction, theirs: ListedTransaction): boolean {
  if (ours.transactionId !== theirs.transactionId) return false
  if (theirs.reference === null || ours.orderReference === null) return true
  return theirs.reference === ours.orderReference || theirs.reference === ours.providerReference
}

/** What the provider gave back of the attempt's transactions on this page, and whether those are all of them. */
export function returnedOfAttempt(
  ours: RecordedTransaction,
  page: { ours: RecordedTransaction | undefined; theirs: ListedTransaction }[],
): { returned: number; isWhole: boolean } {
  const of = page.filter(
    (each) =>
      each.ours &&
      (ours.attemptId === null ? each.ours.receiptId === ours.receiptId : each.ours.attemptId === ours.attemptId),
  )
  const byReceipt = new Map(of.map(({ ours: recorded, theirs }) => [recorded?.receiptId, reversedAmount(theirs)]))
  const returned = [...byReceipt.values()].reduce((sum, amount) => sum + amount, 0)
  return { returned, isWhole: ours.attemptId === null || byReceipt.size >= ours.receiptsOfAttempt }
}

const FIRST_VERSION = Date.UTC(2025, 0, 1)
const DAY_MS = 24 * 3_600_000

/**
 * Our order references are UUIDs with a time (version 7), without dashes, and with a mark of the merchant. Those of
 * other shops are not.
 */
export function looksLikeOurs(reference: string, merchantId: MerchantId, now: Date): boolean {
  const match = /^([0-9a-f]{8})([0-9a-f]{4})7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.exec(reference)
  if (!match || !isOrderOf(reference, merchantId)) return false
  const madeAt = timeOfUuid(`${match[1]}-${match[2]}`).getTime()
  return madeAt >= FIRST_VERSION && madeAt <= now.getTime() + DAY_MS
}
