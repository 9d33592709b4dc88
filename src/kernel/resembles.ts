/** Whether a word that we do not know is surely meant as one that we do. */
export function resembles(field: string, known: string): boolean {
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
