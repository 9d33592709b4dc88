import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '../../kernel/problem.ts'
import type { App } from '../server/framework.ts'
import { pathOf } from '../server/problems.ts'
import { prepareText } from '../server/static-text.ts'
import { DASHBOARD_API } from './routes.ts'

const SHELL = join(import.meta.dirname, '../../../web/dashboard/index.html')

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
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

/** One HTML document for every page of the dashboard. */
export async function shellRoutes(app: App): Promise<void> {
  const shell = await prepareText(await readFile(SHELL, 'utf8'), HEADERS)
  const schema = { hide: true }
  app.get('/dashboard', { schema }, shell)
  app.get('/dashboard/*', { schema }, (request, reply) => {
    const path = pathOf(request)
    if (path.startsWith(`${DASHBOARD_API}/`)) throw new Problem('not_found', `There is nothing at ${path}.`)
    return shell(request, reply)
  })
}
