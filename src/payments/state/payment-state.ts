import assert from 'node:assert/strict'
import type { EventType } from '../../events/event.ts'
import type { AttemptId, SavedCardId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { type Attempt, type Instructions, MAX_ATTEMPTS } from './attempt.ts'
import { nextCheck, restartSchedule } from './check-schedule.ts'
import { assertPending, type Payment } from './payment.ts'
import type { ReturnedAtFirstSight } from './returned-money.ts'

/**
 * A payment with all its attempts, and every decision about them, as functions of what is known. Nothing here asks a database or
 * a provider: whoever does holds the lock, and writes what comes out of these.
 */
export interface PaymentState {
  payment: Payment
  attempts: Attempt[]
}

/** Something that became true. Each raises the payment's sequence by one and is recorded as an event. */
export interface Change {
  type: EventType
  attemptId: AttemptId | null
  /** What the event says beside the payment and the attempt. */
  more?: Record<string, unknown>
}

export interface Decision {
  state: PaymentState
  changes: Change[]
  /** Money beyond the payment, to be sent back where the provider can. `receipt` is null for all that the attempt has. */
  surplus: { attemptId: AttemptId; amount: number; receipt: string | null }[]
  /** Attempts whose money and refunds do not count towards the payment any more. */
  uncounted: AttemptId[]
  /** Whether the fresh receipts in the payment's currency count towards it, except those that were given back in full. */
  counted: boolean
  /** What the provider had given back of the fresh receipts before we saw them. */
  returned: ReturnedAtFirstSight[]
}

/** Before a provider is called. The attempt starts as `processing`: if we die before the answer, that is what it is. */
export function begin(state: PaymentState, attempt: Attempt): Decision {
  assertCanStartAttempt(state, attempt.createdAt)
  assert.equal(attempt.status, 'processing')
  assert.equal(attempt.number, state.attempts.length + 1)
  const begun = { ...attempt, checks: { ...attempt.checks, nextAt: dateOf(nextCheck(attempt, attempt.createdAt)) } }
  const attempts = [...state.attempts, begun]
  return decide({ ...state, attempts }, [{ type: 'attempt.started', attemptId: attempt.id }])
}

/** Why this payment cannot be tried once more; nothing when it can. */
export function assertCanStartAttempt(state: PaymentState, now: Date): void {
  assertPayable(state, now)
  if (state.attempts.length >= MAX_ATTEMPTS) {
    throw new Problem('too_many_attempts', `This payment has had ${MAX_ATTEMPTS} tries. Make a new one.`)
  }
}

/**
 * The attempt that a repeated initialize gets again: the same provider and channel, with instructions that are still open. A second link
 * or account number for the same order could be paid as well. Throws when the payment cannot be paid now.
 */
export function findOpenAttempt(
  state: PaymentState,
  { provider, channel }: Pick<Attempt, 'provider' | 'channel'>,
  now: Date,
): Attempt | undefined {
  assertPayable(state, now)
  return state.attempts.findLast(
    (attempt) =>
      attempt.provider === provider &&
      attempt.channel === channel &&
      attempt.status === 'pending' &&
      attempt.instructions !== null &&
      (attempt.instructionsExpireAt === null || attempt.instructionsExpireAt > now),
  )
}

/** Throws when the payment has ended or expired, or while the outcome of an attempt is unknown. */
function assertPayable(state: PaymentState, now: Date): void {
  assertPending(state.payment)
  assertNotExpired(state.payment, now)
  assertNoneProcessing(state)
}

/** A payment whose time is over is expired, also in the second before the worker has recorded that. */
function assertNotExpired({ reference, expiresAt }: Payment, now: Date): void {
  if (expiresAt > now) return
  throw new Problem('payment_expired', `Payment ${reference} expired at ${expiresAt.toISOString()}.`)
}

/** Merchant or customer gives the payment up. Not while money may be on its way. */
export function cancel(state: PaymentState, now: Date): Decision {
  assertPending(state.payment)
  assertNotExpired(state.payment, now)
  assertNoneProcessing(state)
  return end(state, 'cancelled', now)
}

/** Its time is over. What is still on its way makes it successful later, and `late`. */
export function expire(state: PaymentState, now: Date): Decision {
  assertPending(state.payment)
  return end(state, 'expired', now)
}

function end(state: PaymentState, status: 'cancelled' | 'expired', now: Date): Decision {
  const { attempts, changes } = abandonOthers(state.attempts, undefined, now)
  const payment: Payment = { ...state.payment, status, completedAt: now }
  return decide({ payment, attempts }, [...changes, { type: `payment.${status}`, attemptId: null }])
}

function assertNoneProcessing({ attempts }: PaymentState): void {
  const underWay = attempts.find(({ status }) => status === 'processing')
  if (!underWay) return
  throw new Problem(
    'attempt_in_progress',
    `Attempt ${underWay.reference} is being processed, and its outcome is not known yet. Wait for it: paying again now could charge the customer twice.`,
    { extra: { attempt: underWay.reference }, retryAfterSeconds: 10 },
  )
}

/** The provider has it, and this is what the customer needs. Whatever a notice has told us meanwhile stands. */
export function issue(state: PaymentState, attemptId: AttemptId, issued: Issued, now: Date): Decision {
  const before = state.attempts.find(({ id }) => id === attemptId)
  assert(before, `attempt ${attemptId} is not of this payment`)
  const status = before.status === 'processing' && !before.noticeSaidPaid ? waitingIn(state) : before.status
  const after: Attempt = {
    ...before,
    ...issued,
    knownToProvider: true,
    status,
    resolvedAt: status === 'abandoned' ? now : before.resolvedAt,
    checks: restartSchedule(now),
  }
  return decide(replace(state, withNextCheck(after, before, now)), statusChange(before, after))
}

/** An attempt that waits for the customer's yes to a saved card. Its provider has not been asked yet. */
export type AwaitingConfirmation = Attempt & { instructions: Extract<Instructions, { kind: 'confirm' }> }

export function awaitsConfirmation(attempt: Attempt): attempt is AwaitingConfirmation {
  return attempt.status === 'pending' && attempt.instructions?.kind === 'confirm'
}

/**
 * Whether the checkout page may charge this saved card. Without `user.id` nobody has proved who the customer is: then only a card that
 * waits to be confirmed, because the merchant's initialize asked for it.
 */
export function mayUseSavedCard({ payment, attempts }: PaymentState, card: SavedCardId): boolean {
  return (
    payment.user.id !== null ||
    attempts.filter(awaitsConfirmation).some(({ instructions }) => instructions.savedCard === card)
  )
}

/** The customer has said yes: from here on it is like any attempt whose provider is being called. */
export function confirm(state: PaymentState, attemptId: AttemptId, now: Date): Decision {
  const before = state.attempts.find(({ id }) => id === attemptId)
  assert(before && awaitsConfirmation(before), `attempt ${attemptId} waits for no yes`)
  assertCanStartAttempt({ ...state, attempts: state.attempts.filter(({ id }) => id !== attemptId) }, now)
  const after: Attempt = {
    ...before,
    status: 'processing',
    instructions: null,
    instructionsExpireAt: null,
    askedAt: now,
    chargedAtOnce: true,
    checks: restartSchedule(now),
  }
  return decide(replace(state, withNextCheck(after, before, now)), statusChange(before, after))
}

export type Issued = Pick<Attempt, 'instructions' | 'instructionsExpireAt' | 'providerReference'>

/** It is the customer's turn again, unless the payment ended meanwhile. */
export function waitingIn({ payment }: PaymentState): 'pending' | 'abandoned' {
  return payment.status === 'pending' ? 'pending' : 'abandoned'
}

export function statusChange(before: Attempt, after: Attempt): Change[] {
  if (after.status === before.status && after.failedTryId === before.failedTryId) return []
  return [{ type: `attempt.${after.status}`, attemptId: after.id } as Change]
}

/** With the time of its next check; when there is none left and the outcome is still unknown, a person has to look. */
export function withNextCheck(attempt: Attempt, before: Attempt, now: Date): Attempt {
  const since = attempt.status === before.status ? attempt.checks.since : now
  const fresh = { ...attempt, checks: { ...attempt.checks, since } }
  const next = nextCheck(fresh, now)
  const needsReview =
    next === 'exhausted' && !attempt.needsReview
      ? 'outcome_unknown: the provider never gave a clear answer.'
      : attempt.needsReview
  return { ...fresh, needsReview, checks: { ...fresh.checks, nextAt: dateOf(next) } }
}

function dateOf(next: Date | 'exhausted' | null): Date | null {
  return next instanceof Date ? next : null
}

export function abandonOthers(
  attempts: Attempt[],
  kept: AttemptId | undefined,
  now: Date,
): { attempts: Attempt[]; changes: Change[] } {
  const changes: Change[] = []
  const after = attempts.map((attempt) => {
    // One that is being processed stays so: its outcome is unknown, and giving it a name would be a guess.
    if (attempt.id === kept || attempt.status !== 'pending') return attempt
    changes.push({ type: 'attempt.abandoned', attemptId: attempt.id })
    return withNextCheck({ ...attempt, status: 'abandoned', resolvedAt: now }, attempt, now)
  })
  return { attempts: after, changes }
}

export function replace(state: PaymentState, attempt: Attempt): PaymentState {
  return { ...state, attempts: state.attempts.map((other) => (other.id === attempt.id ? attempt : other)) }
}

/** That these facts are true now, and the book as it is with them. */
export function decide(state: PaymentState, changes: Change[]): Decision {
  const payment = { ...state.payment, sequence: state.payment.sequence + changes.length }
  return { state: { ...state, payment }, changes, surplus: [], uncounted: [], counted: false, returned: [] }
}
