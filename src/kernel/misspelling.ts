/** Whether an unknown field name is probably a misspelling of a known one. */
export function isMisspellingOf(field: string, known: string): boolean {
  return isWithin(field, known, tolerance)
}

/** The same for a name that is refused anyway: a guess may be wrong, so one letter of a short name is allowed, too. */
export function resembles(name: string, known: string): boolean {
  return isWithin(name, known, (text) => Math.max(tolerance(text), text.length >= 4 ? 1 : 0))
}

function isWithin(field: string, known: string, most: (known: string) => number): boolean {
  if (field.length > 60) return false
  const [a, b] = [normalize(field), normalize(known)]
  return a === b || distance(a, b) <= most(b)
}

/** Maximum edit distance. Short names have too many similar words (`used`, `game`) for a useful guess. */
function tolerance(name: string): number {
  return name.length >= 8 ? 2 : name.length >= 6 ? 1 : 0
}

/** Ignores case, separators and url/uri: `redirect_url`, `RedirectUri` and `redirectURL` are the same name. */
function normalize(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/ur[li]$/, '')
}

/** Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of adjacent letters. */
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
