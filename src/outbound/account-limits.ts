/**
 * Limits for background calls to providers, for each provider account in this process: calls in flight, and calls a second. So a silent
 * provider occupies a few places, and many open links do not become a flood of calls.
 *
 * The rate is the generic cell rate algorithm (a token bucket): each call moves the account's next slot by one interval. Work that finds no
 * place is postponed, one interval after the work that was postponed before it, so that it does not come back all at once.
 */
export interface AccountLimits {
  /** A place for one call, to be left afterwards, or how long to wait for one. */
  enter(account: string): { leave(): void } | { waitMs: number }
}

export interface AccountLimitOptions {
  maxInFlight: number
  perSecond: number
  burst: number
  /** Monotonic milliseconds. */
  now?: () => number
}

interface Lane {
  inFlight: number
  /** Moved by calls that were made. */
  nextSlotMs: number
  /** Moved by work that was postponed. */
  queueEndMs: number
}

const LEAST_WAIT_MS = 1_000
const MOST_WAIT_MS = 600_000

export const NO_LIMITS: AccountLimits = { enter: () => ({ leave: () => {} }) }

export function accountLimits(options: AccountLimitOptions): AccountLimits {
  const { maxInFlight, perSecond, burst, now = () => performance.now() } = options
  const intervalMs = 1_000 / perSecond
  const lanes = new Map<string, Lane>()

  return {
    enter(account) {
      const nowMs = now()
      const lane = lanes.get(account) ?? { inFlight: 0, nextSlotMs: 0, queueEndMs: 0 }
      lanes.set(account, lane)
      const aheadMs = Math.max(0, lane.nextSlotMs - nowMs) - (burst - 1) * intervalMs
      if (lane.inFlight >= maxInFlight || aheadMs > 0) {
        lane.queueEndMs = Math.min(nowMs + MOST_WAIT_MS, Math.max(nowMs, lane.queueEndMs) + intervalMs)
        return { waitMs: Math.max(LEAST_WAIT_MS, lane.queueEndMs - nowMs) }
      }
      lane.nextSlotMs = Math.max(nowMs, lane.nextSlotMs) + intervalMs
      lane.inFlight++
      return {
        leave() {
          lane.inFlight--
          if (lane.inFlight === 0 && Math.max(lane.nextSlotMs, lane.queueEndMs) <= now()) lanes.delete(account)
        },
      }
    },
  }
}

/** Work that was claimed; `done` resolves when all that was started has ended. */
export interface Started {
  claimed: number
  done: Promise<void>
}

export interface Postponed<Item> {
  item: Item
  waitMs: number
}

/** Starts the work for which its account has a place, without waiting for it, and postpones the rest. */
export async function startWithin<Item>(
  limits: AccountLimits,
  items: Item[],
  {
    accountOf,
    work,
    postpone,
  }: {
    accountOf(item: Item): string
    /** Must not reject. */
    work(item: Item): Promise<void>
    postpone(late: Postponed<Item>[]): Promise<void>
  },
): Promise<Started> {
  const running: Promise<void>[] = []
  const late: Postponed<Item>[] = []
  for (const item of items) {
    const place = limits.enter(accountOf(item))
    if ('waitMs' in place) late.push({ item, waitMs: place.waitMs })
    else running.push(work(item).finally(place.leave))
  }
  if (late.length > 0) await postpone(late)
  return { claimed: items.length, done: Promise.all(running).then(() => {}) }
}

export function accountKey({ merchantId, mode, provider }: { merchantId: string; mode: string; provider: string }) {
  return `${merchantId} ${mode} ${provider}`
}
