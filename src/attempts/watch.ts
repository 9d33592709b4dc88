import type { Attempt, Watch } from './attempt.ts'

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

/** While a customer may be paying, money whose notice was lost is found within a minute or so. */
const OPEN_AFTER = [10 * SECOND, 30 * SECOND]
const OPEN_EVERY = MINUTE
/** Most links end with the money. Some take another card, from a customer with two tabs; that goes back, and its notice may be lost. */
const PAID_LINK_AFTER = [10 * MINUTE, 6 * HOUR]
/** Transfers take their time, and some customers use an old number. */
const CLOSED_AFTER = [MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY]

/** When to ask next. `exhausted`: it was asked for as long as there is a point in it. */
export function nextCheck(attempt: Attempt, now: Date): Date | 'exhausted' | null {
  const { status, channel, watch } = attempt
  if (attempt.instructions?.kind === 'confirm') return null // the provider has not heard of it
  const open = whileOpen(attempt, now)
  // Whoever has the link can have paid: an outcome that is in doubt is not looked at less often than one that is not.
  if (status === 'processing') {
    const due = after(watch.since, UNKNOWN_AFTER, now)
    return due && open && open < due ? open : (due ?? 'exhausted')
  }
  // An account number takes whatever is sent to it, even after the payment is paid. A card is charged once, wherever it has no link.
  if (channel === 'card' && (status === 'successful' || status === 'surplus')) {
    return attempt.instructions?.kind === 'link' ? after(watch.since, PAID_LINK_AFTER, now) : null
  }
  if (open) return open
  return after(new Date(Math.max(closesAt(attempt).getTime(), watch.since.getTime())), CLOSED_AFTER, now)
}

function whileOpen(attempt: Attempt, now: Date): Date | null {
  const next = after(attempt.watch.since, OPEN_AFTER, now) ?? new Date(now.getTime() + OPEN_EVERY)
  return next < closesAt(attempt) ? next : null
}

function closesAt({ instructionsExpireAt, watch }: Attempt): Date {
  return instructionsExpireAt ?? watch.since
}

function after(start: Date, offsets: number[], now: Date): Date | null {
  const next = offsets.find((offset) => start.getTime() + offset > now.getTime())
  return next === undefined ? null : new Date(start.getTime() + next)
}

/** Something happened to it: look closely again. */
export function watchAnew(now: Date): Watch {
  return { since: now, checks: 0, missingInARow: 0, nextCheckAt: null }
}
