import { isSending, markOffline, markOnline } from './network.ts'
import { panel, read, versionOf } from './panel.ts'
import { show } from './show-panel.ts'

let loading: Promise<void> | undefined
/** The newest version reported by the server. */
let newest = -1
/** A panel was requested and has not arrived. */
export let isLoadPending = false

/** Fetches the current panel. Concurrent calls share one request. */
export function load(): Promise<void> {
  isLoadPending = true
  loading ??= fetchPanel().then((isAnswered) => {
    loading = undefined
    if (isAnswered) catchUp()
  })
  return loading
}

async function fetchPanel(): Promise<boolean> {
  const url = location.href
  try {
    const answer = await fetch(url, { headers: { 'x-panel': panel.dataset.status ?? '' }, cache: 'no-store' })
    const fresh = isShowable(answer) ? read(await answer.text()) : null
    markOnline()
    if (fresh && !isSending && url === location.href) {
      markLoaded()
      show(fresh)
    }
    return fresh !== null
  } catch {
    markOffline()
    return false
  }
}

/** A panel, or 404. After any other error the panel on the screen stays. */
function isShowable({ headers, status }: Response): boolean {
  return headers.has('x-state') || status === 404
}

export function markLoaded(): void {
  isLoadPending = false
}

export function onVersion({ v }: { v: number }): void {
  newest = Math.max(newest, v)
  catchUp()
}

/** Loads a version that was reported during a request. */
export function catchUp(): void {
  if (!isSending && (isLoadPending || newest > versionOf(panel))) void load()
}
