import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import type { PaymentState } from './payment-state.ts'
import type { Refund } from './refund.ts'

// Transactions that the provider had reversed in part or in full (reversal, refund in its dashboard, lost dispute)
// before we first saw them.

/** The reversed amount of the transaction, at most its amount. */
export function reversedAmount({ amount, returned = 0 }: Receipt): number {
  return Math.min(Math.max(returned, 0), amount.amount)
}

/** Reversed in full before we first saw it. Such a transaction never counts towards a payment. */
export function isReversed(receipt: Receipt): boolean {
  return reversedAmount(receipt) > 0 && reversedAmount(receipt) === receipt.amount.amount
}

export interface Totals {
  received: number
  /** Of that: reversed. */
  returned: number
  /** Of that: transactions reversed in full. */
  reversed: number
}

export function totalsOf(receipts: Receipt[]): Totals {
  const add = (total: number, amount: number) => total + amount
  return {
    received: receipts.map(({ amount }) => amount.amount).reduce(add, 0),
    returned: receipts.map(reversedAmount).reduce(add, 0),
    reversed: receipts.filter(isReversed).map(reversedAmount).reduce(add, 0),
  }
}

/** Adds new money to the attempt, and the part of it that was reversed before we first saw it. */
export function withMoney(attempt: Attempt, { received, returned, reversed }: Totals, isPaid: boolean): Attempt {
  return {
    ...attempt,
    amountReceived: attempt.amountReceived + received,
    amountReturned: attempt.amountReturned + returned,
    amountReversed: attempt.amountReversed + reversed,
    // Surplus money never counts towards the payment, and neither do its refunds.
    amountRefunded: attempt.amountRefunded + (isPaid ? 0 : returned - reversed),
  }
}

/** Adds what the provider charged for new money. */
export function withFee(attempt: Attempt, receipts: Receipt[]): Attempt {
  const fees = receipts.flatMap(({ fee }) => fee ?? [])
  if (fees.length === 0) return attempt
  return { ...attempt, feeCharged: fees.reduce((sum, fee) => sum + fee, attempt.feeCharged ?? 0) }
}

/** Money that counts towards the payment, as long as no other attempt has paid it. */
export function countableAmount({ amountReceived, amountReversed }: Attempt): number {
  return amountReceived - amountReversed
}

/** Money that was received and not reversed. */
export function heldAmount({ amountReceived, amountReturned }: Attempt): number {
  return amountReceived - amountReturned
}

/**
 * Whether money of the charge went back that the merchant did not ask for: by the bank, at the provider, or by a
 * dispute. What comes in after that may make up for it.
 */
export function hasLostMoney(attempt: Attempt, refunds: Refund[]): boolean {
  const asked = refunds
    .filter(({ attemptId, kind, status }) => attemptId === attempt.id && kind === 'merchant' && status !== 'failed')
    .reduce((sum, { amount }) => sum + amount, 0)
  return heldAmount(attempt) + asked < attempt.amountCharged
}

/** Money that an attempt holds, and that is not due. */
export function beyondDue(state: MoneyOfPayment, attempt: Attempt): number {
  return Math.max(0, heldAmount(attempt) - (attempt.status === 'successful' ? dueOf(state, attempt) : 0))
}

type MoneyOfPayment = Pick<PaymentState, 'payment' | 'refunds'>

/** What the payment gives back is not due any more. Of an overpayment that counted, the excess goes first. */
function dueOf({ payment, refunds = [] }: MoneyOfPayment, { id, amountCharged, amountRefunded }: Attempt): number {
  const onTheWay = refunds
    .filter(({ attemptId, counted, status }) => attemptId === id && counted && status === 'pending')
    .reduce((sum, { amount }) => sum + amount, 0)
  const excess = payment.amountPaid - amountCharged
  return amountCharged - Math.max(0, amountRefunded + onTheWay - excess)
}

/** What is on record of a transaction of an order. */
export interface KnownShare {
  transactionId: string
  /** Of unmatched money. */
  returned: number
  /** It is money of a payment. */
  isAssigned: boolean
  isReturnedByHand: boolean
}

/**
 * For a provider that names one reversed sum for an order: the share of each of its transactions, by id. `receipts`:
 * all of the order, the oldest first. A share that is on record stays, because a person may have acted on it. Only what
 * is not on record is spread: first over what a person returned by hand, perhaps in the provider's dashboard, then over
 * the newest. If the sum is less than is on record, a refund failed, and no share is certain: each is less.
 * `byPayments`: what payments that have money of this order have refunded.
 */
export function sharesOf(receipts: Receipt[], known: KnownShare[], byPayments: number): Map<string, number> {
  const { returned } = totalsOf(receipts)
  const of = (id: string) => known.filter(({ transactionId }) => transactionId === id)
  const unmatched = receipts
    .filter(({ transactionId }) => !of(transactionId).some(({ isAssigned }) => isAssigned))
    .toReversed()
    .map(({ transactionId, amount }) => ({
      ...{ transactionId, amount: amount.amount },
      returned: Math.max(0, ...of(transactionId).map((each) => each.returned)),
      isReturnedByHand: of(transactionId).some((each) => each.isReturnedByHand),
    }))
  const onRecord = unmatched.reduce((sum, each) => sum + each.returned, 0)
  const failed = Math.max(0, onRecord - returned)
  let left = Math.max(0, returned - onRecord - byPayments)
  const shares = new Map<string, number>()
  for (const each of unmatched.toSorted((a, b) => Number(b.isReturnedByHand) - Number(a.isReturnedByHand))) {
    const part = Math.min(left, each.amount - each.returned)
    left -= part
    shares.set(each.transactionId, Math.max(0, each.returned + part - failed))
  }
  return shares
}

/**
 * A refund row to be written with the receipt: kind `provider`, successful, without the provider's refund id, which we
 * do not know. Reconciliation matches the provider's listed refunds and lost disputes with this row, so that they are
 * not counted again.
 */
export interface EarlyReversal {
  transactionId: string
  amount: number
  /** Whether it counts as refunded of the payment: only if its transaction counts as paid. */
  counted: boolean
}

export function earlyReversals(receipts: Receipt[], areCounted: boolean): EarlyReversal[] {
  return receipts
    .filter((receipt) => reversedAmount(receipt) > 0)
    .map((receipt) => ({
      transactionId: receipt.transactionId,
      amount: reversedAmount(receipt),
      counted: areCounted && !isReversed(receipt),
    }))
}
