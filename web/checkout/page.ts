/**
 * The payment page's script. It renders nothing itself: the server sends HTML for every state. The script listens for
 * changes, replaces the panel, submits forms in the background, copies, counts down, frames the provider's page and
 * returns to the shop.
 */
export {}

const root = document.documentElement
const first = document.getElementById('panel') as HTMLElement
const embedded = document.body.dataset.embedded
const pollScale = 'save' in root.dataset ? 2 : 1

let panel = first
let timers: number[] = []
let stopLeaving = () => {}
let sending = false

root.classList.add('js')

function inPanel<Found extends HTMLElement = HTMLElement>(selector: string): Found | null {
  return panel.querySelector<Found>(selector)
}

function speak(text: string | undefined): void {
  const region = document.getElementById('speak')
  if (region && text) region.textContent = text
}

function later(run: () => void, ms: number): number {
  const timer = window.setTimeout(run, ms)
  timers.push(timer)
  return timer
}

// ── Panel ──

/** Shows a panel unless the one on the screen is newer: responses may arrive out of order. */
function show(fresh: HTMLElement): void {
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

function versionOf({ dataset }: HTMLElement): number {
  return Number(dataset.version)
}

/** Replaces the panel. The focus moves only if the state changed; the chosen method stays. */
function swap(fresh: HTMLElement): void {
  const isSame = fresh.dataset.state === panel.dataset.state
  const chosen = inPanel<HTMLElement>('[data-method][aria-current]')?.dataset.method
  const focused = stops().indexOf(document.activeElement as HTMLElement)
  stopLeaving()
  timers.forEach(clearTimeout)
  timers = []
  panel.replaceWith(fresh)
  panel = fresh
  if (isSame && chosen) choose(chosen)
  activate()
  if (isSame) {
    stops()[focused]?.focus()
    return
  }
  announce()
  if (panel.dataset.status !== 'pending') document.querySelector('.phone')?.remove()
  if (!isOpen()) stream?.close()
  postToShop('status')
}

function announce(): void {
  document.getElementById('heading')?.focus()
  speak(panel.dataset.speak)
}

/** Focusable elements. The same state has the same ones in the same order. */
function stops(): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('a, button, input:not([type=hidden]), summary, [tabindex]')]
}

/** Shows a state from a template element while the response is pending. */
function swapFor(state: 'processing' | 'confirming'): void {
  const template = document.getElementById(state) as HTMLTemplateElement | null
  if (!template) return
  const fresh = document.createElement('main')
  fresh.id = 'panel'
  Object.assign(fresh.dataset, { state, version: '-1', status: 'pending' })
  fresh.append(template.content.cloneNode(true))
  fresh.dataset.speak = template.dataset.speak ?? ''
  swap(fresh)
}

function read(html: string): HTMLElement | null {
  const template = document.createElement('template')
  template.innerHTML = html
  return template.content.querySelector('#panel')
}

let loading: Promise<void> | undefined
/** The newest version reported by the server. */
let newest = -1
/** A panel was requested and has not arrived. */
let isLoadPending = false

/** Fetches the current panel. Concurrent calls share one request. */
function load(): Promise<void> {
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
    if (fresh && !sending && url === location.href) {
      isLoadPending = false
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

/** Loads a version that was reported during a request. */
function catchUp(): void {
  if (!sending && (isLoadPending || newest > versionOf(panel))) void load()
}

/** Starts the timers, the frame, the tabs and the return of a new panel. */
function activate(): void {
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

/** Counts down from the server's remaining time on the monotonic clock: the device's clock may be wrong. */
function countDown(timer: HTMLElement): void {
  const end = performance.now() + Number(timer.dataset.left) * 1000
  const isRunning = Number(timer.dataset.left) > 0
  let before = Number.POSITIVE_INFINITY
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000))
    timer.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
    for (const minutes of [10, 5, 1]) {
      if (before > minutes * 60 && left <= minutes * 60 && before !== Number.POSITIVE_INFINITY) {
        speak(timer.getAttribute(`data-say-${minutes}`) ?? '')
      }
    }
    before = left
    if (left > 0) ticking = later(tick, (end - performance.now()) % 1000 || 1000)
    else if (isRunning) ticking = later(() => void load(), 1000)
  }
  clearTimeout(ticking)
  tick()
}

let ticking = 0

// ── Methods ──

/** Turns the links into tabs: one tab stop, with arrow keys between them. */
function makeTabs(): void {
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

function tabs(): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('[data-method]')]
}

function choose(method: string | undefined): HTMLElement | undefined {
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

// ── Forms ──

/** Submits a form with retries until there is a response. Its idempotency key makes repeated requests one. */
async function send(form: HTMLFormElement): Promise<void> {
  if (sending) return sendNow() // a double click, or a second click while it waits
  sending = true
  const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]))
  const url = form.getAttribute('action') ?? '' // form.action is shadowed by the hidden field of that name
  const action = body.get('action')
  markButtons()
  const slow = window.setTimeout(() => action === 'pay' && swapFor('processing'), 150)
  for (const wait of [1, 2, 3, 5, 10, 10, 10, 10]) {
    const answer = await post(url, body)
    clearTimeout(slow)
    if (answer) {
      sending = false
      return arrive(action, answer)
    }
    if (action === 'pay' && panel.dataset.state !== 'confirming') swapFor('confirming')
    await backOnline(wait * 1000)
  }
  sending = false
  markButtons()
  await load()
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

// Timeout: as long as the state is `processing`. After that the same request is sent again.
const ANSWER_WITHIN_MS = 90_000

function arrive(action: string | null, { fresh, go }: Answered): void {
  if (!fresh) return void load()
  note(fresh)
  isLoadPending = false
  swap(fresh)
  if (action === 'new-account') announce() // the same state with another account number
  const away = go ?? inPanel('[data-go]')?.dataset.go
  if (away && !embedded) location.assign(away)
  else if (action === 'cancel' && fresh.dataset.state === 'cancelled') postToShop('close')
  else catchUp()
}

/** aria-disabled keeps the focus, which `disabled` would lose. Offline, the banner describes the reason. */
function markButtons(): void {
  for (const button of panel.querySelectorAll('form button')) {
    button.setAttribute('aria-disabled', String(sending || isOffline()))
    if (isOffline()) button.setAttribute('aria-describedby', 'offline')
    else button.removeAttribute('aria-describedby')
  }
}

let sendNow = () => {}

/** Resolves after a delay, or as soon as the connection is back. */
function backOnline(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
    addEventListener('online', () => resolve(), { once: true })
    sendNow = resolve
  })
}

/** Stores the view in the URL only, so that a reload shows it again. */
function note(fresh: HTMLElement): void {
  const url = new URL(location.href)
  url.searchParams.delete('method')
  if (fresh.dataset.state === 'checking') url.searchParams.set('sent', '1')
  else url.searchParams.delete('sent')
  history.replaceState(null, '', url)
}

// ── Provider's page ──

function showProvider(): void {
  const place = inPanel('[data-frame]')
  const address = place?.dataset.frame
  if (place && address) {
    const { origin } = new URL(address)
    // The CSP's frame-src was set when the page was loaded, so another origin needs a reload.
    if (origin !== location.origin && panel !== first) {
      location.reload()
      return
    }
    const frame = document.createElement('iframe')
    frame.src = address
    frame.title = place.querySelector('h2')?.textContent ?? ''
    frame.allow = 'payment; publickey-credentials-get'
    // The frame navigated: the customer may have finished.
    frame.addEventListener('load', () => void ask())
    for (const child of [...place.children]) child.classList.add('away')
    const link = place.querySelector('a')?.parentElement
    if (link) {
      link.hidden = true
      const late = later(() => {
        link.hidden = false
        link.classList.remove('away')
      }, FRAME_WITHIN_MS)
      frame.addEventListener('load', () => clearTimeout(late))
    }
    place.append(frame)
  }
}

// A frame that fails to load fires no event; after this timeout a link to the page is shown.
const FRAME_WITHIN_MS = 8_000

// ── Return to the shop ──

/** Returns automatically after a success, unless the customer interacts with the page. */
function leaveSoon(): void {
  const { return: address, returnAfter } = panel.dataset
  if (!address || returnAfter === undefined) return
  let left = Number(returnAfter)
  if (left === 0) {
    location.assign(address)
    return
  }
  const shown = document.getElementById('returning-in')
  const stay = (event?: Event) => {
    if (event?.type === 'visibilitychange' && document.visibilityState === 'visible') return
    clearInterval(clock)
    document.getElementById('returning')?.remove()
    for (const type of SIGNS) document.removeEventListener(type, stay)
    stopLeaving = () => {}
  }
  const clock = window.setInterval(() => {
    left -= 1
    if (shown) shown.textContent = String(Math.max(0, left))
    if (left <= 0) {
      stay()
      location.assign(address)
    }
  }, 1000)
  stopLeaving = stay
  for (const type of SIGNS) document.addEventListener(type, stay)
  if (document.visibilityState === 'hidden') stay()
}

const SIGNS = ['keydown', 'pointerdown', 'touchstart', 'visibilitychange']

// ── Live updates ──

const path = location.pathname
let polls = 0
let pollTimer = 0
let stream: EventSource | undefined
/** The stream has sent a message, so it works. */
let isStreaming = false

function onVersion({ v }: { v: number }): void {
  newest = Math.max(newest, v)
  catchUp()
}

async function ask(): Promise<void> {
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

function pollAnew(): void {
  polls = 0
  poll()
}

function isOpen(): boolean {
  return panel.dataset.status === 'pending' || panel.dataset.state === 'expired' || panel.dataset.state === 'cancelled'
}

/** Opens the SSE stream, and polls until it sends a message: some proxies buffer streams. */
function follow(): void {
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
function refresh(): void {
  if (document.visibilityState !== 'visible') return
  if (inPanel('[data-left]')) void load()
  else void ask()
}

// ── Network ──

const banner = document.getElementById('offline')

function isOffline(): boolean {
  return banner?.hidden === false
}

function markOffline(): void {
  if (!banner?.hidden) return
  banner.hidden = false
  speak(banner.textContent ?? '')
  markButtons()
  pollAnew()
}

function markOnline(): void {
  if (!banner || banner.hidden) return
  banner.hidden = true
  speak(banner.dataset.back)
  markButtons()
}

// ── Widget ──

/** Tells the shop the payment's status and nothing about the customer. */
function postToShop(type: 'ready' | 'status' | 'close'): void {
  if (embedded) parent.postMessage({ pay: 1, type, status: panel.dataset.status }, embedded)
}

const MAY_STILL_GO_THROUGH = ['processing', 'provider', 'checking', 'partial', 'confirming']

function askClose(): void {
  const dialog = document.getElementById('closing') as HTMLDialogElement | null
  const isAtStake = MAY_STILL_GO_THROUGH.includes(panel.dataset.state ?? '')
  if (dialog && isAtStake && !dialog.open) dialog.showModal()
  postToShop(isAtStake ? 'status' : 'close')
}

addEventListener('message', ({ origin, source, data }) => {
  if (!embedded || origin !== embedded || source !== parent || data?.pay !== 1) return
  if (data.type === 'ask-close') askClose()
  if (data.type === 'theme' && ['light', 'dark'].includes(data.theme)) root.dataset.theme = data.theme
  else if (data.type === 'theme') delete root.dataset.theme
})

// ── Events ──

document.addEventListener('submit', (event) => {
  event.preventDefault()
  void submit(event.target as HTMLFormElement)
})

/** Offline, nothing is submitted and the input stays, so that no outcome is unknown. */
async function submit(form: HTMLFormElement): Promise<void> {
  if (navigator.onLine === false) markOffline()
  else if (isOffline() && !sending) await ask()
  if (isOffline() && !sending) speak(banner?.textContent ?? '')
  else await send(form)
}

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
