import { writeFileSync } from 'node:fs'

/** For `npm run gate -- proof`: what this run did, as numbers, into the file that it names. */
export function recordFigures(figures: Record<string, number>): void {
  const { FIGURES_FILE } = process.env
  if (FIGURES_FILE) writeFileSync(FIGURES_FILE, JSON.stringify(figures))
}
