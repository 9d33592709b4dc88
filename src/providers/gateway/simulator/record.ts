import type { Place } from '../../../kernel/place.ts'
import { failureMessage } from '../../failure.ts'
import type { FailureCode } from '../../provider.ts'
import { publicKeyOf } from '../keys.ts'
import type { Card } from './cards.ts'
import { feeOfTransaction } from './fee-of-transaction.ts'
import { type Prompt, RIGHT_CODE } from './prompts.ts'

/** How a payment is found in the provider's books. */
export interface PaymentKey {
  place: Place
  id: number
}

export const CHANNELS = ['card', 'transfer', 'mobile-money', 'ussd', 'bank', 'qr'] as const
/** The provider's own words for the ways to pay. */
export type Channel = (typeof CHANNELS)[number]

/** A payment in the provider's books. */
export interface Payment extends PaymentKey {
  merchantUuid: string
  reference: string
  requestDigest: Buffer
  channel: Channel
  requested: number
  currency: string
  /** The amounts really taken and returned. A simulated fault may report others. */
  taken: number
  refunded: number
  merchantName: string
  returnURL: string
  pageToken: string | null
  /** Of a transfer, and of a number to pay to by mobile money: any amount, any number of times. */
  accountNumber: string | null
  /** For every channel but card and transfer. */
  prompt: Prompt | null
  decidesAt: Date | null
  offeredCard: SavedCard | null
  awaitingCode: AwaitingCode | null
  keptCard: SavedCard | null
  expiresAt: Date
  cancelledAt: Date | null
  /** The database's clock as the row was read. */
  readAt: Date
}

export interface SavedCard extends Card {
  token: string
}

/** A card that was entered and needs a code before it is charged. */
export interface AwaitingCode extends Card {
  save: boolean
}

/**
 * `dispute`: money lost by a dispute. `reinstatement`: the same money, given back when the dispute is won after all.
 */
export type TransactionKind = 'charge' | 'transfer' | 'refund' | 'dispute' | 'reinstatement'

export interface Transaction {
  id: number
  paymentId: number
  kind: TransactionKind
  status: 'paid' | 'failed'
  amount: number
  currency: string
  failureCode: FailureCode | null
  refundReference: string | null
  /** A refund that was made in the dashboard, not by a call to the API. */
  byHand: boolean
  settlesAt: Date | null
  at: Date
}

export type Status = 'pending' | 'processing' | 'paid' | 'failed' | 'refunded'

/** What the provider's API and its notices say of a payment at a time. */
export function recordOf(payment: Payment, transactions: Transaction[], baseUrl: string, asOf = payment.readAt) {
  const { reference, channel, requested, currency, refunded, keptCard, merchantUuid } = payment
  const seen = transactions.map((transaction) => transactionAsOf(transaction, asOf.getTime(), channel))
  const status = statusOf(payment, seen)
  const expiresAt = payment.expiresAt.toISOString()
  const isTaken = seen.some(({ kind, status }) => kind === 'charge' && status === 'paid')
  return {
    reference,
    channel,
    status,
    requested,
    amount: amountOf(seen),
    refunded,
    currency,
    ...meansOf(payment, `${baseUrl}/sandbox/gateway/pay/${payment.pageToken}`),
    publicKey: publicKeyOf(merchantUuid),
    expiresAt,
    transactions: seen,
    ...(keptCard && isTaken && { savedCard: withoutBehaviour(keptCard) }),
  }
}

/** What the customer pays with. `page`: where a tester acts for the customer. */
function meansOf({ id, channel, accountNumber: number, merchantName, expiresAt, prompt }: Payment, page: string) {
  switch (channel) {
    case 'card':
    case 'bank':
      return { link: page }
    case 'transfer':
      return { account: { name: merchantName, number, bank: 'Sandbox Bank', expiresAt: expiresAt.toISOString() } }
    case 'qr':
      return { page, qr: page }
    case 'ussd': {
      const message = `This is a sandbox: nothing is dialled. Answer for the customer at ${page}`
      return { page, dial: { code: `*402*000*${id}#`, bank: prompt?.bank, message } }
    }
    case 'mobile-money': {
      if (number !== null) return { page, payTo: { number: PAYBILL, account: number } }
      const message = `This is a sandbox: no phone rings. Answer for the customer at ${page}`
      const input = prompt?.code && { kind: prompt.code.kind, message: CODE_MESSAGES[prompt.code.kind] }
      return { page, prompt: { message }, ...(input && { input }) }
    }
  }
}

const PAYBILL = '402402'
const CODE_MESSAGES = {
  otp: `Enter the code that was sent to the phone. In the sandbox it is ${RIGHT_CODE}.`,
  voucher: `Dial *110# for a voucher code, and enter it. In the sandbox it is ${RIGHT_CODE}.`,
}

export type PaymentRecord = ReturnType<typeof recordOf>

/** The truth about the money, which the provider itself may still be silent about. */
export function ledgerOf(payment: Payment, transactions: Transaction[]) {
  const { reference, channel, requested, refunded, currency } = payment
  const all = transactions.map((transaction) => transactionAsOf(transaction, Number.POSITIVE_INFINITY, channel))
  const status = statusOf(payment, all)
  return { reference, channel, status, requested, amount: amountOf(all), refunded, currency, transactions: all }
}

/** Whether money was taken that the provider does not speak of yet. */
export function isSilent({ readAt }: Payment, transactions: Transaction[]): boolean {
  return transactions.some(({ settlesAt }) => settlesAt !== null && settlesAt > readAt)
}

export function transactionId({ id, kind }: Pick<Transaction, 'id' | 'kind'>): string {
  return `${kind === 'refund' ? 'grf' : 'gtx'}_${id}`
}

export function failureOf(code: FailureCode) {
  return { code, message: failureMessage(code) }
}

function transactionAsOf(transaction: Transaction, atMs: number, channel: Channel) {
  const { kind, amount, currency, at, failureCode, settlesAt } = transaction
  const status: 'paid' | 'failed' | 'processing' =
    settlesAt && settlesAt.getTime() > atMs ? 'processing' : transaction.status
  const isTaken = (kind === 'charge' || kind === 'transfer') && status === 'paid'
  return {
    id: transactionId(transaction),
    kind,
    status,
    amount,
    currency,
    at: at.toISOString(),
    ...(isTaken && { fee: feeOfTransaction(channel, currency, amount) }),
    ...(failureCode && { failure: failureOf(failureCode) }),
  }
}

type SeenTransaction = ReturnType<typeof transactionAsOf>

function amountOf(seen: SeenTransaction[]): number {
  return seen
    .filter(({ kind, status }) => (kind === 'charge' || kind === 'transfer') && status === 'paid')
    .reduce((sum, { amount }) => sum + amount, 0)
}

function statusOf({ accountNumber, requested, refunded, taken }: Payment, seen: SeenTransaction[]): Status {
  const amount = amountOf(seen)
  if (amount > 0 && refunded === taken) return 'refunded'
  if (accountNumber !== null) return amount >= requested ? 'paid' : 'pending'
  const charges = seen.filter(({ kind }) => kind === 'charge')
  if (charges.some(({ status }) => status === 'paid')) return 'paid'
  if (charges.some(({ status }) => status === 'processing')) return 'processing'
  return charges.at(-1)?.status === 'failed' ? 'failed' : 'pending'
}

function withoutBehaviour({ token, brand, last4, expiryMonth, expiryYear }: SavedCard) {
  return { token, brand, last4, expiryMonth, expiryYear }
}
