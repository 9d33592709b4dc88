import type { Database } from '../database/database.ts'
import { createDnsResolve } from '../kernel/dns-resolve.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import { isPublic } from '../kernel/public-address.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { IntegrationOwner, IntegrationRecord } from '../merchants/integration.ts'
import { findIntegration, findIntegrationVersion } from '../merchants/integration-store.ts'
import { discreetConnection, discreetHttp } from './discreet.ts'
import { createHealth } from './health.ts'
import { type Account, type Connection, NotSetUp, type Provider, type Providers } from './provider.ts'
import { type ProviderHttpOptions, providerHttp } from './provider-http.ts'
import { PROVIDERS } from './registry.ts'

export interface AccountParts {
  database: Database
  secrets: SecretBox
  masterKey: Buffer
  /** Where this process itself is reached, for providers that it plays itself. */
  serverUrl: () => string
  /** Which modes may have addresses inside our own network. */
  allowPrivate: (mode: Mode) => boolean
  providers?: readonly Provider[]
  /** Deadline and breaker, where they are not the usual ones. */
  http?: Pick<ProviderHttpOptions, 'deadlineMs' | 'breaker'>
  /** For how long it is remembered that a provider did not answer. Milliseconds. */
  now?: () => number
}

const MAX_KEPT = 10_000

/**
 * Connections to providers, one for each merchant, mode and provider: each has its own breaker, so that nobody's trouble is another's.
 * One is kept for as long as the merchant's integration stays as it is, whichever process changes it.
 */
export function providerAccounts(parts: AccountParts): Providers {
  const { database, secrets, providers = PROVIDERS } = parts
  const kept = new Map<string, { version: number; connection: Connection }>()
  const health = createHealth(parts.now)
  const nameOf = ({ merchantId, mode }: IntegrationOwner, name: string) => `${merchantId} ${mode} ${name}`
  const resolve = createDnsResolve()
  const find = (name: string) => providers.find(({ capabilities }) => capabilities.name === name)

  function open(provider: Provider, { mode }: IntegrationOwner, account: Found): Connection {
    const { answersWithinMs: deadlineMs } = provider.capabilities
    // Where a merchant's own choice of address leads is looked at each time; the provider's own is ours to trust.
    const isGuarded = account.isChosen && !parts.allowPrivate(mode)
    const http = providerHttp({
      ...(deadlineMs && { deadlineMs }),
      ...parts.http,
      ...(isGuarded && { guard: { resolve, mayConnect: isPublic } }),
    })
    const { settings, baseURL } = account
    return discreetConnection(provider.connect({ mode, settings, baseURL, http: discreetHttp(http) }))
  }

  return {
    find,
    isWell: (owner, name) => health.isWell(nameOf(owner, name)),
    note: (owner, name, went) => health.note(nameOf(owner, name), went),
    async connect(owner, name) {
      const provider = find(name)
      if (!provider) throw new NotSetUp(`there is no provider ${name}`)
      const key = nameOf(owner, name)
      const version = (await findIntegrationVersion(database, owner, name)) ?? 0
      const known = kept.get(key)
      if (known?.version === version) return known.connection

      const record = version === 0 ? undefined : await findIntegration(database, secrets, owner, name)
      const current = record?.version ?? 0
      // Whoever asked at the same moment may have been first: two connections would be two breakers.
      const rival = kept.get(key)
      if (rival && rival.version >= current) return rival.connection
      const connection = open(provider, owner, accountOf(parts, provider, owner, record))
      kept.delete(key)
      kept.set(key, { version: current, connection })
      if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string)
      return connection
    },
  }
}

interface Found extends Pick<Account, 'settings' | 'baseURL'> {
  /** The merchant has chosen the address. */
  isChosen: boolean
}

function accountOf(
  { masterKey, serverUrl }: AccountParts,
  provider: Provider,
  { merchantId, mode }: IntegrationOwner,
  record: IntegrationRecord | undefined,
): Found {
  const baseURL = record?.baseURL ?? provider.baseURL?.[mode]
  if (record?.settings && baseURL) return { settings: record.settings, baseURL, isChosen: record.baseURL !== null }
  const played =
    mode === 'sandbox' &&
    provider.sandboxAccount?.({ masterKey, merchantUuid: uuidOf(merchantId), serverUrl: serverUrl() })
  if (played) return { ...played, isChosen: false }
  throw new NotSetUp(`${provider.capabilities.name} is not set up for ${merchantId} in ${mode} mode`)
}
