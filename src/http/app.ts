import type { FastifyRequest } from 'fastify'
import type { Assets } from '../../web/build.ts'
import type { IntegrationCache } from '../integrations/integration-cache.ts'
import { Problem } from '../kernel/problem.ts'
import type { SendMail } from '../members/mail.ts'
import { brandingCache } from '../merchants/branding-cache.ts'
import type { VerifyCredential } from '../merchants/verify-credential.ts'
import type { PaymentDeps } from '../payments/deps.ts'
import { type Links, linksOn } from '../payments/links.ts'
import type { PaymentBatch } from '../payments/start/create-payment.ts'
import type { DeliveryDependencies } from '../webhooks/delivery-loop.ts'
import { bankStatementRoutes } from './api/bank-statements.ts'
import { cardRoutes } from './api/cards.ts'
import { caseRoutes } from './api/cases.ts'
import { channelRoutes } from './api/channels.ts'
import { checkoutRoutes } from './api/checkouts.ts'
import { disputeRoutes } from './api/disputes.ts'
import { eventRoutes } from './api/events.ts'
import { ExportSlots, exportRoutes } from './api/exports.ts'
import { feeRoutes } from './api/fees.ts'
import { initializeRoutes } from './api/initialize.ts'
import { integrationRoutes } from './api/integrations.ts'
import { linkRoutes } from './api/links.ts'
import { noticeRoutes } from './api/notices.ts'
import { inputRoutes, paymentListRoutes, paymentRoutes } from './api/payments.ts'
import { refundRoutes } from './api/refunds.ts'
import { declareScopes } from './api/scopes.ts'
import { settlementRoutes } from './api/settlements.ts'
import { webhookEndpointRoutes } from './api/webhook-endpoints.ts'
import { type Documents, documents as documentsOf } from './checkout/document.ts'
import { pageOf } from './checkout/embed.ts'
import { linkPageRoutes } from './checkout/link-routes.ts'
import type { LivePayments } from './checkout/live-payments.ts'
import { liveRoutes } from './checkout/live-routes.ts'
import { logoRoutes } from './checkout/logo-route.ts'
import { isLink, pageRoutes, sendUnknownPayment } from './checkout/page-routes.ts'
import { receiptRoutes } from './checkout/receipt-routes.ts'
import { widgetRoutes } from './checkout/widget-routes.ts'
import { DASHBOARD_API, dashboardRoutes } from './dashboard/routes.ts'
import { shellRoutes } from './dashboard/shell.ts'
import { guideRoutes } from './guides/routes.ts'
import { describeApi } from './openapi.ts'
import { authentication } from './server/authenticate.ts'
import { createServer } from './server/create-server.ts'
import type { App } from './server/framework.ts'
import { Limits } from './server/limits.ts'
import { Metrics } from './server/metrics.ts'
import { operationsRoutes } from './server/operations.ts'
import { collectMethods, refuseOtherMethods } from './server/other-methods.ts'
import { pathOf, sendProblem } from './server/problems.ts'
import { shedLoad } from './server/shed-load.ts'
import { traceRequests } from './server/trace-requests.ts'
import { refuseUnknownParameters } from './server/unknown-fields.ts'
import { nearestPath } from './server/unknown-path.ts'

export interface HttpDeps extends Omit<PaymentDeps, 'links'>, Pick<DeliveryDependencies, 'http' | 'allowPrivate'> {
  verifyCredential: VerifyCredential
  integrationCache: IntegrationCache
  paymentBatch: PaymentBatch
  live: LivePayments
  /** Scripts and styles for browsers. */
  assets: Assets
  /** Absent without SMTP_URL. */
  sendMail?: SendMail | undefined
  baseUrl: () => string
  isStopping: () => boolean
  /** `operations`: health and metrics only, for a worker process. */
  serves?: 'everything' | 'operations'
  rateLimit: boolean
  /** Load shedding: refuse new work while the event loop lags. Tests on slow machines turn it off. */
  shedsLoad?: boolean
  trustProxy: string[]
  /** HTTP servers mounted into this process: simulated providers and the demo shop. */
  guests?: Guest[]
  /** How long a client may take to send a request. */
  requestTimeoutMs?: number
  /** How long a client may take no byte of an export. */
  maxUnreadExportMs?: number
}

export interface Guest {
  prefix: string
  routes(app: App): void | Promise<void>
  /** The rate limit of a request, by method and path after the prefix. */
  limitOf?(method: string, path: string): 'sandboxPages' | 'demoOrders' | undefined
}

/** The HTTP server of merchants, customers and providers. */
export async function buildApp(deps: HttpDeps): Promise<App> {
  const { database, assets } = deps
  const limits = new Limits(deps.rateLimit)
  const documents = documentsOf(assets)
  const metrics = new Metrics(deps)
  const links = linksOn(deps.baseUrl)
  const app = createServer({
    ...deps,
    metrics,
    isPage: (request) => isLink(request) || pathOf(request).startsWith('/widget/'),
    refuse: (request, reply, problem) =>
      isLink(request)
        ? sendUnknownPayment(request, reply, { limits, documents })
        : sendProblem(request, reply, problem),
  })
  const methods = collectMethods(app)
  app.decorateRequest('caller')
  app.setNotFoundHandler((request, reply) => {
    if (isLink(request)) return sendUnknownPayment(request, reply, { limits, documents })
    if (deps.serves !== 'operations' && isBrowserAtRoot(request)) return reply.redirect(`${deps.baseUrl()}/dashboard`)
    const meant = nearestPath(pathOf(request), methods.keys())
    const hint = meant ? ` Did you mean ${meant}?` : ''
    return sendProblem(request, reply, new Problem('not_found', `There is nothing at ${pathOf(request)}.${hint}`))
  })

  if (deps.serves !== 'operations') await registerCallerRoutes(app, deps, { limits, links, metrics, documents })
  await registerProviderRoutes(app, { ...deps, links, limits }, metrics)
  await app.register(async (operations: App) =>
    operationsRoutes(operations, { database, metrics, limits, isStopping: deps.isStopping }),
  )

  refuseOtherMethods(app, methods)
  return app
}

/** Routes of merchants and customers. A worker process does not serve them. */
async function registerCallerRoutes(
  app: App,
  deps: HttpDeps,
  shared: { limits: Limits; links: Links; metrics: Metrics; documents: Documents },
): Promise<void> {
  const { limits, links, metrics, documents } = shared
  const exportSlots = new ExportSlots(deps.maxUnreadExportMs)
  await describeApi(app, deps.baseUrl, limits)

  await app.register(
    async (api: App) => {
      declareScopes(api)
      refuseUnknownParameters(api)
      api.addHook(
        'onRequest',
        authentication(deps.verifyCredential, limits, () => metrics.wrongCredentials.inc()),
      )
      api.addHook('onRequest', (_request, reply, done) => {
        reply.header('cache-control', 'no-store')
        done()
      })
      if (deps.shedsLoad !== false) await shedLoad(api)
      traceRequests(api)
      checkoutRoutes(api, { ...deps, links })
      linkRoutes(api, { ...deps, links })
      initializeRoutes(api, { ...deps, links })
      paymentRoutes(api, { ...deps, links })
      paymentListRoutes(api, { ...deps, links })
      inputRoutes(api, { ...deps, links })
      refundRoutes(api, { ...deps, links })
      caseRoutes(api, { ...deps, links })
      disputeRoutes(api, deps)
      settlementRoutes(api, { ...deps, links })
      bankStatementRoutes(api, { ...deps, links })
      cardRoutes(api, deps)
      integrationRoutes(api, { ...deps, links })
      feeRoutes(api, deps)
      channelRoutes(api, deps)
      webhookEndpointRoutes(api, deps)
      eventRoutes(api, deps)
      exportRoutes(api, { ...deps, exportSlots })
    },
    { prefix: '/payments/v1' },
  )
  const forCustomers = {
    ...deps,
    ...shared,
    findBranding: brandingCache(deps.database),
  }
  await app.register(async (pages: App) => {
    pageRoutes(pages, forCustomers)
    linkPageRoutes(pages, forCustomers)
    receiptRoutes(pages, forCustomers)
  })
  await app.register(async (logos: App) => logoRoutes(logos, { ...deps, limits }))
  await app.register(async (widget: App) => widgetRoutes(widget, forCustomers))
  const forMembers = { ...deps, limits, links, documents, exportSlots }
  await app.register(
    async (dashboard: App) => {
      refuseUnknownParameters(dashboard)
      dashboardRoutes(dashboard, forMembers)
    },
    { prefix: DASHBOARD_API },
  )
  await app.register(async (shell: App) => shellRoutes(shell, deps.assets.dashboard))
  await app.register(async (guides: App) => guideRoutes(guides, deps))
  const paymentIdOf = (text: string) => pageOf(deps, text)?.id
  await app.register(async (live: App) => liveRoutes(live, { live: deps.live, limits, paymentIdOf }))
}

/** Provider notices and mounted servers. Every process serves them, so that each works alone. */
async function registerProviderRoutes(
  app: App,
  deps: HttpDeps & { links: Links; limits: Limits },
  metrics: Metrics,
): Promise<void> {
  const underWay = new Set<Promise<void>>()
  const track = (work: Promise<void>) => {
    underWay.add(work)
    void work.finally(() => underWay.delete(work))
  }
  app.addHook('onClose', async () => void (await Promise.allSettled(underWay)))
  await app.register(async (notices: App) =>
    noticeRoutes(notices, { ...deps, track, onForged: () => metrics.forgedNotices.inc() }),
  )
  for (const guest of deps.guests ?? [])
    await app.register(async (routes: App) => registerGuest(routes, guest, deps.limits), { prefix: guest.prefix })
}

async function registerGuest(app: App, { prefix, routes, limitOf }: Guest, limits: Limits): Promise<void> {
  app.addHook('onRequest', (request, _reply, done) => {
    const limit = limitOf?.(request.method, pathOf(request).slice(prefix.length))
    if (limit) limits.guest(request, limit)
    done()
  })
  await routes(app)
}

/** An API client at `/` gets the 404. */
function isBrowserAtRoot(request: FastifyRequest): boolean {
  return request.method === 'GET' && pathOf(request) === '/' && /\btext\/html\b/.test(request.headers.accept ?? '')
}
