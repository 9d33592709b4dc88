import type { Channel } from '../../kernel/channel.ts'
import { type Money, money } from '../../kernel/money.ts'
import type {
  ListedRefund,
  NoticeReading,
  Order,
  Outcome,
  Receipt,
  RefundOrder,
  RefundOutcome,
  Unknown,
} from '../provider.ts'
import { failedTry } from './failures.ts'
import type { NoticeBody, Refund, Transaction } from './wire.ts'

export type State = 'successful' | 'reversed' | 'pending' | 'failed' | 'cancelled' | 'new to us'

const STATES = new Map<string, State>([
  ['successful', 'successful'],
  ['reversed', 'reversed'],
  ['refunded', 'reversed'],
  ['pending', 'pending'],
  ['pending auth', 'pending'],
  ['success-pending-validation', 'pending'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
])

export const stateOf = ({ status }: Transaction): State => STATES.get(status) ?? 'new to us'

/** Money was taken; of a reversed one it went back. */
export function isPaid(transaction: Transaction): boolean {
  const state = stateOf(transaction)
  return state === 'successful' || state === 'reversed'
}

/** What went back of transactions, by their ids, in minor units. */
export type Returned = ReadonlyMap<string, number>

/**
 * Every try at an order, as one outcome. Money comes first: a try that failed before or after it says nothing. Then whatever may yet become
 * money; only when each of them has failed is the order declined, by the last.
 */
export function outcomeOf(
  tries: Transaction[],
  asked: { channel: Channel; amount?: Money | undefined },
  returned: Returned = new Map(),
): Outcome {
  const inOrder = tries.toSorted((a, b) => a.at.getTime() - b.at.getTime() || Number(a.id) - Number(b.id))
  const paid = inOrder.filter(isPaid)
  if (paid.length > 0) {
    const receipts = paid.map((one) => receiptOf(one, returned.get(one.id)))
    return isShort(paid, asked) ? { kind: 'pending', receipts } : paidBy(paid, receipts)
  }
  if (inOrder.some((one) => stateOf(one) === 'new to us')) return unknown('it says a status that is new to us')
  const open = inOrder.filter((one) => stateOf(one) === 'pending')
  if (open.length > 0) return waiting(open)
  const last = inOrder.at(-1)
  if (!last) return { kind: 'pending', receipts: [] }
  return failedTry(last.id, last.reason, stateOf(last) === 'cancelled')
}

/** A charge that asks nobody for anything is theirs to finish; else the customer is at it. */
function waiting(open: Transaction[]): Outcome {
  const nobodyIsAsked = open.every(({ authModel }) => authModel?.toLowerCase() === 'noauth')
  return nobodyIsAsked ? { kind: 'processing' } : { kind: 'pending', receipts: [] }
}

/** A card pays at once, whatever the amount; what comes into an account may be less than was asked for. */
function isShort(paid: Transaction[], { channel, amount }: { channel: Channel; amount?: Money | undefined }): boolean {
  if (channel === 'card') return false
  const total = paid.reduce((sum, one) => sum + received(one), 0)
  const wanted = amount?.amount ?? Math.max(...paid.map((one) => one.amount))
  return total < wanted
}

function paidBy(paid: Transaction[], receipts: Receipt[]): Outcome {
  const card = paid.findLast((one) => one.card)?.card
  return { kind: 'paid', receipts, ...(card && { savedCard: card }) }
}

/**
 * What is there for the order: a fee that the customer bears on top is not. Which of the two figures shows a transfer that was too small is
 * not documented, so the smaller one counts.
 */
const received = ({ amount, charged }: Transaction) => Math.min(amount, charged)

/** `refunded`: what the lists of refunds and chargebacks say. A reversed transaction without any went back as a whole. */
export function receiptOf(transaction: Transaction, refunded = 0): Receipt {
  const { id: transactionId, currency, at } = transaction
  const amount = received(transaction)
  const isWhole = refunded === 0 && stateOf(transaction) === 'reversed'
  const returned = isWhole ? amount : Math.min(refunded, amount)
  return { transactionId, amount: money(amount, currency), at, ...(returned > 0 && { returned }) }
}

/** Why this is not an answer about this order; undefined when it is. */
export function mismatch({ reference, currency, amount }: Transaction, order: Order): string | undefined {
  if (reference !== order.reference) return 'it answered about another order'
  if (currency !== order.amount.currency) return 'it answered with another currency'
  return amount === order.amount.amount ? undefined : 'it answered with another amount'
}

export function readingOf({ about: subject, reference, transactionId, data }: NoticeBody): NoticeReading {
  const about = { kind: 'notice' as const, reference, ...(!reference && transactionId && { transactionId }) }
  if (subject === 'refund' || subject === 'dispute') {
    const isNamed = reference !== null || transactionId !== null
    return isNamed
      ? { ...about, says: subject, receipts: [] }
      : { kind: 'unreadable', because: `a ${subject} that names no transaction` }
  }
  if (subject === 'something else') return { ...about, says: 'other', receipts: [] }
  // Without its money, or without our reference, it is still a reason to check the order.
  if (!data || !reference) {
    return reference || transactionId
      ? { ...about, says: 'other', receipts: [] }
      : { kind: 'unreadable', because: 'a charge that names neither order nor transaction' }
  }
  switch (stateOf(data)) {
    case 'successful':
      // Part of the money is not paid. Whoever acts on this asks first.
      return { ...about, says: data.charged < data.amount ? 'pending' : 'paid', receipts: [receiptOf(data)] }
    case 'reversed':
      return { ...about, says: 'refund', receipts: [] }
    case 'failed':
    case 'cancelled':
      // The event is called completed all the same, and the page stays open for the next try.
      return { ...about, says: 'failed', receipts: [] }
    case 'pending':
      return { ...about, says: 'pending', receipts: [] }
    default:
      return { ...about, says: 'other', receipts: [] }
  }
}

export function refundOutcomeOf(refund: Refund, wanted: RefundOrder): RefundOutcome {
  if (refund.amount !== wanted.amount.amount) return unknown('it answered with another amount')
  switch (refundStatusOf(refund)) {
    case 'successful':
      return { kind: 'refunded', refundId: refund.id }
    case 'failed':
      return { kind: 'refused', because: 'the provider could not give the money back' }
    case 'pending':
      return { kind: 'pending', refundId: refund.id }
  }
}

/** `completed`, and `completed-mpgs` or the like for the way that it went. */
export function refundStatusOf({ status }: { status: string }): ListedRefund['status'] {
  if (/^(completed|successful)/.test(status)) return 'successful'
  return status === 'failed' ? 'failed' : 'pending'
}

/** Why they refuse a refund, in our own words; undefined when an earlier try of ours may be the reason. */
export function refundRefusal(message: string | null): string | undefined {
  const text = message ?? ''
  if (/already|duplicate/i.test(text)) return undefined
  if (/balance|insufficient/i.test(text)) return 'the balance at the provider is too small'
  if (/greater|exceed|more than|amount/i.test(text)) return 'more than is left of the payment'
  return 'the provider refused the refund'
}

const CLOCKS_DIFFER_BY_MS = 5 * 60_000

/**
 * The refund that was made under our reference, among those of its transaction. `maybe`: one that could be ours and does not say. A refund
 * whose id belongs to another refund in our books, or that was made before ours was put on record, is not.
 */
export function findOurs(
  refunds: Refund[],
  { reference, amount, otherRefundIds = [], recordedAt }: RefundOrder,
): Refund | 'maybe' | undefined {
  const ours = refunds.find(({ comment }) => comment?.includes(reference))
  if (ours) return ours
  const isEarlier = ({ at }: Refund) =>
    at !== null && recordedAt !== undefined && at.getTime() < recordedAt.getTime() - CLOCKS_DIFFER_BY_MS
  const isUnclaimed = (refund: Refund) =>
    !refund.comment && !otherRefundIds.includes(refund.id) && !isEarlier(refund) && refund.amount === amount.amount
  return refunds.some(isUnclaimed) ? 'maybe' : undefined
}

export const unknown = (because: string): Unknown => ({ kind: 'unknown', because })
