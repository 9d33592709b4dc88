import { countDown } from './countdown.ts'
import { stream } from './live-updates.ts'
import { load } from './load-panel.ts'
import { isOffline, markButtons } from './network.ts'
import { inPanel, isOpen, later, panel, replacePanel, speak, versionOf } from './panel.ts'
import { showProvider } from './provider-page.ts'
import { leaveSoon, stopLeaving } from './return-to-shop.ts'
import { choose, makeTabs } from './tabs.ts'
import { postToShop } from './widget.ts'

/** Shows a panel unless the one on the screen is newer: responses may arrive out of order. */
export function show(fresh: HTMLElement): void {
  const [before, now] = [versionOf(panel), versionOf(fresh)]
  if (now < before) return
  if (now > before || fresh.dataset.state !== panel.dataset.state) {
    swap(fresh)
    return
  }
  // The state is the same, so input and focus stay untouched; only the countdown is corrected.
  const left = fresh.querySelector<HTMLElement>('[data-left]')?.dataset.left
  const timer = inPanel('[data-left]')
  if (timer && left) {
    timer.dataset.left = left
    countDown(timer)
  }
}

/** Replaces the panel. The focus moves only if the state changed; the chosen method stays. */
export function swap(fresh: HTMLElement): void {
  const isSame = fresh.dataset.state === panel.dataset.state
  const chosen = inPanel<HTMLElement>('[data-method][aria-current]')?.dataset.method
  const focused = stops().indexOf(document.activeElement as HTMLElement)
  stopLeaving()
  replacePanel(fresh)
  if (isSame && chosen) choose(chosen)
  activate()
  if (isSame) {
    const next = wrongField() ?? stops()[focused]
    next?.focus()
    return
  }
  announce()
  if (panel.dataset.status !== 'pending') document.querySelector('.phone')?.remove()
  if (!isOpen()) stream?.close()
  postToShop('status')
}

export function announce(): void {
  const target = wrongField() ?? document.getElementById('heading')
  target?.focus()
  speak(panel.dataset.speak)
}

/** The first field with a mistake. */
const wrongField = () => inPanel('[aria-invalid],[data-wrong]')

/** Focusable elements. The same state has the same ones in the same order. */
function stops(): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('a, button, input:not([type=hidden]), select, summary, [tabindex]')]
}

/** Shows a state from a template element while the response is pending. */
export function swapFor(state: 'processing' | 'confirming'): void {
  const template = document.getElementById(state) as HTMLTemplateElement | null
  if (!template) return
  const fresh = document.createElement('main')
  fresh.id = 'panel'
  Object.assign(fresh.dataset, { state, version: '-1', status: 'pending', atStake: '' })
  fresh.append(template.content.cloneNode(true))
  fresh.dataset.speak = template.dataset.speak ?? ''
  swap(fresh)
}

/** Starts the timers, the frame, the tabs and the return of a new panel. */
export function activate(): void {
  for (const note of panel.querySelectorAll<HTMLElement>('[data-after]')) {
    later(() => {
      note.hidden = false
      speak(note.textContent ?? '')
    }, Number(note.dataset.after) * 1000)
  }
  const reload = inPanel('[data-reload-after]')
  if (reload) later(() => void load(), Number(reload.dataset.reloadAfter) * 1000)
  const timer = inPanel('[data-left]')
  if (timer) countDown(timer)
  showProvider()
  leaveSoon()
  makeTabs()
  if (isOffline()) markButtons()
}
