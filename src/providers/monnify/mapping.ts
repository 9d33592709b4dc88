import type { Channel } from '../../kernel/channel.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { failureOf } from '../failure.ts'
import {
  type Declined,
  type FailureCode,
  type Outcome,
  type Receipt,
  type RefundOrder,
  type RefundOutcome,
  unknown,
} from '../provider.ts'
import type { MonnifyRefund, MonnifyTransaction } from './wire.ts'

export const NAIRA = 'NGN' as Currency

/** What is known of an order beside what they say of it. */
export interface Asked {
  channel: Channel
  /** For receipts, when they do not tell the time. */
  otherwiseAt: Date
  /**
   * The customer has a page or an account number, so an open payment waits for the customer. Else Monnify is processing
   * it.
   */
  isWithCustomer: boolean
}

/** Translates the provider's answers into ours. Pure; README.md has the table. */
export function outcomeOf(transaction: MonnifyTransaction, { channel, otherwiseAt, isWithCustomer }: Asked): Outcome {
  if (transaction.currency !== NAIRA) return unknown('it answered with another currency')
  const receipts = receiptsOf(transaction, otherwiseAt)
  if (!receipts) return unknown('the transfers it names are not the money it names')
  const hasMoney = receipts.length > 0
  switch (transaction.status) {
    case 'PAID':
    case 'OVERPAID':
      if (!hasMoney) return unknown('it says paid, and names no money')
      return isWhole(transaction) ? paid(transaction, receipts) : { kind: 'pending', receipts }
    case 'REVERSED':
      // All of it was given back. The receipts say so, and a payment that was recorded as paid stays so.
      return hasMoney
        ? { kind: 'paid', receipts: receipts.map((receipt) => ({ ...receipt, returned: receipt.amount.amount })) }
        : { kind: 'declined', failure: failureOf('reversed', 'REVERSED'), tryId: null }
    case 'FAILED':
    case 'CANCELLED':
    case 'EXPIRED':
    case 'ABANDONED':
      if (!hasMoney) return ended(transaction.status, channel)
      // A part of the money arrived before the order expired. It counts.
      return isByTransfer(transaction) ? { kind: 'pending', receipts } : unknown('it says failed, and names money')
    default:
      // `PENDING`, `PARTIALLY_PAID`, and any word that they may add.
      return hasMoney || isWithCustomer ? { kind: 'pending', receipts } : { kind: 'processing' }
  }
}

/**
 * The money, one receipt for each time that it came; undefined when they contradict themselves.
 *
 * Transfers have no ids of their own, so each is called by the transaction, its amount, and how many of that amount
 * there are: `MNFY|…#200000.1`. Such an id is ours, so there is no `idIsProviders`. Transfers that arrive later, in any
 * order, do not change these ids. (A place in the list, or the payer's masked number, which they sometimes leave out,
 * would not do that.)
 */
export function receiptsOf(transaction: MonnifyTransaction, otherwiseAt: Date): Receipt[] | undefined {
  const { transactionReference, amountPaid, currency, paidOn } = transaction
  const at = paidOn ?? otherwiseAt
  const fee = feeOf(transaction)
  if (!isByTransfer(transaction)) {
    const amount = money(amountPaid, currency)
    return amountPaid > 0 ? [{ transactionId: transactionReference, idIsProviders: true, amount, at, ...fee }] : []
  }
  const transfers = transfersIn(transaction)
  if (!transfers || transfers.reduce((sum, amount) => sum + amount, 0) !== amountPaid) return undefined
  const seen = new Map<number, number>()
  return transfers.map((amount) => {
    const nth = (seen.get(amount) ?? 0) + 1
    seen.set(amount, nth)
    const receipt = { transactionId: `${transactionReference}#${amount}.${nth}`, amount: money(amount, currency), at }
    // They name one fee for all transfers of an order.
    return { ...receipt, ...(transfers.length === 1 && fee) }
  })
}

/** 0 is what they say before they know it. */
function feeOf({ status, amountPaid, settlementAmount: settled }: MonnifyTransaction): { fee?: number } {
  const isNamed = (status === 'PAID' || status === 'OVERPAID') && settled !== null && settled > 0
  return isNamed && settled <= amountPaid ? { fee: amountPaid - settled } : {}
}

/** The transaction that a receipt belongs to. */
export const transactionOf = (receiptId: string): string => receiptId.split('#', 1)[0] ?? ''

/**
 * All of it without a list is one transfer. A part of it without a list could be any number of them, with more to come.
 */
function transfersIn({ transfers, amountPaid, status }: MonnifyTransaction): number[] | undefined {
  const some = transfers.filter((amount) => amount > 0)
  if (some.length > 0 || amountPaid === 0) return some
  return status === 'PAID' || status === 'OVERPAID' ? [amountPaid] : undefined
}

/** Every method but a card may be paid in parts. */
const isByTransfer = ({ method }: MonnifyTransaction) => method !== 'CARD'

/** A card payment is always whole. Some contracts call a transfer paid that was less than was asked for. */
export const isWhole = (transaction: MonnifyTransaction) =>
  !isByTransfer(transaction) || transaction.amountPaid >= transaction.totalPayable

function paid({ card }: MonnifyTransaction, receipts: Receipt[]): Outcome {
  return { kind: 'paid', receipts, ...(card && { savedCard: card }) }
}

interface ChannelTerms {
  /** Without a page or an account number: a saved card. */
  isChargedAtOnce: boolean
  /** What an order ends with that brought nothing. They give no reasons. */
  ends: Record<'FAILED' | 'CANCELLED' | 'EXPIRED' | 'ABANDONED', FailureCode>
}

const ACCOUNT_ENDS: ChannelTerms['ends'] = {
  FAILED: 'provider_error',
  CANCELLED: 'customer_cancelled',
  EXPIRED: 'transfer_expired',
  ABANDONED: 'transfer_expired',
}
const OTHERS: ChannelTerms = { isChargedAtOnce: false, ends: ACCOUNT_ENDS }

const CHANNELS: Record<Channel, ChannelTerms> = {
  card: {
    isChargedAtOnce: true,
    ends: {
      FAILED: 'card_declined',
      CANCELLED: 'customer_cancelled',
      EXPIRED: 'customer_cancelled',
      ABANDONED: 'customer_cancelled',
    },
  },
  'virtual-bank-account': OTHERS,
  ussd: { ...OTHERS, ends: { ...ACCOUNT_ENDS, EXPIRED: 'prompt_expired', ABANDONED: 'prompt_expired' } },
  'mobile-money': OTHERS,
  bank: OTHERS,
  qr: OTHERS,
}

export const isChargedAtOnce = (channel: Channel): boolean => CHANNELS[channel].isChargedAtOnce

/** They number no tries. */
const ended = (status: keyof ChannelTerms['ends'], channel: Channel): Declined => ({
  kind: 'declined',
  failure: failureOf(CHANNELS[channel].ends[status], status),
  tryId: null,
})

/** Nothing was asked for, or the customer has got nothing to pay with. */
export const declined = (providerCode: string): Declined => ({
  kind: 'declined',
  failure: failureOf('provider_error', providerCode),
  tryId: null,
})

/** A refusal of the request itself. Nearly all of theirs have the code 99. */
export function refusalOf(code: string, what: 'start' | 'saved card', keysRefused = false): Declined {
  const failure = failureOf(what === 'start' ? 'provider_error' : 'card_declined', code)
  return { kind: 'declined', failure, tryId: null, ...(keysRefused && { keysRefused }) }
}

const REFUND_REFUSALS: Record<string, string> = {
  R1: 'Monnify does not know the transaction (R1)',
  R2: 'Monnify cannot refund this transaction (R2)',
  R3: 'more than was paid (R3)',
  R4: 'less than Monnify refunds (R4)',
  R5: 'the Monnify wallet holds too little (R5)',
  R6: 'Monnify cannot refund to this bank account; send the one of the customer (R6)',
  R8: 'a text was too long (R8)',
  R12: 'more than is left of what was paid (R12)',
}

/** Live refunds need Monnify's approval. */
export const REFUNDS_NOT_ENABLED =
  'Monnify has not enabled refunds for this account (403): ask Monnify for approval, or refund in its dashboard'

export const refundRefusalOf = (code: string): RefundOutcome => ({
  kind: 'refused',
  because: REFUND_REFUSALS[code] ?? `Monnify refused with the code ${code}`,
})

export function refundOutcomeOf(refund: MonnifyRefund, wanted: RefundOrder, transaction: string): RefundOutcome {
  if (refund.refundReference !== wanted.reference) return unknown('it answered about another refund')
  if (refund.transactionReference !== transaction) return unknown('it answered about the refund of another order')
  if (refund.refundAmount !== wanted.amount.amount) return unknown('it answered with another amount')
  switch (refund.refundStatus) {
    case 'COMPLETED':
      return { kind: 'refunded', refundId: refund.refundReference }
    case 'FAILED':
      return { kind: 'refused', because: 'Monnify could not give the money back' }
    default:
      return { kind: 'pending', refundId: refund.refundReference }
  }
}
