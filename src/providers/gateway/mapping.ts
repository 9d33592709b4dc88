import type { Channel } from '../../kernel/channel.ts'
import { money } from '../../kernel/money.ts'
import { failureOf } from '../failure.ts'
import {
  type AccountStart,
  type Declined,
  FAILURE_CODES,
  type Failure,
  type FailureCode,
  type LinkStart,
  type ListedDispute,
  type ListedRefund,
  type ListedSettlement,
  type ListedSettlementLine,
  type ListedTransaction,
  type Order,
  type Outcome,
  type Receipt,
  type RefundOrder,
  type RefundOutcome,
  type ReversalsAnswer,
  type Start,
  type Started,
  type Unknown,
  unknown,
} from '../provider.ts'
import { spreadReversed } from '../spread-reversed.ts'
import type {
  GatewayDispute,
  GatewayError,
  GatewayListedRefund,
  GatewayRecord,
  GatewayRefund,
  GatewayReturns,
  GatewaySettlement,
  GatewaySettlementLine,
  GatewayTaken,
} from './wire.ts'

/** Translates the provider's answers into ours. Pure; README.md has the table. */
export function outcomeOf(record: GatewayRecord): Outcome {
  const receipts = receiptsOf(record)
  switch (record.status) {
    case 'paid':
      return receipts.length > 0 ? paid(record, receipts) : unknown('it says paid, and names no money')
    case 'refunded':
      // What was given back had been paid first; a transfer that was given back before it was whole never paid the
      // order.
      return isWhole(record, receipts) ? paid(record, receipts) : { kind: 'pending', receipts }
    case 'processing':
      return receipts.length > 0 ? { kind: 'pending', receipts } : { kind: 'processing' }
    case 'failed':
      return receipts.length > 0 ? unknown('it says failed, and names money') : lastFailure(record)
    default:
      return { kind: 'pending', receipts } // `pending`, and any word that they may add
  }
}

/** The record counts what was returned by payment, and a payment by transfer can have several transactions. */
export function receiptsOf(record: GatewayRecord): Receipt[] {
  const { transactions, refunded } = record
  const receipts = transactions
    .filter(({ kind, status }) => (kind === 'charge' || kind === 'transfer') && status === 'paid')
    .map(({ id, amount, currency, at, fee }) => ({
      transactionId: id,
      idIsProviders: true as const,
      amount: money(amount, currency),
      at,
      ...(fee !== null && { fee }),
    }))
  return spreadReversed(receipts, comesInParts(record) ? refunded - lostOf(transactions) : refunded)
}

/** What lost disputes took. A receipt of a transfer reports refunds only; reconciliation records lost disputes. */
function lostOf(transactions: GatewayRecord['transactions']): number {
  const sumOf = (wanted: string) =>
    transactions.filter(({ kind }) => kind === wanted).reduce((sum, { amount }) => sum + amount, 0)
  return sumOf('dispute') - sumOf('reinstatement')
}

export function reversalsOf({ refunds, disputes }: GatewayReturns): ReversalsAnswer {
  const listed = disputes.map(disputeOf)
  if (listed.includes(undefined)) return unknown('it lists a dispute with a status that we do not know')
  return { kind: 'reversals', refunds: refunds.map(refundOf), disputes: listed as ListedDispute[] }
}

export function refundOf({ id, reference, amount, currency, status, at, dispute }: GatewayListedRefund): ListedRefund {
  return {
    refundId: id,
    reference,
    amount: money(amount, currency),
    status: status === 'successful' || status === 'failed' ? status : 'pending',
    at,
    ...(dispute !== null && { disputeId: dispute }),
  }
}

export function disputeOf(dispute: GatewayDispute): ListedDispute | undefined {
  const { id, amount, currency, status, reason, respondBy, openedAt } = dispute
  if (status !== 'open' && status !== 'won' && status !== 'lost') return undefined
  return { disputeId: id, amount: money(amount, currency), status, reason, respondBy, openedAt }
}

/** Refunds and disputes are of a payment, not of one of its transactions. */
export const orderOf = ({ payment }: { payment: string | null }) => ({ transactionId: null, orderReference: payment })

export function takenOf({ id, reference, amount, currency, at, refunded }: GatewayTaken): ListedTransaction {
  const receipt = {
    transactionId: id,
    idIsProviders: true as const,
    amount: money(amount, currency),
    at,
    reference,
    returnedIsOfOrder: true as const,
  }
  return refunded > 0 ? { ...receipt, returned: refunded } : receipt
}

export function settlementOf(of: GatewaySettlement): ListedSettlement {
  const { status, day, madeAt, paidAt, bankReference } = of
  return {
    ...{ id: of.id, currency: of.currency, gross: of.gross, fees: of.fees, deductions: of.deductions, net: of.net },
    status: status === 'paid' || status === 'failed' ? status : 'pending',
    ...{ because: null, madeAt, expectedOn: day, paidAt, bankReference, hasLines: true, difference: null },
  }
}

const LINE_KINDS: Record<string, ListedSettlementLine['kind']> = {
  charge: 'payment',
  transfer: 'payment',
  refund: 'refund',
  dispute: 'dispute',
  reinstatement: 'dispute',
}

export function settlementLineOf({
  id,
  kind,
  reference,
  gross,
  fee,
  net,
}: GatewaySettlementLine): ListedSettlementLine {
  const ours = LINE_KINDS[kind] ?? 'adjustment'
  return { id, kind: ours, transactionId: ours === 'payment' ? id : null, orderReference: reference, gross, fee, net }
}

/** What the customer pays with. An order that was decided meanwhile has nothing left to pay with. */
export function startOf(record: GatewayRecord, channel: Channel): Start {
  switch (channel) {
    case 'card':
      return linkOf(record)
    case 'virtual-bank-account':
      return accountOf(record)
    case 'mobile-money':
    case 'ussd':
    case 'bank':
    case 'qr': {
      const outcome = outcomeOf(record)
      return outcome.kind === 'pending' ? meansOf(record, channel) : outcome
    }
  }
}

function meansOf(record: GatewayRecord, channel: Exclude<Channel, 'card' | 'virtual-bank-account'>): Started | Unknown {
  const { reference: providerReference, expiresAt, prompt, input, payTo, dial, qr } = record
  const started = { providerReference, expiresAt }
  switch (channel) {
    case 'mobile-money':
      if (payTo) return { kind: 'pay to', ...payTo, ...started }
      if (input) return { kind: 'code wanted', code: input.kind, message: input.message, ...started }
      return prompt ? { kind: 'prompt', ...prompt, ...started } : unknown('it gave no prompt')
    case 'ussd':
      if (!dial) return unknown('it gave no code to dial')
      return { kind: 'dial', code: dial.code, bankName: dial.bank, message: dial.message, ...started }
    case 'bank':
      return linkOf(record)
    case 'qr':
      return qr ? { kind: 'qr', text: qr, ...started } : unknown('it gave no QR code')
  }
}

function linkOf({ link, reference, publicKey, expiresAt }: GatewayRecord): LinkStart | Unknown {
  if (!link) return unknown('it gave no link')
  return { kind: 'link', link, providerReference: reference, publicKey, expiresAt, paidOnce: true }
}

function accountOf({ account, requested, reference, expiresAt }: GatewayRecord): AccountStart | Unknown {
  if (!account) return unknown('it gave no account')
  return {
    kind: 'account',
    accountName: account.name,
    accountNumber: account.number,
    bankName: account.bank,
    amountToTransfer: requested,
    expiresAt: account.expiresAt ?? expiresAt,
    providerReference: reference,
  }
}

/** A refusal of the request itself: they have done nothing. */
export function refusalOf({ code, message }: GatewayError): Declined {
  return { kind: 'declined', failure: failureFrom({ code, message }, 'provider_error'), tryId: null }
}

/** Why this record is not an answer about this order; undefined when it is. */
export function mismatch(record: GatewayRecord, order: Order): string | undefined {
  if (record.reference !== order.reference) return 'it answered about another order'
  if (record.currency !== order.amount.currency) return 'it answered with another currency'
  if (record.requested !== order.amount.amount) return 'it answered with another amount'
  return undefined
}

export function refundOutcomeOf(refund: GatewayRefund, wanted: RefundOrder): RefundOutcome {
  if (refund.reference !== wanted.reference) return unknown('it answered about another refund')
  if (refund.currency !== wanted.amount.currency || refund.amount !== wanted.amount.amount) {
    return unknown('it answered with another amount')
  }
  switch (refund.status) {
    case 'successful':
      return { kind: 'refunded', refundId: refund.id }
    case 'failed':
      return { kind: 'refused', because: 'the provider could not give the money back' }
    default:
      return { kind: 'pending', refundId: refund.id }
  }
}

function paid(record: GatewayRecord, receipts: Receipt[]): Outcome {
  return { kind: 'paid', receipts, ...(record.savedCard && { savedCard: record.savedCard }) }
}

/** A transfer may be of any amount, and others may follow. A charge is always whole. */
const comesInParts = ({ transactions }: GatewayRecord) => transactions.some(({ kind }) => kind === 'transfer')

export function isWhole(record: GatewayRecord, receipts: Receipt[]): boolean {
  const { requested } = record
  if (receipts.length === 0) return false
  return !comesInParts(record) || receipts.reduce((sum, { amount }) => sum + amount.amount, 0) >= requested
}

function lastFailure({ transactions }: GatewayRecord): Declined {
  const last = transactions.findLast(({ kind, status }) => kind !== 'refund' && status === 'failed')
  const error = last?.failure ?? { code: 'failed', message: null }
  return { kind: 'declined', failure: failureFrom(error, 'other'), tryId: last?.id ?? null }
}

/** Their codes are ours where ours has a word for it. */
function failureFrom({ code, message }: GatewayError, otherwise: FailureCode): Failure {
  const known = FAILURE_CODES.find((ours) => ours === code)
  const failure = failureOf(known ?? otherwise, code)
  return { ...failure, message: message ?? failure.message }
}
