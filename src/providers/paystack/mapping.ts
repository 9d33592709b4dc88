import type { Mode } from '../../kernel/mode.ts'
import type { Channel, NoticeReading, Order, Outcome, RefundOrder, RefundOutcome, Unknown } from '../provider.ts'
import { declineOf } from './failures.ts'
import {
  type PaystackNotice,
  type PaystackRefund,
  type PaystackTransaction,
  readDispute,
  readRefundNotice,
  readRejectedTransfer,
  readTransaction,
} from './wire.ts'

/** Their words into ours. Pure; README.md has the tables. */
export function outcomeOf(transaction: PaystackTransaction, channel: Channel): Outcome {
  switch (transaction.status) {
    case 'success':
      return paid(transaction)
    case 'reversed':
    case 'reversal-pending':
      // What was given back, wholly or in part, had been paid first. A transfer that was never taken has no such date.
      return transaction.paidAt ? paid(transaction) : unknown('it says reversed, and not when it was paid')
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

function paid({ id: transactionId, amount, at, card }: PaystackTransaction): Outcome {
  if (amount.amount === 0) return unknown('it says paid, and names no money')
  if (!at) return unknown('it says paid, and not when')
  return { kind: 'paid', receipts: [{ transactionId, amount, at }], ...(card && { savedCard: card }) }
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
    case 'refund.processed': {
      const told = readRefundNotice(data)
      if (!told || !isOfMode(told, mode)) return unreadable('a refund that is not of this mode, or not whole')
      const { id: refundId, reference, amount } = told
      // Without an id it could be taken for another one, and counted twice. Ours are asked for until they are done.
      const refund = refundId !== null && { refund: { refundId, reference: null, amount } }
      return { kind: 'notice', reference, says: 'refunded', receipts: [], ...refund }
    }
    case 'charge.dispute.resolve': {
      const dispute = readDispute(data)
      if (!dispute || !isOfMode(dispute, mode)) return unreadable('a dispute that is not of this mode, or not whole')
      const { id, reference, amount, resolution } = dispute
      if (!resolution?.endsWith('accepted')) return other(reference)
      const refund = { refundId: `dispute-${id}`, reference: null, amount }
      return { kind: 'notice', reference, says: 'charged_back', receipts: [], refund }
    }
    case 'charge.dispute.create':
    case 'charge.dispute.remind':
      return other(readDispute(data)?.reference ?? null)
    default:
      return other(readRefundNotice(data)?.reference ?? readTransaction(data)?.reference ?? null)
  }
}

function chargeReading(transaction: PaystackTransaction | undefined, mode: Mode): NoticeReading {
  if (!transaction || !isOfMode(transaction, mode)) return unreadable('a charge that is not of this mode, or not whole')
  const outcome = outcomeOf(transaction, 'card')
  const { reference } = transaction
  // Whoever acts on this asks first, so one that contradicts its own name does no harm.
  return outcome.kind === 'paid'
    ? { kind: 'notice', reference, says: 'paid', receipts: outcome.receipts }
    : { kind: 'notice', reference, says: 'pending', receipts: [] }
}

const other = (reference: string | null): NoticeReading => ({ kind: 'notice', reference, says: 'other', receipts: [] })

const LEAST_MS = 15 * 60_000
const MOST_MS = 8 * 60 * 60_000

/** They move what is nearer or farther without a word; so we ask for no such thing. */
export function accountExpiry(wanted: Date, now: Date): Date {
  const ahead = wanted.getTime() - now.getTime()
  return new Date(now.getTime() + Math.min(Math.max(ahead, LEAST_MS), MOST_MS))
}

export const unknown = (because: string): Unknown => ({ kind: 'unknown', because })
const unreadable = (because: string): NoticeReading => ({ kind: 'unreadable', because })
