import { createHash } from 'node:crypto'
import type { Assets } from '../../../web/build.ts'
import { Html, html } from '../../kernel/html.ts'
import type { Language } from '../../merchants/shopfront.ts'
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
  text: string
  headers: Record<string, string>
}

export interface Documents {
  render(frame: Frame, body: Html, script: boolean): Page
}

const THEME_HASHES = new Map<string, string>()

/** One response holds everything: markup, style and script. Nothing else is fetched, from nobody. */
export function documents(assets: Assets): Documents {
  const style = new Html(`<style>${assets.checkoutStyle}</style>`)
  const script = new Html(`<script>${assets.checkoutScript}</script>`)
  const styleSource = sourceOf(assets.checkoutStyle)
  const scriptSource = sourceOf(assets.checkoutScript)

  return {
    render(frame, body, withScript) {
      const { language, texts, theme, title, themeStyle, embeddedIn, saveData } = frame
      const text = html`<!doctype html>
<html lang="${language}" dir="${texts.direction}"${theme === 'auto' ? null : html` data-theme="${theme}"`}${
        embeddedIn === undefined ? null : html` data-embedded="${embeddedIn}"`
      }${saveData ? html` data-save` : null}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="icon" href="data:,">
<title>${title}</title>
${style}
<style>${new Html(themeStyle)}</style>
</head>
<body>
${body}
${withScript ? script : null}
</body>
</html>
`.text
      return { text, headers: headersFor(frame, withScript) }
    },
  }

  function headersFor({ themeStyle, frameAncestors, frameSource }: Frame, withScript: boolean): Record<string, string> {
    const embeddable = frameAncestors !== "'none'"
    return {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': [
        "default-src 'none'",
        `script-src ${withScript ? scriptSource : "'none'"}`,
        `style-src ${styleSource} ${themeSource(themeStyle)}`,
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
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      // Who is framed by a shop cannot be alone with its own window, and older browsers know no list of hosts.
      ...(embeddable ? {} : { 'cross-origin-opener-policy': 'same-origin', 'x-frame-options': 'DENY' }),
    }
  }
}

function themeSource(style: string): string {
  const known = THEME_HASHES.get(style)
  if (known) return known
  if (THEME_HASHES.size > 1_000) THEME_HASHES.clear()
  const source = sourceOf(style)
  THEME_HASHES.set(style, source)
  return source
}

function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
