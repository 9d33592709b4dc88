import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import underPressure from '@fastify/under-pressure'
import Fastify, { type FastifyRequest } from 'fastify'
import type { Assets } from '../../web/build.ts'
import type { IntegrationCache } from '../integrations/integration-cache.ts'
import { Problem, refuse } from '../kernel/problem.ts'
import { refuseUnstorableUrl } from '../kernel/storable-text.ts'
import type { SendMail } from '../members/mail.ts'
import { brandingCache } from '../merchants/branding-cache.ts'
import type { VerifyCredential } from '../merchants/verify-credential.ts'
import type { PaymentDeps } from '../payments/deps.ts'
import { type Links, linksOn } from '../payments/links.ts'
import type { PaymentBatch } from '../payments/start/create-payment.ts'
import type { DeliveryDependencies } from '../webhooks/delivery-loop.ts'
import { cardRoutes } from './api/cards.ts'
import { checkoutRoutes } from './api/checkouts.ts'
import { disputeRoutes } from './api/disputes.ts'
import { eventRoutes } from './api/events.ts'
import { ExportSlots, exportRoutes } from './api/exports.ts'
import { feeRoutes } from './api/fees.ts'
import { initializeRoutes } from './api/initialize.ts'
import { integrationRoutes } from './api/integrations.ts'
import { linkRoutes } from './api/links.ts'
import { noticeRoutes } from './api/notices.ts'
import { paymentListRoutes, paymentRoutes } from './api/payments.ts'
import { refundRoutes } from './api/refunds.ts'
import { declareScopes } from './api/scopes.ts'
import { webhookEndpointRoutes } from './api/webhook-endpoints.ts'
import { type Documents, documents as documentsOf } from './checkout/document.ts'
import { pageOf } from './checkout/embed.ts'
import { linkPageRoutes } from './checkout/link-routes.ts'
import type { LivePayments } from './checkout/live-payments.ts'
import { liveRoutes } from './checkout/live-routes.ts'
import { logoRoutes } from './checkout/logo-route.ts'
import { isLink, pageRoutes, sendUnknownPayment } from './checkout/page-routes.ts'
import { widgetRoutes } from './checkout/widget-routes.ts'
import { FORMATS } from './contract/formats.ts'
import { DASHBOARD_API, dashboardRoutes } from './dashboard/routes.ts'
import { shellRoutes } from './dashboard/shell.ts'
import { guideRoutes } from './guides/routes.ts'
import { describeApi } from './openapi.ts'
import { authentication } from './server/authenticate.ts'
import type { App } from './server/framework.ts'
import { parseJsonBody } from './server/json-body.ts'
import { Limits } from './server/limits.ts'
import { Metrics } from './server/metrics.ts'
import { operationsRoutes } from './server/operations.ts'
import { handleInTurn } from './server/pipelining.ts'
import { pathOf, problemBody, sendProblem, toProblem } from './server/problems.ts'
import { answerLog } from './server/response-log.ts'
import { schemaCompilers } from './server/schema-compilers.ts'
import { traceRequests } from './server/trace-requests.ts'
import { refuseUnknownParameters } from './server/unknown-fields.ts'
import { nearestPath } from './server/unknown-path.ts'
import { mistakesOf } from './server/validation-errors.ts'

export interface HttpDeps extends Omit<PaymentDeps, 'links'>, Pick<DeliveryDependencies, 'http' | 'allowPrivate'> {
  verifyCredential: VerifyCredential
  integrationCache: IntegrationCache
  paymentBatch: PaymentBatch
  live: LivePayments
  /** Scripts and styles for browsers. */
  assets: Assets
  /** For invitations and forgotten passwords; absent without SMTP_URL. */
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

const KIB = 1024
const HOST = /^[\w.:[\]-]+$/
const MAX_URL_LENGTH = 8 * KIB
const LOAD_SAMPLE_MS = 500
const MAX_CONNECTIONS = 20_000 // twice the number of SSE streams, so that streams never use up all connections

/** The HTTP server of merchants, customers and providers. */
export async function buildApp(deps: HttpDeps): Promise<App> {
  const { log, database, assets } = deps
  const limits = new Limits(deps.rateLimit)
  const documents = documentsOf(assets)
  const requestIdPrefix = `req_${randomBytes(6).toString('hex')}`
  let requests = 0

  const app: App = Fastify({
    logger: false, // answerLog writes one line per response; Fastify's lines would contain headers
    genReqId: () => `${requestIdPrefix}${(requests++).toString(36).padStart(4, '0')}`,
    requestIdHeader: false,
    bodyLimit: 64 * KIB,
    routerOptions: { maxParamLength: 16 * KIB }, // never reached: the length of the URL is limited below
    serverFactory: (handle) =>
      createServer(
        {
          maxHeaderSize: 16 * KIB,
          requireHostHeader: false, // the hook below answers with a problem document
          connectionsCheckingInterval: Math.min(5_000, deps.requestTimeoutMs ?? 5_000),
          requestTimeout: deps.requestTimeoutMs ?? 30_000,
          keepAliveTimeout: 65_000, // longer than the usual 60 s of a load balancer, which must close first
        },
        handleInTurn(handle),
      ),
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests in progress are still answered during shutdown
    trustProxy: deps.trustProxy.length > 0 ? deps.trustProxy : false,
    schemaController: { compilersFactory: schemaCompilers },
    ajv: {
      // Fastify's defaults would coerce "100" to 100 and silently drop unknown fields.
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        verbose: true, // an error names the schema, for the message about an unknown parameter
        formats: Object.fromEntries(Object.entries(FORMATS).map(([name, { test }]) => [name, test])),
      },
    },
    frameworkErrors: (error, request, reply) => {
      reply.header('request-id', request.id)
      if (isLink(request)) return void sendUnknownPayment(request, reply, { limits, documents })
      sendProblem(request, reply, toProblem(error, request, log))
    },
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest(error, socket, `${requestIdPrefix}${(requests++).toString(36)}`),
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.server.maxConnections = MAX_CONNECTIONS
  // Node's own answer to an unknown Expect header has no body; the header is ignored instead.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  const metrics = new Metrics(deps)
  const links = linksOn(deps.baseUrl)
  const methods = collectMethods(app)

  app.removeAllContentTypeParsers()
  // Callbacks, not promises: each promise costs every request a turn of the microtask queue.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    // Many clients send a content type without a body.
    const { schema, config } = request.routeOptions
    if (body.length === 0 && (!schema?.body || config.hasOptionalBody)) return done(null, undefined)
    if (!isPlainUtf8(request.headers)) {
      return done(
        new Problem('unsupported_media_type', 'Send the body as plain UTF-8: no Content-Encoding, no other charset.'),
      )
    }
    try {
      done(null, parseJsonBody(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (deps.isStopping()) reply.header('connection', 'close')
    const { url = '', httpVersion } = request.raw
    const { host, protocol } = request
    if (host === '' && httpVersion === '1.1')
      return done(new Problem('invalid_request', 'The Host header is missing or empty.'))
    if (host !== '' && !(HOST.test(host) && URL.canParse(`${protocol}://${host}`)))
      return done(new Problem('invalid_request', 'The Host header is not a host and port.'))
    if (url.length > MAX_URL_LENGTH) return done(new Problem('invalid_request', 'The address is longer than 8 KiB.'))
    const path = pathOf(request)
    // A provider may send a customer back with parameters in another encoding: pages for customers take theirs from lists of words.
    const isPage = isLink(request) || path.startsWith('/widget/')
    try {
      refuseUnstorableUrl(path, isPage ? '' : url.slice(path.length + 1))
    } catch (error) {
      return done(isPage ? new Problem('not_found', 'There is no such page.') : (error as Error))
    }
    done()
  })
  const logAnswer = answerLog(log)
  // onSend rather than onResponse, which would add listeners to every response.
  app.addHook('onSend', ({ routeOptions, method }, reply, _payload, done) => {
    metrics.answered(method, routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime / 1000)
    logAnswer(reply)
    done()
  })
  app.decorateRequest('caller')
  app.setErrorHandler((error, request, reply) => {
    const { validation } = error as { validation?: Parameters<typeof mistakesOf>[0] }
    if (validation) return sendProblem(request, reply, refusalOf(validation, request.query))
    return sendProblem(request, reply, toProblem(error, request, log))
  })
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
      refundRoutes(api, { ...deps, links })
      disputeRoutes(api, deps)
      cardRoutes(api, deps)
      integrationRoutes(api, { ...deps, links })
      feeRoutes(api, deps)
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

/**
 * Backpressure: refuses POST requests while the event loop lags or the heap is nearly full. Reads are still answered. The start itself
 * blocks the loop, which says nothing about the load: the first samples are ignored.
 */
async function shedLoad(api: App): Promise<void> {
  let measuresLoadFrom = 0
  api.addHook('onListen', async () => {
    measuresLoadFrom = performance.now() + 2 * LOAD_SAMPLE_MS
  })
  await api.register(underPressure, {
    maxEventLoopDelay: 1_000,
    maxHeapUsedBytes: getHeapStatistics().heap_size_limit * 0.9,
    sampleInterval: LOAD_SAMPLE_MS,
    pressureHandler: async ({ method }) => {
      if (method === 'POST' && performance.now() >= measuresLoadFrom)
        throw new Problem('unavailable', 'The service is overloaded. Try again shortly.', { retryAfterSeconds: 1 })
    },
  })
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

function isPlainUtf8(headers: IncomingHttpHeaders): boolean {
  const charset = /charset="?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1]
  const encoding = headers['content-encoding']
  return (!charset || /^utf-?8$/i.test(charset)) && (!encoding || encoding === 'identity')
}

function refusalOf(validation: Parameters<typeof mistakesOf>[0], value: unknown): Problem {
  try {
    return refuse(mistakesOf(validation, value))
  } catch (problem) {
    return problem as Problem
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

function collectMethods(app: App): Map<string, Set<string>> {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    for (const each of [method].flat()) known.add(each)
    methods.set(url, known)
  })
  return methods
}

/** Answers 405 with an Allow header for a known URL with another method, rather than 404. */
function refuseOtherMethods(app: App, routes: Map<string, Set<string>>): void {
  for (const [url, known] of [...routes]) {
    if (url.includes('*')) continue
    const allow = [...known].join(', ')
    const others = METHODS.filter((method) => !known.has(method))
    if (others.length === 0) continue
    app.route({
      method: [...others],
      url,
      schema: { hide: true },
      // In onRequest: the body is not read.
      onRequest: async (request, reply) => {
        reply.header('allow', allow)
        throw new Problem('method_not_allowed', `${url} does not take ${request.method}, only ${allow}.`)
      },
      handler: () => {},
    })
  }
}

/** Answers bytes that are not HTTP. There is no request object, so the response is written by hand. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const problem =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Problem('headers_too_large', 'The headers are larger than 16 KiB.')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new Problem('request_timeout', 'The request did not arrive within 30 s.')
        : new Problem('invalid_request', 'This is not a request that HTTP/1.1 allows.')
  const body = problemBody(problem, { path: '', requestId })
  const text = JSON.stringify(body)
  socket.end(
    `HTTP/1.1 ${body.status} ${problem.code}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nRequest-Id: ${requestId}\r\nConnection: close\r\n\r\n${text}`,
  )
}
