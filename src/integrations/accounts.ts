import type { Database } from '../database/database.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Scope } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { createDnsResolve } from '../outbound/dns-resolve.ts'
import { type ProviderHttpOptions, providerHttp } from '../outbound/provider-http.ts'
import { isPublic } from '../outbound/public-address.ts'
import {
  type Account,
  type Connection,
  type ConnectOptions,
  NotSetUp,
  type Provider,
  type Providers,
} from '../providers/provider.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { createHealth } from './health.ts'
import { NO_ACCOUNT, type ProviderAccount } from './provider-account.ts'
import { findAccount, findCurrentAccount, listAccountVersions } from './provider-account-store.ts'
import { discreetConnection, discreetHttp } from './redact.ts'
import { withRotatedKeys } from './rotated-keys.ts'

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
/** Connections at once to one host, for everything that is not a start. */
const CHECK_CONNECTIONS = 16
/** How many accounts' keys are tried on a notice: the current one and the newest retired ones. */
const MAX_NOTICE_ACCOUNTS = 11

/**
 * Connections to providers, one for each merchant, mode, provider, account and purpose: each has its own breaker, so that one merchant's trouble
 * does not affect another. An account never changes, so its connection is cached without a query.
 */
export function providerAccounts(parts: AccountParts): Providers {
  const { database, secrets, providers = PROVIDERS } = parts
  const kept = new Map<string, Connection>()
  const health = createHealth(parts.now)
  const nameOf = ({ merchantId, mode }: Scope, name: string) => `${merchantId} ${mode} ${name}`
  const resolve = createDnsResolve()
  const find = (name: string) => providers.find(({ capabilities }) => capabilities.name === name)

  function open(provider: Provider, { mode }: Scope, account: Found, purpose: Purpose): Connection {
    const { answersWithinMs: deadlineMs } = provider.capabilities
    // Where a merchant's own choice of address leads is looked at each time; the provider's own is ours to trust.
    const isGuarded = account.isChosen && !parts.allowPrivate(mode)
    const http = providerHttp({
      ...(deadlineMs && { deadlineMs }),
      ...(purpose === 'check' && { maxConnections: CHECK_CONNECTIONS }),
      ...parts.http,
      ...(isGuarded && { guard: { resolve, mayConnect: isPublic } }),
    })
    const { settings, baseURL } = account
    return discreetConnection(provider.connect({ mode, settings, baseURL, http: discreetHttp(http) }))
  }

  function keep(key: string, connection: Connection): Connection {
    kept.set(key, connection)
    if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string)
    return connection
  }

  async function connect(owner: Scope, name: string, options: ConnectOptions = {}): Promise<Connection> {
    const provider = find(name)
    if (!provider) throw new NotSetUp(`there is no provider ${name}`)
    const version = options.account ?? (await findCurrentAccount(database, owner, name))
    const { purpose = 'check' } = options
    const key = `${nameOf(owner, name)} ${version} ${purpose}`
    const known = kept.get(key)
    if (known) return known

    const record = version === NO_ACCOUNT ? undefined : await findAccount(database, secrets, owner, name, version)
    // A concurrent call may have opened it meanwhile. Two connections would have two breakers.
    const rival = kept.get(key)
    if (rival) return rival
    const connection = open(provider, owner, accountOf(parts, provider, owner, version, record), purpose)
    if (version === NO_ACCOUNT) return keep(key, connection)
    return keep(
      key,
      withRotatedKeys(connection, async () => {
        const current = await findCurrentAccount(database, owner, name)
        if (current === version || current === NO_ACCOUNT) return undefined
        return connect(owner, name, { account: current, purpose })
      }),
    )
  }

  return {
    find,
    isWell: (owner, name) => health.isWell(nameOf(owner, name)),
    note: (owner, name, went) => health.note(nameOf(owner, name), went),
    connect,
    async accounts(owner, name) {
      const versions = await listAccountVersions(database, owner, name, MAX_NOTICE_ACCOUNTS)
      const needsNone = owner.mode === 'sandbox' && find(name)?.sandboxAccount !== undefined
      return versions.filter((version) => version !== NO_ACCOUNT || needsNone)
    },
  }
}

type Purpose = NonNullable<ConnectOptions['purpose']>

interface Found extends Pick<Account, 'settings' | 'baseURL'> {
  /** The merchant has chosen the address. */
  isChosen: boolean
}

function accountOf(
  { masterKey, serverUrl }: AccountParts,
  provider: Provider,
  { merchantId, mode }: Scope,
  version: number,
  record: ProviderAccount | undefined,
): Found {
  const { name } = provider.capabilities
  const baseURL = record?.baseURL ?? provider.baseURL?.[mode]
  if (record && baseURL) return { settings: record.settings, baseURL, isChosen: record.baseURL !== null }
  if (version !== NO_ACCOUNT) throw new NotSetUp(`the keys of ${name} account ${version} of ${merchantId} are deleted`)
  const played =
    mode === 'sandbox' &&
    provider.sandboxAccount?.({ masterKey, merchantUuid: uuidOf(merchantId), serverUrl: serverUrl() })
  if (played) return { ...played, isChosen: false }
  throw new NotSetUp(`${name} is not set up for ${merchantId} in ${mode} mode`)
}
