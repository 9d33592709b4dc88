import type { Mode } from '../kernel/mode.ts'
import { LEAST_DAYS } from '../kernel/retention.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The lists of an account, and `open`: unfinished refunds and disputes, order by order. */
export type RunKind = 'transactions' | 'refunds' | 'disputes' | 'settlements' | 'open'
export type WindowName = keyof typeof WINDOWS | 'by hand'

interface Window {
  kinds: readonly RunKind[]
  /** Lists go by the time of creation. */
  lengthMs: number
  everyMs: number
  /** Read only while the account had an attempt in that time. */
  isOnlyWhenActive?: true
  /** Receipts of ours that the list lacks are asked for by themselves. */
  findsAbsent?: true
}

/** How often which part of a list is read. */
export const WINDOWS = {
  '2 hours': {
    ...{ kinds: ['transactions', 'refunds'], lengthMs: 2 * HOUR, everyMs: 10 * MINUTE },
    isOnlyWhenActive: true,
  },
  '48 hours': {
    ...{ kinds: ['transactions', 'refunds', 'disputes'], lengthMs: 48 * HOUR, everyMs: 6 * HOUR },
    findsAbsent: true,
  },
  '8 days': {
    ...{ kinds: ['transactions', 'refunds', 'disputes'], lengthMs: 8 * DAY, everyMs: DAY },
    findsAbsent: true,
  },
  // A reversal without a refund is in the list of transactions alone.
  '180 days': { kinds: ['transactions', 'refunds', 'disputes'], lengthMs: 180 * DAY, everyMs: 7 * DAY },
  '10 days': { kinds: ['settlements'], lengthMs: 10 * DAY, everyMs: HOUR },
  '60 days': { kinds: ['settlements'], lengthMs: 60 * DAY, everyMs: DAY },
  open: { kinds: ['open'], lengthMs: 180 * DAY, everyMs: DAY },
} as const satisfies Record<string, Window>

/** A run by hand has its own range, and is due once. */
const BY_HAND: Window = { kinds: [], lengthMs: 0, everyMs: DAY, findsAbsent: true }

export const windowOf = (name: WindowName): Window => (name === 'by hand' ? BY_HAND : WINDOWS[name])

/** Every list of an account with its window. */
export const PLANNED = (Object.keys(WINDOWS) as (keyof typeof WINDOWS)[]).flatMap((name) =>
  WINDOWS[name].kinds.map((kind: RunKind) => ({ kind, name, everySeconds: WINDOWS[name].everyMs / 1_000 })),
)

/** Younger than this, an open refund or dispute is in the account's lists of that window. */
export const LISTED_DAILY_MS = WINDOWS['8 days'].lengthMs

/** Clocks differ, and some providers name whole seconds. */
const CLOCKS_DIFFER_BY_MS = 5 * MINUTE

export interface Range {
  from: Date
  to: Date
}

/**
 * The range of a run that starts now. After an outage it is longer by that time: what changed at the provider meanwhile
 * must not fall out of the window unseen. An account that was idle is read by the other windows. Not before the
 * integration was made: the account may be older than it. Not before the shortest retention of the sandbox: what was
 * deleted here is still in the list.
 */
export function rangeOf(
  name: WindowName,
  { mode, since, comparedTo }: { mode: Mode; since: Date; comparedTo: Date | null },
  now: Date,
): Range {
  const { lengthMs, everyMs, isOnlyWhenActive } = windowOf(name)
  const kept = mode === 'sandbox' ? LEAST_DAYS.sandbox * DAY - DAY : Number.POSITIVE_INFINITY
  const late = comparedTo ? Math.max(0, now.getTime() - comparedTo.getTime() - everyMs) : 0
  const length = Math.min(lengthMs + (isOnlyWhenActive ? Math.min(late, lengthMs) : late), kept)
  const first = since.getTime() - CLOCKS_DIFFER_BY_MS
  return { from: new Date(Math.max(now.getTime() - length, first)), to: now }
}

/** When the next run is due. `jitter`, from 0 to 1, keeps accounts apart that once started together. */
export function nextDue(name: WindowName, startedAt: Date, jitter: number): Date {
  return new Date(startedAt.getTime() + windowOf(name).everyMs * (0.95 + jitter / 10))
}

/** A window that was last compared so long ago is a day late. The alerts have the same limits. */
export const lateAfterMs = (name: WindowName): number => windowOf(name).everyMs + DAY

/** A run that cannot go on for this long starts again: its cursor may be the reason, and its range is old. */
export function isStale(name: WindowName, startedAt: Date, now: Date): boolean {
  return name !== 'by hand' && now.getTime() - startedAt.getTime() > Math.max(2 * windowOf(name).everyMs, 6 * HOUR)
}

const RETRY_MS = [MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR]

/** When a page is asked for again that the provider did not answer. */
export function retryAt(failedSince: Date | null, now: Date): Date {
  const passed = failedSince ? now.getTime() - failedSince.getTime() : 0
  return new Date(now.getTime() + (RETRY_MS.find((ms) => ms > passed / 2) ?? HOUR))
}
