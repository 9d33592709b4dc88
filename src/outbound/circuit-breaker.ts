/**
 * Leaves a provider in peace that is in trouble, and us out of its trouble: after some failures in a row nothing is
 * asked for a while, then one call goes ahead and tells whether the others may follow.
 */
export interface Breaker {
  /** May this call go out? If not, why. */
  ask(): Permit | { refused: string }
}

/** Each permit is given back once, by the word that fits. */
export interface Permit {
  succeeded(): void
  /** `retryAfterMs`: the provider itself said for how long it does not want to be asked. */
  failed(because: string, retryAfterMs?: number): void
  /** Says nothing about the provider: the call never became one. */
  unused(): void
}

export interface BreakerOptions {
  failuresInARow?: number
  openMs?: number
  openMostMs?: number
  /** Monotonic milliseconds. */
  now?: () => number
  random?: () => number
}

export function createBreaker(options: BreakerOptions = {}): Breaker {
  const { failuresInARow = 8, openMs = 10_000, openMostMs = 60_000 } = options
  const { now = () => performance.now(), random = Math.random } = options
  let failures = 0
  let timesOpened = 0
  let open: { until: number; because: string; probing: boolean } | undefined
  // Calls from before the last change of state are late news: only those of the present age are heard.
  let age = 0
  // "In a row" is the order in which they went out. Silence takes its whole deadline, so after a busy moment all that went unanswered
  // comes in together, behind the answers of calls that were made later.
  let made = 0
  let lastAnswered = 0

  function trip(because: string, retryAfterMs: number): void {
    // Give or take a fifth, so that many processes do not all come back at once.
    const usual = Math.min(openMostMs, openMs * 2 ** timesOpened) * (0.8 + 0.4 * random())
    const wished = Math.min(openMostMs, retryAfterMs)
    open = { until: now() + (wished || usual), because, probing: false }
    timesOpened++
    age++
  }

  function permit(probe: boolean): Permit {
    const mine = age
    const place = ++made
    return {
      succeeded() {
        if (mine !== age) return
        lastAnswered = Math.max(lastAnswered, place)
        if (probe) age++
        open = undefined
        failures = 0
        timesOpened = 0
      },
      failed(because, retryAfterMs = 0) {
        if (mine !== age || (place < lastAnswered && retryAfterMs === 0)) return
        failures++
        if (probe || retryAfterMs > 0 || failures >= failuresInARow) trip(because, retryAfterMs)
      },
      unused() {
        if (mine === age && probe && open) open.probing = false
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
  }
}
