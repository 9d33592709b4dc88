import type { Queries } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import type { AnnouncedType } from '../events/event.ts'
import {
  type DeliveryId,
  type EndpointId,
  type EventId,
  idOf,
  LAST_UUID,
  type PaymentId,
  placeOf,
  uuidOf,
} from '../kernel/ids.ts'
import { ALL_PLACES } from '../kernel/place.ts'
import type { Scope } from '../kernel/scope.ts'
import type { DeliveryState } from './delivery.ts'

/** A delivery as the dashboard lists it, with the result of its last try. */
export interface ListedDelivery {
  id: DeliveryId
  eventId: EventId
  /** Null: of a case without a payment. */
  paymentId: PaymentId | null
  type: AnnouncedType
  endpointId: EndpointId | null
  url: string
  state: DeliveryState
  tries: number
  createdAt: Date
  /** Of a waiting delivery. */
  nextTryAt: Date | null
  lastStatus: number | null
  lastError: string | null
}

interface Row {
  place: number
  id: string
  event_id: string
  payment_id: string | null
  type: AnnouncedType
  endpoint_id: string | null
  url: string
  state: DeliveryState
  tries: number
  created_at: Date
  due_at: Date
  status: number | null
  error: string | null
}

const COLUMNS =
  new Fixed(`d.place, d.id, d.event_id, e.payment_id, e.type, d.endpoint_id, d.url, d.tries, d.created_at, d.due_at, t.status, t.error,
  case when d.state = 'waiting' and not coalesce(w.enabled, true) then 'disabled' else d.state end as state`)
// The place is the first parameter of the statement.
const LAST_TRY = new Fixed(`
  left join webhook_endpoints w on w.id = d.endpoint_id
  left join delivery_tries t on t.place = $1 and t.delivery_id = d.id and t.number = d.tries`)

function listedOf(row: Row): ListedDelivery {
  const { place, type, url, state, tries } = row
  return {
    id: idOf('delivery', row.id, place),
    eventId: idOf('event', row.event_id, place),
    paymentId: row.payment_id === null ? null : idOf('payment', row.payment_id, place),
    type,
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url,
    state,
    tries,
    createdAt: row.created_at,
    nextTryAt: state === 'waiting' ? row.due_at : null,
    lastStatus: row.status,
    lastError: row.error,
  }
}

/** `retrying`: waiting after a failed try. `given-up`: exhausted or disabled. */
export type DeliveryFilter = 'retrying' | 'given-up' | undefined

/** Destinations that wait for a retry and are looked at. */
const MAX_DESTINATIONS = 200

/**
 * Newest first; of those that wait for a retry, the `limit` that are due first. One statement per index: a table-wide
 * index by merchant would cost every delivery a write. A page is limited before the joins: the planner expects few
 * rows, and would sort all of a merchant.
 */
export async function listDeliveries(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { filter, before, limit }: { filter: DeliveryFilter; before: DeliveryId | undefined; limit: number },
): Promise<ListedDelivery[]> {
  const [merchant, below] = [uuidOf(merchantId), before ? uuidOf(before) : LAST_UUID]
  const rows = await db.rows<Row>(
    filter === 'given-up'
      ? sql`
          with page as materialized (
            select f.place, f.id, f.event_id, f.endpoint_id, f.url, f.state, f.tries, f.created_at, f.due_at from deliveries f
             where f.place = ${place} and f.merchant_id = ${merchant} and f.mode = ${mode} and f.state in ('exhausted', 'disabled')
               and (f.created_at, f.id) < (coalesce((select c.created_at from deliveries c where c.place = ${place} and c.id = ${below}::uuid), 'infinity'),
                                           ${below}::uuid)
             order by f.created_at desc, f.id desc limit ${limit}
          )
          select ${COLUMNS} from page d join events e on e.place = ${place} and e.id = d.event_id ${LAST_TRY}
           order by d.created_at desc, d.id desc`
      : filter === 'retrying'
        ? sql`
          select ${COLUMNS} from (
              select c.destination from delivery_retries c
               where c.place = ${place} and c.merchant_id = ${merchant} and c.mode = ${mode} order by c.next_due_at limit ${MAX_DESTINATIONS}
            ) retried
            cross join lateral (
              select f.place, f.id, f.event_id, f.endpoint_id, f.url, f.state, f.tries, f.created_at, f.due_at from deliveries f
               where f.place = ${place} and f.state = 'waiting' and f.destination = retried.destination and f.mode = ${mode}
               order by f.due_at limit ${limit}
            ) d
            join events e on e.place = ${place} and e.id = d.event_id ${LAST_TRY}
           order by d.due_at limit ${limit}`
        : sql`
          with cursor as materialized (
            select coalesce((select c.event_id from deliveries c where c.place = ${place} and c.id = ${below}::uuid), ${LAST_UUID}::uuid) as event_id
          ),
          -- One more: all deliveries of the cursor's own event may be on the page before.
          page as materialized (
            select n.place, n.id, n.payment_id, n.type from events n
             cross join lateral (select from deliveries f where f.place = ${place} and f.event_id = n.id limit 1) delivered
             where n.place = ${place} and n.merchant_id = ${merchant} and n.mode = ${mode} and n.body is not null
               and n.id <= (select event_id from cursor)
               -- Deliveries are deleted before their events: what is older than the oldest delivery is not searched.
               and n.id >= (select o.event_id from deliveries o where o.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} order by o.event_id limit 1)
             order by n.id desc limit ${limit + 1}
          )
          select ${COLUMNS} from page e join deliveries d on d.place = ${place} and d.event_id = e.id ${LAST_TRY}
           where (e.id, d.id) < (select event_id, ${below}::uuid from cursor)
           order by e.id desc, d.id desc limit ${limit}`,
  )
  return rows.map(listedOf)
}

/** The deliveries of all events of a payment, newest first. */
export async function deliveriesOfPayment(db: Queries, id: PaymentId, limit: number): Promise<ListedDelivery[]> {
  const place = placeOf(id)
  const rows = await db.rows<Row>(sql`
    select ${COLUMNS} from events e join deliveries d on d.place = ${place} and d.event_id = e.id ${LAST_TRY}
     where e.place = ${place} and e.payment_id = ${uuidOf(id)}
     order by d.id desc limit ${limit}`)
  return rows.map(listedOf)
}

/** Deliveries that were given up since `since`, counted up to `limit`. */
export async function countGivenUp(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { since, limit }: { since: Date; limit: number },
): Promise<number> {
  const row = await db.row<{ count: number }>(sql`
    select count(*) as count from (
      select from deliveries where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode}
         and state in ('exhausted', 'disabled') and created_at >= ${since} limit ${limit}) found`)
  return row?.count ?? 0
}

/** No more than `most` are counted. Undefined for those that wait for a retry. */
export async function countDeliveries(
  db: Queries,
  { place, merchantId, mode }: Scope,
  filter: DeliveryFilter,
  most: number,
): Promise<number | undefined> {
  if (filter === 'retrying') return undefined
  const merchant = uuidOf(merchantId)
  const row = await db.row<{ count: number }>(
    filter === 'given-up'
      ? sql`
          select count(*) as count from (
            select from deliveries
             where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and state in ('exhausted', 'disabled')
             limit ${most}) as counted`
      : sql`
          select count(*) as count from (
            select from events e join deliveries d on d.place = ${place} and d.event_id = e.id
             where e.place = ${place} and e.merchant_id = ${merchant} and e.mode = ${mode} and e.body is not null
             limit ${most}) as counted`,
  )
  return row?.count
}
