/** The panel on the screen, and what several files do with it. */
export const root = document.documentElement
export const first = document.getElementById('panel') as HTMLElement
export const embedded = document.body.dataset.embedded

export let panel = first
let timers: number[] = []

export function inPanel<Found extends HTMLElement = HTMLElement>(selector: string): Found | null {
  return panel.querySelector<Found>(selector)
}

export function versionOf({ dataset }: HTMLElement): number {
  return Number(dataset.version)
}

export function isOpen(): boolean {
  return panel.dataset.status === 'pending' || panel.dataset.state === 'expired' || panel.dataset.state === 'cancelled'
}

/** The panel in an answer of the server. */
export function read(html: string): HTMLElement | null {
  const template = document.createElement('template')
  template.innerHTML = html
  return template.content.querySelector('#panel')
}

/** Puts another panel on the screen. The timers of the one before end. */
export function replacePanel(fresh: HTMLElement): void {
  timers.forEach(clearTimeout)
  timers = []
  panel.replaceWith(fresh)
  panel = fresh
}

/** A timer that ends with the panel. */
export function later(run: () => void, ms: number): number {
  const timer = window.setTimeout(run, ms)
  timers.push(timer)
  return timer
}

/** Says a text to screen readers. */
export function speak(text: string | undefined): void {
  const region = document.getElementById('speak')
  if (region && text) region.textContent = text
}
