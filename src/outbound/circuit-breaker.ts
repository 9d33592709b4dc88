/**
 * Circuit breaker: stops calls to a provider that fails.
 *
 *   closed    -> open       `failuresInARow` calls failed, or the provider sent Retry-After
 *   open      -> half-open  the wait has passed: one call probes the provider, the others are still refused
 *   half-open -> closed     the probe succeeded
 *   half-open -> open       the probe failed: the next wait is longer (exponential backoff with jitter)
 */
export interface Breaker {
  /** Asks for a permit for one call. A refusal says why. */
  ask(): Permit | { refused: string }
  state(): BreakerState
}

export type BreakerState = 'closed' | 'open' | 'half_open'

/** Each permit must be settled once, by one of these methods. */
export interface Permit {
  succeeded(): void
  /** `retryAfterMs`: the wait that the provider asked for in Retry-After. */
  failed(because: string, retryAfterMs?: number): void
  /** The request could not be made, which says nothing about the provider. */
  unused(): void
}

export interface BreakerOptions {
  failuresInARow?: number
  openMs?: number
  maxOpenMs?: number
  /** Monotonic milliseconds. */
  now?: () => number
  random?: () => number
}

export function createBreaker(options: BreakerOptions = {}): Breaker {
  const { failuresInARow = 8, openMs = 10_000, maxOpenMs = 60_000 } = options
  const { now = () => performance.now(), random = Math.random } = options
  let failures = 0
  let timesOpened = 0
  let open: { until: number; because: string; probing: boolean } | undefined
  // Results of calls from before the last change of state are ignored.
  let generation = 0
  // "In a row" is the order in which the calls were sent. Timeouts arrive a whole deadline later, behind the answers of
  // calls that were sent after them.
  let made = 0
  let lastAnswered = 0
  let lastFailed = 0

  function trip(because: string, retryAfterMs: number): void {
    // Jitter of 20 %, so that many processes do not probe at the same moment.
    const usual = Math.min(maxOpenMs, openMs * 2 ** timesOpened) * (0.8 + 0.4 * random())
    const requested = Math.min(maxOpenMs, retryAfterMs)
    open = { until: now() + (requested || usual), because, probing: false }
    timesOpened++
    generation++
  }

  function permit(probe: boolean): Permit {
    const mine = generation
    const place = ++made
    return {
      succeeded() {
        if (mine !== generation || place < lastFailed) return
        lastAnswered = Math.max(lastAnswered, place)
        if (probe) generation++
        open = undefined
        failures = 0
        timesOpened = 0
      },
      failed(because, retryAfterMs = 0) {
        if (mine !== generation || (place < lastAnswered && retryAfterMs === 0)) return
        lastFailed = Math.max(lastFailed, place)
        failures++
        if (probe || retryAfterMs > 0 || failures >= failuresInARow) trip(because, retryAfterMs)
      },
      unused() {
        if (mine === generation && probe && open) open.probing = false
      },
    }
  }

  return {
    ask() {
      if (!open) return permit(false)
      if (open.probing || now() < open.until) return { refused: open.because }
      open.probing = true
      return permit(true)
    },
    state() {
      if (!open) return 'closed'
      return open.probing || now() >= open.until ? 'half_open' : 'open'
    },
  }
}
