import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Frame, Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RUN = `axe.run(document, {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'], selectors: false
})`

/** Once per document, before `findings`. */
export async function loadAxe(where: Page | Frame): Promise<void> {
  await where.evaluate(AXE)
}

/** Colours in the middle of a transition are not those of the page. An animation without end has none. */
const SETTLED = `Promise.allSettled(document.getAnimations()
  .filter((each) => Number.isFinite(each.effect.getComputedTiming().endTime)).map((each) => each.finished))`

/** Every accessibility finding in a line of its own. */
export async function findings(where: Page | Frame): Promise<string[]> {
  await where.evaluate(SETTLED)
  const { violations } = (await where.evaluate(RUN)) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary.replaceAll(/\s+/g, ' ')}`),
  )
}
