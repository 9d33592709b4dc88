/**
 * The payment page's script. It knows no texts and renders nothing: the server says what is so, as HTML. This listens for changes, swaps the
 * panel, sends forms without leaving the page, copies, counts down, shows the provider's page in a frame, and goes back to the shop.
 */
export {}

const root = document.documentElement
const first = document.getElementById('panel') as HTMLElement
const embedded = root.dataset.embedded
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

function later(run: () => void, ms: number): void {
  timers.push(window.setTimeout(run, ms))
}

// ── The panel ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Puts another panel in place. The focus moves once, when the state is another one; what was typed or chosen otherwise stays. */
function swap(fresh: HTMLElement): void {
  const isSame = fresh.dataset.state === panel.dataset.state
  const chosen = inPanel<HTMLElement>('[data-method][aria-current]')?.dataset.method
  stopLeaving()
  timers.forEach(clearTimeout)
  timers = []
  panel.replaceWith(fresh)
  panel = fresh
  if (isSame && chosen) choose(chosen)
  if (!isSame) {
    document.getElementById('heading')?.focus()
    speak(panel.dataset.speak)
    if (panel.dataset.status !== 'pending') document.querySelector('.phone')?.remove()
    tell('status')
  }
  enliven()
}

/** From a template of this page: what is so the moment a form is sent, before the server can have said anything. */
function swapFor(state: 'processing' | 'confirming'): void {
  const template = document.getElementById(state) as HTMLTemplateElement | null
  if (!template) return
  const fresh = document.createElement('main')
  fresh.id = 'panel'
  Object.assign(fresh.dataset, { state, version: '-1', status: 'pending' })
  fresh.append(template.content.cloneNode(true))
  fresh.dataset.speak = fresh.querySelector('h2')?.textContent ?? ''
  swap(fresh)
}

function read(html: string): HTMLElement | null {
  const template = document.createElement('template')
  template.innerHTML = html
  return template.content.querySelector('#panel')
}

let loading: Promise<void> | undefined

/** Asks the server for the panel as it is now. However many ask at once, one request is made. */
function load(): Promise<void> {
  loading ??= fetch(location.href, { headers: { 'x-panel': panel.dataset.status ?? '' }, cache: 'no-store' })
    .then(async (answer) => {
      isReached()
      const fresh = answer.headers.has('x-state') ? read(await answer.text()) : null
      if (fresh && !sending) swap(fresh)
    })
    .catch(isOut)
    .finally(() => {
      loading = undefined
    })
  return loading
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
}

/** By the time that was left when the server wrote it, on a clock that nobody can set. */
function countDown(timer: HTMLElement): void {
  const end = performance.now() + Number(timer.dataset.left) * 1000
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
    if (left > 0) later(tick, 1000 - ((end - performance.now()) % 1 || 0))
    else later(() => void load(), 1000)
  }
  tick()
}

// ── Choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The links become tabs: one stop for the Tab key, arrows in between. */
function makeTabs(): void {
  const bar = inPanel('.tabs')
  if (!bar) return
  bar.setAttribute('role', 'tablist')
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
  if (sending) return // a double click, or Enter held down
  sending = true
  const body = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]))
  const url = form.getAttribute('action') ?? '' // its property is the hidden field of that name
  const action = body.get('action')
  for (const button of panel.querySelectorAll('button')) button.setAttribute('aria-disabled', 'true')
  const slow = window.setTimeout(() => action === 'pay' && swapFor('processing'), action === 'pay' ? 150 : 60_000)
  for (const wait of [1, 2, 3, 5, 10, 10, 10, 10]) {
    try {
      const headers = { 'x-panel': panel.dataset.status ?? '' }
      const answer = await fetch(url, { method: 'POST', body, headers })
      isReached()
      const fresh = answer.headers.has('x-state') ? read(await answer.text()) : null
      if (!fresh && answer.status < 500) break // told off: what is so is asked for below
      if (fresh) {
        clearTimeout(slow)
        sending = false
        const go = answer.headers.get('x-go')
        if (action === 'check' || action === 'new-account') note(fresh)
        else forget()
        swap(fresh)
        if (go && !embedded) location.assign(go)
        else if (action === 'cancel' && fresh.dataset.state === 'cancelled') tell('close')
        return
      }
    } catch {
      isOut()
    }
    clearTimeout(slow)
    if (action === 'pay' && panel.dataset.state !== 'confirming') swapFor('confirming')
    await backOnline(wait * 1000)
  }
  clearTimeout(slow)
  sending = false
  await load()
}

/** After a while, or as soon as the connection is back. */
function backOnline(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
    addEventListener('online', () => resolve(), { once: true })
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

function forget(): void {
  const url = new URL(location.href)
  url.searchParams.delete('method')
  url.searchParams.delete('sent')
  history.replaceState(null, '', url)
}

// ── The provider's page ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function showProvider(): void {
  const place = inPanel('[data-frame]')
  const link = place?.dataset.frame
  if (place && link) {
    const origin = new URL(link).origin
    // What may be framed was settled when this page was loaded; for another host it has to be loaded anew.
    if (origin !== location.origin && panel !== first) {
      location.reload()
      return
    }
    const frame = document.createElement('iframe')
    frame.src = link
    frame.title = place.querySelector('h2')?.textContent ?? ''
    frame.allow = 'payment; publickey-credentials-get'
    // It has moved on: perhaps the customer is through.
    frame.addEventListener('load', () => void ask())
    for (const child of [...place.children]) child.classList.add('away')
    place.querySelector('a')?.parentElement?.remove()
    place.append(frame)
  }
  const away = inPanel('[data-go]')?.dataset.go
  if (away && !embedded && panel !== first) location.assign(away)
}

// ── The way back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** After a success, unless the customer shows any sign of wanting to stay. */
function leaveSoon(): void {
  const { return: address, returnAfter } = panel.dataset
  if (!address || returnAfter === undefined) return
  let left = Number(returnAfter)
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
  if (left === 0) location.assign(address)
}

const SIGNS = ['keydown', 'pointerdown', 'touchstart', 'visibilitychange']

// ── Hearing of changes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const path = location.pathname
let polls = 0
let pollTimer = 0
let stream: EventSource | undefined

interface Status {
  v: number
  status: string
}

function hear({ v, status }: Status): void {
  if (sending) return
  if (v > Number(panel.dataset.version) || status !== panel.dataset.status) void load()
}

async function ask(): Promise<void> {
  try {
    const answer = await fetch(`${path}/status`, { cache: 'no-store' })
    if (!answer.ok) return
    isReached()
    hear(await answer.json())
  } catch {
    isOut()
  }
}

/** 2, 3, 5, then every 10 seconds; not while nobody looks. */
function poll(): void {
  clearTimeout(pollTimer)
  const wait = [2, 3, 5][polls] ?? 10
  polls += 1
  pollTimer = window.setTimeout(
    async () => {
      if (document.visibilityState === 'visible' && navigator.onLine !== false) await ask()
      if (isOpen()) poll()
    },
    wait * 1000 * pollScale,
  )
}

function isOpen(): boolean {
  return panel.dataset.status === 'pending' || panel.dataset.state === 'expired' || panel.dataset.state === 'cancelled'
}

function follow(): void {
  if (!isOpen()) return
  if (!('EventSource' in window)) {
    poll()
    return
  }
  stream = new EventSource(`${path}/live`)
  stream.onopen = () => {
    clearTimeout(pollTimer)
    polls = 0
  }
  stream.onmessage = ({ data }) => hear(JSON.parse(data))
  // It tries again by itself; until then, and where it may not, we ask.
  stream.onerror = () => poll()
}

function lookAgain(): void {
  if (document.visibilityState === 'visible') void ask()
}

// ── The network ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const banner = document.getElementById('offline')

function isOut(): void {
  if (!banner?.hidden) return
  banner.hidden = false
  speak(banner.textContent ?? '')
}

function isReached(): void {
  if (!banner || banner.hidden) return
  banner.hidden = true
  speak(banner.dataset.back)
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
  const form = event.target as HTMLFormElement
  if (navigator.onLine === false) return isOut() // nothing was sent; what was chosen stays
  void send(form)
})

document.addEventListener('click', (event) => {
  const target = event.target as Element
  const at = <Found extends HTMLElement>(selector: string) => target.closest<Found>(selector)
  if (event instanceof MouseEvent && (event.metaKey || event.ctrlKey || event.shiftKey)) return
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

document.addEventListener('keydown', ({ key, target }) => {
  if (key === 'Escape' && embedded && !document.querySelector('dialog[open]')) askClose()
  const all = tabs()
  const here = all.indexOf(target as HTMLElement)
  const forwards = root.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
  if (here === -1 || (key !== 'ArrowLeft' && key !== 'ArrowRight')) return
  const next = all[(here + (key === forwards ? 1 : -1) + all.length) % all.length]
  choose(next?.dataset.method)?.focus()
})

/** With the focus back on what opened it, for it was inside. */
function shut(details: HTMLElement | null): void {
  details?.removeAttribute('open')
  details?.querySelector('summary')?.focus()
}

async function copyFrom(button: HTMLElement): Promise<void> {
  const before = button.textContent
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
    button.textContent = before
  }, 2000)
}

addEventListener('offline', isOut)
addEventListener('online', () => {
  isReached()
  void load()
})
addEventListener('focus', lookAgain)
document.addEventListener('visibilitychange', lookAgain)
// Back from the provider by the back button: what is on the screen is from another time.
addEventListener('pageshow', ({ persisted }) => persisted && void load())

enliven()
follow()
tell('ready')
