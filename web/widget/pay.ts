import { modalFor } from './modal.ts'
import type { Failure, Handle, Options, Result, Widget } from './types.d.ts'

/** Messages of the framed page, sent to the shop's origin only. */
export interface FrameMessage {
  pay: 1
  type: 'ready' | 'status' | 'close' | 'error'
  status?: Result['status']
  code?: string
}

/** Messages to the page. It answers `ask-close` with `close`, or with `status` if it asks the customer first. */
export interface ShopMessage {
  pay: 1
  type: 'ask-close' | 'theme'
  theme?: Options['theme']
}

const LOAD_MS = 15_000
// Timeout for an answer of the page.
const ANSWER_MS = 2_000
const STATUSES = ['pending', 'cancelled', 'expired', 'successful']

const REASONS: Record<Failure['code'], string> = {
  load_timeout: 'The payment page did not load within 15 s.',
  not_found: 'There is no payment with this client-id and reference, or its token is missing or no longer valid.',
  origin_not_allowed: `${location.origin} is not among the origins of this merchant.`,
  unknown: 'The payment page could not be opened.',
}

interface Opened {
  name: string
  handle: Handle
  tell(message: Omit<ShopMessage, 'pay'>): void
}

/**
 * The widget. `open` has an additional parameter: the clicked element, which gets the focus back and whose href is the
 * full page.
 */
export function widgetFrom(
  script: string,
  ownClientId?: string,
): Widget & { open(options: Options, opener?: HTMLElement): Handle } {
  const { origin } = new URL(script)
  let opened: Opened | undefined
  let isWarm = false

  function addressFor(query: Record<string, string | undefined>): string {
    const url = new URL('open', script)
    for (const name in query) if (query[name]) url.searchParams.set(name, query[name])
    return url.href
  }

  function open(options: Options, opener?: HTMLElement): Handle {
    const { reference, clientId = ownClientId, token, locale, theme } = options
    if (!reference || !clientId) throw new TypeError('Pay.open needs a reference and a client-id')
    const name = `${clientId} ${reference}`
    if (opened?.name === name) {
      if (theme) opened.tell({ type: 'theme', theme })
      return opened.handle
    }

    const query = { 'client-id': clientId, reference, token, lang: locale, theme }
    const fullPage = (opener as HTMLAnchorElement | undefined)?.href || addressFor(query)
    const modal = modalFor(options, { framed: addressFor({ ...query, origin: location.origin }), fullPage })
    if (!modal) {
      location.assign(fullPage)
      return { reference, close() {}, result: new Promise(() => {}) }
    }
    opened?.handle.close()

    const { dialog, frame, closeButton } = modal
    const focused = opener ?? (document.activeElement as HTMLElement | null)
    let status: Result['status'] = 'pending'
    let isReady = false
    let isClosed = false
    let unanswered: number | undefined
    let settle: (result: Result) => void
    const result = new Promise<Result>((resolve) => {
      settle = resolve
    })
    const now = (): Result => ({ reference, status })

    function tell(message: Omit<ShopMessage, 'pay'>): void {
      frame.contentWindow?.postMessage({ pay: 1, ...message }, origin)
    }

    function hear({ data, source, origin: from }: MessageEvent): void {
      if (from !== origin || source !== frame.contentWindow || data?.pay !== 1) return
      const { type, status: said, code = '' }: FrameMessage = data
      clearTimeout(unanswered)
      unanswered = undefined
      if (type === 'ready') load()
      if (said && STATUSES.includes(said)) learn(said)
      if (type === 'error') fail(Object.hasOwn(REASONS, code) ? (code as Failure['code']) : 'unknown')
      if (type === 'close') finish()
    }

    function load(): void {
      if (isReady) return
      isReady = true
      clearTimeout(slow)
      modal?.showPage()
      call(options.onLoad)
    }

    function learn(said: Result['status']): void {
      if (said === status || status === 'successful') return // a success is final
      status = said
      call(options.onStatus, now())
      if (said === 'successful') call(options.onSuccess, now())
      if (said === 'cancelled') call(options.onCancel, now())
    }

    function fail(code: Failure['code']): void {
      clearTimeout(slow)
      if (!isReady) modal?.offerFullPage(code !== 'load_timeout')
      call(options.onError, { ...now(), code, message: REASONS[code] })
    }

    /** The page decides whether closing needs a question. Before it has loaded, nothing can be lost. */
    function ask(event: Event): void {
      event.preventDefault()
      if (isReady) {
        tell({ type: 'ask-close' })
        unanswered ??= setTimeout(finish, ANSWER_MS)
      } else finish()
    }

    // Browsers skip the dialog's cancel event when Esc is pressed twice.
    function onKey(event: KeyboardEvent): void {
      if (event.key === 'Escape') ask(event)
    }

    function finish(): void {
      if (isClosed) return
      isClosed = true
      opened = undefined
      clearTimeout(slow)
      clearTimeout(unanswered)
      removeEventListener('message', hear)
      removeEventListener('keydown', onKey, true)
      modal?.close()
      focused?.focus({ preventScroll: true })
      settle(now())
      call(options.onClose, now())
    }

    addEventListener('message', hear)
    addEventListener('keydown', onKey, true)
    closeButton.onclick = dialog.oncancel = ask
    dialog.onclose = finish
    const slow = setTimeout(fail, LOAD_MS, 'load_timeout')
    modal.show()
    const handle = { reference, close: finish, result }
    opened = { name, handle, tell }
    return handle
  }

  function preload(): void {
    if (isWarm) return
    isWarm = true
    const hint = document.createElement('link')
    hint.rel = 'preconnect'
    hint.href = origin
    document.head.append(hint)
  }

  return { open, preload }
}

/** Reports an error in a callback of the shop without stopping the widget. */
function call<Told extends unknown[]>(tell: ((...told: Told) => void) | undefined, ...told: Told): void {
  try {
    tell?.(...told)
  } catch (error) {
    reportError(error)
  }
}
