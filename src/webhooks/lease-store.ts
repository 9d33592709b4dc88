import type { Queries } from '../database/database.ts'
import { freshSql, sql } from '../database/sql.ts'
import { ALL_PLACES } from '../kernel/place.ts'
import type { Destination } from './search-store.ts'

export interface Renewal {
  /** Since when this worker has renewed without a gap. */
  aliveSince: string
  /** Workers that have not renewed in time, such as after `kill -9`. */
  lapsed: string[]
}

/**
 * Renews a worker. It judges others only after `observeSeconds` without a gap of its own: after an outage of the
 * database every worker has lapsed, and the living ones need a moment to renew.
 */
export async function renewWorker(
  db: Queries,
  workerId: string,
  { ttlSeconds, observeSeconds }: { ttlSeconds: number; observeSeconds: number },
): Promise<Renewal> {
  const row = await db.row<{ alive_since: string; lapsed: string[] }>(sql`
    with renewed as (
      insert into delivery_workers as w (id, alive_since, alive_until)
      values (${workerId}::uuid, now(), now() + ${ttlSeconds}::integer * interval '1 second')
      on conflict (id) do update
        set alive_until = excluded.alive_until, alive_since = case when w.alive_until < now() then now() else w.alive_since end
      returning alive_since
    )
    select alive_since::text,
           array(select w.id::text from delivery_workers w
                  where w.alive_until < now() and w.id <> ${workerId}::uuid
                    and r.alive_since < now() - ${observeSeconds}::integer * interval '1 second') as lapsed
      from renewed r`)
  return { aliveSince: row?.alive_since ?? '', lapsed: row?.lapsed ?? [] }
}

/**
 * Releases the destinations of this worker, or of others that are still lapsed, so that any worker can claim them at
 * once. There is no index on the owner of a lease: workers rarely die, and it would make every claim slower.
 */
export async function releaseWorkers(db: Queries, me: string, workerIds: string[]): Promise<void> {
  await db.rows(sql`
    with gone_workers as (
      delete from delivery_workers where id = any(${workerIds}::uuid[]) and (id = ${me}::uuid or alive_until < now()) returning id
    )
    delete from delivery_leases
     where owner in (select id from gone_workers) and owned_until >= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}`)
}

/**
 * Deletes leases that ended an hour ago, among the next destinations after that one. Returns where to go on, or
 * undefined at the end. There is no index on the end of a lease: it would make every claim slower.
 */
export async function forgetOldLeases(
  db: Queries,
  after: Destination | undefined,
  limit: number,
): Promise<Destination | undefined> {
  const { place, destination } = after ?? { place: ALL_PLACES.first, destination: '' }
  const rows = await db.rows<Destination>(freshSql`
    with page as (
      select place, destination from delivery_leases
       where (destination, place) > (${destination}, ${place}::smallint) and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by destination, place limit ${limit}
    ), gone as (
      delete from delivery_leases l using page s
       where l.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} and l.place = s.place and l.destination = s.destination and l.owned_until < now() - interval '1 hour'
    )
    select place, destination from page order by destination, place`)
  return rows.length === limit ? rows.at(-1) : undefined
}
