import type { Database } from '../database/database.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Owner } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { Breaker } from '../outbound/circuit-breaker.ts'
import { type ProviderHttpOptions, providerHttp } from '../outbound/provider-http.ts'
import {
  type ClientOptions,
  type ConnectOptions,
  NotSetUp,
  type Provider,
  type ProviderClient,
  type Providers,
} from '../providers/provider.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { createHealth } from './health.ts'
import { NO_KEYS, type ProviderKeys } from './provider-keys.ts'
import { findCurrentKeysVersion, findKeys, listKeysVersions } from './provider-keys-store.ts'
import { redactCredentials, redactErrors } from './redact.ts'
import { withRotatedKeys } from './rotated-keys.ts'

interface Deps {
  database: Database
  secrets: SecretBox
  masterKey: Buffer
  /** The URL of this process, for the providers that it simulates. */
  serverUrl: () => string
  /** The modes in which a base URL may point to a private network. */
  allowPrivate: (mode: Mode) => boolean
  providers?: readonly Provider[]
  /** Overrides of the default timeouts and circuit breaker. */
  http?: Pick<ProviderHttpOptions, 'deadlineMs' | 'connectMs' | 'breaker'>
  /** The clock of the health window, in milliseconds. */
  now?: () => number
}

const MAX_CACHED = 10_000
/** Concurrent connections to one host for checks, refunds and lists. Starts have their own limit. */
const CHECK_CONNECTIONS = 16
/** Keys tried to verify a notice: the current ones and the newest retired ones. */
const MAX_NOTICE_KEYS = 11

/**
 * Clients of providers, one per scope, provider, version of the keys and purpose. Each has its own circuit breaker, so
 * that one merchant's failing keys do not affect another. A version of the keys never changes, so its client is cached
 * without a query.
 */
export function providerClients(deps: Deps): Providers {
  const { database, secrets, providers = PROVIDERS } = deps
  const clients = new Map<string, Opened>()
  const health = createHealth(deps.now)
  const nameOf = ({ merchantId, mode }: Owner, name: string) => `${merchantId} ${mode} ${name}`
  const find = (name: string) =>
    providers.find(({ capabilities: { name: own, nameInAddresses } }) => own === name || nameInAddresses === name)

  function open(provider: Provider, { mode }: Owner, keys: ResolvedKeys, purpose: Purpose): Opened {
    const { answersWithinMs: deadlineMs } = provider.capabilities
    // SSRF: a base URL that the merchant set is checked at every call. The provider's own URL is trusted.
    const isPublicOnly = keys.hasCustomURL && !deps.allowPrivate(mode)
    const http = providerHttp({
      ...(deadlineMs && { deadlineMs }),
      ...(purpose === 'check' && { maxConnections: CHECK_CONNECTIONS }),
      ...deps.http,
      addresses: isPublicOnly ? 'public' : 'any',
    })
    const { settings, baseURL } = keys
    const client = redactErrors(provider.connect({ mode, settings, baseURL, http: redactCredentials(http) }))
    return { client, provider: provider.capabilities.name, mode, breaker: http.breaker }
  }

  function cache(key: string, opened: Opened): ProviderClient {
    clients.set(key, opened)
    if (clients.size > MAX_CACHED) clients.delete(clients.keys().next().value as string)
    return opened.client
  }

  async function connect(owner: Owner, name: string, options: ConnectOptions = {}): Promise<ProviderClient> {
    const provider = find(name)
    if (!provider) throw new NotSetUp(`there is no provider ${name}`)
    const version = options.keysVersion ?? (await findCurrentKeysVersion(database, owner, name))
    const { purpose = 'check' } = options
    const key = `${nameOf(owner, name)} ${version} ${purpose}`
    const known = clients.get(key)
    if (known) return known.client

    const record = version === NO_KEYS ? undefined : await findKeys(database, secrets, owner, name, version)
    // A concurrent call may have opened it meanwhile. Two clients would have two circuit breakers.
    const rival = clients.get(key)
    if (rival) return rival.client
    const opened = open(provider, owner, keysOf(deps, provider, owner, version, record), purpose)
    if (version === NO_KEYS) return cache(key, opened)
    return cache(key, {
      ...opened,
      client: withRotatedKeys(opened.client, async () => {
        const current = await findCurrentKeysVersion(database, owner, name)
        if (current === version || current === NO_KEYS) return undefined
        return connect(owner, name, { keysVersion: current, purpose })
      }),
    })
  }

  return {
    find,
    isHealthy: (owner, name) => health.isHealthy(nameOf(owner, name)),
    recordResult: (owner, name, result) => health.recordResult(nameOf(owner, name), result),
    connect,
    breakers: () =>
      [...clients.values()].map(({ provider, mode, breaker }) => ({ provider, mode, state: breaker.state() })),
    async keysVersions(owner, name) {
      const versions = await listKeysVersions(database, owner, name, MAX_NOTICE_KEYS)
      const needsNoKeys = owner.mode === 'sandbox' && find(name)?.sandboxKeys !== undefined
      return versions.filter((version) => version !== NO_KEYS || needsNoKeys)
    },
  }
}

interface Opened {
  client: ProviderClient
  provider: string
  mode: Mode
  breaker: Pick<Breaker, 'state'>
}

type Purpose = NonNullable<ConnectOptions['purpose']>

interface ResolvedKeys extends Pick<ClientOptions, 'settings' | 'baseURL'> {
  /** The merchant set the base URL. */
  hasCustomURL: boolean
}

function keysOf(
  { masterKey, serverUrl }: Deps,
  provider: Provider,
  { merchantId, mode }: Owner,
  version: number,
  record: ProviderKeys | undefined,
): ResolvedKeys {
  const { name } = provider.capabilities
  const baseURL = record?.baseURL ?? provider.baseURL?.[mode]
  if (record && baseURL) return { settings: record.settings, baseURL, hasCustomURL: record.baseURL !== null }
  if (version !== NO_KEYS) throw new NotSetUp(`version ${version} of the keys for ${name} of ${merchantId} are deleted`)
  const simulated =
    mode === 'sandbox' &&
    provider.sandboxKeys?.({ masterKey, merchantUuid: uuidOf(merchantId), serverUrl: serverUrl() })
  if (simulated) return { ...simulated, hasCustomURL: false }
  throw new NotSetUp(`${name} is not set up for ${merchantId} in ${mode} mode`)
}
