import type { Currency, Money } from '../kernel/money.ts'
import type { Receipt, Unknown } from './provider.ts'

/** The port's lists of a whole account. For reconciliation. */

/** No list makes a call for each entry: what a list does not say, the caller asks for, order by order. */
export interface AccountLists {
  /** Only money: paid transactions, also when it was given back. */
  transactions?: ListReader<ListedTransaction>
  refunds?: ListReader<OfAccount<ListedRefund>>
  disputes?: ListReader<OfAccount<ListedDispute>>
  /** What the provider pays out to the bank account, by `madeAt`. Only what is ours: no account of a split partner. */
  settlements?: ListReader<ListedSettlement>
  /** Of one that `hasLines`. Page by page, and each line once. */
  settlementLines?(settlementId: string, cursor: string | null): Promise<ListAnswer<ListedSettlementLine>>
}

export type ListReader<Entry> = (range: TimeRange, cursor: string | null) => Promise<ListAnswer<Entry>>

/**
 * By the time when the provider made the transaction, the refund or the dispute. A transaction may be made when its
 * link is, so it may be paid days later. Every entry of the range is listed, and some that are shortly before or after
 * it: the caller widens the range, and compares the times where it matters.
 */
export interface TimeRange {
  from: Date
  to: Date
}

export type ListAnswer<Entry> =
  | {
      kind: 'page'
      entries: Entry[]
      nextCursor: string | null
      /** What entries name that are not valid: those of other shops may be of any kind. Of transactions, the order. */
      unreadable?: OfOrder[]
    }
  /** The provider has no such list for this kind of account, and why. */
  | { kind: 'unsupported'; because: string }
  | Unknown

/** The order that a listed refund or dispute is about. A provider names at least one of the two. */
export interface OfOrder {
  /** As in `Receipt`, or the provider's own reference of the order where it has no ids of transfers. */
  transactionId: string | null
  /** Our reference of the order, or the provider's own. */
  orderReference: string | null
}

/**
 * An entry of a list by account. `amount` may have the provider's fees in it, where the list of the order leaves them
 * out, and is null when the list does not name the currency: the order's own list is exact.
 */
export type OfAccount<Entry> = Omit<Entry, 'amount'> & OfOrder & { amount: Money | null }

/**
 * A successful transaction as the provider lists it. Without `returned` the list names no sum, unlike a check: nothing
 * went back, or `refunds` and `disputes` have it. With it, refunds that are under way count, as in a check.
 */
export interface ListedTransaction extends Receipt {
  /** Our reference of the order, or the provider's own; null when it names neither. */
  reference: string | null
  /** Money went back, or may have: the list does not say how much. */
  isReversed?: true
  /**
   * The list names an order that was paid, and not its transactions: `transactionId` is the provider's reference of the
   * order, `at` when it was made, and `amount` the least that was paid. Records with less of this order are a reason to
   * ask for it. `isReversed` means all of it.
   */
  isOfOrder?: true
  /** Of such an order: records with as much or more are a reason to ask for it, too. The list names no such sum. */
  askFrom?: number
}

/** A refund as the provider lists it: one of ours, or one that was made in its dashboard. */
export interface ListedRefund {
  refundId: string
  /** Our reference of the refund (`RefundOrder.reference`), when the provider repeats it; else null. */
  reference: string | null
  amount: Money
  status: 'pending' | 'successful' | 'failed'
  at: Date
  /** The dispute that this refund settles, when the provider says so: its money must not be counted twice. */
  disputeId?: string
  /** It is pending until the provider gets a bank account of the customer. */
  needsAccount?: true
}

/** A cardholder disputes a charge with their bank. `lost`: the money has gone back; `won`: it stays. */
export interface ListedDispute {
  disputeId: string
  amount: Money
  status: 'open' | 'won' | 'lost'
  reason: string | null
  /** When the merchant has to have answered it. */
  respondBy: Date | null
  openedAt: Date
}

/**
 * Amounts are in its currency, in minor units, and null where the provider does not name them. With all four
 * `gross - fees - deductions = net`; with lines, the sum of their `net`, less `deductions`, is `net`. The caller checks
 * both.
 */
export interface ListedSettlement {
  /** The provider's, unique within the account. */
  id: string
  currency: Currency
  /** `pending` also when it is held back; `failed` also when it was cancelled. A `paid` one may fail later. */
  status: 'pending' | 'paid' | 'failed'
  /** Why it failed or is held back, when the provider says so. */
  because: string | null
  madeAt: Date
  /** A day in the provider's country: 2026-05-31. */
  expectedOn: string | null
  paidAt: Date | null
  gross: number | null
  fees: number | null
  /** What was kept back and no line names: a sum of refunds, a chargeback, stamp duty. Lower than 0: it was added. */
  deductions: number | null
  /** What reaches the bank account. */
  net: number | null
  bankReference: string | null
  /** False: the provider does not say which payments it is for, or not yet. */
  hasLines: boolean
  /** An equation of the provider's own facts that does not hold, in words and with both numbers. Null: all hold. */
  difference: string | null
}

/** Signed: a payment is above 0, a refund, a lost dispute or a fee of its own below. `gross - fee = net`. */
export interface ListedSettlementLine extends OfOrder {
  /** The provider's id of the line, unique within the settlement; null where it has none. */
  id: string | null
  /** A dispute that was won again is a `dispute` above 0. */
  kind: 'payment' | 'refund' | 'dispute' | 'fee' | 'adjustment'
  gross: number
  /** Both null: the provider names neither. */
  fee: number | null
  net: number | null
  /** In `gross` and `fee` may be what the customer paid for the fee, which is in no `Receipt`. */
  hasFeeOnTop?: true
}

/** A settlement with all of its lines, as a signed notice names it. */
export interface NoticedSettlement {
  settlement: ListedSettlement
  lines: ListedSettlementLine[]
}
