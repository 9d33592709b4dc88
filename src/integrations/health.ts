/** Recent success of calls to a provider, used to order the payment options. Each process keeps its own. */
export interface Health {
  isWell(name: string): boolean
  note(name: string, went: 'well' | 'badly'): void
}

/** Older results are ignored, so that an unhealthy provider is tried again. */
const WINDOW_MS = 60_000
const MAX_RESULTS = 10

interface Result {
  at: number
  went: 'well' | 'badly'
}

export function createHealth(now: () => number = Date.now): Health {
  const results = new Map<string, Result[]>()
  const recent = (name: string) => (results.get(name) ?? []).filter(({ at }) => now() - at < WINDOW_MS)

  return {
    isWell(name) {
      const latest = recent(name)
      const bad = latest.filter(({ went }) => went === 'badly').length
      const threeInARow = latest.length >= 3 && latest.slice(-3).every(({ went }) => went === 'badly')
      return !threeInARow && bad < MAX_RESULTS / 2
    },
    note(name, went) {
      results.set(name, [...recent(name), { at: now(), went }].slice(-MAX_RESULTS))
    },
  }
}
