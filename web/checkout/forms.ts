import { ask } from './live-updates.ts'
import { catchUp, load, markLoaded } from './load-panel.ts'
import { isOffline, isSending, markOffline, markOnline, markSending, speakOffline } from './network.ts'
import { embedded, inPanel, panel, read } from './panel.ts'
import { announce, swap, swapFor } from './show-panel.ts'
import { postToShop } from './widget.ts'

// Timeout: as long as the state is `processing`. After that the same request is sent again.
const ANSWER_WITHIN_MS = 90_000

let sendNow = () => {}

/** Offline, nothing is submitted and the input stays, so that no outcome is unknown. */
export async function submit(form: HTMLFormElement): Promise<void> {
  if (navigator.onLine === false) markOffline()
  else if (isOffline() && !isSending) await ask()
  if (isOffline() && !isSending) speakOffline()
  else await send(form)
}

/** Submits a form with retries until there is a response. Its idempotency key makes repeated requests one. */
async function send(form: HTMLFormElement): Promise<void> {
  if (isSending) return sendNow() // a double click, or a second click while it waits
  const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]))
  const url = form.getAttribute('action') ?? '' // form.action is shadowed by the hidden field of that name
  const action = body.get('action')
  markSending(true)
  const slow = window.setTimeout(() => action === 'pay' && swapFor('processing'), 150)
  for (const wait of [1, 2, 3, 5, 10, 10, 10, 10]) {
    const answer = await post(url, body)
    clearTimeout(slow)
    if (answer) {
      markSending(false)
      return arrive(action, answer)
    }
    if (action === 'pay' && panel.dataset.state !== 'confirming') swapFor('confirming')
    await backOnline(wait * 1000)
  }
  markSending(false)
  await load()
}

/** Resolves after a delay, or as soon as the connection is back. */
function backOnline(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
    addEventListener('online', () => resolve(), { once: true })
    sendNow = resolve
  })
}

interface Answered {
  fresh: HTMLElement | null
  /** The URL to go to. */
  go: string | null
}

/** Undefined if the outcome is unknown. */
async function post(url: string, body: URLSearchParams): Promise<Answered | undefined> {
  const hanging = new AbortController()
  const timer = window.setTimeout(() => hanging.abort(), ANSWER_WITHIN_MS)
  try {
    const headers = { 'x-panel': panel.dataset.status ?? '' }
    const answer = await fetch(url, { method: 'POST', body, headers, signal: hanging.signal })
    markOnline()
    // 503 and 429 are retried. Other refusals come with a panel.
    if (answer.status >= 500 || answer.status === 429) return undefined
    return { fresh: read(await answer.text()), go: answer.headers.get('x-go') }
  } catch {
    if (!hanging.signal.aborted) markOffline()
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

function arrive(action: string | null, { fresh, go }: Answered): void {
  if (!fresh) return void load()
  note(fresh)
  markLoaded()
  swap(fresh)
  if (action === 'new-account') announce() // the same state with another account number
  const away = go ?? inPanel('[data-go]')?.dataset.go
  if (away && !embedded) location.assign(away)
  else if (action === 'cancel' && fresh.dataset.state === 'cancelled') postToShop('close')
  else catchUp()
}

/** Stores the view in the URL only, so that a reload shows it again. */
function note(fresh: HTMLElement): void {
  const url = new URL(location.href)
  url.searchParams.delete('method')
  if (fresh.dataset.state === 'checking') url.searchParams.set('sent', '1')
  else url.searchParams.delete('sent')
  history.replaceState(null, '', url)
}
