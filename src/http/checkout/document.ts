import { hash } from 'node:crypto'
import type { Assets } from '../../../web/build.ts'
import { Html, html } from '../../kernel/html.ts'
import type { Language } from '../../merchants/brand.ts'
import type { Texts } from './texts/texts.ts'

/** The parts of the document that do not depend on the payment's state. */
export interface Frame {
  language: Language
  texts: Texts
  /** `auto` follows the device. */
  theme: 'auto' | 'light' | 'dark'
  title: string
  /**
   * The merchant's colours. They are a separate style element, so that the CSP hash of the shared style stays the same.
   */
  themeStyle: string
  /** The origin of the shop that embeds this page. */
  embeddedIn: string | undefined
  frameAncestors: string
  /** CSP source list for the provider's page. */
  frameSource: string
  /** The browser sent `Save-Data: on`. */
  saveData: boolean
}

export interface Page {
  /** The whole document. */
  text: string
  headers: Record<string, string>
}

export interface Documents {
  render(frame: Frame, body: Html, withScript: boolean): Page
}

/** One response holds markup, style and script: the page loads nothing else before the customer can pay. */
export function documents(assets: Assets): Documents {
  const style = new Html(assets.checkoutStyle)
  const script = new Html(assets.checkoutScript)
  const styleSource = cspHash(assets.checkoutStyle)
  const scriptSource = cspHash(assets.checkoutScript)

  const heads = new Map<string, string>()

  return {
    render(frame, body, withScript) {
      const { title, themeStyle, embeddedIn } = frame
      const key = [frame.language, frame.theme, frame.saveData, withScript].join()
      const head = heads.get(key) ?? headOf(frame, withScript)
      heads.set(key, head)
      const rest = html`
<title>${title}</title>
<style>${new Html(themeStyle)}</style>
</head>
<body${embeddedIn === undefined ? null : html` data-embedded="${embeddedIn}"`}>
${body}
</body>
</html>
`
      return { text: head + rest.text, headers: headersFor(frame, withScript) }
    },
  }

  function headOf({ language, texts, theme, saveData }: Frame, withScript: boolean): string {
    return html`<!doctype html>
<html lang="${language}" dir="${texts.direction}"${theme === 'auto' ? null : html` data-theme="${theme}"`}${saveData ? html` data-save` : null}${withScript ? html` data-script` : null}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="icon" href="data:,">
<style>${style}</style>
${withScript ? html`<script type="module">${script}</script>` : null}`.text
  }

  function headersFor({ themeStyle, frameSource, frameAncestors }: Frame, withScript: boolean): Record<string, string> {
    return {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': [
        "default-src 'none'",
        `script-src ${withScript ? scriptSource : "'none'"}`,
        `style-src ${styleSource} ${cspHash(themeStyle)}`,
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        `frame-src ${frameSource}`,
        `frame-ancestors ${frameAncestors}`,
      ].join('; '),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
      'cache-control': 'no-store',
      vary: 'accept-encoding',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      // X-Frame-Options cannot list origins, and COOP would cut an embedded page off from the shop that opened it.
      ...(frameAncestors === "'none'" && {
        'cross-origin-opener-policy': 'same-origin',
        'x-frame-options': 'DENY',
      }),
    }
  }
}

function cspHash(text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`
}
