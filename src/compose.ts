import type { Logger } from 'pino'
import { type Assets, buildAssets } from '../web/build.ts'
import type { Config } from './config/config.ts'
import { type Keys, loadKeys } from './config/generated-keys.ts'
import { checkSecretKey } from './database/check-secret-key.ts'
import { checkSessions, type DatabaseUrls, isPooled } from './database/check-sessions.ts'
import { connect, type Database, waitForConnection } from './database/database.ts'
import { databaseClock } from './database/database-clock.ts'
import type { Purpose } from './database/embedded.ts'
import { type Listener, listen as listenTo } from './database/listen.ts'
import { migrate } from './database/migrate.ts'
import { DEMO_WEBHOOK_PATH, type DemoDeps, demoShop } from './demo/shop.ts'
import { PAYMENTS_CHANNEL } from './events/event-store.ts'
import { DELIVERIES_CHANNEL } from './events/outbox-store.ts'
import { findDefaultSecret } from './events/webhook-secret-store.ts'
import { SANDBOX_MERCHANT_ID, seedSandbox } from './integrations/create-merchant.ts'
import { integrationCache } from './integrations/integration-cache.ts'
import { INTEGRATIONS_CHANNEL } from './integrations/integration-store.ts'
import { providerClients } from './integrations/provider-clients.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import { idOf } from './kernel/ids.ts'
import type { Mode } from './kernel/mode.ts'
import { secretBox } from './kernel/secret-box.ts'
import { createLog } from './log.ts'
import { createWelcomeLink } from './members/one-time-links.ts'
import type { NewCredential } from './merchants/credential.ts'
import { credentialVerifier } from './merchants/verify-credential.ts'
import { webhookHttp } from './outbound/webhook-http.ts'
import type { PaymentDeps } from './payments/deps.ts'
import { linksOn } from './payments/links.ts'
import { paymentBatch } from './payments/start/create-payment.ts'
import { sandboxServers } from './providers/sandbox-servers.ts'
import { startDelivering } from './webhooks/delivery-loop.ts'
import { setDefaultSecret } from './webhooks/manage-endpoints.ts'
import { mailJobs } from './worker/mail-jobs.ts'
import { purgesOf, retentionJob } from './worker/retention.ts'
import { startWorker } from './worker/worker.ts'

const SANDBOX_OWNER = { merchantId: SANDBOX_MERCHANT_ID, mode: 'sandbox' as const }

/** The dependencies of every command. */
export interface CommandDeps {
  database: Database
  /** Of PostgreSQL itself, for LISTEN, migrations and advisory locks. */
  directUrl: string
  clock: Clock
  close(): Promise<void>
}

/** One connection in five is kept for settling and notices. */
const RESERVED_SHARE = 5
/** A command has no customer who waits: it may wait longer for a connection to a busy server. */
const COMMAND_POOL_WAIT_MS = 10_000

/** Connects to DATABASE_URL, or starts the embedded PostgreSQL. */
export async function openDeps(config: Config, purpose: Purpose, log?: Logger): Promise<CommandDeps> {
  const own = ownDatabase(config)
  const server = own ? { ...own, stop: async () => {} } : await startEmbedded(config, purpose, log)
  const reservedConnections = Math.ceil(config.databasePool / RESERVED_SHARE)
  const database = connect({
    ...server,
    connections: config.databasePool - reservedConnections,
    reservedConnections,
    isPooled: own !== undefined && isPooled(own),
    ...(purpose !== 'own' && { poolWaitMs: COMMAND_POOL_WAIT_MS }),
    onIdleError: (err) => log?.warn({ err }, 'idle database connection lost'),
  })
  return {
    database,
    directUrl: own?.directUrl ?? server.url,
    clock: systemClock,
    async close() {
      await database.close()
      await server.stop()
    },
  }
}

/** Where DATABASE_URL and its companions lead; undefined for the embedded PostgreSQL. */
export function ownDatabase({
  databaseUrl: url,
  databaseDirectUrl,
  databaseReadUrl,
}: Config): DatabaseUrls | undefined {
  return url === undefined ? undefined : { url, directUrl: databaseDirectUrl ?? url, readUrl: databaseReadUrl }
}

async function startEmbedded(config: Config, purpose: Purpose, log?: Logger) {
  // Loaded lazily: not needed with a DATABASE_URL.
  const embedded = await import('./database/embedded.ts')
  return embedded.startEmbedded({
    dataDir: config.dataDir,
    purpose,
    onRestart: () => log?.warn('embedded PostgreSQL exited unexpectedly and was restarted'),
  })
}

export interface Service {
  baseUrl: string
  /** Reaches this process from its own machine. */
  serverUrl: string
  sandbox: NewCredential
  sandboxWebhookSecret: string
  /** A one-time link while the dashboard has no account; undefined for a worker. */
  dashboardUrl: string | undefined
  /** The URL of the demo shop, if enabled. */
  demoUrl: string | undefined
  /** Graceful shutdown. `patient`: waits first, so that load balancers notice. */
  stop(patient: boolean): Promise<void>
}

// Time for load balancers and keep-alive clients to receive "Connection: close".
const DRAIN_MS = 500
const DISCONNECT_AFTER_MS = 5_000

export async function startService(config: Config, log: Logger): Promise<Service> {
  const tracing = config.otlpEndpoint ? await openTracing(config.otlpEndpoint) : undefined
  const deps = await openDeps(config, 'own', log)
  try {
    const own = ownDatabase(config)
    if (own) await checkSessions(own)
    const migrations = await migrate(deps.directUrl)
    if (migrations.length > 0) log.info({ migrations }, 'migrated')
    const keys = await loadKeys(config)
    await waitForConnection(deps.database)
    const clock = await databaseClock(deps.database)
    const secrets = secretBox(keys.secretKey, keys.previousSecretKey)
    await checkSecretKey(deps.database, secrets)
    await seedSandbox(deps.database, keys.sandbox)
    const inUse = await findDefaultSecret(deps.database, secrets, SANDBOX_OWNER)
    // A rotated secret stays, unless the configuration sets one.
    const sandboxWebhookSecret = config.sandboxWebhookSecret ?? inUse ?? keys.sandboxWebhookSecret
    await setDefaultSecret({ ...deps, secrets }, SANDBOX_OWNER, sandboxWebhookSecret)
    const service = await startHttp(config, log, { ...deps, clock }, { ...keys, sandboxWebhookSecret })
    return {
      ...service,
      async stop(patient) {
        await service.stop(patient)
        await tracing?.stop().catch((err) => log.warn({ err }, 'the last traces were not exported'))
      },
    }
  } catch (error) {
    await deps.close()
    throw error
  }
}

/** Loaded lazily: most installations export no traces. */
async function openTracing(endpoint: string) {
  const { startTracing } = await import('./tracing/start-tracing.ts')
  return startTracing(endpoint)
}

async function startHttp(config: Config, log: Logger, deps: CommandDeps, keys: Keys): Promise<Service> {
  const [{ buildApp }, { listen }, { livePayments }] = await loadHttp()
  let stopping = false
  let baseUrl = config.publicUrl ?? ''
  let serverUrl = ''
  const integrations = integrationCache(deps.database)
  const verifyCredential = credentialVerifier(deps.database)
  const servers = sandboxServers({
    ...deps,
    log,
    verifyCredential,
    masterKey: keys.secretKey,
    settlesAtHour: config.sandboxSettlesAt,
    publicUrl: () => baseUrl,
    serverUrl: () => serverUrl,
  })
  const secrets = secretBox(keys.secretKey, keys.previousSecretKey)
  const isAllowed = privateAllowedBy(config)
  // SSRF guard: the demo shop's webhook is the only private address that is always allowed.
  const isDemoWebhook = (url?: string) => config.demo && url === `${baseUrl}${DEMO_WEBHOOK_PATH}`
  const allowPrivate = (mode: Mode, url?: string) => isAllowed(mode) || (mode === 'sandbox' && isDemoWebhook(url))
  const paymentDeps: PaymentDeps = {
    ...deps,
    log,
    links: linksOn(() => baseUrl),
    providers: providerClients({
      database: deps.database,
      secrets,
      masterKey: keys.secretKey,
      serverUrl: () => serverUrl,
      allowPrivate,
    }),
    secrets,
  }
  const hasDemo = config.demo && config.role !== 'worker'
  const assets = await buildAssets()
  const demo = hasDemo ? [openDemo(keys, assets, { baseUrl: () => baseUrl, serverUrl: () => serverUrl })] : []
  const http = webhookHttp()
  const live = livePayments({ ...deps, log })
  const sendMail = await openMail(config)
  const app = await buildApp({
    ...paymentDeps,
    verifyCredential,
    integrationCache: integrations,
    paymentBatch: paymentBatch(deps.database),
    live,
    assets,
    http,
    allowPrivate,
    guests: [...servers, ...demo],
    sendMail,
    baseUrl: () => baseUrl,
    isStopping: () => stopping,
    serves: config.role === 'worker' ? 'operations' : 'everything',
    rateLimit: config.rateLimit,
    trustProxy: config.trustProxy,
  })
  const open = async () => {
    const port = await listen(app, config)
    baseUrl ||= `http://localhost:${port}`
    serverUrl = `http://${reachable(config.host)}:${port}`
    if (config.role === 'worker') return { port, dashboardUrl: undefined }
    return { port, dashboardUrl: await dashboardLink({ ...deps, baseUrl: () => baseUrl }) }
  }
  const { port, dashboardUrl } = await open().catch(async (error) => {
    await app.close() // its port and timers would keep the process alive
    throw error
  })
  const sendNotices = servers.map(({ prefix, sendDueNotices }) => ({
    name: `send notices of ${prefix}`,
    everyMs: 500,
    run: async () => (await sendDueNotices(100)) === 100,
  }))
  const { alertsUrl: url, alertsSecret: secret } = config
  const operator = url && secret ? { url, secret } : undefined
  const mails = mailJobs({ ...paymentDeps, sendMail, http, operator })
  const retention = retentionJob(deps, purgesOf(deps, config.retention, servers))
  const worker = config.role === 'api' ? undefined : startWorker(paymentDeps, [...sendNotices, retention, ...mails])
  const delivering = config.role === 'api' ? undefined : startDelivering({ ...paymentDeps, http, allowPrivate })
  const listeners: Record<string, Listener> = {
    ...(delivering && { [DELIVERIES_CHANNEL]: { heard: delivering.wake, missed: delivering.wake } }),
    [INTEGRATIONS_CHANNEL]: {
      heard: (uuid) => integrations.invalidate(idOf('merchant', uuid)),
      missed: integrations.invalidateAll,
    },
    ...(config.role !== 'worker' && { [PAYMENTS_CHANNEL]: { heard: live.changed, missed: live.missed } }),
  }
  deps.database.onNotify((channel, payload) => listeners[channel]?.heard(payload))
  const listening = listenTo(deps.directUrl, listeners, deps.database.isOwnBackend)
  log.info({ port }, 'listening')

  return {
    baseUrl,
    serverUrl,
    sandbox: keys.sandbox,
    sandboxWebhookSecret: keys.sandboxWebhookSecret,
    dashboardUrl,
    demoUrl: hasDemo ? `${baseUrl}/demo` : undefined,
    async stop(patient) {
      stopping = true // readiness fails, and every answer has "Connection: close"
      if (patient) await new Promise((resolve) => setTimeout(resolve, DRAIN_MS))
      // Clients that are still sending after the timeout are disconnected.
      const timeout = setTimeout(() => app.server.closeAllConnections(), DISCONNECT_AFTER_MS)
      await listening.stop()
      await Promise.all([app.close(), worker?.stop(), delivering?.stop(), ...servers.map((server) => server.stop())])
      http.close()
      clearTimeout(timeout)
      await deps.close()
    },
  }
}

/** Loaded lazily: most installations of a developer send no mail. */
async function openMail({ smtpUrl, smtpFrom, publicUrl }: Config) {
  if (!smtpUrl) return undefined
  const { smtpMail } = await import('./members/mail.ts')
  return smtpMail(smtpUrl, smtpFrom ?? `Manilla <no-reply@${new URL(publicUrl ?? 'http://localhost').hostname}>`)
}

/** The first account is made with a link that this start prints. */
async function dashboardLink(deps: Parameters<typeof createWelcomeLink>[0]): Promise<string> {
  const link = await createWelcomeLink(deps, 'seed', SANDBOX_MERCHANT_ID)
  return link?.url ?? `${deps.baseUrl()}/dashboard`
}

/** The demo shop is a merchant: it gets credentials and URLs, and no dependency of the service. */
function openDemo(keys: Keys, assets: Assets, urls: Pick<DemoDeps, 'baseUrl' | 'serverUrl'>) {
  return demoShop({
    ...urls,
    credential: keys.sandbox,
    webhookSecret: keys.sandboxWebhookSecret,
    script: assets.demoScript,
    style: assets.demoStyle,
  })
}

/** SSRF guard: the modes in which private addresses may be called. */
export function privateAllowedBy({ webhookAllowPrivate }: Config): (mode: Mode) => boolean {
  return (mode) => webhookAllowPrivate === 'always' || webhookAllowPrivate === mode
}

/** A host at which this process can reach itself. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === 'localhost') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Loaded lazily: commands without HTTP start faster without the web framework. */
function loadHttp() {
  return Promise.all([
    import('./http/app.ts'),
    import('./http/server/listen.ts'),
    import('./http/checkout/live-payments.ts'),
  ])
}

/** The OpenAPI document, generated from the routes without a database. */
export async function describeService(): Promise<unknown> {
  const [{ buildApp }, , { livePayments }] = await loadHttp()
  const nothing = () => {
    throw new Error('not available while generating the OpenAPI document')
  }
  const deps = { database: {} as Database, log: createLog('silent') }
  const app = await buildApp({
    ...deps,
    clock: systemClock,
    verifyCredential: nothing,
    integrationCache: { get: nothing, invalidate: nothing, invalidateAll: nothing },
    paymentBatch: { insert: nothing },
    live: livePayments(deps),
    assets: await buildAssets(),
    providers: {
      ...{ find: nothing, isHealthy: nothing, recordResult: nothing },
      ...{ connect: nothing, keysVersions: nothing, breakers: nothing },
    },
    secrets: { keyId: '', seal: nothing, open: nothing, sign: nothing, verify: nothing },
    http: { post: nothing },
    allowPrivate: () => false,
    baseUrl: () => 'http://localhost:3000',
    isStopping: () => false,
    rateLimit: false,
    trustProxy: [],
  })
  await app.ready()
  const description = app.swagger()
  await app.close()
  return description
}
