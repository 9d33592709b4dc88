import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Logger } from 'pino'
import { uuidOf } from '../../src/kernel/ids.ts'
import type { ProviderHttp } from '../../src/outbound/provider-http.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { gateway } from '../../src/providers/gateway/adapter.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import type { ProviderClient, Providers } from '../../src/providers/provider.ts'
import { findProvider } from '../../src/providers/registry.ts'
import { type Asked, httpTo, type Said, startUpstream, type Upstream } from '../fakes/upstream.ts'
import { callingBy, type PayingService, request, type Shop } from './paying.ts'
import type { Json } from './payment-records.ts'
import { loseNotices } from './sandbox-payments.ts'
import { startOn } from './service.ts'

/** Another copy of the service that reaches the sandbox provider through a proxy with faults. */
export interface Between {
  /** `trouble` and `garble` set the faults. */
  upstream: Upstream
  /** All requests to the provider so far. */
  asked: Asked[]
  /** Called before the provider answers. */
  meanwhile: ((asked: Asked) => Promise<Said | undefined>) | undefined
  /** The sandbox provider itself does not answer from now on, so it is waited for a second only. */
  isSilent: boolean
  /** How much later it is for the circuit breakers. */
  aheadMs: number
  /** Dependencies for checks and refunds through the proxy. */
  parts: PaymentDeps
  baseUrl: string
  masterKey: Buffer
  /** The same shop, calling this copy. */
  shop: Shop
}

/** Drops the provider's notices, so that only the test triggers changes. */
export async function startBetween(
  t: TestContext,
  service: PayingService,
  { log = service.parts.log }: { log?: Logger } = {},
): Promise<Between> {
  const shop = await service.addShop()
  await loseNotices(shop)
  const asked: Asked[] = []
  const upstream = await startUpstream(t, async (each) => {
    asked.push(each)
    const said = await between.meanwhile?.(each)
    return said ?? forward(service.baseUrl, each)
  })
  const http = () =>
    httpTo(upstream, { isSilent: () => between.isSilent, now: () => performance.now() + between.aheadMs })
  const providers = providersAt(`${upstream.url}/sandbox/gateway`, service.masterKey, http)
  const { database, parts, masterKey } = service
  let baseUrl = ''
  const app = await startOn(database, { log, providers, secrets: parts.secrets, baseUrl: () => baseUrl })
  baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const between: Between = {
    upstream,
    asked,
    meanwhile: undefined,
    isSilent: false,
    aheadMs: 0,
    parts: { ...parts, log, providers },
    baseUrl,
    masterKey,
    shop: shopAt(baseUrl, shop),
  }
  return between
}

/** Holds every call to the provider until `letGo`, which may name another answer. `reached`: one has arrived. */
export function hold(between: Between, isMeant: (asked: Asked) => boolean = () => true) {
  const reached = Promise.withResolvers<void>()
  const held = Promise.withResolvers<Said | undefined>()
  between.meanwhile = async (asked) => {
    if (!isMeant(asked)) return undefined
    reached.resolve()
    return held.promise
  }
  return { reached: reached.promise, letGo: (answer?: Said) => held.resolve(answer) }
}

/** Starts an attempt whose answer gets lost. Before: the provider has not worked on it. */
export async function startUnanswered(
  { shop, upstream }: Between,
  when: 'before' | 'after' = 'after',
  changes: Record<string, unknown> = {},
): Promise<Json> {
  upstream.trouble = `reset ${when} the work`
  const { status, body } = await shop.initialize(changes)
  upstream.trouble = undefined
  assert.deepEqual([status, body.code], [504, 'provider_timeout'])
  return shop.payment(body.attempt)
}

function providersAt(baseURL: string, masterKey: Buffer, http: () => ProviderHttp): Providers {
  const connections = new Map<string, ProviderClient>()
  return {
    find: findProvider,
    isHealthy: () => true,
    keysVersions: async () => [0],
    recordResult: () => {},
    breakers: () => [],
    async connect({ merchantId, mode }) {
      const known = connections.get(merchantId)
      if (known) return known
      const settings = { ...gatewayKeys(masterKey, uuidOf(merchantId)) }
      const connection = gateway.connect({ mode, settings, baseURL, http: http() })
      connections.set(merchantId, connection)
      return connection
    },
  }
}

async function forward(baseUrl: string, { method, path, headers, body }: Asked): Promise<Said> {
  const { authorization = '' } = headers
  const response = await fetch(baseUrl + path, {
    method,
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body }),
  })
  return { status: response.status, text: await response.text() }
}

/** A shop that calls another copy. */
export function shopAt(baseUrl: string, shop: Shop): Shop {
  const call: Shop['call'] = (method, path, body, more = {}) =>
    // The sandbox controls are served by the first copy.
    path.startsWith('/sandbox/')
      ? shop.call(method, path, body, more)
      : request(baseUrl + path, method, { ...shop.headers, ...more }, body)
  return { ...shop, ...callingBy(call) }
}
