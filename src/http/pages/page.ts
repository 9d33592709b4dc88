import { createHash } from 'node:crypto'
import { Html, html } from '../../kernel/html.ts'

const STYLE = `
:root{color-scheme:light dark;--ink:#16181d;--soft:#5a6070;--line:#e3e5ea;--card:#fff;--ground:#f4f5f7;--accent:#0b6e4f}
@media(prefers-color-scheme:dark){:root{--ink:#eef0f4;--soft:#a3a9b8;--line:#2c313c;--card:#1a1d24;--ground:#101218;--accent:#4cc38a}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:27rem;background:var(--card);border:1px solid var(--line);border-radius:1rem;padding:1.75rem}
h1{font-size:1.05rem;margin:0;font-weight:600;overflow-wrap:anywhere}
.amount{font-size:2.1rem;font-weight:700;margin:.5rem 0 1rem;letter-spacing:-.02em;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:auto 1fr;gap:.4rem 1rem;margin:0;border-top:1px solid var(--line);padding-top:1rem}
dt{color:var(--soft)}dd{margin:0;text-align:right;overflow-wrap:anywhere}
.note{color:var(--soft);margin:1rem 0 0}.status{font-weight:600}
.mode{display:inline-block;margin:0 0 1rem;padding:.1rem .6rem;border-radius:1rem;border:1px solid var(--line);color:var(--soft);font-size:.8rem}
footer{color:var(--soft);font-size:.85rem;margin-top:1.5rem}
`.trim()

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** No script, no other host, no frame around it: the page needs nothing but its own style. */
export const PAGE_HEADERS: Record<string, string> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
}

export function renderPage(title: string, body: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
${body}
<footer>Secured by Manilla</footer>
</main>
</body>
</html>
`.text
}
