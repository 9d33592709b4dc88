import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { onRequestHookHandler } from 'fastify'
import type { App } from './framework.ts'
import { prepareLater } from './static-text.ts'

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>Manilla API</title>
</head>
<body>
<div id="reference"></div>
<noscript><p>This page needs JavaScript. The same description is at <a href="/openapi.json">/openapi.json</a>.</p></noscript>
<script src="/docs/js/scalar.js"></script>
<script src="/docs/js/start.js"></script>
</body>
</html>
`

const CONFIGURATION = {
  url: '/openapi.json',
  // No requests to other hosts.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
}

const HEADERS = {
  // Scalar needs inline styles. It may connect to this server only.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'cache-control': 'no-cache', // the ETag answers whether the copy is current
}
const HTML = { ...HEADERS, 'content-type': 'text/html; charset=utf-8' }
const SCRIPT = { ...HEADERS, 'content-type': 'text/javascript; charset=utf-8' }

/** The API reference at `/docs`: Scalar, reading `/openapi.json`. */
export function apiReferenceRoutes(app: App, onRequest: onRequestHookHandler): void {
  const options = { schema: { hide: true }, onRequest }
  const page = prepareLater(() => PAGE, HTML)
  app.get('/docs', options, page)
  app.get('/docs/', options, page)
  app.get('/docs/js/scalar.js', options, prepareLater(scalarScript, SCRIPT))
  const start = `Scalar.createApiReference('#reference', ${JSON.stringify(CONFIGURATION)})\n`
  app.get(
    '/docs/js/start.js',
    options,
    prepareLater(() => start, SCRIPT),
  )
}

/** In a thread: importing the plugin that contains the script blocks the event loop for about 230 ms. */
async function scalarScript(): Promise<Uint8Array> {
  const thread = new Worker(new URL('./scalar-script.ts', import.meta.url))
  const [script] = await once(thread, 'message')
  return script
}
