import type { Database } from '../database/database.ts'
import type { IntegrationChanges } from '../integrations/integration-changes.ts'
import type { MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Branding } from './branding.ts'
import { findBranding } from './branding-store.ts'

// As for credentials: what was changed shows everywhere within 2 s, and a busy shop's customers never wait for the look-up.
const FRESH_MS = 1_000
const BELIEVED_MS = 2_000
const MAX_CACHED = 10_000

interface Entry {
  branding: Branding | undefined
  readAtMs: number
}

export type FindBranding = (owner: Scope) => Promise<Branding | undefined>

/** Every page view asks for one. `nowMs` is a monotonic clock. */
export function brandingCache(
  database: Database,
  nowMs: () => number = () => performance.now(),
  changes?: IntegrationChanges,
): FindBranding {
  const cache = new Map<string, Entry>()
  const reading = new Map<string, Promise<Entry>>()

  async function read(key: string, merchantId: MerchantId, mode: Mode): Promise<Entry> {
    const readAtMs = nowMs() // before the question: what is changed after it is not older than this
    const branding = await findBranding(database, merchantId, mode)
    cache.delete(key)
    const entry = { branding, readAtMs }
    cache.set(key, entry)
    if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value as string)
    return entry
  }

  /** However many ask at once, the database is asked once. */
  function readOnce(key: string, merchantId: MerchantId, mode: Mode): Promise<Entry> {
    const underway = reading.get(key)
    if (underway) return underway
    const begun = read(key, merchantId, mode).finally(() => reading.delete(key))
    reading.set(key, begun)
    return begun
  }

  return async ({ merchantId, mode }) => {
    const key = `${mode} ${merchantId}`
    const entry = cache.get(key)
    const ageMs = entry ? nowMs() - entry.readAtMs : Number.POSITIVE_INFINITY
    const isStale = ({ readAtMs }: Entry) => changes?.isStale(merchantId, readAtMs) ?? false
    if (!entry || ageMs >= BELIEVED_MS || isStale(entry)) {
      const fresh = await readOnce(key, merchantId, mode)
      // A read that was under way before the change is made again.
      return (isStale(fresh) ? await readOnce(key, merchantId, mode) : fresh).branding
    }
    if (ageMs >= FRESH_MS) readOnce(key, merchantId, mode).catch(() => {}) // whoever comes after BELIEVED_MS will hear of it
    return entry.branding
  }
}
