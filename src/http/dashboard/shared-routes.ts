import type { FastifyRequest } from 'fastify'
import { recordAct } from '../../events/audit-log-store.ts'
import type { Money } from '../../kernel/money.ts'
import { bankStatementRoutes } from '../api/bank-statements.ts'
import { cardRoutes } from '../api/cards.ts'
import { caseRoutes } from '../api/cases.ts'
import { checkoutRoutes } from '../api/checkouts.ts'
import { disputeRoutes } from '../api/disputes.ts'
import { eventRoutes } from '../api/events.ts'
import { exportRoutes } from '../api/exports.ts'
import { integrationRoutes } from '../api/integrations.ts'
import { linkRoutes } from '../api/links.ts'
import { paymentRoutes } from '../api/payments.ts'
import { refundRoutes } from '../api/refunds.ts'
import { settlementRoutes } from '../api/settlements.ts'
import { webhookEndpointRoutes } from '../api/webhook-endpoints.ts'
import type { App } from '../server/framework.ts'
import type { DashboardDeps } from './deps.ts'
import { type Access, inMerchant, type StepUp, scopeOf } from './guard.ts'
import { checkRefundAccount, checkRefundLimit } from './refund-limit.ts'

interface Rule {
  access: Access
  stepUp?: StepUp
  /** The entry of the audit log, for an operation that writes none itself. */
  act?: string
}

export const OF_MERCHANT = '/merchants/:merchant/:mode'

const WEBHOOKS = { access: 'keys', stepUp: 'second-factor in live mode' } as const
const PROVIDERS = { access: 'settings', stepUp: 'second-factor in live mode' } as const

/** The routes that the dashboard shares with the merchants' API, and which members may call them. */
const RULES: Record<string, Rule> = {
  'POST /checkouts': { access: 'payments', act: 'payment.created' },
  'GET /links': { access: 'read' },
  'POST /links': { access: 'payments' },
  'GET /links/:id': { access: 'read' },
  'PATCH /links/:id': { access: 'payments' },
  'GET /payments/:reference': { access: 'read' },
  'GET /payments/:reference/timeline': { access: 'read' },
  'POST /payments/:reference/cancel': { access: 'payments', act: 'payment.cancelled' },
  'GET /payments/:reference/refunds': { access: 'read' },
  'POST /payments/:reference/refunds': { access: 'refunds' },
  'GET /payments/:reference/refund-account': { access: 'refunds' },
  'GET /refunds/:id': { access: 'read' },
  'POST /refunds/:id/retry': { access: 'refunds' },
  'POST /refunds/:id/end': { access: 'refunds' },
  'GET /disputes': { access: 'read' },
  'GET /disputes/:id': { access: 'read' },
  'GET /cases': { access: 'read' },
  'GET /cases/:id': { access: 'read' },
  'POST /cases/:id/close': { access: 'refunds' },
  'GET /settlements': { access: 'read' },
  'GET /settlements/unsettled': { access: 'read' },
  'GET /settlements/unsettled/sums': { access: 'read' },
  'GET /settlements/fees': { access: 'read' },
  'POST /settlements/refresh': { access: 'payments', act: 'settlements.refreshed' },
  'GET /settlements/:id': { access: 'read' },
  'GET /settlements/:id/lines': { access: 'read' },
  'POST /bank-statements': { access: 'payments', act: 'bank_statement.uploaded' },
  'GET /bank-statements/columns': { access: 'read' },
  'GET /bank-credits': { access: 'read' },
  'PUT /bank-credits/:id': { access: 'payments', act: 'bank_credit.assigned' },
  'GET /cards': { access: 'read' },
  'DELETE /cards/:id': { access: 'payments' },
  'GET /events': { access: 'read' },
  'GET /events/:id': { access: 'read' },
  'POST /events/:id/redeliver': { access: 'payments', act: 'event.redelivered' },
  'POST /events/redeliver': { access: 'payments', act: 'events.redelivered' },
  'GET /webhook-endpoints': { access: 'read' },
  'POST /webhook-endpoints': WEBHOOKS,
  'PATCH /webhook-endpoints/:id': WEBHOOKS,
  'DELETE /webhook-endpoints/:id': WEBHOOKS,
  'POST /webhook-endpoints/:id/rotate-secret': WEBHOOKS,
  'POST /webhook-endpoints/:id/test': { access: 'keys', act: 'webhook_endpoint.tested' },
  'POST /webhook-secret/rotate': WEBHOOKS,
  'GET /exports/payments': { access: 'read', act: 'payments.exported' },
  'GET /exports/refunds': { access: 'read', act: 'refunds.exported' },
  'GET /exports/transfers': { access: 'read', act: 'transfers.exported' },
  'GET /exports/deliveries': { access: 'read', act: 'deliveries.exported' },
  'GET /exports/settlements': { access: 'read', act: 'settlements.exported' },
  'GET /exports/settlement-lines': { access: 'read', act: 'settlement_lines.exported' },
  'GET /integrations': { access: 'settings' },
  'GET /integrations/:provider': { access: 'settings' },
  'PUT /integrations/:provider': PROVIDERS,
  'DELETE /integrations/:provider': PROVIDERS,
  'POST /integrations/:provider/check': { access: 'settings' },
}

/** Gives each shared route its access. The guard refuses a route that has none, so this hook comes before it. */
export function declareSharedAccess(app: App): void {
  app.addHook('onRoute', (route) => {
    if (route.config?.access || !route.url.includes(OF_MERCHANT)) return
    const path = route.url.slice(route.url.indexOf(OF_MERCHANT) + OF_MERCHANT.length)
    const rule = RULES[`${route.method === 'HEAD' ? 'GET' : route.method} ${path}`]
    if (rule) route.config = { ...route.config, ...rule }
  })
}

/** The routes of the merchants' API, for a signed-in member in place of a credential. */
export function sharedRoutes(app: App, deps: DashboardDeps): void {
  app.register(
    async (shared: App) => {
      shared.addHook('onRequest', async (request) => {
        const { actor, membership } = inMerchant(request)
        const { suspended, merchantName } = membership
        const limitRefunds = (total: Money) => checkRefundLimit(request, total)
        request.caller = { ...scopeOf(request), actor, suspended, merchantName, limitRefunds }
      })
      shared.addHook('preHandler', async (request) => checkRefundAccount(request))
      // Before the answer is sent: an act that cannot be written is an error.
      shared.addHook('onSend', async (request, reply, payload) => {
        const { act } = request.routeOptions.config as { act?: string }
        if (act && reply.statusCode < 300) await recordMembersAct(deps, request, act, String(payload))
        return payload
      })
      checkoutRoutes(shared, deps)
      linkRoutes(shared, deps)
      paymentRoutes(shared, deps)
      refundRoutes(shared, deps)
      disputeRoutes(shared, deps)
      caseRoutes(shared, deps)
      settlementRoutes(shared, deps)
      bankStatementRoutes(shared, deps)
      cardRoutes(shared, deps)
      eventRoutes(shared, deps)
      webhookEndpointRoutes(shared, deps)
      integrationRoutes(shared, deps)
      exportRoutes(shared, deps)
    },
    { prefix: OF_MERCHANT },
  )
}

async function recordMembersAct({ database }: DashboardDeps, request: FastifyRequest, act: string, body: string) {
  const { actor, merchantId } = request.caller
  const { reference, id } = request.params as { reference?: string; id?: string }
  const created = act === 'payment.created' ? (JSON.parse(body) as { data: { id: string } }).data.id : undefined
  const subject = created ?? reference ?? id ?? (act.endsWith('.exported') ? exportedOf(request) : request.caller.mode)
  await database.transaction((tx) => recordAct(tx, { actor, act, merchantId, subject }))
}

/** Mode and filters of an export. The search text may be a customer's address, which this log could not erase. */
function exportedOf({ caller, query }: FastifyRequest): string {
  const { q, columns, bom, ...filters } = query as Record<string, string>
  return [caller.mode, ...Object.entries({ ...filters, ...(q && { q: '…' }) }).map((each) => each.join('='))].join(' ')
}
