import { textArray } from '../database/array-literal.ts'
import type { Queries } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import { idOf, type MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Delivery } from './delivery.ts'

/** A delivery with all that it takes to send it. */
export interface DueDelivery extends Omit<Delivery, 'id'> {
  /** Its id as the database has it: it comes from there, goes back soon, and nobody sees it in between. */
  uuid: string
  body: string
  /** False when its endpoint was switched off or deleted: it must not be sent. */
  isEnabled: boolean
  /** In base64: the same for many, and as text known again at once. */
  sealedSecret: string | null
  sealedPreviousSecret: string | null
}

type ClaimedRow = DueRow | { id: null; destination: string }

interface DueRow {
  id: string
  event_id: string
  merchant_id: string
  mode: Mode
  endpoint_id: string | null
  url: string
  destination: string
  tries: number
  tries_before: number
  body: string
  enabled: boolean
  sealed_secret: string | null
  sealed_previous_secret: string | null
}

function dueOf(row: DueRow, merchantIdOf: (uuid: string) => MerchantId): DueDelivery {
  return {
    uuid: row.id,
    eventId: idOf('event', row.event_id),
    merchantId: merchantIdOf(row.merchant_id),
    mode: row.mode,
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url: row.url,
    destination: row.destination,
    tries: row.tries,
    triesBefore: row.tries_before,
    body: row.body,
    isEnabled: row.enabled,
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: row.sealed_previous_secret,
  }
}

/** What a claim needs, wherever it looks for due work. */
interface Claim {
  /** The process that claims. */
  me: string
  ownSeconds: number
  perDestination: number
  /** What this process has already, by `uuid`. */
  inHand: string[]
}

export interface Look extends Claim {
  /** Look at merchants after this one, by its uuid. */
  after: string
  maxDestinations: number
  /** Destinations for one merchant in one claim, so that a merchant with many of them does not fill it. */
  perMerchant: number
  /** Destinations that have enough in hand. */
  sated: string[]
  /** Merchants that have enough destinations in hand, by uuid. */
  crowded: string[]
}

/** `idle`: destinations that were found by their retry time, and have nothing due. */
export interface Claimed {
  deliveries: DueDelivery[]
  idle: string[]
}

/**
 * The second half of every claim. It takes the destinations of `open` for this process while its lease lasts, and reads what is due
 * for each. A process keeps a destination by claiming it again. It expects `given`, `held` and `open` before it. Parameters stand in
 * `given` alone: where they are part of a condition or a limit, PostgreSQL plans the statement again at each call, for 3 ms.
 */
const CLAIM = new Fixed(`
  mine as (
    insert into delivery_lanes as l (destination, owner, owned_until)
    select destination, me, owned_until from open cross join given
    on conflict (destination) do update set owner = excluded.owner, owned_until = excluded.owned_until
     where l.owner = excluded.owner or l.owned_until < now()
    returning destination
  )
  select m.destination, d.id, d.event_id, d.merchant_id, d.mode, d.endpoint_id, coalesce(w.url, d.url) as url, d.tries, d.tries_before,
         e.body, coalesce(w.enabled, true) as enabled, encode(coalesce(w.sealed_secret, s.sealed_secret), 'base64') as sealed_secret,
         encode(case when d.endpoint_id is not null then case when w.previous_until > now() then w.sealed_previous_secret end
                     when s.previous_until > now() then s.sealed_previous_secret end, 'base64') as sealed_previous_secret
    from mine m left join lateral (
      select id, event_id, merchant_id, mode, endpoint_id, url, tries, tries_before, due_at from deliveries
       where state = 'waiting' and destination = m.destination and due_at <= now() and id not in (select id from held)
       order by due_at limit (select per_destination from given)) d on true
    left join events e on e.id = d.event_id
    left join webhook_endpoints w on w.id = d.endpoint_id
    left join webhook_secrets s on d.endpoint_id is null and s.merchant_id = d.merchant_id and s.mode = d.mode
   order by m.destination, d.due_at`)

/**
 * Claims destinations with deliveries that have not been tried yet. Merchants, and the destinations of each, are found by hopping along
 * an index: a hundred thousand deliveries for one destination cost one hop. `past` holds the destination after which to go on, by merchant.
 */
export async function claimFirstTries(db: Queries, look: Look & { past: Map<string, string> }): Promise<Claimed> {
  const { me, ownSeconds, perDestination, inHand, after, maxDestinations, perMerchant, sated, crowded, past } = look
  const rows = await db.rows<ClaimedRow>(sql`
    with recursive given (me, owned_until, per_destination, held, after, max_destinations, per_merchant, sated, crowded) as (
      select ${me}::uuid, now() + ${ownSeconds}::integer * interval '1 second', ${perDestination}::bigint, ${textArray(inHand)}::uuid[],
             ${after}::uuid, ${maxDestinations}::bigint, ${perMerchant}::bigint, ${sated}::text[], ${crowded}::uuid[]
    ), held (id) as (
      -- "Not in" looks each up in a hash; "<> all" would compare it with every one of them.
      select unnest(held) from given
    ), past (merchant_id, destination) as (
      select * from unnest(${textArray([...past.keys()])}::uuid[], ${textArray([...past.values()])}::text[])
    ), merchants (id) as (
      (select d.merchant_id from deliveries d
        where d.state = 'waiting' and d.tries = d.tries_before and d.merchant_id > (select after from given) order by d.merchant_id limit 1)
      union all
      select (select d.merchant_id from deliveries d
               where d.state = 'waiting' and d.tries = d.tries_before and d.merchant_id > m.id order by d.merchant_id limit 1)
        from merchants m where m.id is not null
    ), open as (
      select f.destination from merchants m
        cross join lateral (
          with recursive hops (destination) as (
            (select d.destination from deliveries d
              where d.state = 'waiting' and d.tries = d.tries_before and d.merchant_id = m.id
                and d.destination > coalesce((select p.destination from past p where p.merchant_id = m.id), '')
              order by d.destination limit 1)
            union all
            select (select d.destination from deliveries d
                     where d.state = 'waiting' and d.tries = d.tries_before and d.merchant_id = m.id and d.destination > h.destination
                     order by d.destination limit 1)
              from hops h where h.destination is not null
          )
          select h.destination from hops h
            -- A lateral with a limit, not "exists": that would be turned into a join with everything that is due.
            cross join lateral (select from deliveries d
                                 where d.state = 'waiting' and d.destination = h.destination and d.due_at <= now()
                                   and d.id not in (select id from held) limit 1) due
           where h.destination is not null and h.destination <> all ((select sated from given)::text[])
             and not exists (select from delivery_lanes l
                              where l.destination = h.destination and l.owner <> (select me from given) and l.owned_until >= now())
           limit (select per_merchant from given)) f
       where m.id is not null and m.id <> all ((select crowded from given)::uuid[])
       limit (select max_destinations from given)
    ), ${CLAIM}`)
  return claimedOf(rows)
}

/**
 * Claims destinations where a retry is due. Each has one row in `delivery_retries`, so that destinations that wait cost nothing. Its
 * time is moved to the end of the lease, and is set again when the result is noted.
 */
export async function claimRetries(db: Queries, look: Look): Promise<Claimed> {
  const { me, ownSeconds, perDestination, inHand, after, maxDestinations, perMerchant, sated, crowded } = look
  const rows = await db.rows<ClaimedRow>(sql`
    with recursive given (me, owned_until, per_destination, held, after, max_destinations, per_merchant, sated, crowded) as (
      select ${me}::uuid, now() + ${ownSeconds}::integer * interval '1 second', ${perDestination}::bigint, ${textArray(inHand)}::uuid[],
             ${after}::uuid, ${maxDestinations}::bigint, ${perMerchant}::bigint, ${sated}::text[], ${crowded}::uuid[]
    ), held (id) as (
      select unnest(held) from given
    ), merchants (id, next_due_at) as (
      (select r.merchant_id, r.next_due_at from delivery_retries r
        where r.merchant_id > (select after from given) order by r.merchant_id, r.next_due_at limit 1)
      union all
      select n.merchant_id, n.next_due_at from merchants m
        cross join lateral (select r.merchant_id, r.next_due_at from delivery_retries r
                             where r.merchant_id > m.id order by r.merchant_id, r.next_due_at limit 1) n
    ), open as (
      select f.destination from merchants m
        cross join lateral (
          select r.destination from delivery_retries r
            left join lateral (select true as found from deliveries d
                                where d.state = 'waiting' and d.destination = r.destination and d.due_at <= now()
                                limit 1) due on true
            left join lateral (select true as found from deliveries d
                                where d.state = 'waiting' and d.destination = r.destination and d.due_at <= now()
                                  and d.id not in (select id from held) limit 1) free on true
           -- Not while everything that is due is in hand. A row with nothing due is claimed, to be corrected.
           where r.merchant_id = m.id and r.next_due_at <= now() and (free.found or due.found is null)
             and r.destination <> all ((select sated from given)::text[])
             and not exists (select from delivery_lanes l
                              where l.destination = r.destination and l.owner <> (select me from given) and l.owned_until >= now())
           order by r.next_due_at limit (select per_merchant from given)) f
       where m.next_due_at <= now() and m.id <> all ((select crowded from given)::uuid[])
       limit (select max_destinations from given)
    ), moved as (
      update delivery_retries r set next_due_at = g.owned_until from open o, given g where r.destination = o.destination
    ), ${CLAIM}`)
  return claimedOf(rows)
}

/** Claims what is due at these destinations. */
export async function claimAt(db: Queries, destinations: string[], claim: Claim): Promise<Claimed> {
  const { me, ownSeconds, perDestination, inHand } = claim
  const rows = await db.rows<ClaimedRow>(sql`
    with given (me, owned_until, per_destination, held, destinations) as (
      select ${me}::uuid, now() + ${ownSeconds}::integer * interval '1 second', ${perDestination}::bigint, ${textArray(inHand)}::uuid[],
             ${destinations}::text[]
    ), held (id) as (
      select unnest(held) from given
    ), open as (
      select f.destination from (select unnest(destinations) from given) f (destination)
        cross join lateral (select from deliveries d
                             where d.state = 'waiting' and d.destination = f.destination and d.due_at <= now()
                               and d.id not in (select id from held) limit 1) due
       where not exists (select from delivery_lanes l
                          where l.destination = f.destination and l.owner <> (select me from given) and l.owned_until >= now())
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
    if (row.id === null) claimed.idle.push(row.destination)
    else claimed.deliveries.push(dueOf(row, merchantIdOf))
  }
  return claimed
}

/** For others to take at once. */
export async function releaseDestinations(db: Queries, me: string): Promise<void> {
  await db.rows(sql`delete from delivery_lanes where owner = ${me}::uuid`)
}

/**
 * Deletes leases that ended an hour ago, among the next destinations after that one. Returns where to go on, or undefined at the end.
 * There is no index on the end of a lease: it would make every claim slower.
 */
export async function forgetOldLeases(db: Queries, after: string, limit: number): Promise<string | undefined> {
  const row = await db.row<{ last: string | null; count: number }>(sql`
    with page as (
      select destination, owned_until from delivery_lanes where destination > ${after} order by destination limit ${limit}
    ), gone as (
      delete from delivery_lanes l using page s
       where l.destination = s.destination and l.owned_until < now() - interval '1 hour'
    )
    select max(destination) as last, count(*) from page`)
  return row && row.count === limit ? (row.last ?? undefined) : undefined
}
