import type { Database } from '../../database/database.ts'
import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { findLogo } from '../../merchants/branding-store.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'

// CSP sandbox: an SVG opened as a document runs no script. A new logo has a new URL, so this one can be cached forever.
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
}

export function logoRoutes(app: App, { database, limits }: { database: Database; limits: Limits }): void {
  app.addHook('onRequest', async (request) => limits.logo(request))

  app.get<{ Params: { merchant: string; version: string } }>(
    '/logo/:merchant/:version',
    { schema: { hide: true } },
    async (request, reply) => {
      const { merchant, version } = request.params
      const merchantId = parseId('merchant', merchant)
      const logo = merchantId && (await findLogo(database, merchantId))
      reply.header('cache-control', 'no-store')
      if (logo?.version !== version) throw new Problem('not_found', 'There is no such logo.')
      return reply.headers(HEADERS).type(logo.type).send(logo.bytes)
    },
  )
}
