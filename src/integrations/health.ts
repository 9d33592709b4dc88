/** How a provider has been answering lately, for the choice between several. Of this process alone: another finds out by itself. */
export interface Health {
  isWell(name: string): boolean
  note(name: string, went: 'well' | 'badly'): void
}

/** Forgotten after this, so that one that was unwell is tried again. */
const MEMORY_MS = 60_000
const REMEMBERED = 10

interface Answer {
  at: number
  went: 'well' | 'badly'
}

export function createHealth(now: () => number = Date.now): Health {
  const answers = new Map<string, Answer[]>()
  const recent = (name: string) => (answers.get(name) ?? []).filter(({ at }) => now() - at < MEMORY_MS)

  return {
    isWell(name) {
      const lately = recent(name)
      const bad = lately.filter(({ went }) => went === 'badly').length
      const threeInARow = lately.length >= 3 && lately.slice(-3).every(({ went }) => went === 'badly')
      return !threeInARow && bad < REMEMBERED / 2
    },
    note(name, went) {
      answers.set(name, [...recent(name), { at: now(), went }].slice(-REMEMBERED))
    },
  }
}
