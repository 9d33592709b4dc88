import type { Channel } from '../../kernel/channel.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { NoticeReading, Order, Outcome, Receipt, RefundOrder, RefundOutcome, Unknown } from '../provider.ts'
import { toHundredths } from './amounts.ts'
import { declineOf } from './failures.ts'
import {
  type PaystackNotice,
  type PaystackRefund,
  type PaystackTransaction,
  readDisputeNotice,
  readRefundNotice,
  readRejectedTransfer,
  readTransaction,
} from './wire.ts'

/**
 * Their words into ours. Pure; README.md has the tables. `returned`: what the refunds and disputes of a reversed transaction add up to; the
 * transaction itself does not tell a part from the whole.
 */
export function outcomeOf(transaction: PaystackTransaction, channel: Channel, returned?: number): Outcome {
  switch (transaction.status) {
    case 'success':
      return paid(transaction)
    case 'reversed':
    case 'reversal-pending':
      // A transfer that was never taken has no such date.
      if (!transaction.paidAt) return unknown('it says reversed, and not when it was paid')
      return returned === undefined ? unknown('it says reversed, and not how much of it') : paid(transaction, returned)
    case 'failed':
    case 'timeout':
      return { kind: 'declined', failure: declineOf(transaction.response, channel), tryId: transaction.tries }
    case 'pending':
    case 'processing':
    case 'queued':
      // A bank is at work on the card. An account only waits for its transfer.
      return channel === 'card' ? { kind: 'processing' } : { kind: 'pending', receipts: [] }
    case 'abandoned': // also what a link is that nobody has opened yet
    case 'ongoing':
    case 'pending_bank_transfer':
    case 'send_pin':
    case 'send_otp':
    case 'send_phone':
    case 'send_birthday':
    case 'send_address':
    case 'open_url':
    case 'pay_offline':
      return { kind: 'pending', receipts: [] }
    default:
      // Not pending: that would let the customer try another way, while this one may be taking money.
      return unknown('it says a status that is new to us')
  }
}

export const isReversed = ({ status }: PaystackTransaction) => status === 'reversed' || status === 'reversal-pending'

function paid(transaction: PaystackTransaction, returned?: number): Outcome {
  const { amount, at, card } = transaction
  if (amount.amount === 0) return unknown('it says paid, and names no money')
  if (!at) return unknown('it says paid, and not when')
  return { kind: 'paid', receipts: [receiptOf(transaction, at, returned)], ...(card && { savedCard: card }) }
}

export function receiptOf({ id: transactionId, amount }: PaystackTransaction, at: Date, returned = 0): Receipt {
  return { transactionId, amount, at, ...(returned > 0 && { returned }) }
}

/** The answer to a charge has no `requested_amount`. When fees are passed on to the customer, `amount` contains them. */
export function withoutFees(transaction: PaystackTransaction, order: Order): PaystackTransaction {
  const { amount, feesInAmount } = transaction
  const isFeeOnTop =
    feesInAmount !== null &&
    amount.currency === order.amount.currency &&
    toHundredths(amount) - feesInAmount === toHundredths(order.amount)
  return isFeeOnTop ? { ...transaction, amount: order.amount } : transaction
}

const DOMAINS: Record<Mode, string> = { sandbox: 'test', live: 'live' }

/** One host, one set of paths for play money and real money: only this word tells them apart. */
export const isOfMode = ({ domain }: { domain: string }, mode: Mode) => domain === DOMAINS[mode]

/** Why this transaction is not an answer about this order; undefined when it is. */
export function mismatch(transaction: PaystackTransaction, mode: Mode, order: Order): string | undefined {
  if (transaction.reference !== order.reference) return 'it answered about another order'
  if (!isOfMode(transaction, mode)) return 'it answered in another mode'
  if (transaction.amount.currency !== order.amount.currency) return 'it answered with another currency'
  if (transaction.amount.amount !== order.amount.amount) return 'it answered with another amount'
  return undefined
}

export function refundOutcomeOf(
  refund: PaystackRefund,
  mode: Mode,
  wanted: RefundOrder,
  transactionId: string,
): RefundOutcome {
  if (refund.transactionId !== transactionId) return unknown('it answered about another payment')
  if (!isOfMode(refund, mode)) return unknown('it answered in another mode')
  const { amount, currency } = refund.amount
  if (currency !== wanted.amount.currency || amount !== wanted.amount.amount) {
    return unknown('it answered with another amount')
  }
  switch (refund.status) {
    case 'processed':
      return { kind: 'refunded', refundId: refund.id }
    case 'failed':
      return { kind: 'refused', because: 'the provider could not give the money back' }
    default:
      return { kind: 'pending', refundId: refund.id } // `needs-attention`, too: a person has to see to it
  }
}

export function readingOf({ event, data }: PaystackNotice, mode: Mode): NoticeReading {
  switch (event) {
    case 'charge.success':
      return chargeReading(readTransaction(data), mode)
    case 'bank.transfer.rejected': {
      const rejected = readRejectedTransfer(data)
      if (!rejected) return unreadable('a rejected transfer without a transaction')
      return { kind: 'notice', reference: null, says: 'failed', receipts: [], transactionId: rejected.transactionId }
    }
    case 'charge.dispute.create':
    case 'charge.dispute.remind':
    case 'charge.dispute.resolve':
      return returnReading('dispute', readDisputeNotice(data), mode)
    default:
      return event.startsWith('refund.')
        ? returnReading('refund', readRefundNotice(data), mode)
        : other(readRefundNotice(data)?.reference ?? readTransaction(data)?.reference ?? null)
  }
}

function returnReading(
  says: 'refund' | 'dispute',
  about: { reference: string; domain: string } | undefined,
  mode: Mode,
): NoticeReading {
  if (!about || !isOfMode(about, mode)) return unreadable(`a ${says} that is not of this mode, or names no transaction`)
  return { kind: 'notice', reference: about.reference, says, receipts: [] }
}

function chargeReading(transaction: PaystackTransaction | undefined, mode: Mode): NoticeReading {
  if (!transaction || !isOfMode(transaction, mode)) return unreadable('a charge that is not of this mode, or not whole')
  const { reference } = transaction
  // Written after the refund. The check lists what was given back.
  if (isReversed(transaction)) return { kind: 'notice', reference, says: 'refund', receipts: [] }
  const outcome = outcomeOf(transaction, 'card')
  // Whoever acts on this asks first, so one that contradicts its own name does no harm.
  return outcome.kind === 'paid'
    ? { kind: 'notice', reference, says: 'paid', receipts: outcome.receipts }
    : { kind: 'notice', reference, says: 'pending', receipts: [] }
}

const other = (reference: string | null): NoticeReading => ({ kind: 'notice', reference, says: 'other', receipts: [] })

const LEAST_MS = 15 * 60_000
const MOST_MS = 8 * 60 * 60_000

/**
 * Paystack silently changes a time outside these bounds. They are counted from `startedAt` and not from now, so that a repeat of the call
 * sends the same body.
 */
export function accountExpiry({ startedAt, expiresAt }: Order): Date {
  const ahead = expiresAt.getTime() - startedAt.getTime()
  return new Date(startedAt.getTime() + Math.min(Math.max(ahead, LEAST_MS), MOST_MS))
}

export const unknown = (because: string): Unknown => ({ kind: 'unknown', because })
const unreadable = (because: string): NoticeReading => ({ kind: 'unreadable', because })
