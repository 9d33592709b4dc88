import { textArray } from '../database/array-literal.ts'
import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import { ALL_PLACES, groupByPlace, type Place } from '../kernel/place.ts'
import type { DueDelivery } from './claim-store.ts'
import type { Destination } from './search-store.ts'

/**
 * Sets the time of the next retry at each of these destinations of one place to that of its earliest waiting delivery.
 * A destination without one loses its row. Call it after the deliveries have been written, in the same transaction.
 */
export async function scheduleRetries(db: Queries, place: Place, destinations: string[]): Promise<void> {
  if (destinations.length === 0) return
  await db.rows(sql`
    with next as (
      select w.destination, d.merchant_id, d.mode, d.endpoint_id, d.due_at from unnest(${textArray(destinations)}::text[]) w (destination)
        left join lateral (select merchant_id, mode, endpoint_id, due_at from deliveries d
                            where d.place = ${place} and d.state = 'waiting' and d.destination = w.destination
                            order by d.due_at limit 1) d on true
    ), gone as (
      delete from delivery_retries where place = ${place} and destination in (select destination from next where due_at is null)
    )
    insert into delivery_retries (place, destination, merchant_id, mode, is_host, next_due_at)
    select ${place}::smallint, destination, merchant_id, mode, endpoint_id is null, due_at from next
     where due_at is not null order by destination
    on conflict (place, destination) do update set next_due_at = excluded.next_due_at`)
}

/**
 * Schedules overdue retries that are missing on the schedule: those of an older version of the service that runs beside
 * this one, and those that two workers rescheduled at the same moment. Reads the next `limit` destinations after that
 * one. Returns where to continue, or undefined at the end.
 */
export async function scheduleMissedRetries(
  db: Queries,
  after: Destination | undefined,
  limit: number,
): Promise<Destination | undefined> {
  const { first, last } = ALL_PLACES
  const page = await db.rows<Destination & { missed: boolean }>(sql`
    with recursive hops (place, destination) as (
      (select d.place, d.destination from deliveries d
        where d.state = 'waiting' and d.destination > ${after?.destination ?? ''} and d.place between ${first} and ${last}
        order by d.destination, d.due_at limit 1)
      union all
      select n.place, n.destination from hops h
        cross join lateral (select d.place, d.destination from deliveries d
                             where d.state = 'waiting' and d.destination > h.destination
                               and d.place between ${first} and ${last}
                             order by d.destination, d.due_at limit 1) n
    )
    select s.place, s.destination, d.is_overdue and not exists (
             select from delivery_retries r
              where r.place = s.place and r.place between ${first} and ${last} and r.destination = s.destination and r.next_due_at <= now()) as missed
      from (select place, destination from hops limit ${limit}) s
     cross join lateral (select d.tries > d.tries_before and d.due_at < now() - interval '1 minute' as is_overdue from deliveries d
                          where d.place = s.place and d.place between ${first} and ${last} and d.state = 'waiting'
                            and d.destination = s.destination
                          order by d.due_at limit 1) d
     order by s.destination`)
  const missed = page.filter((each) => each.missed)
  for (const [placeOfGroup, group] of groupByPlace(missed, (each) => each.place)) {
    const destinations = group.map((each) => each.destination)
    await scheduleRetries(db, placeOfGroup, destinations.sort())
  }
  return page.length === limit ? page.at(-1) : undefined
}

/**
 * Of these deliveries of one place to hosts, the destinations that are not on the retry schedule while their merchant
 * has `limit` hosts on it in that mode.
 */
export async function hostsOverLimit(
  tx: Transaction,
  place: Place,
  deliveries: DueDelivery[],
  limit: number,
): Promise<Set<string>> {
  if (deliveries.length === 0) return new Set()
  const owners = new Map(deliveries.map((each) => [`${each.merchantId} ${each.mode}`, each]))
  const counts = await tx.rows<{ count: number }>(sql`
    select (select count(*) from (select from delivery_retries r
                                   where r.place = ${place} and r.is_host and r.merchant_id = o.merchant_id and r.mode = o.mode
                                   limit ${limit}) found) as count
      from unnest(${[...owners.values()].map(({ merchantId }) => uuidOf(merchantId))}::uuid[],
                  ${[...owners.values()].map(({ mode }) => mode)}::text[]) with ordinality o (merchant_id, mode, number)
     order by o.number`)
  const room = new Map([...owners.keys()].map((owner, index) => [owner, limit - (counts[index]?.count ?? 0)]))
  const known = await tx.rows<{ destination: string }>(sql`
    select destination from delivery_retries
     where place = ${place} and destination = any(${textArray(deliveries.map(({ destination }) => destination))}::text[])`)
  const allowed = new Set(known.map(({ destination }) => destination))
  const refused = new Set<string>()
  for (const { destination, merchantId, mode } of deliveries) {
    if (allowed.has(destination) || refused.has(destination)) continue
    const left = room.get(`${merchantId} ${mode}`) ?? 0
    if (left > 0) allowed.add(destination)
    else refused.add(destination)
    room.set(`${merchantId} ${mode}`, left - 1)
  }
  return refused
}
