/**
 * The payment page's script. It knows no texts and renders nothing: the server says what is so, as HTML. This listens for changes, swaps the
 * panel, sends forms without leaving the page, copies, counts down, shows the provider's page in a frame, and goes back to the shop.
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

// ── The panel ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the server said last wins, and what it said before that never comes back, however late it arrives. */
function show(fresh: HTMLElement): void {
  const [before, now] = [versionOf(panel), versionOf(fresh)]
  if (now < before) return
  if (now > before || fresh.dataset.state !== panel.dataset.state) {
    swap(fresh)
    return
  }
  // Nothing has changed but the time: whatever is being typed, chosen or read stays untouched.
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

/** Puts another panel in place. The focus moves once, when the state is another one; what was chosen otherwise stays. */
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
  enliven()
  if (isSame) {
    stops()[focused]?.focus()
    return
  }
  announce()
  if (panel.dataset.status !== 'pending') document.querySelector('.phone')?.remove()
  if (!isOpen()) stream?.close()
  tell('status')
}

function announce(): void {
  document.getElementById('heading')?.focus()
  speak(panel.dataset.speak)
}

/** Where the focus can be. The same state has the same ones, in the same order. */
function stops(): HTMLElement[] {
  return [...panel.querySelectorAll<HTMLElement>('a, button, input:not([type=hidden]), summary, [tabindex]')]
}

/** From a template of this page: what is so the moment a form is sent, before the server can have said anything. */
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
/** The newest version that we have heard of. */
let newest = -1
/** The panel was asked for and has not come. */
let isOwed = false

/** Asks the server for the panel as it is now. However many ask at once, one request is made. */
function load(): Promise<void> {
  isOwed = true
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
    isReached()
    if (fresh && !sending && url === location.href) {
      isOwed = false
      show(fresh)
    }
    return fresh !== null
  } catch {
    isOut()
    return false
  }
}

/** A panel; or that there is no such payment any more. Whatever else is wrong with an answer, what is on the screen stays true. */
function isShowable({ headers, status }: Response): boolean {
  return headers.has('x-state') || status === 404
}

/** Something may have happened while we were busy. */
function catchUp(): void {
  if (!sending && (isOwed || newest > versionOf(panel))) void load()
}

/** Gives the fresh panel its timers, its frame, its way back. */
function enliven(): void {
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

/** By the time that was left when the server wrote it, on a clock that nobody can set. */
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

// ── Choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The links become tabs: one stop for the Tab key, arrows in between. */
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

// ── Sending ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Sends a form until there is an answer. Its key makes any number of sendings one press, so that an answer that was lost on the way is
 * simply asked for again.
 */
async function send(form: HTMLFormElement): Promise<void> {
  if (sending) return sendNow() // a double click, or Enter held down; or impatience
  sending = true
  const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]))
  const url = form.getAttribute('action') ?? '' // its property is the hidden field of that name
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
  /** Where the browser is to go. */
  go: string | null
}

/** Nothing, where nobody knows what came of it. */
async function post(url: string, body: URLSearchParams): Promise<Answered | undefined> {
  const hanging = new AbortController()
  const timer = window.setTimeout(() => hanging.abort(), ANSWER_WITHIN_MS)
  try {
    const headers = { 'x-panel': panel.dataset.status ?? '' }
    const answer = await fetch(url, { method: 'POST', body, headers, signal: hanging.signal })
    isReached()
    // Too busy now is no answer. Whatever else was refused comes with a page that says so.
    if (answer.status >= 500 || answer.status === 429) return undefined
    return { fresh: read(await answer.text()), go: answer.headers.get('x-go') }
  } catch {
    if (!hanging.signal.aborted) isOut()
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

// As long as we call it processing. After that the same question is asked anew.
const ANSWER_WITHIN_MS = 90_000

function arrive(action: string | null, { fresh, go }: Answered): void {
  if (!fresh) return void load()
  note(fresh)
  isOwed = false
  swap(fresh)
  if (action === 'new-account') announce() // the same state, and yet another number
  const away = go ?? inPanel('[data-go]')?.dataset.go
  if (away && !embedded) location.assign(away)
  else if (action === 'cancel' && fresh.dataset.state === 'cancelled') tell('close')
  else catchUp()
}

/** Not `disabled`, which would take the focus away; and with the reason, where it is not the press itself. */
function markButtons(): void {
  for (const button of panel.querySelectorAll('form button')) {
    button.setAttribute('aria-disabled', String(sending || isOffline()))
    if (isOffline()) button.setAttribute('aria-describedby', 'offline')
    else button.removeAttribute('aria-describedby')
  }
}

let sendNow = () => {}

/** After a while, or as soon as the connection is back. */
function backOnline(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
    addEventListener('online', () => resolve(), { once: true })
    sendNow = resolve
  })
}

/** The address keeps what is shown, so that a reload shows it again; nothing is kept anywhere else. */
function note(fresh: HTMLElement): void {
  const url = new URL(location.href)
  url.searchParams.delete('method')
  if (fresh.dataset.state === 'checking') url.searchParams.set('sent', '1')
  else url.searchParams.delete('sent')
  history.replaceState(null, '', url)
}

// ── The provider's page ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function showProvider(): void {
  const place = inPanel('[data-frame]')
  const address = place?.dataset.frame
  if (place && address) {
    const { origin } = new URL(address)
    // What may be framed was settled when this page was loaded; for another host it has to be loaded anew.
    if (origin !== location.origin && panel !== first) {
      location.reload()
      return
    }
    const frame = document.createElement('iframe')
    frame.src = address
    frame.title = place.querySelector('h2')?.textContent ?? ''
    frame.allow = 'payment; publickey-credentials-get'
    // It has moved on: perhaps the customer is through.
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

// A frame that never answers looks like nothing at all; its page may still open by itself.
const FRAME_WITHIN_MS = 8_000

// ── The way back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** After a success, unless the customer shows any sign of wanting to stay. */
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

// ── Hearing of changes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const path = location.pathname
let polls = 0
let pollTimer = 0
let stream: EventSource | undefined
/** The stream has spoken, so it can be relied on. */
let isTold = false

function hear({ v }: { v: number }): void {
  newest = Math.max(newest, v)
  catchUp()
}

async function ask(): Promise<void> {
  try {
    const answer = await fetch(`${path}/status`, { cache: 'no-store' })
    isReached()
    if (answer.ok) hear(await answer.json())
    else if (answer.status === 404) void load()
  } catch {
    isOut()
  }
}

/** 2, 3, 5, then every 10 seconds, and now and then beside a stream, which can die without a word. Not while nobody looks. */
function poll(): void {
  clearTimeout(pollTimer)
  const wait = isTold && !isOffline() ? 60 : ([2, 3, 5][polls] ?? 10)
  polls += 1
  pollTimer = window.setTimeout(
    async () => {
      if (document.visibilityState === 'visible' && navigator.onLine !== false) await ask()
      if (isOpen() || isOwed) poll()
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

/** From the first moment by asking, until the stream has something to say: some networks let it begin and hold back its words. */
function follow(): void {
  if (!isOpen()) return
  pollAnew()
  if (!('EventSource' in window)) return
  isTold = false
  stream = new EventSource(`${path}/live`)
  stream.onmessage = ({ data }) => {
    if (!isTold) {
      isTold = true
      poll()
    }
    hear(JSON.parse(data))
  }
  // It tries again by itself; until then, and where it may not, we ask.
  stream.onerror = () => {
    if (isTold) {
      isTold = false
      pollAnew()
    }
  }
}

/** A device that slept has lost count of the time, so where time runs the panel is asked for. */
function lookAgain(): void {
  if (document.visibilityState !== 'visible') return
  if (inPanel('[data-left]')) void load()
  else void ask()
}

// ── The network ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const banner = document.getElementById('offline')

function isOffline(): boolean {
  return banner?.hidden === false
}

function isOut(): void {
  if (!banner?.hidden) return
  banner.hidden = false
  speak(banner.textContent ?? '')
  markButtons()
  pollAnew()
}

function isReached(): void {
  if (!banner || banner.hidden) return
  banner.hidden = true
  speak(banner.dataset.back)
  markButtons()
}

// ── Inside a shop ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The shop hears how it stands, and nothing about the customer. */
function tell(type: 'ready' | 'status' | 'close'): void {
  if (embedded) parent.postMessage({ pay: 1, type, status: panel.dataset.status }, embedded)
}

const MAY_STILL_GO_THROUGH = ['processing', 'provider', 'checking', 'partial', 'confirming']

function askClose(): void {
  const dialog = document.getElementById('closing') as HTMLDialogElement | null
  const isAtStake = MAY_STILL_GO_THROUGH.includes(panel.dataset.state ?? '')
  if (dialog && isAtStake && !dialog.open) dialog.showModal()
  tell(isAtStake ? 'status' : 'close')
}

addEventListener('message', ({ origin, source, data }) => {
  if (!embedded || origin !== embedded || source !== parent || data?.pay !== 1) return
  if (data.type === 'ask-close') askClose()
  if (data.type === 'theme' && ['light', 'dark'].includes(data.theme)) root.dataset.theme = data.theme
  else if (data.type === 'theme') delete root.dataset.theme
})

// ── What people press ────────────────────────────────────────────────────────────────────────────────────────────────────────────

document.addEventListener('submit', (event) => {
  event.preventDefault()
  void press(event.target as HTMLFormElement)
})

/** Without a connection nothing is sent, so that nothing is in doubt; what was chosen stays. */
async function press(form: HTMLFormElement): Promise<void> {
  if (navigator.onLine === false) isOut()
  else if (isOffline() && !sending) await ask()
  if (isOffline() && !sending) speak(banner?.textContent ?? '')
  else await send(form)
}

document.addEventListener('click', (event) => {
  const target = event.target as Element
  const at = <Found extends HTMLElement>(selector: string) => target.closest<Found>(selector)
  if (event.metaKey || event.ctrlKey || event.shiftKey) return
  // The second half of a double click would land on whatever stands there by now.
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
  else if (at('[data-close-now]')) tell('close')
})

document.addEventListener('keydown', (event) => {
  const { key, target } = event
  if (key === 'Escape' && embedded && !document.querySelector('dialog[open]')) askClose()
  const all = tabs()
  const here = all.indexOf(target as HTMLElement)
  // Side by side on a phone, one below the other where there is room: either pair of arrows will do.
  const forwards = root.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
  if (here === -1 || !/^Arrow/.test(key) || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault() // or the page would scroll as well
  const step = key === forwards || key === 'ArrowDown' ? 1 : -1
  const next = all[(here + step + all.length) % all.length]
  choose(next?.dataset.method)?.focus()
})

/** With the focus back on what opened it, for it was inside. */
function shut(details: HTMLElement | null): void {
  details?.removeAttribute('open')
  details?.querySelector('summary')?.focus()
}

async function copyFrom(button: HTMLElement): Promise<void> {
  button.dataset.label ??= button.textContent ?? ''
  try {
    await navigator.clipboard.writeText(button.dataset.copy ?? '')
  } catch {
    // Not allowed here: selected, so that one press of the keyboard does it.
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

addEventListener('offline', isOut)
addEventListener('online', lookAgain)
addEventListener('focus', lookAgain)
document.addEventListener('visibilitychange', lookAgain)
// Back by the back button, from the provider or the shop: what is on the screen is from another time, and so is its stream.
addEventListener('pagehide', () => stream?.close())
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return
  void load()
  follow()
})

/** Left in a frame by the provider's page: whose frame is it? */
function isInOurOwn(): boolean {
  try {
    return parent.location.origin === location.origin
  } catch {
    return false
  }
}

const { onwards } = first.dataset
if (onwards && !isInOurOwn()) location.replace(onwards)

enliven()
follow()
tell('ready')
