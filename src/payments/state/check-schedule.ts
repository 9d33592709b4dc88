// The check schedule of an attempt: when the worker asks the provider for the outcome. Notices can be lost, so every
// attempt is checked with increasing intervals (backoff) until its outcome is known and no more money can arrive. It
// ends with an answer and not with a date: without a clear answer after the instructions had ended, an attempt is
// asked about for as long as it exists.
import { CHANNEL_FACTS } from '../../kernel/channel.ts'
import type { Outcome } from '../../providers/provider.ts'
import {
  type Attempt,
  type CheckSchedule,
  comesInParts,
  ENDED_BY_PERSON,
  isUnasked,
  isUnstarted,
  phoneMayAsk,
} from './attempt.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Unknown outcome: marked for review after a week, and checked once a day from then on. It is never guessed. */
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
/** A phone asks for one to three minutes, and the answer comes in that time. After it, as for other instructions. */
const PROMPT_AFTER = [
  15 * SECOND,
  30 * SECOND,
  MINUTE,
  2 * MINUTE,
  200 * SECOND,
  ...OPEN_AFTER.filter((offset) => offset > 200 * SECOND),
]
/** Some networks let the customer approve after the phone has stopped asking. */
const LATE_APPROVAL_MS = HOUR
/** Some links accept a second card after success. That money is surplus, and its notice may be lost. */
const PAID_LINK_AFTER = [10 * MINUTE, 6 * HOUR]
/** After a link has expired. */
const LINK_ENDED_AFTER = [0, DAY]
/** After an account number has expired: transfers can be slow, and some customers reuse an old number. */
const CLOSED_AFTER = [MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY]
const UNANSWERED_FOR = 7 * DAY

function steps(from: number, to: number, every: number): number[] {
  return Array.from({ length: (to - from) / every + 1 }, (_, index) => from + index * every)
}

/** The time of the next check; null when there is nothing left to ask. */
export function nextCheck(attempt: Attempt, now: Date): Date | null {
  const { status, checks } = attempt
  if (isUnasked(attempt)) return null
  const open = whileOpen(attempt, now)
  // The customer may pay by the link: check an unknown outcome at least as often as open instructions.
  if (status === 'processing') {
    const offsets = isUnstarted(attempt) ? UNSTARTED_AFTER : UNKNOWN_AFTER
    const due = after(checks.since, offsets, now) ?? nextStep(checks.since, DAY, now)
    return open && open < due ? open : due
  }
  // An account number accepts transfers after success, too. What comes in one piece without a link comes once.
  if (!comesInParts(attempt) && (status === 'successful' || status === 'surplus')) {
    const mayBePaidAgain = attempt.instructions?.kind === 'link' && !attempt.instructions.paidOnce
    if (!mayBePaidAgain) return null
    const end = endOf(attempt)
    return after(checks.since, PAID_LINK_AFTER, now) ?? (now < end ? end : unansweredNext(attempt, now))
  }
  return open ?? earlier(afterEnd(attempt, now), unansweredNext(attempt, now))
}

/** While nothing clear was answered after the end: soon at first, and once a day at last. */
function unansweredNext(attempt: Attempt, now: Date): Date | null {
  const end = endOf(attempt)
  if (isAnswered(attempt) || now < end) return null
  const waited = now.getTime() - end.getTime()
  return new Date(now.getTime() + Math.min(Math.max(waited, MINUTE), DAY))
}

/** The provider gave a clear answer after the instructions had ended. */
function isAnswered(attempt: Attempt): boolean {
  return attempt.answeredAt !== null && attempt.answeredAt >= endOf(attempt)
}

/** The attempt has waited for a clear answer for too long: a person must know. */
export function isOverdue(attempt: Attempt, now: Date): boolean {
  // A person has looked, and knows. It is asked about all the same.
  if (attempt.checks.nextAt === null || attempt.failure?.providerCode === ENDED_BY_PERSON) return false
  const isProcessing = attempt.status === 'processing'
  const from = isProcessing ? attempt.checks.since : endOf(attempt)
  return (isProcessing || !isAnswered(attempt)) && now.getTime() - from.getTime() >= UNANSWERED_FOR
}

function earlier(one: Date | null, other: Date | null): Date | null {
  return one && other ? new Date(Math.min(one.getTime(), other.getTime())) : (one ?? other)
}

/** Counted from the last activity: the start, a return of the customer, a notice. */
function whileOpen(attempt: Attempt, now: Date): Date | null {
  const { since, lastActivityAt } = attempt.checks
  const start = lastActivityAt && lastActivityAt > since ? lastActivityAt : since
  const offsets = isAskedOnPhone(attempt) ? PROMPT_AFTER : OPEN_AFTER
  const next = after(start, offsets, now) ?? nextStep(start, OPEN_THEN_EVERY, now)
  return next < endOf(attempt) ? next : null
}

/** The customer answers on the phone, in a short time; perhaps also where the answer to the start was lost. */
function isAskedOnPhone(attempt: Attempt): boolean {
  switch (attempt.instructions?.kind) {
    case 'prompt':
    case 'code wanted':
      return true
    case 'link':
      return CHANNEL_FACTS[attempt.channel].asksByItself
    case 'confirm':
    case 'step':
    case 'account':
    case 'pay to':
    case 'dial':
    case 'qr':
      return false
    case undefined:
      return phoneMayAsk(attempt)
  }
}

function afterEnd(attempt: Attempt, now: Date): Date | null {
  const end = endOf(attempt)
  const { since } = attempt.checks
  if (attempt.instructions?.kind === 'link' && since < end) return after(end, LINK_ENDED_AFTER, now)
  return after(new Date(Math.max(end.getTime(), since.getTime())), CLOSED_AFTER, now)
}

/** No money is expected after it. A phone that has refused is not asked again, so a failed prompt has ended. */
function endOf(attempt: Attempt): Date {
  const { instructionsExpireAt, status, checks } = attempt
  const end = instructionsExpireAt ?? checks.since
  if (!isAskedOnPhone(attempt)) return end
  return status === 'failed' ? checks.since : new Date(end.getTime() + LATE_APPROVAL_MS)
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

/** The answer to the start was lost, and the order cannot be asked for. A notice comes sooner than that, or never. */
export const isLostStart = ({ status, checks }: Attempt, outcome: Outcome, now: Date): boolean =>
  outcome.kind === 'unknown' &&
  outcome.unaskable === true &&
  status === 'processing' &&
  now.getTime() - checks.since.getTime() >= LATE_APPROVAL_MS

export const LOST_START =
  'unanswered: the answer to its start was lost, and the provider cannot be asked for it. Look in its dashboard, and end the attempt if nothing was paid.'

export const UNANSWERED = 'unanswered: the provider has given no clear answer for seven days. It is asked once a day.'

/** Sets the time of the next check. */
export function withNextCheck(attempt: Attempt, before: Attempt, now: Date): Attempt {
  const since = attempt.status === before.status ? attempt.checks.since : now
  const current = { ...attempt, checks: { ...attempt.checks, since } }
  return { ...current, checks: { ...current.checks, nextAt: nextCheck(current, now) } }
}
