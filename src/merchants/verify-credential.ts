import type { Database } from '../database/database.ts'
import { refreshingCache } from '../kernel/refreshing-cache.ts'
import { equalInConstantTime, secretMatches } from './credential.ts'
import { useCheck } from './credential-limits.ts'
import { findLiveCredential, markUsed } from './credential-store.ts'
import type { Caller } from './merchant.ts'

const USE_RECORDED_EVERY_MS = 60_000

interface Entry {
  known: { digest: Buffer; caller: Caller } | undefined
  useRecordedAtMs: number
  /** The last secret that matched. Comparing with it saves the hash, which is 5 % of a request's time. */
  matchedSecret: Buffer | undefined
}

export type VerifyCredential = (
  clientId: string,
  clientSecret: string,
) => Promise<Caller | undefined> | Caller | undefined

/**
 * Authenticates a caller, whose `checkUse` must then allow the use. A revoked credential is refused everywhere within 2
 * s, the maximum age of the cache; one that expires, at once. Unknown ids are cached like known ones, so that both take
 * the same time. `nowMs` is a monotonic clock.
 */
export function credentialVerifier(
  database: Database,
  nowMs: () => number = () => performance.now(),
): VerifyCredential {
  async function read(clientId: string): Promise<Entry['known']> {
    // taken before the read, so that no credential lives longer than by the clock of the database
    const readAtMs = nowMs()
    const found = await findLiveCredential(database, clientId)
    if (!found) return undefined
    const { digest, caller, limits, expiresInMs } = found
    const hasExpired = () => expiresInMs !== null && nowMs() - readAtMs >= expiresInMs
    return { digest, caller: { ...caller, checkUse: useCheck(limits, hasExpired) } }
  }

  const cache = refreshingCache<string, Entry>({
    read: async (clientId, previous) => ({
      known: await read(clientId),
      useRecordedAtMs: previous?.useRecordedAtMs ?? Number.NEGATIVE_INFINITY,
      matchedSecret: undefined,
    }),
    nameOf: (clientId) => clientId,
    nowMs,
  })

  function verify(entry: Entry, clientId: string, clientSecret: string): Caller | undefined {
    const secret = Buffer.from(clientSecret)
    if (!entry.matchedSecret || !equalInConstantTime(secret, entry.matchedSecret)) {
      if (!secretMatches(clientSecret, entry.known?.digest)) return undefined
      entry.matchedSecret = secret
    }
    if (nowMs() - entry.useRecordedAtMs >= USE_RECORDED_EVERY_MS) {
      entry.useRecordedAtMs = nowMs()
      // information for operators: no request waits for it or fails with it
      markUsed(database, clientId).catch(() => {})
    }
    return entry.known?.caller
  }

  return (clientId, clientSecret) => {
    const entry = cache.get(clientId)
    return entry instanceof Promise
      ? entry.then((read) => verify(read, clientId, clientSecret))
      : verify(entry, clientId, clientSecret)
  }
}
