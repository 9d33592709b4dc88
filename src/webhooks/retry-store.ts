import { textArray } from '../database/array-literal.ts'
import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { DueDelivery } from './claim-store.ts'

/**
 * Sets the time of the next retry at each of these destinations to that of its earliest waiting delivery. A destination without one
 * loses its row. Call it after the deliveries have been written, in the same transaction.
 */
export async function scheduleRetries(db: Queries, destinations: string[]): Promise<void> {
  await db.rows(sql`
    with next as (
      select w.destination, d.merchant_id, d.mode, d.endpoint_id, d.due_at from unnest(${textArray(destinations)}::text[]) w (destination)
        left join lateral (select merchant_id, mode, endpoint_id, due_at from deliveries d
                            where d.state = 'waiting' and d.destination = w.destination order by d.due_at limit 1) d on true
    ), gone as (
      delete from delivery_retries where destination in (select destination from next where due_at is null)
    )
    insert into delivery_retries (destination, merchant_id, mode, is_host, next_due_at)
    select destination, merchant_id, mode, endpoint_id is null, due_at from next where due_at is not null order by destination
    on conflict (destination) do update set next_due_at = excluded.next_due_at`)
}

/**
 * Schedules overdue retries that are missing on the schedule: those of an older version of the service that runs beside this one, and
 * those that two workers rescheduled at the same moment. Reads the next `limit` destinations after that one. Returns where to continue, or
 * undefined at the end.
 */
export async function scheduleMissedRetries(db: Queries, after: string, limit: number): Promise<string | undefined> {
  const row = await db.row<{ last: string | null; count: number }>(sql`
    with recursive hops (destination) as (
      (select destination from deliveries where state = 'waiting' and destination > ${after} order by destination limit 1)
      union all
      select (select d.destination from deliveries d where d.state = 'waiting' and d.destination > h.destination
               order by d.destination limit 1)
        from hops h where h.destination is not null
    ), page as (
      select destination from hops where destination is not null limit ${limit}
    ), missed as (
      insert into delivery_retries as r (destination, merchant_id, mode, is_host, next_due_at)
      select s.destination, d.merchant_id, d.mode, d.endpoint_id is null, d.due_at from page s
        cross join lateral (select * from deliveries d where d.state = 'waiting' and d.destination = s.destination
                             order by d.due_at limit 1) d
       where d.tries > d.tries_before and d.due_at < now() - interval '1 minute'
      on conflict (destination) do update set next_due_at = excluded.next_due_at where r.next_due_at > now()
    )
    select max(destination) as last, count(*) from page`)
  return row && row.count === limit ? (row.last ?? undefined) : undefined
}

/**
 * Of these deliveries to hosts, the destinations that are not on the retry schedule while their merchant has `limit` hosts on it
 * in that mode.
 */
export async function hostsOverLimit(tx: Transaction, deliveries: DueDelivery[], limit: number): Promise<Set<string>> {
  const owners = new Map(deliveries.map((each) => [`${each.merchantId} ${each.mode}`, each]))
  const counts = await tx.rows<{ count: number }>(sql`
    select (select count(*) from (select from delivery_retries r
                                   where r.is_host and r.merchant_id = o.merchant_id and r.mode = o.mode limit ${limit}) found) as count
      from unnest(${[...owners.values()].map(({ merchantId }) => uuidOf(merchantId))}::uuid[],
                  ${[...owners.values()].map(({ mode }) => mode)}::text[]) with ordinality o (merchant_id, mode, number)
     order by o.number`)
  const room = new Map([...owners.keys()].map((owner, index) => [owner, limit - (counts[index]?.count ?? 0)]))
  const known = await tx.rows<{ destination: string }>(sql`
    select destination from delivery_retries
     where destination = any(${textArray(deliveries.map(({ destination }) => destination))}::text[])`)
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
