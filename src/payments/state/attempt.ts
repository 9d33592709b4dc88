import { CHANNEL_FACTS, type Channel } from '../../kernel/channel.ts'
import type { AttemptId, MerchantId, PaymentId, SavedCardId } from '../../kernel/ids.ts'
import { PAID_FROM_MENU } from '../../kernel/mobile-networks.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { Place } from '../../kernel/place.ts'
import type { Language } from '../../merchants/brand.ts'
import type {
  ChannelInput,
  CodeWanted,
  DialStart,
  Failure,
  OrderHandle,
  PayToStart,
  PromptStart,
  QrStart,
} from '../../providers/provider.ts'
import type { AttemptStatus } from './statuses.ts'

export { ATTEMPT_STATUSES, type AttemptStatus } from './statuses.ts'

/**
 * One attempt to pay a payment, through one provider and channel. Its statuses and transitions: see payment-state.ts.
 */
export interface Attempt {
  id: AttemptId
  place: Place
  paymentId: PaymentId
  merchantId: MerchantId
  mode: Mode
  number: number
  /** Shown to the merchant: the payment's reference with a suffix. */
  reference: string
  provider: string
  /** Version of the provider keys at the start. Checks, notices and refunds use the same version. */
  keysVersion: number
  channel: Channel
  /** What the customer gave for the channel; without codes. Personal data. */
  input: StoredInput | null
  status: AttemptStatus
  currency: Currency
  /** The amount for the customer: the price, plus the fee if the customer bears it. */
  amountCharged: number
  fee: number
  /** What the provider really charged for the money; null while it has not said so. */
  feeCharged: number | null
  /** All money received in the attempt's currency, including surplus. */
  amountReceived: number
  /** Of that: refunded, pending refund, charged back or reversed. */
  amountReturned: number
  /** Of that: refunded and counted in the payment's `amountRefunded`. */
  amountRefunded: number
  /**
   * Of `amountReturned`: transactions reversed in full before we first saw them. They never counted towards the
   * payment.
   */
  amountReversed: number
  /** The provider issued the ids of all its transactions. False before the first one. */
  idsAreProviders: boolean
  /** Our reference at the provider. Derived from the id and stored before the first call. */
  orderReference: string
  providerReference: string
  /** The customer agreed to save the card. */
  saveCard: boolean
  /** A saved card is charged directly, without a page. */
  chargedAtOnce: boolean
  /** Idempotency key of the form that started it, or confirmed the charge of its saved card. */
  pageKey: string | null
  /** Of the page that it was started on, for the receipt. */
  language: Language | null
  /** Started on a page that was opened by client-id and reference alone, which are public. */
  byReference: boolean
  /** An answer or notice of the provider has proved that it knows the order. */
  knownToProvider: boolean
  failure: Failure | null
  /** The provider's id of the failed try. A customer can try several times on one provider page. */
  failedTryId: string | null
  instructions: Instructions | null
  instructionsExpireAt: Date | null
  /** A signed notice said "paid", and the check has not confirmed it yet. The attempt cannot fail until they agree. */
  noticeSaidPaid: boolean
  createdAt: Date
  /** When the provider was first called; after the confirmation, if one is needed. */
  askedAt: Date
  resolvedAt: Date | null
  /** The last clear answer of the provider: paid, not paid, declined or missing. Silence and refusals are none. */
  answeredAt: Date | null
  checks: CheckSchedule
}

/** The state of the check schedule: see check-schedule.ts. */
export interface CheckSchedule {
  since: Date
  count: number
  missingInARow: number
  nextAt: Date | null
  /** The last return of the customer, or the last notice. */
  lastActivityAt: Date | null
}

/** How the customer pays. */
export type Instructions =
  /** The provider's card page. `paidOnce`: it takes no second payment. `savedCard`: the saved card that it offers. */
  | { kind: 'link'; link: string; publicKey: string; paidOnce?: true; savedCard?: SavedCardId }
  /** The checkout page asks the customer to confirm the charge of this saved card. The provider was not called yet. */
  | { kind: 'confirm'; link: string; publicKey: string; savedCard: SavedCardId }
  /** The bank requires a PIN or a code before it charges this saved card. */
  | { kind: 'step'; link: string; savedCard: SavedCardId }
  | AccountInstructions
  /**
   * As the provider answered: see `Started`. `isUnsure`: its answer was lost, and the phone may ask or not. A code is
   * on its way until the provider has taken or refused it.
   */
  | (Given<PromptStart> & { isUnsure?: true })
  | Given<PayToStart>
  | (Given<CodeWanted> & { codesGiven?: number; isCodeOnItsWay?: true })
  | Given<DialStart>
  | Given<QrStart>

export interface AccountInstructions {
  kind: 'account'
  accountName: string
  accountNumber: string
  bankName: string
  amountToTransfer: number
  narration?: string
}

type Given<Start> = Omit<Start, 'providerReference' | 'expiresAt'>
export type StoredInput = Omit<ChannelInput, 'preAuthorisationCode'>

/** Money comes in parts that add up; else in one piece, and the amount is final. */
export function comesInParts({ channel, instructions }: Attempt): boolean {
  return CHANNEL_FACTS[channel].money === 'in parts' || instructions?.kind === 'pay to'
}

/** Without `paidOnce`. */
export function payableAgain(instructions: Instructions | null): Instructions | null {
  if (instructions?.kind !== 'link') return instructions
  const { paidOnce, ...link } = instructions
  return link
}

export function handleOf(attempt: Attempt): OrderHandle {
  const { orderReference: reference, providerReference, channel, askedAt: startedAt } = attempt
  const amount = money(attempt.amountCharged, attempt.currency)
  const { instructions } = attempt
  const startedAs = instructions && instructions.kind !== 'confirm' && instructions.kind !== 'step' && instructions.kind
  const personalId = instructions?.kind === 'prompt' && instructions.personalId
  return {
    ...{ reference, providerReference, channel, startedAt, amount },
    ...(startedAs && { startedAs }),
    ...(personalId && { personalId }),
  }
}

export function isOpen({ status }: Attempt): boolean {
  return status === 'pending' || status === 'processing'
}

/**
 * The provider did not answer the start, no instructions were handed out, no card was charged, and the provider does
 * not know the order. Such an attempt cannot be paid, unless a phone may ask for it.
 */
export function isUnstarted(attempt: Attempt): boolean {
  const { status, instructions, chargedAtOnce, noticeSaidPaid, knownToProvider } = attempt
  if (phoneMayAsk(attempt)) return false
  return status === 'processing' && instructions === null && !chargedAtOnce && !noticeSaidPaid && !knownToProvider
}

/** The phone may ask the customer although the answer to the start was lost. The number may have been erased since. */
export function phoneMayAsk({ channel, input }: Pick<Attempt, 'channel' | 'input'>): boolean {
  const { phoneNumber, network } = input ?? {}
  const asks = phoneNumber !== undefined || (network !== undefined && !PAID_FROM_MENU.has(network))
  return CHANNEL_FACTS[channel].asksByItself && asks
}

/**
 * It awaits the customer's confirmation of a saved card, so its provider was not called. After the database was
 * restored to a time before the confirmation, a signed notice may prove otherwise: then it is checked.
 */
export function isUnasked({ status, instructions, noticeSaidPaid }: Attempt): boolean {
  return instructions?.kind === 'confirm' && status !== 'processing' && !noticeSaidPaid
}

/** The code of the failure of an attempt that a person ended. Only money changes it. */
export const ENDED_BY_PERSON = 'ended_by_person'

export const MAX_ATTEMPTS = 20
/** Codes that one attempt takes. A stranger with the link of a payment must not guess without limit. */
export const MAX_CODES = 5
/**
 * A page that was opened by client-id and reference alone starts an attempt only while the payment has had fewer than
 * this. Both are public: a stranger cannot use up the attempts of the customer's link and of the merchant.
 */
export const MAX_ATTEMPTS_BY_REFERENCE = 10

// Answered as `failure.retryable: false`. All other failures may succeed with the same method later. Which button the
// payment page shows first is another question: OTHER_METHOD_FIRST in http/checkout/views.ts.
const FINAL_FAILURES = new Set([
  'card_expired',
  'card_not_supported',
  'suspected_fraud',
  'invalid_token',
  'amount_mismatch',
])

export function isRetryable(failure: Failure): boolean {
  return !FINAL_FAILURES.has(failure.code)
}

/** The provider did not take the order, whoever pays. Any other failure is of the customer's card, phone or account. */
export function isOfProvider({ code }: Failure): boolean {
  return code === 'provider_error' || code === 'provider_unavailable' || code === 'other'
}
