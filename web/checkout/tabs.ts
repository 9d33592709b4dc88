import { inPanel, panel } from './panel.ts'

/** Turns the links into tabs: one tab stop, with arrow keys between them. */
export function makeTabs(): void {
  const bar = inPanel('.tabs')
  if (!bar) return
  bar.setAttribute('role', 'tablist')
  if (getComputedStyle(bar).flexDirection === 'column') bar.setAttribute('aria-orientation', 'vertical')
  for (const tab of tabs()) {
    tab.setAttribute('role', 'tab')
    tab.setAttribute('aria-controls', `method-${tab.dataset.method}`)
    const section = document.getElementById(`method-${tab.dataset.method}`)
    tab.id = `tab-${tab.dataset.method}`
    section?.setAttribute('role', 'tabpanel')
    section?.setAttribute('aria-labelledby', tab.id)
  }
  choose(inPanel('[data-method][aria-current]')?.dataset.method)
}

export function tabs(): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('[data-method]')]
}

export function choose(method: string | undefined): HTMLElement | undefined {
  let chosen: HTMLElement | undefined
  for (const tab of tabs()) {
    const isChosen = tab.dataset.method === method
    if (isChosen) chosen = tab
    tab.toggleAttribute('aria-current', isChosen)
    tab.setAttribute('aria-selected', String(isChosen))
    tab.tabIndex = isChosen ? 0 : -1
    const section = document.getElementById(`method-${tab.dataset.method}`)
    if (section) section.hidden = !isChosen
  }
  return chosen
}
