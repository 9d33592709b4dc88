import { failureOf } from '../../providers/failure.ts'
import type { Outcome } from '../../providers/provider.ts'
import { type Attempt, ENDED_BY_PERSON, isOpen, isUnstarted, phoneMayAsk } from './attempt.ts'
import { restartSchedule, UNSTARTED_UNTIL } from './check-schedule.ts'
import type { OutcomeReport } from './outcome-report.ts'
import { type PaymentState, waitingStatus } from './payment-state.ts'

/** The attempt after an outcome that brought no new money. */
export function attemptAfter(
  state: PaymentState,
  attempt: Attempt,
  outcome: Outcome,
  { source, noticeSays, whenAsked, now }: OutcomeReport,
): Attempt {
  const { status, checks } = attempt
  // The attempt changed while the provider was asked, so the answer is stale. The next check is soon.
  if (whenAsked && (whenAsked.status !== status || whenAsked.since.getTime() !== checks.since.getTime())) return attempt
  // Its money is on record, reversed or waiting for a person. A late answer of the provider must not reopen it.
  if (attempt.failure?.code === 'amount_mismatch' || isReversedAttempt(attempt)) return attempt
  if (attempt.failure?.providerCode === ENDED_BY_PERSON) return attempt
  if (noticeSays === 'paid') return toProcessing(attempt, now)
  const seen = { ...attempt, checks: { ...checks, missingInARow: 0 } }
  switch (outcome.kind) {
    case 'paid': // without a receipt: the provider contradicts itself
    case 'unknown':
      // A scheduled check without an answer does not block a customer who has not paid yet.
      return status === 'pending' && source !== 'check' ? toProcessing(attempt, now) : attempt
    case 'processing': {
      // A restart at each check would keep an ended attempt at the first step of its schedule.
      const isOpenAgain = status === 'pending' || status === 'failed'
      return isOpenAgain || source !== 'check' ? toProcessing(seen, now) : seen
    }
    case 'pending': {
      if (status !== 'processing' || attempt.noticeSaidPaid || isInProgress(attempt, now)) return seen
      const waiting = waitingStatus(state)
      const resolvedAt = waiting === 'abandoned' ? now : null
      return { ...withPrompt(seen, now), status: waiting, resolvedAt, checks: restartSchedule(now) }
    }
    case 'missing':
      return attemptAfterMissing(attempt, now)
    case 'declined': {
      if (attempt.noticeSaidPaid) return isOpen(attempt) ? { ...seen, status: 'processing' } : seen
      const isNewTry = status === 'failed' && outcome.tryId !== null && outcome.tryId !== attempt.failedTryId
      if (!isOpen(attempt) && !isNewTry) return seen
      return { ...seen, status: 'failed', failure: outcome.failure, failedTryId: outcome.tryId, resolvedAt: now }
    }
  }
}

/** How long a phone asks, where nobody has told. */
export const PHONE_ASKS_MS = 180_000

/**
 * The provider waits for the customer, and its answer to the start or to a code was lost. So the phone may ask, and
 * nothing says that it does. A code that has been used is not asked for again.
 */
function withPrompt(attempt: Attempt, now: Date): Attempt {
  const { instructions, askedAt } = attempt
  const isLostStart = instructions === null && phoneMayAsk(attempt)
  if (!isLostStart && !isCodeOnItsWay(attempt)) return attempt
  const instructionsExpireAt = isLostStart ? new Date(askedAt.getTime() + PHONE_ASKS_MS) : now
  return { ...attempt, instructions: { kind: 'prompt', isUnsure: true }, instructionsExpireAt }
}

const isCodeOnItsWay = ({ instructions }: Attempt) =>
  instructions?.kind === 'code wanted' && instructions.isCodeOnItsWay === true

function isReversedAttempt({ status, failure, amountReversed }: Attempt): boolean {
  return status === 'failed' && failure?.code === 'reversed' && amountReversed > 0
}

const CHARGE_TAKES_AT_MOST_MS = 10 * 60_000

/**
 * A direct charge without instructions, or a code on its way: "pending" may be from before the bank or the network was
 * asked. Another attempt, or the code a second time, could charge twice.
 */
function isInProgress(attempt: Attempt, now: Date): boolean {
  const { chargedAtOnce, instructions, askedAt, checks } = attempt
  if (isCodeOnItsWay(attempt)) return now.getTime() - checks.since.getTime() < PHONE_ASKS_MS
  return chargedAtOnce && instructions === null && now.getTime() - askedAt.getTime() < CHARGE_TAKES_AT_MOST_MS
}

/**
 * Money may be moving: blocks other attempts and restarts the check schedule. Abandoned and paid attempts keep their
 * status.
 */
function toProcessing(attempt: Attempt, now: Date): Attempt {
  const checks = restartSchedule(now)
  if (attempt.status === 'processing') return attempt
  if (attempt.status !== 'pending' && attempt.status !== 'failed') return { ...attempt, checks }
  return { ...attempt, status: 'processing', failure: null, resolvedAt: null, checks }
}

const MAY_NOT_BE_VISIBLE_YET_MS = 10 * 60_000

/**
 * An order that the provider does not know fails after two such answers in a row, because new orders may not be visible
 * yet and some providers never list unused links. Answers count after 10 minutes, or at once for an order that was
 * never handed out.
 */
function attemptAfterMissing(attempt: Attempt, now: Date): Attempt {
  const age = now.getTime() - attempt.checks.since.getTime()
  const unstarted = isUnstarted(attempt)
  const missingInARow = unstarted || age >= MAY_NOT_BE_VISIBLE_YET_MS ? attempt.checks.missingInARow + 1 : 0
  const seen = { ...attempt, checks: { ...attempt.checks, missingInARow } }
  if (attempt.status !== 'processing' || attempt.noticeSaidPaid || missingInARow < 2) return seen
  if (unstarted && age < UNSTARTED_UNTIL) return seen
  const failure = failureOf('provider_unavailable', null)
  return { ...seen, status: 'failed', failure, failedTryId: null, resolvedAt: now }
}
