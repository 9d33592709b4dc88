import { textArray } from '../database/array-literal.ts'
import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { idOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Place } from '../kernel/place.ts'
import type { Delivery } from './delivery.ts'

/** A delivery that this worker has claimed, with everything that is needed to send it. */
export interface DueDelivery extends Delivery {
  body: string
  /** Exactly as the database has it, in text: another value later means that a redelivery was requested since. */
  dueAt: string
  /** In base64, which is the key of the cache of opened secrets. */
  sealedSecret: string | null
  sealedPreviousSecret: string | null
  /** False when the endpoint is disabled or deleted: the delivery must not be sent. */
  isEnabled: boolean
}

/** A destination on which this worker has a lease, with what is due there. */
export interface ClaimedDestination {
  place: Place
  destination: string
  leaseMs: number
  deliveries: DueDelivery[]
}

export interface Claim {
  workerId: string
  leaseSeconds: number
  perDestination: number
  /** Deliveries that this worker has claimed before, by `uuid`. They are not returned again. */
  claimedIds: string[]
}

interface ClaimedRow {
  destination: string
  lease_ms: number
  id: string | null
  event_id: string
  merchant_id: string
  mode: Mode
  endpoint_id: string | null
  url: string
  tries: number
  tries_before: number
  due_at: string
  body: string
  enabled: boolean
  sealed_secret: string | null
  sealed_previous_secret: string | null
}

/**
 * Takes a lease on those of these destinations of one place that no other worker has, and reads what is due there. A
 * lease of this worker is renewed after a third of its time, so that most claims write nothing. `destinations` are
 * sorted, so that two claims cannot deadlock.
 */
export async function claimDestinations(
  db: Queries,
  place: Place,
  destinations: string[],
  { workerId, leaseSeconds, perDestination, claimedIds }: Claim,
): Promise<ClaimedDestination[]> {
  const rows = await db.rows<ClaimedRow>(sql`
    with kept as (
      select destination, owned_until from delivery_leases
       where place = ${place} and destination = any(${textArray(destinations)}::text[])
         and owner = ${workerId}::uuid and owned_until > now() + ${Math.ceil((leaseSeconds * 2) / 3)}::integer * interval '1 second'
    ), taken as (
      insert into delivery_leases as l (place, destination, owner, owned_until)
      select ${place}::smallint, w.destination, ${workerId}::uuid, now() + ${leaseSeconds}::integer * interval '1 second'
        from unnest(${textArray(destinations)}::text[]) w (destination) where w.destination not in (select destination from kept)
      on conflict (place, destination) do update set owner = excluded.owner, owned_until = excluded.owned_until
       where l.owner = excluded.owner or l.owned_until < now()
      returning destination, owned_until
    )
    select m.destination, extract(epoch from m.owned_until - now())::float8 * 1000 as lease_ms, d.id, d.event_id, d.merchant_id, d.mode,
           d.endpoint_id, coalesce(w.url, d.url) as url, d.tries, d.tries_before, d.due_at::text, coalesce(w.enabled, true) as enabled,
           (select e.body from events e where e.place = ${place} and e.id = d.event_id) as body, -- for a join PostgreSQL may read all events
           encode(coalesce(w.sealed_secret, s.sealed_secret), 'base64') as sealed_secret,
           encode(case when w.previous_until > now() then w.sealed_previous_secret
                       when s.previous_until > now() then s.sealed_previous_secret end, 'base64') as sealed_previous_secret
      from (select * from kept union all select * from taken) m
      left join lateral (
        select id, event_id, merchant_id, mode, endpoint_id, url, tries, tries_before, due_at from deliveries
         where place = ${place} and destination = m.destination and state = 'waiting' and due_at <= now()
           and id not in (select unnest(${textArray(claimedIds)}::uuid[]))
         order by due_at limit ${perDestination}::bigint) d on true
      left join webhook_endpoints w on w.id = d.endpoint_id
      left join webhook_secrets s on d.endpoint_id is null and s.merchant_id = d.merchant_id and s.mode = d.mode
     order by m.destination, d.due_at`)
  return [...Map.groupBy(rows, ({ destination }) => destination)].map(([destination, group]) => ({
    ...{ place, destination, leaseMs: group[0]?.lease_ms ?? 0 },
    deliveries: group.flatMap((row) => (row.id === null ? [] : [dueOf(row, row.id, place)])),
  }))
}

function dueOf(row: ClaimedRow, uuid: string, place: Place): DueDelivery {
  return {
    uuid,
    place,
    eventId: idOf('event', row.event_id, place),
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url: row.url,
    destination: row.destination,
    tries: row.tries,
    triesBefore: row.tries_before,
    dueAt: row.due_at,
    body: row.body,
    isEnabled: row.enabled,
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: row.sealed_previous_secret,
  }
}
