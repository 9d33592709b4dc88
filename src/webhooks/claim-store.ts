import { textArray } from '../database/array-literal.ts'
import type { Queries } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import type { UnsentDelivery } from '../events/new-deliveries.ts'
import { idOf, type MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import { ALL_PLACES, type Place } from '../kernel/place.ts'
import { type MerchantKey, splitKey } from './claim-rounds.ts'
import type { Delivery } from './delivery.ts'

/** A delivery that this worker has claimed. */
export interface DueDelivery extends UnsentDelivery, Pick<Delivery, 'tries' | 'triesBefore'> {
  /** How long the lease on its destination lasted when it was claimed. */
  leaseMs: number
  /** False when the endpoint is disabled or deleted: the delivery must not be sent. */
  isEnabled: boolean
}

/** Where deliveries are sent, with the place of its merchant. */
export interface Destination {
  place: Place
  destination: string
}

type ClaimedRow = DueRow | ({ id: null } & Destination)

interface DueRow {
  place: number
  id: string
  event_id: string
  merchant_id: string
  mode: Mode
  endpoint_id: string | null
  url: string
  destination: string
  lease_ms: number
  tries: number
  tries_before: number
  due_at: string
  body: string
  enabled: boolean
  sealed_secret: string | null
  sealed_previous_secret: string | null
}

function dueOf(row: DueRow, merchantIdOf: (uuid: string) => MerchantId): DueDelivery {
  return {
    uuid: row.id,
    place: row.place,
    eventId: idOf('event', row.event_id, row.place),
    merchantId: merchantIdOf(row.merchant_id),
    mode: row.mode,
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url: row.url,
    destination: row.destination,
    tries: row.tries,
    triesBefore: row.tries_before,
    dueAt: row.due_at,
    body: row.body,
    leaseMs: row.lease_ms,
    isEnabled: row.enabled,
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: row.sealed_previous_secret,
  }
}

export interface Claim {
  workerId: string
  leaseSeconds: number
  perDestination: number
  /** Deliveries that this worker has claimed before, by `uuid`. They are not returned again. */
  claimedIds: string[]
}

export interface RoundClaim extends Claim {
  /** The claim begins with the merchant after this one. */
  after: MerchantKey
  maxDestinations: number
  /** Limits the destinations of one merchant, so that a merchant with many of them does not fill the claim. */
  perMerchant: number
  /** Destinations with enough claimed deliveries. */
  fullDestinations: string[]
  /** Merchants with enough claimed destinations, by uuid. */
  fullMerchants: string[]
}

/** `idle`: destinations on the retry schedule that have nothing due. Their schedule must be corrected. */
export interface Claimed {
  deliveries: DueDelivery[]
  idle: Destination[]
}

/**
 * The second half of every claim. It takes a lease on the destinations of `open` and reads what is due for each. A lease is a row in
 * `delivery_leases`; a later claim by the same worker renews it after a third of its time, so that most claims write nothing. It expects
 * `given`, `claimed` and `open` before it. Parameters stand in `given` alone: PostgreSQL plans a statement with parameters in conditions or
 * limits again at each call, which costs 3 ms.
 */
const CLAIM = new Fixed(`
  kept as (
    select l.place, l.destination, l.owned_until from open o join delivery_leases l on l.place = o.place and l.destination = o.destination
     where l.owner = (select worker_id from given) and l.owned_until > (select renew_until from given)
  ), taken as (
    insert into delivery_leases as l (place, destination, owner, owned_until)
    select o.place, o.destination, g.worker_id, g.owned_until from open o cross join given g
     where not exists (select from kept k where k.place = o.place and k.destination = o.destination)
    on conflict (place, destination) do update set owner = excluded.owner, owned_until = excluded.owned_until
     where l.owner = excluded.owner or l.owned_until < now()
    returning place, destination, owned_until
  ), mine as (
    select * from kept union all select * from taken
  )
  select m.place, m.destination, extract(epoch from m.owned_until - now())::float8 * 1000 as lease_ms, d.id, d.event_id, d.merchant_id, d.mode,
         d.endpoint_id, coalesce(w.url, d.url) as url, d.tries, d.tries_before, d.due_at::text,
         -- A subquery uses the primary key; for a join PostgreSQL may read all events.
         (select e.body from events e where e.place = m.place and e.id = d.event_id) as body, coalesce(w.enabled, true) as enabled, encode(coalesce(w.sealed_secret, s.sealed_secret), 'base64') as sealed_secret,
         encode(case when d.endpoint_id is not null then case when w.previous_until > now() then w.sealed_previous_secret end
                     when s.previous_until > now() then s.sealed_previous_secret end, 'base64') as sealed_previous_secret
    from mine m left join lateral (
      select id, event_id, merchant_id, mode, endpoint_id, url, tries, tries_before, due_at from deliveries
       where place = m.place and state = 'waiting' and destination = m.destination and due_at <= now() and id not in (select id from claimed)
       order by due_at limit (select per_destination from given)) d on true
    left join webhook_endpoints w on w.id = d.endpoint_id
    left join webhook_secrets s on d.endpoint_id is null and s.merchant_id = d.merchant_id and s.mode = d.mode
   order by m.destination, d.due_at`)

/**
 * Claims destinations with deliveries that have not been tried yet, or not since a merchant asked to send them again. It finds
 * merchants, and the destinations of each, by a loose index scan: a hundred thousand deliveries for one destination cost one step.
 * `past`: the destination after which to continue, by merchant.
 */
export async function claimFirstTries(
  db: Queries,
  claim: RoundClaim & { past: Map<string, string> },
): Promise<Claimed> {
  const {
    workerId,
    leaseSeconds,
    perDestination,
    claimedIds,
    maxDestinations,
    perMerchant,
    fullDestinations,
    fullMerchants,
    past,
  } = claim
  const after = splitKey(claim.after)
  const rows = await db.rows<ClaimedRow>(sql`
    with recursive given (worker_id, owned_until, renew_until, per_destination, claimed_ids, after_place, after, last_place, max_destinations, per_merchant, full_destinations, full_merchants) as (
      select ${workerId}::uuid, now() + ${leaseSeconds}::integer * interval '1 second',
             now() + ${(leaseSeconds * 2) / 3}::integer * interval '1 second', ${perDestination}::bigint, ${textArray(claimedIds)}::uuid[],
             ${after.place}::smallint, ${after.uuid}::uuid, ${ALL_PLACES.last}::smallint, ${maxDestinations}::bigint, ${perMerchant}::bigint, ${fullDestinations}::text[], ${fullMerchants}::uuid[]
    ), claimed (id) as (
      -- "not in" uses a hash; "<> all" would compare each delivery with all of them.
      select unnest(claimed_ids) from given
    ), past (merchant_id, destination) as (
      select * from unnest(${textArray([...past.keys()].map((key) => splitKey(key).uuid))}::uuid[], ${textArray([...past.values()])}::text[])
    ), merchants (place, id) as (
      (select d.place, d.merchant_id from deliveries d
        where d.state = 'waiting' and d.tries = d.tries_before and d.place <= (select last_place from given)
          and (d.place, d.merchant_id) > ((select after_place from given), (select after from given))
        order by d.place, d.merchant_id limit 1)
      union all
      select n.place, n.merchant_id from merchants m
        cross join lateral (select d.place, d.merchant_id from deliveries d
                             where d.state = 'waiting' and d.tries = d.tries_before and d.place <= (select last_place from given)
                               and (d.place, d.merchant_id) > (m.place, m.id)
                             order by d.place, d.merchant_id limit 1) n
    ), open as (
      select m.place, f.destination from merchants m
        cross join lateral (
          with recursive hops (destination) as (
            (select d.destination from deliveries d
              where d.state = 'waiting' and d.tries = d.tries_before and d.place = m.place and d.merchant_id = m.id
                and d.destination > coalesce((select p.destination from past p where p.merchant_id = m.id), '')
              order by d.destination limit 1)
            union all
            select (select d.destination from deliveries d
                     where d.state = 'waiting' and d.tries = d.tries_before and d.place = m.place and d.merchant_id = m.id
                       and d.destination > h.destination
                     order by d.destination limit 1)
              from hops h where h.destination is not null
          )
          select h.destination from hops h
            -- A lateral with a limit: PostgreSQL would turn "exists" into a join with everything that is due.
            cross join lateral (select from deliveries d
                                 where d.place = m.place and d.state = 'waiting' and d.destination = h.destination and d.due_at <= now()
                                   and d.id not in (select id from claimed) limit 1) due
           where h.destination is not null and h.destination <> all ((select full_destinations from given)::text[])
             and not exists (select from delivery_leases l
                              where l.place = m.place and l.destination = h.destination and l.owner <> (select worker_id from given) and l.owned_until >= now())
           limit (select per_merchant from given)) f
       where m.id <> all ((select full_merchants from given)::uuid[])
       limit (select max_destinations from given)
    ), ${CLAIM}`)
  return claimedOf(rows)
}

/**
 * Claims destinations where a retry is due. Each has one row in `delivery_retries`, so destinations that wait cost nothing. The claim
 * moves the time of that row to the end of the lease; recording the result sets it again.
 */
export async function claimRetries(db: Queries, claim: RoundClaim): Promise<Claimed> {
  const {
    workerId,
    leaseSeconds,
    perDestination,
    claimedIds,
    maxDestinations,
    perMerchant,
    fullDestinations,
    fullMerchants,
  } = claim
  const after = splitKey(claim.after)
  const rows = await db.rows<ClaimedRow>(sql`
    with recursive given (worker_id, owned_until, renew_until, per_destination, claimed_ids, after_place, after, last_place, max_destinations, per_merchant, full_destinations, full_merchants) as (
      select ${workerId}::uuid, now() + ${leaseSeconds}::integer * interval '1 second',
             now() + ${(leaseSeconds * 2) / 3}::integer * interval '1 second', ${perDestination}::bigint, ${textArray(claimedIds)}::uuid[],
             ${after.place}::smallint, ${after.uuid}::uuid, ${ALL_PLACES.last}::smallint, ${maxDestinations}::bigint, ${perMerchant}::bigint, ${fullDestinations}::text[], ${fullMerchants}::uuid[]
    ), claimed (id) as (
      select unnest(claimed_ids) from given
    ), merchants (place, id, next_due_at) as (
      (select r.place, r.merchant_id, r.next_due_at from delivery_retries r
        where r.place <= (select last_place from given)
          and (r.place, r.merchant_id) > ((select after_place from given), (select after from given))
        order by r.place, r.merchant_id, r.next_due_at limit 1)
      union all
      select n.place, n.merchant_id, n.next_due_at from merchants m
        cross join lateral (select r.place, r.merchant_id, r.next_due_at from delivery_retries r
                             where r.place <= (select last_place from given) and (r.place, r.merchant_id) > (m.place, m.id)
                             order by r.place, r.merchant_id, r.next_due_at limit 1) n
    ), open as (
      select m.place, f.destination from merchants m
        cross join lateral (
          select r.destination from delivery_retries r
            left join lateral (select true as found from deliveries d
                                where d.place = r.place and d.state = 'waiting' and d.destination = r.destination and d.due_at <= now()
                                limit 1) due on true
            left join lateral (select true as found from deliveries d
                                where d.place = r.place and d.state = 'waiting' and d.destination = r.destination and d.due_at <= now()
                                  and d.id not in (select id from claimed) limit 1) free on true
           -- Not if everything that is due is claimed already. A row with nothing due is claimed, to be corrected.
           where r.place = m.place and r.merchant_id = m.id and r.next_due_at <= now() and (free.found or due.found is null)
             and r.destination <> all ((select full_destinations from given)::text[])
             and not exists (select from delivery_leases l
                              where l.place = r.place and l.destination = r.destination and l.owner <> (select worker_id from given) and l.owned_until >= now())
           order by r.next_due_at limit (select per_merchant from given)) f
       where m.next_due_at <= now() and m.id <> all ((select full_merchants from given)::uuid[])
       limit (select max_destinations from given)
    ), moved as (
      -- To the end of the lease, also of one that is not renewed: \`releaseWorkers\` makes these retries due again.
      update delivery_retries r set next_due_at = m.owned_until from mine m
       where r.place = m.place and r.destination = m.destination
    ), ${CLAIM}`)
  return claimedOf(rows)
}

/** Claims due deliveries of these destinations. */
export async function claimAt(db: Queries, destinations: Destination[], claim: Claim): Promise<Claimed> {
  const { workerId, leaseSeconds, perDestination, claimedIds } = claim
  const rows = await db.rows<ClaimedRow>(sql`
    with given (worker_id, owned_until, renew_until, per_destination, claimed_ids, places, destinations) as (
      select ${workerId}::uuid, now() + ${leaseSeconds}::integer * interval '1 second',
             now() + ${(leaseSeconds * 2) / 3}::integer * interval '1 second', ${perDestination}::bigint, ${textArray(claimedIds)}::uuid[],
             ${destinations.map(({ place }) => place)}::smallint[], ${destinations.map(({ destination }) => destination)}::text[]
    ), claimed (id) as (
      select unnest(claimed_ids) from given
    ), open as (
      select f.place, f.destination from (select unnest(places), unnest(destinations) from given) f (place, destination)
        cross join lateral (select from deliveries d
                             where d.place = f.place and d.state = 'waiting' and d.destination = f.destination and d.due_at <= now()
                               and d.id not in (select id from claimed) limit 1) due
       where not exists (select from delivery_leases l
                          where l.place = f.place and l.destination = f.destination and l.owner <> (select worker_id from given) and l.owned_until >= now())
    ), ${CLAIM}`)
  return claimedOf(rows)
}

function claimedOf(rows: ClaimedRow[]): Claimed {
  const merchantIds = new Map<string, MerchantId>() // many deliveries, few merchants
  const merchantIdOf = (uuid: string) => {
    const id = merchantIds.get(uuid) ?? idOf('merchant', uuid)
    merchantIds.set(uuid, id)
    return id
  }
  const claimed: Claimed = { deliveries: [], idle: [] }
  for (const row of rows) {
    if (row.id === null) claimed.idle.push({ place: row.place, destination: row.destination })
    else claimed.deliveries.push(dueOf(row, merchantIdOf))
  }
  return claimed
}
