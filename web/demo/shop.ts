/** Script of the demo shop: opens the widget and appends log lines. All texts come from the server. */
interface Result {
  reference: string
  status: string
}

declare global {
  interface Window {
    Pay?: {
      open(options: {
        reference: string
        onSuccess?(result: Result): void
        onCancel?(result: Result): void
        onClose?(result: Result): void
        onError?(error: { code: string }): void
      }): unknown
    }
  }
}

const order = document.querySelector<HTMLElement>('#order')
const form = document.querySelector<HTMLFormElement>('#buy')
const lines = document.querySelector<HTMLElement>('#lines')
const thanks = document.querySelector<HTMLElement>('main')?.dataset.thanks ?? ''

/** Updates the order from a fetched page. Updates run one after another, so the latest one wins. */
let showing = Promise.resolve()
let shownAddress = location.pathname + location.search
function show(address: string, headers: Record<string, string> = {}, leadsThere = false): void {
  shownAddress = address
  showing = showing.then(async () => {
    const response = await fetch(address, { headers })
    const next = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('#order')
    if (!order || !next || !response.ok) return
    const hadFocus = order.contains(document.activeElement)
    order.replaceChildren(...next.childNodes)
    if (hadFocus || leadsThere) order.querySelector('h1')?.focus()
  })
  showing = showing.catch(() => {}) // the next webhook or a reload shows it
}

function watch(): void {
  if (!lines) return
  lines.scrollTop = lines.scrollHeight
  const live = new EventSource(lines.dataset.live ?? '')
  live.onopen = () => lines.parentElement?.classList.add('live')
  live.onerror = () => lines.parentElement?.classList.remove('live')
  live.onmessage = ({ data }) => {
    const { number, webhookOf, item } = JSON.parse(data) as { number: number; webhookOf?: string; item: string }
    if (!document.querySelector(`#line-${number}`)) {
      const atEnd = lines.scrollHeight - lines.scrollTop - lines.clientHeight < 80
      lines.insertAdjacentHTML('beforeend', item)
      lines.lastElementChild?.classList.add('new')
      if (atEnd) lines.scrollTop = lines.scrollHeight
    }
    // A webhook means that the order may have changed.
    if (webhookOf && shownAddress.includes(webhookOf)) show(shownAddress, { 'x-panel': '1' })
  }
}

async function openWidget(form: HTMLFormElement, Pay: NonNullable<Window['Pay']>): Promise<void> {
  const fields = new URLSearchParams(new FormData(form) as unknown as Record<string, string>)
  fields.set('way', 'widget')
  const response = await fetch(form.action, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: fields,
  })
  if (!response.ok) throw new Error(String(response.status))
  const { reference, url } = (await response.json()) as { reference: string; url: string }
  const tell =
    (from: string) =>
    ({ status }: Result) =>
      show(`${thanks}?${new URLSearchParams({ reference, status, from })}`, {}, from === 'onClose')
  Pay.open({
    reference,
    onSuccess: tell('onSuccess'),
    onCancel: tell('onCancel'),
    onClose: tell('onClose'),
    onError: () => location.assign(url),
  })
}

form?.addEventListener('submit', (event) => {
  const button = event.submitter as HTMLButtonElement | null
  if (button?.value !== 'widget' || !window.Pay) return
  event.preventDefault()
  button.disabled = true
  openWidget(form, window.Pay)
    .catch(() => {
      // The server answers with an error page or a redirect.
      const way = document.createElement('input')
      way.type = 'hidden'
      way.name = 'way'
      way.value = 'widget'
      form.append(way)
      form.submit()
    })
    .finally(() => {
      button.disabled = false
    })
})

watch()

export {}
