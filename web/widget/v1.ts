import { widgetFrom } from './pay.ts'
import type { Options, Result } from './types.d.ts'

// Entry point of the script tag: defines `Pay` and opens the widget for elements with `data-pay-reference`, including
// later ones.
const script = document.currentScript as HTMLScriptElement
const { open, preload } = widgetFrom(script.src, script.dataset.clientId)
window.Pay = { open: (options) => open(options), preload }

document.addEventListener('click', (event) => {
  const element = (event.target as Element).closest<HTMLElement>('[data-pay-reference]')
  // Modified clicks open the link in another tab.
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
  event.preventDefault() // after open() succeeded: otherwise the link still leads to the page
})
