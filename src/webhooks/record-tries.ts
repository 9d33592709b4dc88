import type { Database } from '../database/database.ts'
import { type TryResult, writeTries } from './delivery-store.ts'
import { hostsOverLimit, scheduleRetries } from './retry-store.ts'

/** Limits the hosts of `webhook` URLs in requests that wait for a retry, for each merchant and mode. */
export const MAX_WAITING_HOSTS = 1_000

const TOO_MANY_HOSTS =
  `too_many_hosts: ${MAX_WAITING_HOSTS} other hosts of yours wait for a retry, so this one is not retried automatically. ` +
  'The event can be sent again.'

/** Writes tries and the new states of their deliveries, and schedules retries. record-results.ts adds the health of endpoints. */
export async function recordTries(
  database: Database,
  results: TryResult[],
  maxHosts = MAX_WAITING_HOSTS,
): Promise<void> {
  const failed = results.filter(({ state }) => state === 'waiting')
  const retried = results.filter(({ delivery }) => delivery.tries > delivery.triesBefore)
  // The usual case: first tries that succeeded. They are not on the retry schedule.
  if (failed.length + retried.length === 0) return writeTries(database, results)
  await database.transaction(async (tx) => {
    const toHosts = failed.map(({ delivery }) => delivery).filter(({ endpointId }) => endpointId === null)
    const refused = toHosts.length > 0 ? await hostsOverLimit(tx, toHosts, maxHosts) : new Set<string>()
    await writeTries(
      tx,
      results.map((result) =>
        result.state === 'waiting' && refused.has(result.delivery.destination)
          ? { ...result, state: 'exhausted', error: [result.error, TOO_MANY_HOSTS].filter(Boolean).join('; ') }
          : result,
      ),
    )
    const destinations = new Set([...failed, ...retried].map(({ delivery }) => delivery.destination))
    await scheduleRetries(tx, [...destinations].filter((each) => !refused.has(each)).sort())
  })
}
