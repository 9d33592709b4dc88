import assert from 'node:assert/strict'
import type { EventType } from '../../events/event.ts'
import type { AttemptId, SavedCardId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { failureOf } from '../../providers/failure.ts'
import { type Attempt, ENDED_BY_PERSON, type Instructions, isOpen, MAX_ATTEMPTS } from './attempt.ts'
import { type Case, caseChanges, isReviewOfAttempt, withoutCases } from './case.ts'
import { isSameInput } from './channel-input.ts'
import { restartSchedule, withNextCheck } from './check-schedule.ts'
import { withHeldMoney } from './held-money.ts'
import { assertPending, type Payment } from './payment.ts'
import type { Refund } from './refund.ts'
import type { EarlyReversal } from './reversed-money.ts'

/**
 * The state machine of a payment and its attempts. Each transition is a pure function from PaymentState to Decision.
 * The operations in payments/ call it under the payment's row lock, in changePayment, and write the Decision with
 * writeDecision. Transitions by a provider's outcome are in settle.ts and attempt-after.ts.
 *
 *   payment     from                  to          transition
 *               pending               successful  settle: one attempt is paid in full
 *               pending               cancelled   cancel: by merchant or customer, while no attempt is processing
 *               pending               expired     expire: expiresAt has passed
 *               cancelled, expired    successful  settle: the money arrived later; `late` is true
 *   `successful` is final. Refunds and disputes change amounts, never the status.
 *
 *   attempt     from                  to          transition
 *               (new)                 processing  addAttempt: the intent is stored before the provider is called
 *               processing            pending     storeInstructions; or settle: the provider waits for the customer
 *               processing            abandoned   the same, when the payment has ended in the meantime
 *               pending               processing  confirmSavedCard; or settle: money may be moving
 *               failed                processing  settle: money may be moving (a new try on the same link)
 *               pending               abandoned   cancel, expire, or settle: another attempt succeeded
 *               pending, processing   failed      settle: declined, reversed, wrong amount, or order missing
 *               abandoned             failed      settle: its money was given back, or was of a wrong amount
 *               failed                failed      settle: the provider declined another try
 *               processing            failed      endAttempt: a person gives up an unknown outcome
 *               any but successful    successful  settle: paid in full, and the payment is not successful yet
 *               any but successful    surplus     settle: paid after the payment was successful; it is refunded
 *   A processing attempt is never abandoned or cancelled: its outcome is unknown until the provider gives it.
 */
export interface PaymentState {
  payment: Payment
  attempts: Attempt[]
  /** The open ones, and those that a person closed: the same is not opened again. */
  cases: Case[]
  /** Read with the lock only. What a decision changes of them is here before it. */
  refunds?: Refund[]
}

/** One step of a transition. Each raises the payment's sequence by one and is recorded as an event. */
export interface Change {
  type: EventType
  attemptId: AttemptId | null
  /** Event data in addition to the payment and the attempt. */
  data?: Record<string, unknown>
}

export interface Decision {
  state: PaymentState
  changes: Change[]
  /** Money beyond the payment, to be refunded. `receipt` is the transaction; null means all money of the attempt. */
  surplus: { attemptId: AttemptId; amount: number; receipt: string | null }[]
  /** Attempts whose receipts and refunds stop counting towards the payment. */
  uncounted: AttemptId[]
  /** Whether the new receipts in the payment's currency count towards it, except those that were refunded in full. */
  counted: boolean
  /** Amounts of the new receipts that the provider had reversed before we first saw them. */
  earlyReversals: EarlyReversal[]
}

/** Adds an attempt before its provider is called. It stays `processing` if the process dies before the answer. */
export function addAttempt(state: PaymentState, attempt: Attempt): Decision {
  assertCanStartAttempt(state, attempt.createdAt)
  assert.equal(attempt.status, 'processing')
  assert.equal(attempt.number, state.attempts.length + 1)
  const attempts = [...state.attempts, withNextCheck(attempt, attempt, attempt.createdAt)]
  return decide({ ...state, attempts }, [attemptStarted(state, attempt)], attempt.createdAt)
}

/** Events are append-only, so the audit compares the amounts of payment and attempt with these. */
export function attemptStarted({ payment: { amount, currency } }: PaymentState, attempt: Attempt): Change {
  const price = { amount, currency, amountCharged: attempt.amountCharged, fee: attempt.fee }
  return { type: 'attempt.started', attemptId: attempt.id, data: { price } }
}

/** Throws the Problem that prevents another attempt. */
export function assertCanStartAttempt(state: PaymentState, now: Date, limit = MAX_ATTEMPTS): void {
  assertPayable(state, now)
  if (state.attempts.length >= limit) {
    throw new Problem(
      'too_many_attempts',
      `This payment has reached the limit of ${limit} attempts. Create a new payment.`,
    )
  }
}

/**
 * The attempt that a repeated initialize returns: same provider, channel and input, with instructions that are still
 * open. A second link, account number or prompt for the same order could be paid as well. Throws when the payment
 * cannot be paid now.
 */
export function findOpenAttempt(
  state: PaymentState,
  { provider, channel, input }: Pick<Attempt, 'provider' | 'channel' | 'input'>,
  now: Date,
): Attempt | undefined {
  assertPayable(state, now)
  return state.attempts.findLast(
    (attempt) =>
      attempt.provider === provider &&
      attempt.channel === channel &&
      attempt.status === 'pending' &&
      isSameInput(attempt.input, input) &&
      attempt.instructions !== null &&
      (attempt.instructionsExpireAt === null || attempt.instructionsExpireAt > now),
  )
}

/** Throws when the payment has ended or expired, or while the outcome of an attempt is unknown. */
function assertPayable(state: PaymentState, now: Date): void {
  assertNotEnded(state.payment, now)
  assertNoneProcessing(state)
}

/** It is expired from expiresAt on, also before the worker has recorded the expiry. */
export function assertNotEnded(payment: Payment, now: Date): void {
  assertPending(payment)
  const { reference, expiresAt } = payment
  if (expiresAt > now) return
  throw new Problem('payment_expired', `Payment ${reference} expired at ${expiresAt.toISOString()}.`)
}

export function cancel(state: PaymentState, now: Date): Decision {
  assertPayable(state, now)
  return close(state, 'cancelled', now)
}

export function expire(state: PaymentState, now: Date): Decision {
  assertPending(state.payment)
  return close(state, 'expired', now)
}

function close(state: PaymentState, status: 'cancelled' | 'expired', now: Date): Decision {
  const { attempts, changes } = abandonPending(state.attempts, undefined, now)
  const payment: Payment = { ...state.payment, status, completedAt: now }
  return decide({ ...state, payment, attempts }, [...changes, { type: `payment.${status}`, attemptId: null }], now)
}

function assertNoneProcessing({ attempts }: PaymentState): void {
  const processing = attempts.find(({ status }) => status === 'processing')
  if (!processing) return
  throw new Problem(
    'attempt_in_progress',
    `Attempt ${processing.reference} is being processed, and its outcome is not known yet. Wait for it: paying again now could charge the customer twice.`,
    { extra: { attempt: processing.reference }, retryAfterSeconds: 10 },
  )
}

/** A person has dealt with everything that needed a review. The same reasons are not raised again. */
export function markReviewed(state: PaymentState, by: { by: string; note: string }, now: Date): Decision {
  if (!state.cases.some(isReviewOfAttempt))
    throw new Problem('conflict', 'This payment needs no review. Another member may have reviewed it.')
  return decide({ ...state, cases: withoutCases(state.cases, isReviewOfAttempt, { ...by, now }) }, [], now)
}

/**
 * A person gives up an attempt whose outcome the provider does not tell: the payment can be paid again. Money that
 * still arrives counts as that of any failed attempt.
 */
export function endAttempt(state: PaymentState, attemptId: AttemptId, now: Date): Decision {
  const before = attemptIn(state, attemptId)
  if (before.status !== 'processing')
    throw new Problem('conflict', `Attempt ${before.reference} is ${before.status}. Only one in progress can be ended.`)
  const failure = failureOf('other', ENDED_BY_PERSON)
  const after: Attempt = { ...before, status: 'failed', failure, failedTryId: null, resolvedAt: now }
  return decide(replaceAttempt(state, withNextCheck(after, before, now)), statusChange(before, after), now)
}

export type IssuedInstructions = Pick<Attempt, 'instructions' | 'instructionsExpireAt' | 'providerReference'>

/** The provider accepted the order. A status that a notice has set in the meantime is kept. */
export function storeInstructions(
  state: PaymentState,
  attemptId: AttemptId,
  issued: IssuedInstructions,
  now: Date,
): Decision {
  const before = attemptIn(state, attemptId)
  const status = before.status === 'processing' && !before.noticeSaidPaid ? waitingStatus(state) : before.status
  const after: Attempt = {
    ...before,
    ...issued,
    knownToProvider: true,
    status,
    resolvedAt: status === 'abandoned' ? now : before.resolvedAt,
    checks: restartSchedule(now),
  }
  return decide(replaceAttempt(state, withNextCheck(after, before, now)), statusChange(before, after), now)
}

/**
 * An attempt that waits until the customer confirms the charge of a saved card. Its provider has not been called yet.
 */
export type AwaitingConfirmation = Attempt & { instructions: Extract<Instructions, { kind: 'confirm' }> }

export function awaitsConfirmation(attempt: Attempt): attempt is AwaitingConfirmation {
  return attempt.status === 'pending' && attempt.instructions?.kind === 'confirm'
}

/**
 * Whether the checkout page may charge this saved card. Without `user.id` the customer's identity is not proven. Then
 * only a card that awaits confirmation is allowed, because the merchant's initialize asked for it.
 */
export function mayUseSavedCard({ payment, attempts }: PaymentState, card: SavedCardId): boolean {
  return (
    payment.user.id !== null ||
    attempts.filter(awaitsConfirmation).some(({ instructions }) => instructions.savedCard === card)
  )
}

/** The customer confirmed the charge. The attempt is `processing`, like a new one whose provider is being called. */
export function confirmSavedCard(state: PaymentState, attemptId: AttemptId, pageKey: string, now: Date): Decision {
  const before = attemptIn(state, attemptId)
  assert(awaitsConfirmation(before), `attempt ${attemptId} does not await a confirmation`)
  assertCanStartAttempt({ ...state, attempts: state.attempts.filter(({ id }) => id !== attemptId) }, now)
  const after: Attempt = {
    ...before,
    status: 'processing',
    instructions: null,
    instructionsExpireAt: null,
    askedAt: now,
    chargedAtOnce: true,
    pageKey,
    checks: restartSchedule(now),
  }
  return decide(replaceAttempt(state, withNextCheck(after, before, now)), statusChange(before, after), now)
}

/** An attempt whose provider asks for a code. */
export type AwaitingCode = Attempt & { instructions: Extract<Instructions, { kind: 'code wanted' }> }

export function wantsCode(attempt: Attempt): attempt is AwaitingCode {
  return attempt.instructions?.kind === 'code wanted'
}

/** The attempt that waits for a code. Throws the Problem when there is none, or a code is on its way already. */
export function attemptForCode(state: PaymentState, now: Date): AwaitingCode {
  assertNotEnded(state.payment, now)
  const attempt = state.attempts.filter(wantsCode).findLast(isOpen)
  if (attempt?.status === 'processing') assertNoneProcessing({ ...state, attempts: [attempt] })
  if (!attempt || (attempt.instructionsExpireAt && attempt.instructionsExpireAt <= now)) {
    throw new Problem(
      'input_not_expected',
      'No attempt of this payment waits for a code. Read the payment for its state.',
    )
  }
  return attempt
}

/** The code goes to the provider. Until it answers, the outcome is unknown: the money may move at once. */
export function giveCode(state: PaymentState, before: AwaitingCode, now: Date): Decision {
  const codesGiven = (before.instructions.codesGiven ?? 0) + 1
  const instructions = { ...before.instructions, codesGiven, isCodeOnItsWay: true as const }
  const after: Attempt = { ...before, instructions, status: 'processing', checks: restartSchedule(now) }
  return decide(replaceAttempt(state, withNextCheck(after, before, now)), statusChange(before, after), now)
}

/** The provider refused the code, or never got it, so the customer can give it again. */
export function wantCodeAgain(
  state: PaymentState,
  attemptId: AttemptId,
  { neverSent, now }: { neverSent: boolean; now: Date },
): Decision {
  const before = attemptIn(state, attemptId)
  if (before.status !== 'processing' || before.noticeSaidPaid || !wantsCode(before)) return decide(state, [], now)
  const status = waitingStatus(state)
  const resolvedAt = status === 'abandoned' ? now : null
  const { isCodeOnItsWay, codesGiven = 0, ...asked } = before.instructions
  const instructions = { ...asked, codesGiven: codesGiven - (neverSent ? 1 : 0) }
  const after: Attempt = { ...before, instructions, status, resolvedAt, checks: restartSchedule(now) }
  return decide(replaceAttempt(state, withNextCheck(after, before, now)), statusChange(before, after), now)
}

/** The status of an attempt that waits for the customer: `abandoned` when the payment has ended. */
export function waitingStatus({ payment }: PaymentState): 'pending' | 'abandoned' {
  return payment.status === 'pending' ? 'pending' : 'abandoned'
}

export function statusChange(before: Attempt, after: Attempt): Change[] {
  if (after.status === before.status && after.failedTryId === before.failedTryId) return []
  return [{ type: `attempt.${after.status}`, attemptId: after.id } as Change]
}

/** Abandons pending attempts, except `kept`. Processing attempts stay, because their outcome is unknown. */
export function abandonPending(
  attempts: Attempt[],
  kept: AttemptId | undefined,
  now: Date,
): { attempts: Attempt[]; changes: Change[] } {
  const changes: Change[] = []
  const after = attempts.map((attempt) => {
    if (attempt.id === kept || attempt.status !== 'pending') return attempt
    changes.push({ type: 'attempt.abandoned', attemptId: attempt.id })
    return withNextCheck({ ...attempt, status: 'abandoned', resolvedAt: now }, attempt, now)
  })
  return { attempts: after, changes }
}

export function attemptIn({ attempts }: PaymentState, id: AttemptId): Attempt {
  const attempt = attempts.find((each) => each.id === id)
  assert(attempt, `attempt ${id} does not belong to this payment`)
  return attempt
}

export function replaceAttempt(state: PaymentState, attempt: Attempt): PaymentState {
  return { ...state, attempts: state.attempts.map((other) => (other.id === attempt.id ? attempt : other)) }
}

/** A decision with these changes, and those of cases, without money. */
export function decide(undecided: PaymentState, changes: Change[], now: Date): Decision {
  const state = withHeldMoney(undecided, now)
  const all = [...changes, ...caseChanges(state)]
  const { sequence, version } = state.payment
  const payment = { ...state.payment, sequence: sequence + all.length, version: version + 1 }
  const cases = state.cases.map((each) => (each.news === null ? each : { ...each, news: null }))
  const money = { surplus: [], uncounted: [], counted: false, earlyReversals: [] }
  return { state: { ...state, payment, cases }, changes: all, ...money }
}
