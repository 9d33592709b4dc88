import type { Options } from './types.d.ts'

/** The dialog over the shop and the iframe with the payment page. */
export interface Modal {
  dialog: HTMLDialogElement
  frame: HTMLIFrameElement
  closeButton: HTMLButtonElement
  /** The page has loaded and has its own close button, so ours and the loading text are removed. */
  showPage(): void
  /** Shows a link to the full page and, after a final failure, a message. */
  offerFullPage(hasFailed: boolean): void
  show(): void
  close(): void
}

/** Accessible name of the iframe. */
const WORDS: Record<string, [title: string, loading: string, fullPage: string, failed: string, close: string]> = {
  en: ['Payment', 'Loading secure payment…', 'Open the payment page', 'This payment can’t be shown here.', 'Close'],
  fr: [
    'Paiement',
    'Chargement du paiement sécurisé…',
    'Ouvrir la page de paiement',
    'Ce paiement ne peut pas être affiché ici.',
    'Fermer',
  ],
  ar: ['الدفع', 'جارٍ تحميل الدفع الآمن…', 'افتح صفحة الدفع', 'لا يمكن عرض هذه الدفعة هنا.', 'إغلاق'],
  sw: [
    'Malipo',
    'Inapakia malipo salama…',
    'Fungua ukurasa wa malipo',
    'Malipo haya hayawezi kuonyeshwa hapa.',
    'Funga',
  ],
}

export function modalFor(
  { locale, theme }: Options,
  { framed, fullPage }: { framed: string; fullPage: string },
): Modal | undefined {
  const dialog = make('dialog')
  if (!dialog.showModal) return undefined // Safari before 15.4

  const root = document.documentElement
  const language = (locale || root.lang).slice(0, 2).toLowerCase()
  const [title, loading, elsewhere, failed, close] = WORDS[language] ?? (WORDS.en as (typeof WORDS)[string])
  const card = make('div')
  const frame = make('iframe')
  const note = make('div')
  const words = make('span')
  const link = make('a')
  const closeButton = make('button')

  dialog.dir = language === 'ar' ? 'rtl' : 'ltr'
  dialog.setAttribute('aria-label', title)
  frame.title = title
  frame.allow = 'payment; clipboard-write; publickey-credentials-get'
  frame.src = framed
  note.setAttribute('role', 'status')
  words.textContent = loading
  link.textContent = elsewhere
  link.href = fullPage
  closeButton.type = 'button'
  closeButton.setAttribute('aria-label', close)
  closeButton.textContent = '×'
  closeButton.autofocus = true
  note.append(words, link)
  card.append(frame, note, closeButton)
  dialog.append(card)

  // The dialog fills the screen and acts as its own backdrop: ::backdrop needs a style sheet.
  dress(
    dialog,
    'display:grid;grid:100%/100%;place-items:center;width:100%;height:100%;max-width:none;max-height:none;margin:0;padding:0;border:0;overflow:hidden;background:#0009',
  )
  dress(frame, 'display:block;width:100%;height:100%;border:0;opacity:0')
  dress(
    note,
    'position:absolute;inset:0;padding:56px 24px;display:grid;place-content:center;justify-items:center;gap:12px;text-align:center',
  )
  dress(link, 'display:none;padding:10px;color:inherit')
  dress(
    closeButton,
    'position:absolute;top:6px;inset-inline-end:6px;width:44px;height:44px;padding:0;border:0;border-radius:50%;background:Canvas;color:CanvasText;font:26px/1 system-ui,sans-serif;cursor:pointer',
  )
  const narrow = matchMedia('(max-width:719.98px)')
  function layOut(): void {
    const scheme = theme && theme !== 'auto' ? theme : 'light dark'
    const size = narrow.matches ? 'width:100%;height:100%' : 'width:736px;height:704px;border-radius:16px'
    dress(
      card,
      `position:relative;overflow:hidden;max-width:100%;max-height:100%;background:Canvas;color:CanvasText;font:16px/1.5 system-ui,sans-serif;color-scheme:${scheme};${size}`,
    )
  }
  layOut()

  let overflow = ''
  return {
    dialog,
    frame,
    closeButton,
    showPage() {
      frame.style.opacity = '1'
      frame.focus()
      note.remove()
      closeButton.remove()
    },
    offerFullPage(hasFailed) {
      link.style.display = 'block'
      if (!hasFailed) return
      words.textContent = failed
      frame.style.visibility = 'hidden'
    },
    show() {
      overflow = root.style.overflow
      root.style.overflow = 'hidden'
      narrow.addEventListener('change', layOut)
      document.body.append(dialog)
      dialog.showModal()
    },
    close() {
      narrow.removeEventListener('change', layOut)
      dialog.close()
      dialog.remove()
      root.style.overflow = overflow
    },
  }
}

function make<Name extends keyof HTMLElementTagNameMap>(name: Name): HTMLElementTagNameMap[Name] {
  return document.createElement(name)
}

/** Sets styles through the CSSOM, which `style-src 'none'` allows. */
function dress(element: HTMLElement, css: string): void {
  element.style.cssText = `all:revert;box-sizing:border-box;${css}`
}
