import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { DashboardAssets } from '../../../web/build.ts'
import { Problem } from '../../kernel/problem.ts'
import type { App } from '../server/framework.ts'
import { pathOf } from '../server/problems.ts'
import { prepareLater, prepareText } from '../server/static-text.ts'
import { DASHBOARD_API } from './routes.ts'

const SHELL = join(import.meta.dirname, '../../../web/dashboard/index.html')
const ASSETS = '/dashboard/assets'

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "frame-src 'self'", // the preview of the payment page
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex',
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** One HTML document for every page of the dashboard, and its scripts and styles. */
export async function shellRoutes(app: App, assets: DashboardAssets): Promise<void> {
  const shell = await prepareText(withAssets(await readFile(SHELL, 'utf8'), assets), HEADERS)
  const schema = { hide: true }
  for (const [name, text] of Object.entries(assets.files)) {
    const headers = {
      'content-type': TYPES[extname(name)] ?? 'text/plain; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
    }
    app.get(
      `${ASSETS}/${name}`,
      { schema },
      prepareLater(() => text, headers),
    )
  }
  app.get('/dashboard', { schema }, shell)
  app.get('/dashboard/*', { schema }, (request, reply) => {
    const path = pathOf(request)
    if (path.startsWith(`${DASHBOARD_API}/`) || path.startsWith(`${ASSETS}/`))
      throw new Problem('not_found', `There is nothing at ${path}.`)
    return shell(request, reply)
  })
}

function withAssets(html: string, { script, style, imports }: DashboardAssets): string {
  const chunks = imports[script]?.atOnce ?? []
  return html.replace(
    '<!-- assets -->',
    [
      `<link rel="stylesheet" href="${ASSETS}/${style}">`,
      ...chunks.map((name) => `<link rel="modulepreload" href="${ASSETS}/${name}">`),
      `<script type="module" src="${ASSETS}/${script}"></script>`,
    ].join('\n'),
  )
}
