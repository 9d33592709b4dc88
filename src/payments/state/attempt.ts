import type { Channel } from '../../kernel/channel.ts'
import type { AttemptId, MerchantId, PaymentId, SavedCardId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Failure, OrderHandle } from '../../providers/provider.ts'

/** One try at paying a payment, through one provider and channel. */
export interface Attempt {
  id: AttemptId
  paymentId: PaymentId
  merchantId: MerchantId
  mode: Mode
  number: number
  /** For the merchant: the payment's reference with something added. */
  reference: string
  provider: string
  /** The version of the provider's keys that it was started with: checks, notices and refunds use the same. */
  account: number
  channel: Channel
  status: AttemptStatus
  currency: Currency
  /** What the customer is to pay: the price, and the charge when they bear it. */
  amountCharged: number
  fee: number
  /** Every unit that arrived for it in its currency, wanted or not. */
  amountReceived: number
  /** Of that: promised back or gone, for whatever reason. */
  amountReturned: number
  /** Of that: gone, and counted in the payment's `amountRefunded`. */
  amountRefunded: number
  /** Of `amountReturned`: given back in full before we first saw it, so it never counted towards the payment. */
  amountReversed: number
  /** For the provider: made from the id and on disk before the first call. */
  orderReference: string
  providerReference: string
  /** The customer agreed that the card be kept. */
  saveCard: boolean
  /** A saved card is charged without a page of anybody's. */
  chargedAtOnce: boolean
  /** The provider has shown, in an answer or a notice, that it knows the order. */
  knownToProvider: boolean
  failure: Failure | null
  /** Which try on the provider's page that failure was. */
  failedTryId: string | null
  instructions: Instructions | null
  instructionsExpireAt: Date | null
  /** A signed notice said "paid" while the provider's own answer did not: nobody decides until they agree. */
  noticeSaidPaid: boolean
  /** Why a person has to look at it; null when nobody has to. */
  needsReview: string | null
  createdAt: Date
  /** When its provider was first asked for it: after the customer's yes, where one is needed. */
  askedAt: Date
  resolvedAt: Date | null
  checks: CheckSchedule
}

/** When we ask the provider by ourselves, since notices get lost. */
export interface CheckSchedule {
  since: Date
  count: number
  missingInARow: number
  nextAt: Date | null
  /** The last return of the customer or notice; null when there was none. */
  lastActivityAt: Date | null
}

/**
 * - pending: instructions are out, it is the customer's turn
 * - processing: the provider is at it, or did not answer; money may have moved
 * - abandoned: the payment ended another way first
 * - surplus: it was paid too, after the payment had been
 */
export type AttemptStatus = 'pending' | 'processing' | 'successful' | 'failed' | 'abandoned' | 'surplus'

export const ATTEMPT_STATUSES: readonly AttemptStatus[] = [
  'pending',
  'processing',
  'successful',
  'failed',
  'abandoned',
  'surplus',
]

/** What the customer needs to pay. */
export type Instructions =
  /** A page of the provider's that takes a card. `savedCard`: the one that it offers. */
  | { kind: 'link'; link: string; publicKey: string; savedCard?: SavedCardId }
  /** A page of ours that asks for the customer's yes to charge this saved card. Nobody has been asked anything yet. */
  | { kind: 'confirm'; link: string; publicKey: string; savedCard: SavedCardId }
  /** What the bank wants before it charges this saved card: a PIN, a code. */
  | { kind: 'step'; link: string; savedCard: SavedCardId }
  | { kind: 'account'; accountName: string; accountNumber: string; bankName: string; amountToTransfer: number }

/** The attempt as its provider knows it. */
export function handleOf(attempt: Attempt): OrderHandle {
  const { orderReference: reference, providerReference, channel, askedAt: startedAt } = attempt
  const amount = money(attempt.amountCharged, attempt.currency)
  return { reference, providerReference, channel, startedAt, amount }
}

/**
 * The provider did not answer the start. No link, account number or saved-card charge has left us, and the provider has never shown
 * that it knows the order, so nobody can have paid it.
 */
export function isUnstarted(attempt: Attempt): boolean {
  const { status, instructions, chargedAtOnce, noticeSaidPaid, knownToProvider } = attempt
  return status === 'processing' && instructions === null && !chargedAtOnce && !noticeSaidPaid && !knownToProvider
}

export const MAX_ATTEMPTS = 20

// Another try with the same card, or a moment later, may go well.
const FINAL_FAILURES = new Set([
  'card_expired',
  'card_not_supported',
  'suspected_fraud',
  'invalid_token',
  'amount_mismatch',
])

/** Whether the same method may work the next time. */
export function isRetryable(failure: Failure): boolean {
  return !FINAL_FAILURES.has(failure.code)
}
