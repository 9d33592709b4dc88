// The check schedule of an attempt: when the worker asks the provider for the outcome. Notices can be lost, so every
// attempt is checked with increasing intervals (backoff) until its outcome is known and no more money can arrive.
import { type Attempt, type CheckSchedule, isUnasked, isUnstarted } from './attempt.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Unknown outcome: checked for a week, then marked for review. It is never guessed. */
const UNKNOWN_AFTER = [
  10 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  HOUR,
  6 * HOUR,
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY),
]

/** The provider did not answer the start and nothing was handed out to pay with: the attempt can fail after 60 s. */
export const UNSTARTED_UNTIL = MINUTE
const UNSTARTED_AFTER = [
  5 * SECOND,
  15 * SECOND,
  UNSTARTED_UNTIL,
  ...UNKNOWN_AFTER.filter((offset) => offset > UNSTARTED_UNTIL),
]

/**
 * Open instructions: a lost notice delays a payment by a minute at first; an unused link costs about 60 calls a day.
 */
const OPEN_AFTER = [
  10 * SECOND,
  30 * SECOND,
  ...steps(MINUTE, 15 * MINUTE, MINUTE),
  ...steps(20 * MINUTE, 75 * MINUTE, 5 * MINUTE),
  ...steps(90 * MINUTE, 6 * HOUR, 30 * MINUTE),
]
const OPEN_THEN_EVERY = HOUR
/** Some links accept a second card after success. That money is surplus, and its notice may be lost. */
const PAID_LINK_AFTER = [10 * MINUTE, 6 * HOUR]
/** After a link has expired. */
const LINK_ENDED_AFTER = [0, DAY]
/** After an account number has expired: transfers can be slow, and some customers reuse an old number. */
const CLOSED_AFTER = [MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY]

function steps(from: number, to: number, every: number): number[] {
  return Array.from({ length: (to - from) / every + 1 }, (_, index) => from + index * every)
}

/** The time of the next check. `exhausted`: the schedule has ended without a known outcome. */
export function nextCheck(attempt: Attempt, now: Date): Date | 'exhausted' | null {
  const { status, channel, checks } = attempt
  if (isUnasked(attempt)) return null
  const open = whileOpen(attempt, now)
  // The customer may pay by the link: check an unknown outcome at least as often as open instructions.
  if (status === 'processing') {
    const due = after(checks.since, isUnstarted(attempt) ? UNSTARTED_AFTER : UNKNOWN_AFTER, now)
    return due && open && open < due ? open : (due ?? 'exhausted')
  }
  // An account number accepts transfers after success, too. A card without a link is charged once.
  if (channel === 'card' && (status === 'successful' || status === 'surplus')) {
    const mayBePaidAgain = attempt.instructions?.kind === 'link' && !attempt.instructions.paidOnce
    return mayBePaidAgain ? after(checks.since, PAID_LINK_AFTER, now) : null
  }
  return open ?? afterEnd(attempt, now)
}

/** Counted from the last activity: the start, a return of the customer, a notice. */
function whileOpen(attempt: Attempt, now: Date): Date | null {
  const { since, lastActivityAt } = attempt.checks
  const start = lastActivityAt && lastActivityAt > since ? lastActivityAt : since
  const next = after(start, OPEN_AFTER, now) ?? nextStep(start, OPEN_THEN_EVERY, now)
  return next < endOf(attempt) ? next : null
}

function afterEnd(attempt: Attempt, now: Date): Date | null {
  const end = endOf(attempt)
  const { since } = attempt.checks
  if (attempt.instructions?.kind === 'link' && since < end) return after(end, LINK_ENDED_AFTER, now)
  return after(new Date(Math.max(end.getTime(), since.getTime())), CLOSED_AFTER, now)
}

function endOf({ instructionsExpireAt, checks }: Attempt): Date {
  return instructionsExpireAt ?? checks.since
}

function after(start: Date, offsets: number[], now: Date): Date | null {
  const next = offsets.find((offset) => start.getTime() + offset > now.getTime())
  return next === undefined ? null : new Date(start.getTime() + next)
}

function nextStep(start: Date, every: number, now: Date): Date {
  const passed = Math.floor((now.getTime() - start.getTime()) / every)
  return new Date(start.getTime() + (passed + 1) * every)
}

export function restartSchedule(now: Date): CheckSchedule {
  return { since: now, count: 0, missingInARow: 0, nextAt: null, lastActivityAt: null }
}

const OUTCOME_UNKNOWN = 'outcome_unknown: the provider never gave a clear answer.'

/**
 * Sets the time of the next check. When the schedule has ended and the outcome is still unknown, the attempt needs
 * review.
 */
export function withNextCheck(attempt: Attempt, before: Attempt, now: Date): Attempt {
  const since = attempt.status === before.status ? attempt.checks.since : now
  const current = { ...attempt, checks: { ...attempt.checks, since } }
  const next = nextCheck(current, now)
  const needsReview =
    next === 'exhausted' && !attempt.needsReview && attempt.reviewed !== OUTCOME_UNKNOWN
      ? OUTCOME_UNKNOWN
      : attempt.needsReview
  return { ...current, needsReview, checks: { ...current.checks, nextAt: next instanceof Date ? next : null } }
}
