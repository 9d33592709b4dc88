import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { type Logger, pino } from 'pino'
import type { Database } from '../../src/database/database.ts'
import { listen } from '../../src/database/listen.ts'
import { PAYMENTS_CHANNEL } from '../../src/events/event-store.ts'
import { DELIVERIES_CHANNEL } from '../../src/events/outbox-store.ts'
import { buildApp } from '../../src/http/app.ts'
import { type LivePayments, livePayments } from '../../src/http/checkout/live-payments.ts'
import type { App } from '../../src/http/server/framework.ts'
import { createMerchant } from '../../src/integrations/create-merchant.ts'
import { integrationCache } from '../../src/integrations/integration-cache.ts'
import { providerClients } from '../../src/integrations/provider-clients.ts'
import { type Clock, systemClock } from '../../src/kernel/clock.ts'
import type { Country } from '../../src/kernel/country.ts'
import { type MerchantId, uuidOf } from '../../src/kernel/ids.ts'
import type { Mode } from '../../src/kernel/mode.ts'
import type { Place } from '../../src/kernel/place.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import type { SendMail } from '../../src/members/mail.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { credentialVerifier } from '../../src/merchants/verify-credential.ts'
import { webhookHttp } from '../../src/outbound/webhook-http.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { linksOn } from '../../src/payments/links.ts'
import { paymentBatch } from '../../src/payments/start/create-payment.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { sandboxServers } from '../../src/providers/sandbox-servers.ts'
import { startDelivering } from '../../src/webhooks/delivery-loop.ts'
import { mailJobs } from '../../src/worker/mail-jobs.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { buildAssets } from '../../web/build.ts'
import { createDatabase } from './database.ts'
import type { Answer } from './service.ts'
import { startWorkerProcess } from './worker-process.ts'

/**
 * The service on a real port with the sandbox provider, for payments over HTTP. A worker runs only if a test asks for
 * one.
 */
export interface PayingService {
  app: App
  database: Database
  databaseUrl: string | undefined
  parts: PaymentDeps
  live: LivePayments
  baseUrl: string
  masterKey: Buffer
  /** `bare`: without the sandbox provider's integration. */
  addShop(name?: string, options?: { bare?: boolean; mode?: Mode }): Promise<Shop>
}

export interface Shop {
  place: Place
  merchantId: MerchantId
  merchantUuid: string
  headers: { 'client-id': string; 'client-secret': string }
  /** Calls the API with this merchant's credentials. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  initialize(changes?: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>
  payment(reference: string): Promise<Answer['body']>
}

interface Changes {
  clock?: Clock
  log?: Logger
  masterKey?: Buffer
  deliver?: boolean
  worker?: boolean
  /** Mails of the dashboard, and with a worker those to customers and members. */
  sendMail?: SendMail
  /** Replaces the registry of providers. */
  providers?: readonly Provider[]
  /**
   * Default: provider calls have a minute, because the 5 s of the sandbox provider are too short for a machine that
   * stalls.
   */
  providerHttp?: NonNullable<Parameters<typeof providerClients>[0]['http']>
  /** The clock of provider health. */
  healthNow?: () => number
  rateLimit?: boolean
  /** Live providers may be on this machine, too. */
  livePrivate?: boolean
  /** Default: any free port. */
  port?: number
  /** The host in `baseUrl`. Passkeys need a name, not an address. */
  host?: 'localhost'
  /** The test counts what one process does, so the worker runs in it also with `npm run gate -- roles`. */
  inOneProcess?: boolean
  /** More settings of the worker when it runs apart. */
  workerSettings?: Record<string, string>
}

/** For tests that wait until the sandbox provider has been silent for too long. */
export const AS_IN_PRODUCTION = { deadlineMs: 5_000, connectMs: 5_000 }

/** `databaseUrl`: enables live updates of payment pages. */
export async function startPaying(
  changes: Changes & { database?: Database; databaseUrl?: string } = {},
): Promise<PayingService> {
  const { database, databaseUrl, ...others } = changes
  const made = database ? { database, url: databaseUrl } : await createDatabase()
  const { stop, ...service } = await openPaying(made, others)
  after(stop)
  return service
}

/** The caller must stop it. For gates, which run outside the test runner. */
export async function openPaying(
  { database, url: databaseUrl }: { database: Database; url: string | undefined },
  changes: Changes,
): Promise<PayingService & { stop(): Promise<void> }> {
  const masterKey = changes.masterKey ?? randomBytes(32)
  const { clock = systemClock, log = pino({ level: 'silent' }) } = changes
  let baseUrl = ''
  const verifyCredential = credentialVerifier(database)
  const integrations = integrationCache(database)
  const url = () => baseUrl
  const guests = sandboxServers({ database, clock, log, masterKey, verifyCredential, publicUrl: url, serverUrl: url })
  const secrets = secretBox(masterKey)
  const allowPrivate = (mode: Mode) => mode === 'sandbox' || changes.livePrivate === true
  const parts: PaymentDeps = {
    database,
    clock,
    log,
    links: linksOn(url),
    providers: providerClients({
      ...{ database, secrets, masterKey, serverUrl: url, allowPrivate },
      ...(changes.providers && { providers: changes.providers }),
      http: { deadlineMs: 60_000, connectMs: 60_000, ...changes.providerHttp },
      ...(changes.healthNow && { now: changes.healthNow }),
    }),
    secrets,
  }
  const http = webhookHttp()
  const live = livePayments({ database, log })
  const app = await buildApp({
    ...parts,
    verifyCredential,
    integrationCache: integrations,
    paymentBatch: paymentBatch(database),
    live,
    assets: await buildAssets(),
    http,
    allowPrivate,
    guests,
    sendMail: changes.sendMail,
    baseUrl: url,
    isStopping: () => false,
    rateLimit: changes.rateLimit ?? false,
    shedsLoad: false,
    trustProxy: [],
  })
  await app.listen({ host: '127.0.0.1', port: changes.port ?? 0 })
  baseUrl = `http://${changes.host ?? '127.0.0.1'}:${(app.server.address() as { port: number }).port}`
  const apart =
    databaseUrl && runsApart(changes)
      ? await startWorkerProcess(databaseUrl, masterKey, baseUrl, changes.workerSettings)
      : undefined
  // As in the service, but a test waits for less.
  const sandboxJobs = guests.map(({ prefix, sendDueNotices }) => ({
    name: `send notices of ${prefix}`,
    everyMs: 100,
    run: async () => (await sendDueNotices(100)) === 100,
  }))
  const mails = changes.sendMail ? mailJobs({ ...parts, http, sendMail: changes.sendMail }) : []
  const worker = changes.worker && !apart ? startWorker(parts, [...sandboxJobs, ...mails]) : undefined
  const delivering = changes.deliver && !apart ? startDelivering({ ...parts, http, allowPrivate }) : undefined
  const listening =
    databaseUrl &&
    listen(databaseUrl, {
      ...(delivering && { [DELIVERIES_CHANNEL]: { heard: delivering.wake, missed: delivering.wake } }),
      [PAYMENTS_CHANNEL]: { heard: live.changed, missed: live.missed },
    })
  return {
    app,
    database,
    databaseUrl,
    parts,
    live,
    baseUrl,
    masterKey,
    addShop: (name, options) => addShop(parts, baseUrl, name, options),
    async stop() {
      if (listening) await listening.stop()
      await Promise.all([worker?.stop(), delivering?.stop(), apart?.stop()])
      http.close()
      await Promise.all(guests.map((guest) => guest.stop()))
      await app.close()
    },
  }
}

/**
 * With `npm run gate -- roles`, unless the test replaces a part of the worker, which another process would not have.
 */
function runsApart({ worker, deliver, inOneProcess, ...changes }: Changes): boolean {
  const { clock, log, providers, providerHttp, healthNow, sendMail } = changes
  const isReplaced = [clock, log, providers, providerHttp, healthNow, sendMail].some((each) => each !== undefined)
  return process.env.TEST_ROLES === 'apart' && Boolean(worker || deliver) && !isReplaced && !inOneProcess
}

async function addShop(
  parts: PaymentDeps,
  baseUrl: string,
  name = 'Adaeze Kitchen',
  { bare = false, mode = 'sandbox' as Mode } = {},
): Promise<Shop> {
  const { id, place } = await createMerchant({ ...parts, ...(bare && { sandboxIntegrations: [] }) }, 'test', {
    name,
    country: 'NG' as Country,
  })
  const { clientId, clientSecret } = await createCredential(parts, 'test', id, mode)
  const headers = { 'client-id': clientId, 'client-secret': clientSecret }
  const call: Shop['call'] = (method, path, body, more = {}) =>
    request(baseUrl + path, method, { ...headers, ...more }, body)
  return { place, merchantId: id, merchantUuid: uuidOf(id), headers, ...callingBy(call) }
}

/** API calls of a shop. */
export function callingBy(call: Shop['call']): Pick<Shop, 'call' | 'initialize' | 'payment'> {
  return {
    call,
    initialize: (wanted = {}, more = {}) =>
      call(
        'POST',
        '/payments/v1/payments/initialize',
        { provider: 'gateway', amount: 1_250_000, user: { email: 'ada@example.com' }, ...wanted },
        more,
      ),
    payment: async (reference) =>
      (await call('GET', `/payments/v1/payments/${encodeURIComponent(reference)}`)).body.data,
  }
}

export async function request(
  url: string,
  method: string,
  headers: Record<string, string> = {},
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    redirect: 'manual',
  })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: isJson ? JSON.parse(text) : text,
  }
}

/**
 * Polls until the condition holds. For results that have no event to await from outside. The limit is for what never
 * happens: longer than a busy machine stalls, shorter than the lease of 30 s after which another process would do the
 * work.
 */
export async function eventually<Value>(
  ask: () => Promise<Value>,
  isSo: (value: Value) => boolean,
  withinMs = 20_000,
): Promise<Value> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const value = await ask()
    if (isSo(value)) return value
    if (performance.now() > deadline)
      throw new Error(`not so within ${withinMs} ms; last seen: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
