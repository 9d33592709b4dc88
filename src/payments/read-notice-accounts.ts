import type { Scope } from '../kernel/scope.ts'
import { findMerchant } from '../merchants/merchant-store.ts'
import { type Connection, NotSetUp } from '../providers/provider.ts'
import type { PaymentDependencies } from './dependencies.ts'

/** The accounts whose keys may have signed a notice for a merchant. Empty: no such merchant, or the provider is not set up. */
export type NoticeAccounts = readonly { account: number; connection: Connection }[]

export interface NoticeAccountCache {
  /** Undefined if not cached. */
  cached(scope: Scope, provider: string): NoticeAccounts | undefined
  /** Reads the accounts from the database. Concurrent callers share one look-up. */
  read(scope: Scope, provider: string): Promise<NoticeAccounts>
}

// May be long: a notice that fails with cached keys is verified again with keys from the database.
const CACHE_MS = 60_000
const MAX_CACHED = 10_000

interface Entry {
  accounts: NoticeAccounts
  readAtMs: number
}

/**
 * Cache of the look-ups before the signature check, so that a forged notice costs no query. Missing accounts have a cache of their own:
 * invented merchant ids cannot evict existing accounts.
 */
export function noticeAccountCache(
  deps: Pick<PaymentDependencies, 'database' | 'providers'>,
  nowMs: () => number = () => performance.now(),
): NoticeAccountCache {
  const found = new Map<string, Entry>()
  const absent = new Map<string, Entry>()
  const reading = new Map<string, Promise<NoticeAccounts>>()
  const keyOf = ({ merchantId, mode }: Scope, provider: string) => `${merchantId} ${mode} ${provider}`

  async function read(key: string, scope: Scope, provider: string): Promise<NoticeAccounts> {
    const readAtMs = nowMs()
    const accounts = await readAccounts(deps, scope, provider)
    found.delete(key)
    absent.delete(key)
    const entries = accounts.length > 0 ? found : absent
    entries.set(key, { accounts, readAtMs })
    if (entries.size > MAX_CACHED) entries.delete(entries.keys().next().value as string)
    return accounts
  }

  function readOnce(scope: Scope, provider: string): Promise<NoticeAccounts> {
    const key = keyOf(scope, provider)
    const underway = reading.get(key)
    if (underway) return underway
    const begun = read(key, scope, provider).finally(() => reading.delete(key))
    reading.set(key, begun)
    return begun
  }

  return {
    cached(scope, provider) {
      const key = keyOf(scope, provider)
      const isOld = ({ readAtMs }: Entry) => nowMs() - readAtMs >= CACHE_MS
      const known = found.get(key)
      if (known) {
        // Refreshed in the background, so that a valid notice neither waits nor uses up the rate limit of look-ups.
        if (isOld(known)) readOnce(scope, provider).catch(() => {})
        return known.accounts
      }
      const none = absent.get(key)
      return none && !isOld(none) ? none.accounts : undefined
    },
    read: readOnce,
  }
}

async function readAccounts(
  { database, providers }: Pick<PaymentDependencies, 'database' | 'providers'>,
  scope: Scope,
  provider: string,
): Promise<NoticeAccounts> {
  if (!(await findMerchant(database, scope.merchantId))) return []
  const versions = await providers.accounts(scope, provider)
  const found = versions.map(async (account) => {
    try {
      return [{ account, connection: await providers.connect(scope, provider, { account }) }]
    } catch (error) {
      if (error instanceof NotSetUp) return [] // the keys were deleted in the meantime
      throw error
    }
  })
  return (await Promise.all(found)).flat()
}
