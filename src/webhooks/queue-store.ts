import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { ALL_PLACES } from '../kernel/place.ts'

export interface DeliveryQueue {
  /** Deliveries that are due or wait for a retry; counted up to the limit and one more. */
  waiting: number
  oldestDueAt: Date | null
  /** Processes that send webhooks. */
  workers: number
}

/** Destinations whose oldest delivery is read. There is no index by time alone: every delivery would pay for it. */
const MAX_DESTINATIONS = 400

/** The queue of webhooks. The oldest is found by a loose index scan, which reads one delivery of each destination. */
export async function readDeliveryQueue(db: Queries, maxCounted: number): Promise<DeliveryQueue> {
  const { first, last } = ALL_PLACES
  const [counted, oldest, workers] = await Promise.all([
    db.row<{ waiting: number }>(sql`
      select count(*) as waiting from (
        select place from deliveries where state = 'waiting' and place between ${first} and ${last}
         order by destination, due_at limit ${maxCounted + 1}) d`),
    db.row<{ oldest: Date | null }>(sql`
      with recursive heads as (
        (select 1 as number, destination, due_at from deliveries
          where state = 'waiting' and place between ${first} and ${last} order by destination, due_at limit 1)
        union all
        select h.number + 1, n.destination, n.due_at from heads h cross join lateral (
          select d.destination, d.due_at from deliveries d
           where d.state = 'waiting' and d.destination > h.destination and d.place between ${first} and ${last}
           order by d.destination, d.due_at limit 1) n
         where h.number < ${MAX_DESTINATIONS})
      select min(due_at) as oldest from heads where due_at <= now()`),
    db.row<{ workers: number }>(sql`select count(*) as workers from delivery_workers where alive_until > now()`),
  ])
  return {
    waiting: counted?.waiting ?? 0,
    oldestDueAt: oldest?.oldest ?? null,
    workers: workers?.workers ?? 0,
  }
}
