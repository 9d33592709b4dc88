import { after } from 'node:test'
import { pino } from 'pino'
import type { Database } from '../../src/database/database.ts'
import { buildApp, type HttpDeps } from '../../src/http/app.ts'
import { livePayments } from '../../src/http/checkout/live-payments.ts'
import type { App } from '../../src/http/server/framework.ts'
import { createMerchant } from '../../src/integrations/create-merchant.ts'
import { integrationCache } from '../../src/integrations/integration-cache.ts'
import { addIntegration } from '../../src/integrations/integration-store.ts'
import { providerClients } from '../../src/integrations/provider-clients.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Country } from '../../src/kernel/country.ts'
import type { Mode } from '../../src/kernel/mode.ts'
import type { Currency } from '../../src/kernel/money.ts'
import type { Place } from '../../src/kernel/place.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import type { NewCredential } from '../../src/merchants/credential.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { credentialVerifier } from '../../src/merchants/verify-credential.ts'
import { webhookHttp } from '../../src/outbound/webhook-http.ts'
import { paymentBatch } from '../../src/payments/start/create-payment.ts'
import { buildAssets } from '../../web/build.ts'
import { createDatabase } from './database.ts'

export const BASE_URL = 'http://pay.test'

export interface TestService {
  app: App
  database: Database
  databaseUrl: string
}

/** The HTTP app on a real database. Rate limits are off by default. */
export async function startService(changes: Partial<HttpDeps> = {}): Promise<TestService> {
  const { url, database } = await createDatabase()
  return { app: await startOn(database, changes), database, databaseUrl: url }
}

/** Another HTTP app on an existing database, as a second process would be. */
export async function startOn(database: Database, changes: Partial<HttpDeps> = {}): Promise<App> {
  const parts = { database, clock: systemClock }
  const { secrets = secretBox(Buffer.alloc(32)), allowPrivate = (mode: Mode) => mode === 'sandbox' } = changes
  const log = pino({ level: 'silent' })
  const integrations = changes.integrationCache ?? integrationCache(database)
  const app = await buildApp({
    ...parts,
    log,
    live: livePayments({ database, log }),
    assets: await buildAssets(),
    verifyCredential: credentialVerifier(database),
    integrationCache: integrations,
    paymentBatch: paymentBatch(database),
    providers: providerClients({
      database,
      secrets,
      masterKey: Buffer.alloc(32),
      serverUrl: () => BASE_URL,
      allowPrivate,
    }),
    secrets,
    http: webhookHttp(),
    allowPrivate,
    baseUrl: () => BASE_URL,
    isStopping: () => false,
    rateLimit: false,
    shedsLoad: false,
    trustProxy: [],
    ...changes,
  })
  after(() => app.close())
  return app
}

export interface TestMerchant extends NewCredential {
  place: Place
  merchantId: Parameters<typeof createCredential>[2]
  headers: { 'client-id': string; 'client-secret': string }
}

/** A merchant with a credential, able to take NGN, GHS and USD in Nigeria and Ghana. */
export async function addMerchant(
  database: Database,
  { mode = 'sandbox' as Mode, name = 'Adaeze Kitchen', provider = 'anything' } = {},
): Promise<TestMerchant> {
  const parts = { database, clock: systemClock }
  const wanted = { name, country: 'NG' as Country }
  const { id, place } = await createMerchant({ ...parts, sandboxIntegrations: [] }, 'test', wanted)
  await database.transaction((tx) =>
    addIntegration(
      tx,
      { merchantId: id, mode },
      {
        provider,
        channels: ['card'],
        countries: ['NG', 'GH'] as Country[],
        currencies: ['NGN', 'GHS', 'USD'] as Currency[],
      },
    ),
  )
  const credential = await createCredential(parts, 'test', id, mode)
  return {
    ...credential,
    place,
    merchantId: id,
    headers: { 'client-id': credential.clientId, 'client-secret': credential.clientSecret },
  }
}

export const CHECKOUT = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }

export interface Answer {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: the test checks the shape of the answer
  body: any
}

/** `call(app, 'POST', '/payments/v1/checkouts', { … })`, as a merchant's backend would. */
export async function call(
  app: App,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'OPTIONS',
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const raw = typeof body === 'string' || Buffer.isBuffer(body)
  const response = await app.inject({
    method,
    url,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { payload: raw ? body : JSON.stringify(body) }),
  })
  const isJson = /json/.test(String(response.headers['content-type']))
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isJson ? JSON.parse(response.body) : response.body,
  }
}

export function checkout(
  app: App,
  merchant: TestMerchant,
  changes: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) {
  return call(app, 'POST', '/payments/v1/checkouts', {
    headers: { ...merchant.headers, ...headers },
    body: { ...CHECKOUT, ...changes },
  })
}

/** The mistakes of a refused request: which field, and what is wrong. */
export function codesOf({ body }: Answer): Record<string, string> {
  return Object.fromEntries((body.errors ?? []).map(({ pointer, code }: Record<string, string>) => [pointer, code]))
}
