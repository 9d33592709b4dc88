import type { Database } from '../../database/database.ts'
import type { App } from './framework.ts'
import type { Limits } from './limits.ts'
import type { Metrics } from './metrics.ts'

interface Deps {
  database: Database
  metrics: Metrics
  limits: Limits
  isStopping: () => boolean
}

/** Liveness, readiness and metrics, for operators. */
export function operationsRoutes(app: App, { database, metrics, limits, isStopping }: Deps): void {
  // Concurrent readiness checks share one ping.
  let asking: Promise<void> | undefined
  function ping(): Promise<void> {
    asking ??= database.ping().finally(() => {
      asking = undefined
    })
    return asking
  }

  // Liveness: a restart does not repair a database, so the database is not checked.
  app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }))

  app.get('/readyz', { schema: { hide: true } }, async (_, reply) => {
    if (isStopping()) return reply.code(503).send({ status: 'stopping' })
    try {
      await ping()
      return { status: 'ready' }
    } catch {
      return reply.code(503).header('retry-after', '1').send({ status: 'database unavailable' })
    }
  })

  app.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    limits.metrics(request)
    return reply.type(metrics.contentType).send(await metrics.read())
  })
}
