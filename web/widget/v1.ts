import { widgetFrom } from './pay.ts'
import type { Options, Result } from './types.d.ts'

// For a script tag: makes `Pay`, and lets every element with `data-pay-reference` open the widget, also those added later.
const script = document.currentScript as HTMLScriptElement
const { open, preload } = widgetFrom(script.src, script.dataset.clientId)
window.Pay = { open: (options) => open(options), preload }

document.addEventListener('click', (event) => {
  const element = (event.target as Element).closest<HTMLElement>('[data-pay-reference]')
  // A link that is opened in another tab stays a link.
  if (!element || event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const { payReference: reference = '', payToken: token, payLocale: locale, payTheme: theme } = element.dataset
  const fire = (type: string) => (detail: Result) =>
    void element.dispatchEvent(new CustomEvent(`pay:${type}`, { bubbles: true, detail }))
  open(
    {
      reference,
      token,
      locale,
      theme: theme as Options['theme'],
      onStatus: fire('status'),
      onSuccess: fire('success'),
      onCancel: fire('cancel'),
      onError: fire('error'),
      onClose: fire('close'),
    },
    element,
  )
  event.preventDefault() // only now: if it could not be opened, the link still leads to the page
})
