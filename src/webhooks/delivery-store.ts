import { textArray } from '../database/array-literal.ts'
import type { Queries, Transaction } from '../database/database.ts'
import { readTime } from '../database/database-clock.ts'
import { sql } from '../database/sql.ts'
import { DELIVERIES_CHANNEL } from '../events/outbox-store.ts'
import { type DeliveryId, type EndpointId, type EventId, idOf, placeOf, uuidOf } from '../kernel/ids.ts'
import { ALL_PLACES, type Place } from '../kernel/place.ts'
import type { Scope } from '../kernel/scope.ts'
import type { DueDelivery } from './claim-store.ts'
import type { DeliveryState } from './delivery.ts'

export interface TryResult {
  delivery: DueDelivery
  /** When the call ended, by the clock of the service. */
  at: Date
  state: DeliveryState
  waitSeconds: number
  status: number | null
  error: string | null
  answer: string
  tookMs: number
}

/**
 * Writes the results of many tries of one place in one statement. A result that another worker wrote first is kept. A
 * delivery that was requested again during the try stays due, as after any redelivery.
 */
export async function writeTries(db: Queries, place: Place, results: TryResult[]): Promise<void> {
  const column = (pick: (result: TryResult) => string | null) => textArray(results.map(pick))
  await db.rows(sql`
    with results as materialized (
      select * from unnest(
        ${column(({ delivery }) => delivery.uuid)}::uuid[], ${column(({ delivery }) => String(delivery.tries))}::integer[],
        ${column(({ state }) => state)}::text[], ${column(({ at }) => at.toISOString())}::timestamptz[], ${column(nextTryAt)}::timestamptz[],
        ${column(({ status }) => (status === null ? null : String(status)))}::integer[], ${column(({ error }) => error)}::text[],
        ${column(({ answer }) => answer)}::text[], ${column(({ tookMs }) => String(Math.round(tookMs)))}::integer[],
        ${column(({ delivery }) => delivery.url)}::text[], ${column(({ delivery }) => delivery.dueAt)}::timestamptz[])
        as r (id, tries, state, at, next_try_at, status, error, answer, took_ms, url, due_at)
    ), noted as (
      update deliveries d
         set url = r.url, tries = d.tries + 1,
             state = case when d.due_at = r.due_at then r.state else 'waiting' end,
             tries_before = case when d.due_at = r.due_at then d.tries_before else d.tries + 1 end,
             due_at = case when d.due_at = r.due_at then r.next_try_at else d.due_at end,
             done_at = case when d.due_at = r.due_at and r.state <> 'waiting' then r.at end
        -- Found by their ids before they are compared with the results: else PostgreSQL may compare every delivery with
        -- every result.
        from results r where d.place = ${place} and d.id = any(${column(({ delivery }) => delivery.uuid)}::uuid[])
         and d.id = r.id and d.tries = r.tries and (d.state = 'waiting') is true
      returning d.id, d.tries
    )
    insert into delivery_tries (place, delivery_id, number, at, status, error, answer, took_ms)
    select ${place}::smallint, n.id, n.tries, r.at, r.status, r.error, r.answer, r.took_ms from noted n join results r on r.id = n.id`)
}

const nextTryAt = ({ at, waitSeconds }: TryResult) => new Date(at.getTime() + waitSeconds * 1_000).toISOString()

/** Makes the deliveries of an event due again, with the waits of a new delivery. Returns how many there are. */
export async function requeueEvent(tx: Transaction, { merchantId, mode }: Scope, eventId: EventId): Promise<number> {
  const now = await readTime(tx)
  const rows = await tx.rows(sql`
    update deliveries d set state = 'waiting', tries_before = tries, due_at = ${now}::timestamptz, done_at = null
     where place = ${placeOf(eventId)} and event_id = ${uuidOf(eventId)} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode}
       and (endpoint_id is null or exists (select from webhook_endpoints e where e.id = d.endpoint_id and e.enabled))
    returning id`)
  if (rows.length > 0) tx.notify(DELIVERIES_CHANNEL)
  return rows.length
}

/** Makes exhausted and disabled deliveries of that time due again, at most `limit`. Returns how many there were. */
export async function requeueGivenUp(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  { from, to, limit }: { from: Date; to: Date; limit: number },
): Promise<number> {
  const now = await readTime(tx)
  const rows = await tx.rows(sql`
    update deliveries set state = 'waiting', tries_before = tries, due_at = ${now}::timestamptz, done_at = null
     where place = ${place} and id = any (array(
       select d.id from deliveries d
        where d.place = ${place} and d.merchant_id = ${uuidOf(merchantId)} and d.mode = ${mode} and d.state in ('exhausted', 'disabled')
          and d.created_at >= ${from} and d.created_at < ${to}
          and (d.endpoint_id is null or exists (select from webhook_endpoints e where e.id = d.endpoint_id and e.enabled))
        order by d.id
        limit ${limit} for update of d))
    returning id`)
  if (rows.length > 0) tx.notify(DELIVERIES_CHANNEL)
  return rows.length
}

export interface DeliveryRecord {
  id: DeliveryId
  endpointId: EndpointId | null
  url: string
  state: DeliveryState
  dueAt: Date
  tries: { number: number; at: Date; status: number | null; error: string | null; tookMs: number; answer: string }[]
}

export async function deliveriesOf(db: Queries, eventId: EventId): Promise<DeliveryRecord[]> {
  const place = placeOf(eventId)
  const rows = await db.rows<{
    id: string
    endpoint_id: string | null
    url: string
    state: DeliveryState
    due_at: Date
    tries: (Omit<DeliveryRecord['tries'][number], 'at'> & { at: string })[] | null
  }>(sql`
    select d.id, d.endpoint_id, d.url, d.due_at,
           -- The rows of a disabled endpoint are updated later, in chunks.
           case when d.state = 'waiting' and not coalesce(w.enabled, true) then 'disabled' else d.state end as state,
           (select json_agg(json_build_object('number', t.number, 'at', t.at, 'status', t.status, 'error', t.error,
                                              'tookMs', t.took_ms, 'answer', t.answer) order by t.number)
              from delivery_tries t where t.place = ${place} and t.delivery_id = d.id) as tries
      from deliveries d left join webhook_endpoints w on w.id = d.endpoint_id
     where d.place = ${place} and d.event_id = ${uuidOf(eventId)} order by d.id`)
  return rows.map((row) => ({
    id: idOf('delivery', row.id, place),
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url: row.url,
    state: row.state,
    dueAt: row.due_at,
    tries: (row.tries ?? []).map((each) => ({ ...each, at: new Date(each.at) })),
  }))
}

/** Deletes deliveries that ended before that time, with their tries. Returns when they ended. */
export async function deleteOldDeliveries(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id, done_at from deliveries
       where done_at < ${before} and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by done_at limit ${limit}
    )
    delete from deliveries d using old
     where d.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} and d.place = old.place and d.id = old.id
       and d.done_at is not distinct from old.done_at -- uses no index
    returning d.done_at as at`)
  return rows.map(({ at }) => at)
}
