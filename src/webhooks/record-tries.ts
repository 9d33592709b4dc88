import type { Database, Transaction } from '../database/database.ts'
import { groupByPlace, type Place } from '../kernel/place.ts'
import { type TryResult, writeTries } from './delivery-store.ts'
import { hostsOverLimit, scheduleRetries } from './retry-store.ts'

/** Limits the hosts of `webhook` URLs in requests that wait for a retry, for each merchant and mode. */
export const MAX_WAITING_HOSTS = 1_000

const TOO_MANY_HOSTS =
  `too_many_hosts: ${MAX_WAITING_HOSTS} other hosts of yours wait for a retry, so this one is not retried automatically. ` +
  'The event can be sent again.'

/**
 * Writes tries and the new states of their deliveries, and schedules retries, with a commit for each place.
 * record-results.ts adds the health of endpoints.
 */
export async function recordTries(
  database: Database,
  results: TryResult[],
  maxHosts = MAX_WAITING_HOSTS,
): Promise<void> {
  const groups = groupByPlace(results, ({ delivery }) => delivery.place)
  const writes = groups.map(([place, group]) =>
    // The usual case: first tries that succeeded. They are not on the retry schedule.
    group.some(isScheduled)
      ? database.transaction((tx) => recordGroup(tx, place, group, maxHosts))
      : writeTries(database, place, group),
  )
  // All of them, also when one fails. Results that are written again change nothing.
  const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected')
  if (failed) throw (failed as PromiseRejectedResult).reason
}

const hasFailed = ({ state }: TryResult) => state === 'waiting'
const isScheduled = (result: TryResult) => hasFailed(result) || result.delivery.tries > result.delivery.triesBefore

async function recordGroup(tx: Transaction, place: Place, results: TryResult[], maxHosts: number): Promise<void> {
  const toHosts = results.filter(hasFailed).filter(({ delivery }) => delivery.endpointId === null)
  const refused = await hostsOverLimit(
    tx,
    place,
    toHosts.map(({ delivery }) => delivery),
    maxHosts,
  )
  await writeTries(
    tx,
    place,
    results.map((result) =>
      result.state === 'waiting' && refused.has(result.delivery.destination)
        ? { ...result, state: 'exhausted', error: [result.error, TOO_MANY_HOSTS].filter(Boolean).join('; ') }
        : result,
    ),
  )
  const destinations = new Set(results.filter(isScheduled).map(({ delivery }) => delivery.destination))
  await scheduleRetries(tx, place, [...destinations].filter((each) => !refused.has(each)).sort())
}
