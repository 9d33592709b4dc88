import { isLoadPending, load, onVersion } from './load-panel.ts'
import { isOffline, markOffline, markOnline } from './network.ts'
import { inPanel, isOpen, root } from './panel.ts'

const path = location.pathname
const pollScale = 'save' in root.dataset ? 2 : 1

let polls = 0
let pollTimer = 0
export let stream: EventSource | undefined
/** The stream has sent a message, so it works. */
let isStreaming = false

export async function ask(): Promise<void> {
  try {
    const answer = await fetch(`${path}/status`, { cache: 'no-store' })
    markOnline()
    if (answer.ok) onVersion(await answer.json())
    else if (answer.status === 404) void load()
  } catch {
    markOffline()
  }
}

/**
 * Polls after 2, 3 and 5 s, then every 10 s; every 60 s beside a working stream, which can fail silently. Hidden pages
 * do not poll.
 */
function poll(): void {
  clearTimeout(pollTimer)
  const wait = isStreaming && !isOffline() ? 60 : ([2, 3, 5][polls] ?? 10)
  polls += 1
  pollTimer = window.setTimeout(
    async () => {
      if (document.visibilityState === 'visible' && navigator.onLine !== false) await ask()
      if (isOpen() || isLoadPending) poll()
    },
    wait * 1000 * pollScale,
  )
}

export function pollAnew(): void {
  polls = 0
  poll()
}

/** Opens the SSE stream, and polls until it sends a message: some proxies buffer streams. */
export function follow(): void {
  if (!isOpen()) return
  pollAnew()
  if (!('EventSource' in window)) return
  isStreaming = false
  stream = new EventSource(`${path}/live`)
  stream.onmessage = ({ data }) => {
    if (!isStreaming) {
      isStreaming = true
      poll()
    }
    onVersion(JSON.parse(data))
  }
  // EventSource reconnects by itself; polling covers the gap.
  stream.onerror = () => {
    if (isStreaming) {
      isStreaming = false
      pollAnew()
    }
  }
}

/** Refreshes after sleep. A panel with a countdown is loaded anew. */
export function refresh(): void {
  if (document.visibilityState !== 'visible') return
  if (inPanel('[data-left]')) void load()
  else void ask()
}
