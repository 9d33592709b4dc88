import { ask } from './live-updates.ts'
import { first, inPanel, later, panel } from './panel.ts'

// A frame that fails to load fires no event; after this timeout a link to the page is shown.
const FRAME_WITHIN_MS = 8_000

/** Frames the page of the provider. */
export function showProvider(): void {
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
