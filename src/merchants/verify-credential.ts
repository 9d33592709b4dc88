import type { Database } from '../database/database.ts'
import type { IntegrationChanges } from '../integrations/integration-changes.ts'
import { equalInConstantTime, secretMatches } from './credential.ts'
import { findLiveCredential, type KnownCredential, markUsed } from './credential-store.ts'
import type { Caller } from './merchant.ts'

// A revoked credential is refused everywhere within 2 s: nothing is believed for longer. From half of that on it is looked up
// again in the background, so that a busy merchant never waits for it.
const FRESH_MS = 1_000
const BELIEVED_MS = 2_000
const MAX_CACHED = 10_000
const USE_NOTED_EVERY_MS = 60_000

interface Entry {
  known: KnownCredential | undefined
  readAtMs: number
  useNotedAtMs: number
  /** The secret that was right a moment ago, gone with this entry: hashing the same one for every call is 5 % of its time. */
  rightSecret: Buffer | undefined
}

export type VerifyCredential = (
  clientId: string,
  clientSecret: string,
) => Promise<Caller | undefined> | Caller | undefined

/**
 * Tells whose credential this is, or undefined. Unknown ids are remembered as briefly as known ones, so that both take the
 * same time. `nowMs` is a monotonic clock.
 */
export function credentialVerifier(
  database: Database,
  nowMs: () => number = () => performance.now(),
  changes?: IntegrationChanges,
): VerifyCredential {
  const cache = new Map<string, Entry>()
  const reading = new Map<string, Promise<Entry>>()

  async function read(clientId: string): Promise<Entry> {
    const readAtMs = nowMs() // before the question: what is revoked after it is not older than this
    const useNotedAtMs = cache.get(clientId)?.useNotedAtMs ?? Number.NEGATIVE_INFINITY
    const entry: Entry = {
      known: await findLiveCredential(database, clientId),
      readAtMs,
      useNotedAtMs,
      rightSecret: undefined,
    }
    cache.delete(clientId)
    cache.set(clientId, entry)
    if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value as string)
    return entry
  }

  /** However many ask at once, the database is asked once. */
  function readOnce(clientId: string): Promise<Entry> {
    const underway = reading.get(clientId)
    if (underway) return underway
    const begun = read(clientId).finally(() => reading.delete(clientId))
    reading.set(clientId, begun)
    return begun
  }

  /** The caller carries the merchant's integrations, so an entry that was read before they changed must not be used. */
  function isStale({ known, readAtMs }: Entry): boolean {
    return known !== undefined && (changes?.isStale(known.caller.merchantId, readAtMs) ?? false)
  }

  /** A read that was under way before the change is made again. */
  async function readCurrent(clientId: string): Promise<Entry> {
    const entry = await readOnce(clientId)
    return isStale(entry) ? readOnce(clientId) : entry
  }

  function judge(entry: Entry, clientId: string, clientSecret: string): Caller | undefined {
    const secret = Buffer.from(clientSecret)
    if (!entry.rightSecret || !equalInConstantTime(secret, entry.rightSecret)) {
      if (!secretMatches(clientSecret, entry.known?.digest)) return undefined
      entry.rightSecret = secret
    }
    if (nowMs() - entry.useNotedAtMs >= USE_NOTED_EVERY_MS) {
      entry.useNotedAtMs = nowMs()
      markUsed(database, clientId).catch(() => {}) // a note for people; no call waits for it or fails with it
    }
    return entry.known?.caller
  }

  return (clientId, clientSecret) => {
    const entry = cache.get(clientId)
    const ageMs = entry ? nowMs() - entry.readAtMs : Number.POSITIVE_INFINITY
    if (!entry || ageMs >= BELIEVED_MS || isStale(entry))
      return readCurrent(clientId).then((fresh) => judge(fresh, clientId, clientSecret))
    if (ageMs >= FRESH_MS) readOnce(clientId).catch(() => {}) // whoever comes after BELIEVED_MS will hear of it
    return judge(entry, clientId, clientSecret)
  }
}
