import type { CredentialScope } from '../../merchants/credential-scopes.ts'
import type { App } from '../server/framework.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a credential needs. Each route of the merchants' API has one. */
    scope?: CredentialScope
  }
}

/** Every route of the merchants' API, and the scope that a credential needs for it. */
const SCOPES: Record<string, CredentialScope> = {
  'POST /checkouts': 'payments:write',
  'GET /links': 'payments:read',
  'POST /links': 'payments:write',
  'GET /links/:id': 'payments:read',
  'PATCH /links/:id': 'payments:write',
  'POST /payments/initialize': 'payments:write',
  'GET /payments': 'payments:read',
  'GET /payments/:reference': 'payments:read',
  'GET /payments/:reference/timeline': 'payments:read',
  'POST /payments/:reference/cancel': 'payments:write',
  'POST /payments/:reference/input': 'payments:write',
  'POST /payments/:reference/widget-token': 'payments:write',
  'GET /payments/:reference/refunds': 'payments:read',
  'POST /payments/:reference/refunds': 'refunds',
  'GET /payments/:reference/refund-account': 'refunds',
  'POST /refunds/:id/retry': 'refunds',
  'POST /refunds/:id/end': 'refunds',
  'GET /refunds/:id': 'payments:read',
  'GET /disputes': 'payments:read',
  'GET /disputes/:id': 'payments:read',
  'GET /cases': 'cases:read',
  'GET /cases/:id': 'cases:read',
  'POST /cases/:id/close': 'cases:write',
  'GET /settlements': 'payments:read',
  'GET /settlements/unsettled': 'payments:read',
  'GET /settlements/unsettled/sums': 'payments:read',
  'GET /settlements/fees': 'payments:read',
  'POST /settlements/refresh': 'payments:read',
  'GET /settlements/:id': 'payments:read',
  'GET /settlements/:id/lines': 'payments:read',
  'POST /bank-statements': 'payments:write',
  'GET /bank-statements/columns': 'payments:read',
  'GET /bank-credits': 'payments:read',
  'PUT /bank-credits/:id': 'payments:write',
  'GET /cards': 'payments:read',
  'DELETE /cards/:id': 'payments:write',
  'POST /fees/quote': 'payments:read',
  'GET /channels': 'payments:read',
  'GET /events': 'payments:read',
  'GET /events/:id': 'payments:read',
  'POST /events/:id/redeliver': 'webhooks',
  'POST /events/redeliver': 'webhooks',
  'GET /exports/payments': 'payments:read',
  'GET /exports/refunds': 'payments:read',
  'GET /exports/transfers': 'payments:read',
  'GET /exports/deliveries': 'payments:read',
  'GET /exports/settlements': 'payments:read',
  'GET /exports/settlement-lines': 'payments:read',
  'GET /integrations': 'payments:read',
  'GET /integrations/:provider': 'integrations',
  'PUT /integrations/:provider': 'integrations',
  'DELETE /integrations/:provider': 'integrations',
  'POST /integrations/:provider/check': 'integrations',
  'GET /webhook-endpoints': 'webhooks',
  'POST /webhook-endpoints': 'webhooks',
  'PATCH /webhook-endpoints/:id': 'webhooks',
  'DELETE /webhook-endpoints/:id': 'webhooks',
  'POST /webhook-endpoints/:id/rotate-secret': 'webhooks',
  'POST /webhook-endpoints/:id/test': 'webhooks',
  'POST /webhook-secret/rotate': 'webhooks',
}

/** Gives each route its scope, and names it in the OpenAPI document. A route without one fails at start. */
export function declareScopes(api: App): void {
  api.addHook('onRoute', (route) => {
    const scope = SCOPES[`${route.method === 'HEAD' ? 'GET' : route.method} ${route.routePath}`]
    if (!scope) throw new Error(`${route.method} ${route.url}: add its scope to src/http/api/scopes.ts`)
    route.config = { ...route.config, scope }
    route.schema = { ...route.schema, security: [{ clientId: [], clientSecret: [scope] }] }
  })
}
