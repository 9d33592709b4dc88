import type { Place } from '../../kernel/place.ts'
import type { Owner } from '../../kernel/scope.ts'
import { findMerchant } from '../../merchants/merchant-store.ts'
import { NotSetUp, type ProviderClient } from '../../providers/provider.ts'
import type { PaymentDeps } from '../deps.ts'

/** The keys that may have signed a notice for a merchant. None: no such merchant, or the provider is not set up. */
export interface NoticeKeys {
  /** The merchant's. */
  place: Place
  list: readonly { keysVersion: number; client: ProviderClient }[]
}

export interface NoticeKeysCache {
  /** Undefined if not cached. */
  cached(owner: Owner, provider: string): NoticeKeys | undefined
  /** Reads the keys from the database. Concurrent callers share one look-up. */
  read(owner: Owner, provider: string): Promise<NoticeKeys>
}

// May be long: a notice that fails with cached keys is verified again with keys from the database.
const CACHE_MS = 60_000
const MAX_CACHED = 10_000

interface Entry {
  keys: NoticeKeys
  readAtMs: number
}

/**
 * Cache of the look-ups before the signature check, so that a forged notice costs no query. Missing keys have a cache
 * of their own: invented merchant ids cannot evict existing keys.
 */
export function noticeKeysCache(
  deps: Pick<PaymentDeps, 'database' | 'providers'>,
  nowMs: () => number = () => performance.now(),
): NoticeKeysCache {
  const found = new Map<string, Entry>()
  const absent = new Map<string, Entry>()
  const reading = new Map<string, Promise<NoticeKeys>>()
  const keyOf = ({ merchantId, mode }: Owner, provider: string) => `${merchantId} ${mode} ${provider}`

  async function read(key: string, owner: Owner, provider: string): Promise<NoticeKeys> {
    const readAtMs = nowMs()
    const keys = await readKeys(deps, owner, provider)
    found.delete(key)
    absent.delete(key)
    const entries = keys.list.length > 0 ? found : absent
    entries.set(key, { keys, readAtMs })
    if (entries.size > MAX_CACHED) entries.delete(entries.keys().next().value as string)
    return keys
  }

  function readOnce(owner: Owner, provider: string): Promise<NoticeKeys> {
    const key = keyOf(owner, provider)
    const underway = reading.get(key)
    if (underway) return underway
    const begun = read(key, owner, provider).finally(() => reading.delete(key))
    reading.set(key, begun)
    return begun
  }

  return {
    cached(owner, provider) {
      const key = keyOf(owner, provider)
      const isOld = ({ readAtMs }: Entry) => nowMs() - readAtMs >= CACHE_MS
      const known = found.get(key)
      if (known) {
        // Refreshed in the background, so that a valid notice neither waits nor uses up the rate limit of look-ups.
        if (isOld(known)) readOnce(owner, provider).catch(() => {})
        return known.keys
      }
      const none = absent.get(key)
      return none && !isOld(none) ? none.keys : undefined
    },
    read: readOnce,
  }
}

async function readKeys(
  { database, providers }: Pick<PaymentDeps, 'database' | 'providers'>,
  owner: Owner,
  provider: string,
): Promise<NoticeKeys> {
  const merchant = await findMerchant(database, owner.merchantId)
  if (!merchant) return { place: 0, list: [] }
  const versions = await providers.keysVersions(owner, provider)
  const found = versions.map(async (keysVersion) => {
    try {
      return [{ keysVersion, client: await providers.connect(owner, provider, { keysVersion }) }]
    } catch (error) {
      if (error instanceof NotSetUp) return [] // the keys were deleted in the meantime
      throw error
    }
  })
  return { place: merchant.place, list: (await Promise.all(found)).flat() }
}
