import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { uuidOf } from '../../src/kernel/ids.ts'
import { gateway } from '../../src/providers/gateway/adapter.ts'
import type { Providers } from '../../src/providers/provider.ts'
import { findProvider } from '../../src/providers/registry.ts'
import { httpTo, startUpstream, type Upstream } from '../fakes/upstream.ts'
import type { PayingService, Shop } from './paying.ts'
import { type Answer, call, startOn } from './service.ts'

export interface DoorInTrouble {
  /** The proxy between the service and the provider; `trouble` and `garble` set its faults. */
  upstream: Upstream
  providers: Providers
  call(shop: Shop, method: 'GET' | 'POST', path: string, body?: unknown, headers?: object): Promise<Answer>
  initialize(shop: Shop, changes?: Record<string, unknown>, headers?: Record<string, string>): Promise<Answer>
}

/** A second HTTP app on the same database, which reaches the same provider through a proxy with faults. */
export async function doorInTrouble(
  t: TestContext,
  { database, baseUrl, masterKey, parts }: PayingService,
): Promise<DoorInTrouble> {
  const upstream = await startUpstream(t, async ({ method, path, headers, body }) => {
    const { authorization = '' } = headers
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body }),
    })
    return { status: answer.status, text: await answer.text() }
  })
  const http = httpTo(upstream)
  const providers: Providers = {
    find: findProvider,
    isHealthy: () => true,
    keysVersions: async () => [0],
    recordResult: () => {},
    breakers: () => [],
    connect: async ({ mode, merchantId }) => {
      const merchantUuid = uuidOf(merchantId)
      const account = gateway.sandboxKeys?.({ masterKey, merchantUuid, serverUrl: upstream.url })
      return gateway.connect({ mode, ...(account ?? assert.fail('it has one')), http })
    },
  }
  const app = await startOn(database, { providers, secrets: parts.secrets, baseUrl: () => baseUrl })
  const ask: DoorInTrouble['call'] = (shop, method, path, body, headers = {}) =>
    call(app, method, path, { headers: { ...shop.headers, ...headers }, body })
  return {
    upstream,
    providers,
    call: ask,
    initialize: (shop, changes = {}, headers = {}) =>
      ask(
        shop,
        'POST',
        '/payments/v1/payments/initialize',
        { provider: 'gateway', amount: 1_250_000, user: { email: 'ada@example.com' }, ...changes },
        headers,
      ),
  }
}
