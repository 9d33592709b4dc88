import { type Attempt, type CheckSchedule, isUnstarted } from './attempt.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** An outcome that nobody knows: asked for again and again, and after a week by a person. Never guessed. */
const UNKNOWN_AFTER = [
  10 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  HOUR,
  6 * HOUR,
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY),
]

/** A start that the provider did not answer and that nobody can have paid: a verdict is possible at 60 s. */
export const UNSTARTED_UNTIL = MINUTE
const UNSTARTED_AFTER = [
  5 * SECOND,
  15 * SECOND,
  UNSTARTED_UNTIL,
  ...UNKNOWN_AFTER.filter((offset) => offset > UNSTARTED_UNTIL),
]

/** While the customer may be paying: a lost notice costs a minute at first, and an abandoned link about 60 calls a day. */
const OPEN_AFTER = [
  10 * SECOND,
  30 * SECOND,
  ...steps(MINUTE, 15 * MINUTE, MINUTE),
  ...steps(20 * MINUTE, 75 * MINUTE, 5 * MINUTE),
  ...steps(90 * MINUTE, 6 * HOUR, 30 * MINUTE),
]
const OPEN_THEN_EVERY = HOUR
/** Most links end with the money. Some take another card, from a customer with two tabs; that goes back, and its notice may be lost. */
const PAID_LINK_AFTER = [10 * MINUTE, 6 * HOUR]
/** After the end of a link. */
const LINK_ENDED_AFTER = [0, DAY]
/** Transfers take their time, and some customers use an old number. */
const CLOSED_AFTER = [MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY]

function steps(from: number, to: number, every: number): number[] {
  return Array.from({ length: (to - from) / every + 1 }, (_, index) => from + index * every)
}

/** When to ask next. `exhausted`: it was asked for as long as there is a point in it. */
export function nextCheck(attempt: Attempt, now: Date): Date | 'exhausted' | null {
  const { status, channel, checks } = attempt
  if (attempt.instructions?.kind === 'confirm') return null // the provider has not heard of it
  const open = whileOpen(attempt, now)
  // Whoever has the link can have paid: an outcome that is in doubt is not looked at less often than one that is not.
  if (status === 'processing') {
    const due = after(checks.since, isUnstarted(attempt) ? UNSTARTED_AFTER : UNKNOWN_AFTER, now)
    return due && open && open < due ? open : (due ?? 'exhausted')
  }
  // An account number takes whatever is sent to it, even after the payment is paid. A card is charged once, wherever it has no link.
  if (channel === 'card' && (status === 'successful' || status === 'surplus')) {
    return attempt.instructions?.kind === 'link' ? after(checks.since, PAID_LINK_AFTER, now) : null
  }
  return open ?? afterEnd(attempt, now)
}

/** Counted from the last sign of life: the start, a return of the customer, a notice. */
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

/** Something happened to it: look closely again. */
export function restartSchedule(now: Date): CheckSchedule {
  return { since: now, count: 0, missingInARow: 0, nextAt: null, lastActivityAt: null }
}
