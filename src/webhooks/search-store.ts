import { textArray } from '../database/array-literal.ts'
import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { ALL_PLACES, type Place } from '../kernel/place.ts'

/*
 * How claims of deliveries are fair. A job queue usually claims its oldest jobs, whoever made them: `order by run_at
 * limit n for update skip locked`. Then a dead endpoint with 100 000 due deliveries fills every batch, and all others
 * wait. Here the unit is the destination:
 *
 *   search   finds destinations with something due, in the order of merchants, a limited number of each merchant; it
 *            locks nothing
 *   claim    takes a lease on those that are free, place by place, and reads a few deliveries of each: claim-store.ts
 *
 * The next search begins where this one has ended. First tries and retries have a search each, because they are found
 * by different indexes: a destination that waits for a retry must cost the first tries nothing, however many there are.
 */

/** Where deliveries are sent, with the place of its merchant. */
export interface Destination {
  place: Place
  destination: string
}

export interface FoundDestination extends Destination {
  merchantUuid: string
}

export interface Search {
  workerId: string
  /** The search begins with the merchant after this one, by uuid. */
  after: string
  maxDestinations: number
  /** Limits the destinations of one merchant, so that a merchant with many of them does not fill the search. */
  perMerchant: number
  /** Destinations that are left out. */
  exceptDestinations: string[]
  /** Merchants that are left out, by uuid. */
  exceptMerchants: string[]
}

type FoundRow = Destination & { merchant_id: string }

const foundOf = ({ place, destination, merchant_id }: FoundRow): FoundDestination => ({
  ...{ place, destination, merchantUuid: merchant_id },
})

/**
 * Finds destinations with deliveries that have not been tried yet, or not since a merchant asked to send them again.
 * It locks nothing.
 *
 * It is fair by its order: it steps from destination to destination along an index, so that a hundred thousand
 * deliveries for one of them cost one step. After `perMerchant` destinations it steps to the next merchant. A
 * destination is found if it has something due that this worker has not claimed (`claimedIds`), and no other worker
 * has a lease on it. '~' is after every destination.
 */
export async function findFirstTries(
  db: Queries,
  search: Search & { claimedIds: string[] },
): Promise<FoundDestination[]> {
  const { workerId, after, maxDestinations, perMerchant, exceptDestinations, exceptMerchants, claimedIds } = search
  const { first, last } = ALL_PLACES
  const rows = await db.rows<FoundRow>(sql`
    with recursive steps (place, merchant_id, destination, is_found, found) as (
      select 0::smallint, ${after}::uuid, '~' collate "C", false, 0
      union all
      select next.place, next.merchant_id, next.destination, f.is_found,
             case when next.merchant_id = s.merchant_id then s.found else 0 end + f.is_found::integer
        from steps s
        cross join lateral (
          select s.found >= ${perMerchant}::integer or s.merchant_id in (select unnest(${textArray(exceptMerchants)}::uuid[]))) m (is_done)
        cross join lateral (
          select place, merchant_id, destination from deliveries
           where state = 'waiting' and tries = tries_before and place between ${first} and ${last}
             and (merchant_id, destination) > (s.merchant_id, case when m.is_done then '~' else s.destination end)
           order by merchant_id, destination limit 1) next
        cross join lateral (
          select next.merchant_id not in (select unnest(${textArray(exceptMerchants)}::uuid[]))
             and next.destination not in (select unnest(${textArray(exceptDestinations)}::text[]))
             and not exists (select from delivery_leases l
                              where l.place between ${first} and ${last} and l.place = next.place and l.destination = next.destination
                                and l.owner <> ${workerId}::uuid and l.owned_until >= now())
             and exists (select from deliveries d
                          where d.place between ${first} and ${last} and d.place = next.place and d.destination = next.destination
                            and d.state = 'waiting' and d.due_at <= now()
                            and d.id not in (select unnest(${textArray(claimedIds)}::uuid[])))) f (is_found)
    )
    select place, merchant_id, destination from steps where is_found limit ${maxDestinations}::bigint`)
  return rows.map(foundOf)
}

/**
 * Finds destinations where a retry is due, in the same order of merchants. Each has one row in `delivery_retries`, so
 * destinations that wait cost nothing. Of one merchant, those that are due for the longest time come first.
 */
export async function findRetries(db: Queries, search: Search): Promise<FoundDestination[]> {
  const { workerId, after, maxDestinations, perMerchant, exceptDestinations, exceptMerchants } = search
  const { first, last } = ALL_PLACES
  const rows = await db.rows<FoundRow>(sql`
    with recursive merchants (id) as (
      select ${after}::uuid
      union all
      select next.merchant_id from merchants m cross join lateral (
        select merchant_id from delivery_retries
         where merchant_id > m.id and place between ${first} and ${last}
         order by merchant_id limit 1) next
    )
    select due.place, due.merchant_id, due.destination from merchants m cross join lateral (
      select place, merchant_id, destination from delivery_retries r
       where merchant_id = m.id and next_due_at <= now() and place between ${first} and ${last}
         and destination not in (select unnest(${textArray(exceptDestinations)}::text[]))
         and not exists (select from delivery_leases l
                          where l.place between ${first} and ${last} and l.place = r.place and l.destination = r.destination
                            and l.owner <> ${workerId}::uuid and l.owned_until >= now())
       order by next_due_at limit ${perMerchant}::bigint) due
     where m.id > ${after}::uuid and m.id not in (select unnest(${textArray(exceptMerchants)}::uuid[]))
     limit ${maxDestinations}::bigint`)
  return rows.map(foundOf)
}
