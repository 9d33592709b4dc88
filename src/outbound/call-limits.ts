/**
 * Rate limit and backpressure for background calls to providers, for each integration in this process: calls in flight,
 * and calls a second. A silent provider occupies a few slots, and many open links do not become a flood of calls.
 *
 * The rate limit is the generic cell rate algorithm (a token bucket): each call moves the integration's next slot by
 * one interval. Work without a slot is postponed, one interval after the work that was postponed before it, so that it
 * does not return all at once.
 */
export interface CallLimits {
  /** A slot for one call, which must be left afterwards, or how long to wait for one, at most `maxWaitMs`. */
  enter(key: string, maxWaitMs?: number): { leave(): void } | { waitMs: number }
  /** How long the work that this process postponed still waits, of the integration where that is longest. */
  longestWaitMs(): number
}

export interface CallLimitOptions {
  maxInFlight: number
  perSecond: number
  burst: number
  /** Monotonic milliseconds. */
  now?: () => number
}

interface CallState {
  inFlight: number
  /** Moved by calls that were made. */
  nextSlotMs: number
  /** Moved by work that was postponed. */
  queueEndMs: number
}

const MIN_WAIT_MS = 1_000
const MAX_WAIT_MS = 600_000
/**
 * For checks of ended attempts. No customer waits for them. A busy integration can add more of them than its rate limit
 * allows, so the queue grows. Each is postponed once, to its own slot: with a short wait, the worker would claim and
 * postpone the whole queue again and again.
 */
export const MAX_BACKGROUND_WAIT_MS = 24 * 3_600_000

export const NO_LIMITS: CallLimits = { enter: () => ({ leave: () => {} }), longestWaitMs: () => 0 }

export function callLimits(options: CallLimitOptions): CallLimits {
  const { maxInFlight, perSecond, burst, now = () => performance.now() } = options
  const intervalMs = 1_000 / perSecond
  const states = new Map<string, CallState>()

  return {
    enter(key, maxWaitMs = MAX_WAIT_MS) {
      const nowMs = now()
      const state = states.get(key) ?? { inFlight: 0, nextSlotMs: 0, queueEndMs: 0 }
      states.set(key, state)
      const aheadMs = Math.max(0, state.nextSlotMs - nowMs) - (burst - 1) * intervalMs
      if (state.inFlight >= maxInFlight || aheadMs > 0) {
        state.queueEndMs = Math.min(nowMs + maxWaitMs, Math.max(nowMs, state.queueEndMs) + intervalMs)
        return { waitMs: Math.max(MIN_WAIT_MS, state.queueEndMs - nowMs) }
      }
      state.nextSlotMs = Math.max(nowMs, state.nextSlotMs) + intervalMs
      state.inFlight++
      return {
        leave() {
          state.inFlight--
          if (state.inFlight === 0 && Math.max(state.nextSlotMs, state.queueEndMs) <= now()) states.delete(key)
        },
      }
    },
    longestWaitMs: () => states.values().reduce((longest, { queueEndMs }) => Math.max(longest, queueEndMs - now()), 0),
  }
}

/** Work that was claimed; `done` resolves when all that was started has ended. */
export interface ClaimedWork {
  claimed: number
  done: Promise<void>
}

export interface Postponed<Item> {
  item: Item
  waitMs: number
}

/** When each of these is due again, as text: the driver writes the dates of an array without their time zone. */
export const dueTimes = (late: Postponed<unknown>[], now: Date): string[] =>
  late.map(({ waitMs }) => new Date(now.getTime() + waitMs).toISOString())

/** Starts the work whose integration has a slot, without waiting for it, and postpones the rest. */
export async function startWithin<Item>(
  limits: CallLimits,
  items: Item[],
  {
    keyOf,
    maxWaitOf,
    work,
    postpone,
  }: {
    keyOf(item: Item): string
    /** Absent: ten minutes. */
    maxWaitOf?(item: Item): number | undefined
    /** Must not reject. */
    work(item: Item): Promise<void>
    postpone(late: Postponed<Item>[]): Promise<void>
  },
): Promise<ClaimedWork> {
  const running: Promise<void>[] = []
  const late: Postponed<Item>[] = []
  for (const item of items) {
    const slot = limits.enter(keyOf(item), maxWaitOf?.(item))
    if ('waitMs' in slot) late.push({ item, waitMs: slot.waitMs })
    else running.push(work(item).finally(slot.leave))
  }
  if (late.length > 0) await postpone(late)
  return { claimed: items.length, done: Promise.all(running).then(() => {}) }
}

/** What calls are limited by. */
export function integrationKey({ merchantId, mode, provider }: { merchantId: string; mode: string; provider: string }) {
  return `${merchantId} ${mode} ${provider}`
}
