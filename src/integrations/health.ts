/** Recent success of calls to a provider, used to order the payment options. Each process keeps its own. */
export interface Health {
  isHealthy(name: string): boolean
  recordResult(name: string, result: Result): void
}

/** Older results are ignored, so that an unhealthy provider is tried again. */
const WINDOW_MS = 60_000
const MAX_RESULTS = 10

type Result = 'succeeded' | 'failed'

export function createHealth(now: () => number = Date.now): Health {
  const results = new Map<string, { at: number; result: Result }[]>()
  const recent = (name: string) => (results.get(name) ?? []).filter(({ at }) => now() - at < WINDOW_MS)

  return {
    isHealthy(name) {
      const latest = recent(name)
      const failures = latest.filter(({ result }) => result === 'failed').length
      const threeInARow = latest.length >= 3 && latest.slice(-3).every(({ result }) => result === 'failed')
      return !threeInARow && failures < MAX_RESULTS / 2
    },
    recordResult(name, result) {
      results.set(name, [...recent(name), { at: now(), result }].slice(-MAX_RESULTS))
    },
  }
}
