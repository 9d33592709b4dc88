import type { Mistake } from '../kernel/problem.ts'
import { pointerPart } from './json-body.ts'

// Nobody misspells one field among thousands; comparing them all would only cost us time.
const MAX_FIELDS = 200

/**
 * Fields that we do not know are ignored, so that clients may send more than we need. But `redirectUrl` is surely meant as
 * `redirectURL`, and ignoring it would cost the merchant their redirect: such a one is pointed out.
 */
export function nearMisses(body: Record<string, unknown>, known: readonly string[], pointer = ''): Mistake[] {
  return Object.keys(body)
    .slice(0, MAX_FIELDS)
    .flatMap((field) => {
      if (known.includes(field)) return []
      const meant = known.find((name) => resembles(field, name))
      if (!meant) return []
      return [
        {
          pointer: `${pointer}/${pointerPart(field)}`,
          code: 'unknown_field',
          message: `There is no field \`${field}\`; did you mean \`${meant}\`?`,
        },
      ]
    })
}

function resembles(field: string, known: string): boolean {
  if (field.length > 60) return false
  const [a, b] = [bare(field), bare(known)]
  return a === b || distance(a, b) <= tolerance(b)
}

/** Short words have too many neighbours (`used`, `game`) for a guess to be a help. */
function tolerance(name: string): number {
  return name.length >= 8 ? 2 : name.length >= 6 ? 1 : 0
}

/** Spelling habits aside: `redirect_url`, `RedirectUri` and `redirectURL` are the same word. */
function bare(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/ur[li]$/, '')
}

/** How many letters to add, drop, change or swap with their neighbour to get from one to the other. */
function distance(a: string, b: string): number {
  let twoBack: number[] = []
  let before = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min((row[j - 1] ?? 0) + 1, (before[j] ?? 0) + 1, (before[j - 1] ?? 0) + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (twoBack[j - 2] ?? 0) + 1)
      row.push(best)
    }
    twoBack = before
    before = row
  }
  return before[b.length] ?? 0
}
