/**
 * The payment page's script. It renders nothing itself: the server sends HTML for every state. The script listens for
 * changes, replaces the panel, submits forms in the background, copies, counts down, frames the provider's page and
 * returns to the shop. This file has the page's events and its start. The others do nothing when they are imported, so
 * they may import each other: a panel that is shown loads the next one.
 */
import { submit } from './forms.ts'
import { guessNetwork } from './guess-network.ts'
import { follow, refresh, stream } from './live-updates.ts'
import { load } from './load-panel.ts'
import { markOffline } from './network.ts'
import { embedded, first, root, speak } from './panel.ts'
import { stopLeaving } from './return-to-shop.ts'
import { activate } from './show-panel.ts'
import { choose, tabs } from './tabs.ts'
import { askClose, onMessage, postToShop } from './widget.ts'

root.classList.add('js')

document.addEventListener('submit', (event) => {
  event.preventDefault()
  void submit(event.target as HTMLFormElement)
})

document.addEventListener('input', guessNetwork)

document.addEventListener('click', (event) => {
  const target = event.target as Element
  const at = <Found extends HTMLElement>(selector: string) => target.closest<Found>(selector)
  if (event.metaKey || event.ctrlKey || event.shiftKey) return
  // The second click of a double click could hit an element of the new panel.
  if (event.detail > 1) return event.preventDefault()
  const tab = at('[data-method]')
  const link = at<HTMLAnchorElement>('a[data-panel]')
  const copy = at('[data-copy]')
  if (tab) {
    event.preventDefault()
    choose(tab.dataset.method)
  } else if (link) {
    event.preventDefault()
    history.replaceState(null, '', link.href)
    void load()
  } else if (copy) void copyFrom(copy)
  else if (at('[data-print]')) print()
  else if (at('[data-stay]')) stopLeaving()
  else if (at('[data-keep]')) shut(at('details'))
  else if (at('[data-close]')) askClose()
  else if (at('[data-keep-open]')) at<HTMLDialogElement>('dialog')?.close()
  else if (at('[data-close-now]')) postToShop('close')
})

document.addEventListener('keydown', (event) => {
  const { key, target } = event
  if (key === 'Escape' && embedded && !document.querySelector('dialog[open]')) askClose()
  const all = tabs()
  const here = all.indexOf(target as HTMLElement)
  // Tabs are horizontal on phones and vertical on desktops: both pairs of arrows work.
  const forwards = root.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
  if (here === -1 || !/^Arrow/.test(key) || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault() // prevents scrolling
  const step = key === forwards || key === 'ArrowDown' ? 1 : -1
  const next = all[(here + step + all.length) % all.length]
  choose(next?.dataset.method)?.focus()
})

/** Closes a details element and returns the focus to its summary. */
function shut(details: HTMLElement | null): void {
  details?.removeAttribute('open')
  details?.querySelector('summary')?.focus()
}

async function copyFrom(button: HTMLElement): Promise<void> {
  button.dataset.label ??= button.textContent ?? ''
  try {
    await navigator.clipboard.writeText(button.dataset.copy ?? '')
  } catch {
    // The clipboard is not allowed: selects the text instead.
    const shown = button.parentElement?.querySelector('bdi')
    if (shown) getSelection()?.selectAllChildren(shown)
    return
  }
  button.textContent = button.dataset.copied ?? ''
  speak(button.dataset.copied)
  setTimeout(() => {
    button.textContent = button.dataset.label ?? ''
  }, 2000)
}

addEventListener('message', onMessage)
addEventListener('offline', markOffline)
addEventListener('online', refresh)
addEventListener('focus', refresh)
document.addEventListener('visibilitychange', refresh)
// Restored from the back/forward cache: the panel and its stream are outdated.
addEventListener('pagehide', () => stream?.close())
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return
  void load()
  follow()
})

/** Whether the frame that the provider's page returned to is ours. */
function isInOurOwn(): boolean {
  try {
    return parent.location.origin === location.origin
  } catch {
    return false
  }
}

const { onwards } = first.dataset
if (onwards && !isInOurOwn()) location.replace(onwards)

activate()
follow()
postToShop('ready')
