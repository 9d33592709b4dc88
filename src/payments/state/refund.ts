import { type AttemptId, newId, type PaymentId, type RefundId, uuidOf } from '../../kernel/ids.ts'
import { type Currency, formatMoney, nameBothWays } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Capabilities } from '../../providers/capabilities.ts'
import type { BankAccount } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import { isOpenCase, reasonOf, SURPLUS_REFUND_FAILED, settleCases, withCase } from './case.ts'
import type { Payment } from './payment.ts'
import type { PaymentState } from './payment-state.ts'

/** Money that goes back through the provider that received it. */
export interface Refund {
  id: RefundId
  paymentId: PaymentId
  attemptId: AttemptId
  amount: number
  currency: string
  kind: RefundKind
  /** Whether it counts in the payment's totals. Refunds of surplus money do not. */
  counted: boolean
  status: 'pending' | 'successful' | 'failed'
  reason: string | null
  failure: string | null
  providerRefundId: string | null
  transactionIds: string[]
  /** When a provider without an idempotency key was asked for it. The request may have arrived. */
  askedAt: Date | null
  tries: number
  /** Why a person has to review it, while it is pending; null if no review is needed. */
  needsReview: string | null
  createdAt: Date
  /** A person named the customer's bank account. */
  hasAccount: boolean
  /** When the provider took the customer's bank account. Null: it has none. */
  accountTakenAt: Date | null
  resolvedAt: Date | null
}

/**
 * The subject in the audit log: a refund, and where its money goes. Never the whole account number, which may be short.
 */
export function refundSubject(id: RefundId, account: BankAccount | undefined): string {
  return account ? `${id} to bank ${account.bankCode}, account …${account.accountNumber.slice(1).slice(-4)}` : id
}

/**
 * merchant: by API or CLI. surplus: automatic. provider: made at the provider, or by hand. chargeback: a lost dispute.
 */
export type RefundKind = 'merchant' | 'surplus' | 'provider' | 'chargeback'

export interface WantedRefund
  extends Pick<Refund, 'attemptId' | 'amount' | 'kind' | 'counted' | 'reason' | 'transactionIds'> {
  /** Set for a refund that was made at the provider. It is complete. */
  providerRefundId?: string | null
  /** Made at the provider, perhaps with an unknown refund id. */
  isDone?: true
}

export function newRefund(payment: Payment, wanted: WantedRefund, now: Date): Refund {
  const { providerRefundId = null, isDone = providerRefundId !== null, ...rest } = wanted
  return {
    ...rest,
    id: newId('refund', now, payment.place),
    paymentId: payment.id,
    currency: payment.currency,
    status: isDone ? 'successful' : 'pending',
    failure: null,
    providerRefundId,
    askedAt: null,
    tries: 0,
    needsReview: null,
    createdAt: now,
    hasAccount: false,
    accountTakenAt: null,
    resolvedAt: isDone ? now : null,
  }
}

/** The refundable amount of each attempt, without pending refunds. */
function refundable(
  { payment, attempts }: Pick<PaymentState, 'payment' | 'attempts'>,
  refunds: Refund[],
): { attempt: Attempt; left: number }[] {
  const winner = attempts.find(({ status }) => status === 'successful')
  return (winner ? [winner] : attempts.filter(isCountable)).map((attempt) => {
    const promised = refunds
      .filter(({ attemptId, counted, status }) => attemptId === attempt.id && counted && status !== 'failed')
      .reduce((sum, refund) => sum + refund.amount, 0)
    const unpromised = (winner ? payment.amountPaid : attempt.amountReceived - attempt.amountReversed) - promised
    // Money that the provider reversed is not available, even if it did not count towards the payment.
    return { attempt, left: Math.min(unpromised, attempt.amountReceived - attempt.amountReturned) }
  })
}

function isCountable({ amountReceived, amountReversed }: Attempt): boolean {
  return amountReceived > amountReversed
}

/** Our reference of the refund at the provider, the same on every retry. */
export function refundReference(id: RefundId): string {
  return uuidOf(id).replaceAll('-', '')
}

/**
 * Chooses the attempt and the amount of a refund, never more than the attempt received. A payment that ended unpaid may
 * have money on several attempts; each needs a refund of its own.
 */
export function planRefund(
  { payment, attempts }: PaymentState,
  refunds: Refund[],
  wanted: number | undefined,
): { attempt: Attempt; amount: number } {
  if (payment.status === 'pending') {
    throw new Problem(
      'payment_not_completed',
      `Payment ${payment.reference} is still open: there is nothing to refund yet. Cancel it first.`,
    )
  }
  const held = refundable({ payment, attempts }, refunds)
  const most = Math.max(0, ...held.map(({ left }) => left))
  const amount = wanted ?? most
  const source = held.findLast(({ left }) => left >= amount)
  if (!source || amount < 1) {
    const named = (amount: number) => nameBothWays({ amount, currency: payment.currency })
    const total = held.reduce((sum, { left }) => sum + Math.max(0, left), 0)
    const inParts = total > most ? ` It came in parts: ${named(most)} at most can go back at once.` : ''
    const pending = refunds.filter(({ counted, status }) => counted && status === 'pending')
    const onItsWay = pending.reduce((sum, refund) => sum + refund.amount, 0)
    const reserved = onItsWay > 0 ? ` ${named(onItsWay)} is in refunds that are not finished.` : ''
    throw new Problem(
      'refund_exceeds_payment',
      `${named(total)} of ${named(payment.amountPaid)} can still be refunded.${reserved}${inParts}`,
      { extra: { refundable: most } },
    )
  }
  return { attempt: source.attempt, amount }
}

/**
 * Throws before the provider is called, if it needs the customer's bank account, or would not use the one that was
 * given.
 */
export function assertAccountFits(
  { title, refundNeedsAccount = [] }: Capabilities,
  { channel }: Pick<Attempt, 'channel'>,
  account: BankAccount | undefined,
): void {
  const isNeeded = refundNeedsAccount.includes(channel)
  if (isNeeded === (account !== undefined)) return
  if (isNeeded)
    throw new Problem(
      'refund_account_required',
      `${title} cannot send this money back to where it came from. Send the customer's bank account: destinationAccountNumber and destinationAccountBankCode.`,
    )
  throw new Problem(
    'invalid_request',
    `${title} sends this money back to where it came from. Leave out destinationAccountNumber and destinationAccountBankCode.`,
  )
}

const NEEDS_ACCOUNT = 'refund_needs_account'

/** The provider waits for the customer's bank account. See `retryRefund`. */
export function isWaitingForAccount({ status, needsReview }: Pick<Refund, 'status' | 'needsReview'>): boolean {
  return status === 'pending' && needsReview !== null && needsReview.startsWith(NEEDS_ACCOUNT)
}

/**
 * Why a pending refund needs a review, after an answer of the provider. `because`: it needs the customer's bank
 * account. A try without one learns nothing new, and does not replace why the last one was refused.
 */
export function reviewAfter(refund: Refund, because: string | undefined, hadAccount: boolean): string | null {
  if (because !== undefined && !hadAccount && isWaitingForAccount(refund)) return refund.needsReview
  if (because !== undefined) return `${NEEDS_ACCOUNT}: ${because}`
  return isWaitingForAccount(refund) ? null : refund.needsReview
}

/** Limit per payment of what people ask for, because every answer and webhook about the payment lists all refunds. */
const MAX_REFUNDS = 50

export function assertMayRefund(byPeople: Refund[]): void {
  if (byPeople.length < MAX_REFUNDS) return
  throw new Problem('too_many_refunds', `This payment has had ${MAX_REFUNDS} refunds, which is the maximum.`)
}

const REPEATED_WITHIN_MS = 60_000

/**
 * Refuses a probable double click: a refund without an idempotency key that repeats the amount, or the full refund,
 * within a minute. A failed refund may be repeated.
 */
export function assertNotRepeated(refunds: Refund[], state: PaymentState, wanted: number | undefined, now: Date): void {
  const recent = refunds.filter(
    ({ kind, status, createdAt }) =>
      kind === 'merchant' && status !== 'failed' && now.getTime() - createdAt.getTime() < REPEATED_WITHIN_MS,
  )
  const repeated =
    wanted === undefined
      ? refundable(state, refunds).every(({ left }) => left === 0) && recent.at(-1)
      : recent.findLast(({ amount }) => amount === wanted)
  if (!repeated) return
  throw new Problem(
    'duplicate_refund',
    `A refund of ${nameBothWays(repeated)} of this payment was made less than a minute ago. To make a second one on purpose, send "allowDuplicate": true or an Idempotency-Key of its own.`,
    { extra: { existing: refundView(repeated) } },
  )
}

export function refundView(refund: Refund) {
  const { id, paymentId: payment, amount, currency, kind, status, reason, failure, needsReview } = refund
  return {
    id,
    payment,
    amount,
    currency,
    kind,
    status,
    reason,
    failure,
    needsReview,
    createdAt: refund.createdAt.toISOString(),
    resolvedAt: refund.resolvedAt?.toISOString() ?? null,
  }
}

/**
 * The case of a refund follows its status: a pending one may need a person, and one that failed does, until a later
 * refund of the same amount is successful. That one stands for one failed refund, not for several.
 */
export function withCaseOfRefund(state: PaymentState, refunds: Refund[], refund: Refund, now: Date): PaymentState {
  const why = whyPersonNeeded(refund)
  const { id, attemptId, amount, createdAt } = refund
  const isReplaced = (failed: Refund) =>
    failed.status === 'failed' &&
    failed.attemptId === attemptId &&
    failed.amount === amount &&
    failed.resolvedAt !== null &&
    failed.resolvedAt <= createdAt &&
    state.cases.some((each) => isOpenCase(each) && each.subject.id === failed.id)
  const replaced = refund.status === 'successful' && refunds.find(isReplaced)
  const over = settleCases(state, id, now, ({ reason }) => why === null || reason !== reasonOf(why))
  const settled = replaced ? settleCases(over, replaced.id, now) : over
  const attempt = state.attempts.find((each) => each.id === attemptId)
  if (why === null || !attempt) return settled
  const { place, merchantId, mode, paymentId, provider } = attempt
  const subject = { kind: 'refund' as const, id, reference: refund.providerRefundId }
  const owner = { place, merchantId, mode, paymentId, provider }
  const wanted = { ...owner, subject, reason: reasonOf(why), summary: why, amount, currency: refund.currency }
  return { ...settled, cases: withCase(settled.cases, wanted, { now, replaces: true }) }
}

function whyPersonNeeded(refund: Refund): string | null {
  if (refund.status === 'pending') return refund.needsReview
  if (refund.status === 'successful' || refund.kind === 'chargeback') return null
  const amount = formatMoney({ amount: refund.amount, currency: refund.currency as Currency })
  const code = refund.counted ? 'refund_failed' : SURPLUS_REFUND_FAILED
  return `${code}: ${amount} could not be given back. ${refund.failure ?? ''}`.trim()
}

const SECOND = 1_000
const DAY = 86_400 * SECOND
const RETRY_AFTER = [10 * SECOND, 60 * SECOND, 600 * SECOND, 3_600 * SECOND, 21_600 * SECOND]

const DEFAULT_DAYS = 3

/** Days in which the provider finishes a refund. */
export const daysOf = ({ refundTakesDays = DEFAULT_DAYS }: Pick<Capabilities, 'refundTakesDays'>) => refundTakesDays

/** Counted from when the provider had all that it needs. */
const isLate = ({ createdAt, accountTakenAt }: Refund, days: number, now: Date) =>
  now.getTime() - (accountTakenAt ?? createdAt).getTime() >= days * DAY

/**
 * When a refund without a final answer is tried again: exponential backoff, and once a day when it is late. What could
 * not be sent at all is tried again sooner.
 */
export function nextRefundTry(refund: Refund, days: number, now: Date): Date {
  const sent = RETRY_AFTER[Math.min(Math.max(refund.tries, 1), RETRY_AFTER.length) - 1] as number
  const unsent = Math.min(now.getTime() - refund.createdAt.getTime(), 3_600 * SECOND)
  const wait = refund.tries === 0 ? Math.max(sent, unsent) : sent
  return new Date(now.getTime() + (isLate(refund, days, now) ? DAY : wait))
}

const UNANSWERED = 'unanswered: '

/** It may have been asked for, and the provider has not listed it for a day: a person may say that it was not made. */
export function isLost({ status, askedAt, providerRefundId, needsReview }: Refund): boolean {
  const isAsked = status === 'pending' && askedAt !== null && providerRefundId === null
  return isAsked && needsReview?.startsWith(UNANSWERED) === true
}

/**
 * A refund without a final answer needs review after the days that its provider takes, and sooner if the provider was
 * asked and does not list it: it is not asked twice.
 */
export function reviewedIfLate(refund: Refund, days: number, now: Date): Refund {
  const { askedAt, providerRefundId } = refund
  const isUnlisted = askedAt !== null && providerRefundId === null && now.getTime() - askedAt.getTime() >= DAY
  const reason = isUnlisted
    ? `${UNANSWERED}the provider was asked for this refund and does not list it. Look in its dashboard, and say so if it was not made.`
    : isLate(refund, days, now)
      ? `refund_unfinished: the provider has not finished it within ${days} days.`
      : null
  return { ...refund, needsReview: refund.needsReview ?? reason }
}

/** Surplus is refunded after the provider has named it again, at least so much later. */
export const SEEN_AGAIN_AFTER_MS = 60 * SECOND

/** It was made automatically, and not sent yet: the provider must name the money again first. */
export function mustBeSeenAgain({ kind, tries, askedAt, providerRefundId }: Refund, isByPerson: boolean): boolean {
  return kind === 'surplus' && !isByPerson && tries === 0 && askedAt === null && providerRefundId === null
}
