import { createHash } from 'node:crypto'
import type { Assets } from '../../../web/build.ts'
import { Html, pageHtml as html } from '../../kernel/html.ts'
import type { Language } from '../../merchants/branding.ts'
import { Blanks } from './blank.ts'
import { type Beginning, beginWith } from './squeeze.ts'
import type { Texts } from './texts/texts.ts'

/** What surrounds the panel: the same in every state of a payment. */
export interface Frame {
  language: Language
  texts: Texts
  /** `auto` follows the device. */
  theme: 'auto' | 'light' | 'dark'
  title: string
  /** The merchant's colours, as a style of its own: the big one stays the same for all, and so does its hash. */
  themeStyle: string
  /** The shop that this page stands inside of, when it does. */
  embeddedIn: string | undefined
  frameAncestors: string
  /** Where the provider's page may be framed from. */
  frameSource: string
  /** Asks for few bytes. */
  saveData: boolean
}

export interface Page {
  beginning: Beginning
  rest: string
  headers: Record<string, string>
}

export interface Documents {
  blanks: Blanks<Page>
  render(frame: Frame, body: Html, script: boolean): Page
}

/**
 * One response holds everything: markup, style and script. Nothing else is fetched, from nobody. What is the same for all, three quarters
 * of it, stands at the beginning, so that it is made into bytes and squeezed once.
 */
export function documents(assets: Assets): Documents {
  const styleSource = sourceOf(assets.checkoutStyle)
  const scriptSource = sourceOf(assets.checkoutScript)
  const headersOf = remembered(headersFor)
  const themeSourceOf = remembered(sourceOf)
  const beginningOf = remembered((attributes) =>
    beginWith(`<!doctype html>
<html ${attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="icon" href="data:,">
<style>${assets.checkoutStyle}</style>
${attributes.includes('data-script') ? `<script type="module">${assets.checkoutScript}</script>\n` : ''}`),
  )

  return {
    blanks: new Blanks(),
    render(frame, body, withScript) {
      const { language, texts, theme, title, themeStyle, embeddedIn, saveData } = frame
      const attributes = [
        `lang="${language}" dir="${texts.direction}"`,
        theme === 'auto' ? '' : ` data-theme="${theme}"`,
        saveData ? ' data-save' : '',
        withScript ? ' data-script' : '',
      ]
      const rest = html`<title>${title}</title>
<style>${new Html(themeStyle)}</style>
</head>
<body${embeddedIn === undefined ? null : html` data-embedded="${embeddedIn}"`}>
${body}
</body>
</html>
`
      const { frameAncestors, frameSource } = frame
      const policy = [withScript ? scriptSource : "'none'", themeSourceOf(themeStyle), frameSource, frameAncestors]
      return {
        beginning: beginningOf(attributes.join('')),
        rest: rest.text,
        headers: headersOf(policy.join(';')),
      }
    },
  }

  function headersFor(policy: string): Record<string, string> {
    const [scripts, theme, frameSource, frameAncestors = "'none'"] = policy.split(';')
    return {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': [
        "default-src 'none'",
        `script-src ${scripts}`,
        `style-src ${styleSource} ${theme}`,
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
      // Who is framed by a shop cannot be alone with its own window, and older browsers know no list of hosts.
      ...(frameAncestors === "'none'"
        ? { 'cross-origin-opener-policy': 'same-origin', 'x-frame-options': 'DENY' }
        : {}),
    }
  }
}

const MOST_REMEMBERED = 1_000

/** Few merchants, few looks: what was worked out once is kept. */
function remembered<Result>(work: (text: string) => Result): (text: string) => Result {
  const known = new Map<string, Result>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    if (known.size >= MOST_REMEMBERED) known.clear()
    const result = work(text)
    known.set(text, result)
    return result
  }
}

function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
