import { pollAnew } from './live-updates.ts'
import { panel, speak } from './panel.ts'

const banner = document.getElementById('offline')

/** A form was submitted and has no response yet. */
export let isSending = false

export function isOffline(): boolean {
  return banner?.hidden === false
}

export function markOffline(): void {
  if (!banner?.hidden) return
  banner.hidden = false
  speakOffline()
  markButtons()
  pollAnew()
}

export function markOnline(): void {
  if (!banner || banner.hidden) return
  banner.hidden = true
  speak(banner.dataset.back)
  markButtons()
}

export function speakOffline(): void {
  speak(banner?.textContent ?? '')
}

export function markSending(isStarted: boolean): void {
  isSending = isStarted
  markButtons()
}

/** aria-disabled keeps the focus, which `disabled` would lose. Offline, the banner describes the reason. */
export function markButtons(): void {
  for (const button of panel.querySelectorAll('form button')) {
    button.setAttribute('aria-disabled', String(isSending || isOffline()))
    if (isOffline()) button.setAttribute('aria-describedby', 'offline')
    else button.removeAttribute('aria-describedby')
  }
}
