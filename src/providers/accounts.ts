import { uuidOf } from '../kernel/ids.ts'
import { createHealth } from './health.ts'
import type { Connection, Providers } from './provider.ts'
import { providerHttp } from './provider-http.ts'
import { findProvider } from './registry.ts'

/** Connections to providers, one for each merchant, mode and provider: each has its own breaker, so that nobody's trouble is another's. */
export function providerAccounts(parts: {
  masterKey: Buffer
  /** Where this process itself is reached, for providers that it plays itself. */
  serverUrl: () => string
}): Providers {
  const connections = new Map<string, Connection>()
  const health = createHealth()
  return {
    find: findProvider,
    isWell: ({ merchantId, mode }, name) => health.isWell(`${merchantId} ${mode} ${name}`),
    note: ({ merchantId, mode }, name, went) => health.note(`${merchantId} ${mode} ${name}`, went),
    async connect({ merchantId, mode }, name) {
      const key = `${merchantId} ${mode} ${name}`
      const known = connections.get(key)
      if (known) return known
      const provider = findProvider(name)
      const account = provider?.sandboxAccount?.({
        masterKey: parts.masterKey,
        merchantUuid: uuidOf(merchantId),
        serverUrl: parts.serverUrl(),
      })
      if (!provider || !account || mode !== 'sandbox')
        throw new Error(`${name} is not set up for ${merchantId} in ${mode} mode`)
      const { answersWithinMs: deadlineMs } = provider.capabilities
      const connection = provider.connect({
        mode,
        ...account,
        http: providerHttp({ ...(deadlineMs && { deadlineMs }) }),
      })
      connections.set(key, connection)
      return connection
    },
  }
}
