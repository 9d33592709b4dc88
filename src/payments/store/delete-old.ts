import type { Queries } from '../../database/database.ts'
import { freshSql, sql, statementOf } from '../../database/sql.ts'
import { firstUuidAt } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES, type Place } from '../../kernel/place.ts'
import { HOLDS_OPEN_MONEY, IS_LATE_AND_OPEN } from './transfers.ts'

// Ids begin with the time, so old rows are at the beginning of the indexes that lists use. No index by age is needed.

/** Deletes calls of attempts that began before that time. Returns when they were made. */
export async function deleteOldProviderCalls(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const { first, last } = ALL_PLACES
  const rows = await db.rows<{ at: Date }>(freshSql`
    with old as materialized (
      select place, id from provider_calls
       where place between ${first} and ${last} and attempt_id < ${firstUuidAt(before)}::uuid and at < ${before}
       order by attempt_id limit ${limit}
    )
    delete from provider_calls c using old
     where c.place between ${first} and ${last} and c.place = old.place and c.id = old.id
    returning c.at`)
  return rows.map(({ at }) => at)
}

export interface OldPaymentsOwner {
  uuid: string
  place: Place
  hasOld: boolean
}

/** The merchants after that one, and whether they have payments that began before that time. */
export function findOwnersOfOldPayments(
  db: Queries,
  { mode, before, after }: { mode: Mode; before: Date; after: string },
  limit: number,
): Promise<OldPaymentsOwner[]> {
  return db.rows<OldPaymentsOwner>(sql`
    select m.id as uuid, m.place, o.id is not null as "hasOld"
      from (select id, place from merchants where id > ${after}::uuid order by id limit ${limit}) m
      left join lateral (
        select p.id from payments p
         where p.place = m.place and p.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} and p.merchant_id = m.id and p.mode = ${mode} and p.id < ${firstUuidAt(before)}::uuid
         order by p.id limit 1) o on true
     order by m.id`)
}

/**
 * Of the payments that were locked in the place $1: those that have changed since $7, or for which something is left to
 * do.
 */
const OPEN_PAYMENTS = `
  select payment_id from events where place = $1 and payment_id = any((select ids from locked)::uuid[]) and occurred_at >= $7
  union all
  select a.payment_id from attempts a join payments p on p.place = $1 and p.id = a.payment_id
   where a.place = $1 and a.payment_id = any((select ids from locked)::uuid[])
     and (a.next_check_at is not null or ${HOLDS_OPEN_MONEY.text})
  union all
  select payment_id from cases where place = $1 and payment_id = any((select ids from locked)::uuid[]) and closed_at is null
  union all
  select payment_id from refunds where place = $1 and payment_id = any((select ids from locked)::uuid[]) and status = 'pending'
  union all
  select payment_id from disputes where place = $1 and payment_id = any((select ids from locked)::uuid[]) and status = 'open'
  union all
  -- A lateral with a limit: for a join PostgreSQL reads every delivery that waits.
  select e.payment_id from events e
   cross join lateral (select from deliveries d where d.place = $1 and d.event_id = e.id and d.state = 'waiting' limit 1) waiting
   where e.place = $1 and e.payment_id = any((select ids from locked)::uuid[])
  union all
  select p.id from payments p
   where p.place = $1 and p.id = any((select ids from locked)::uuid[]) and (p.status = 'pending' or ${IS_LATE_AND_OPEN.text})`

const DELETE_CLOSED_PAYMENTS = `
  with found as materialized (
    select id, version from payments
     where place = $1 and merchant_id = $2 and mode = $3 and id > $4::uuid and id < $5::uuid
     order by id limit $6 for update skip locked
  ), locked (ids) as materialized (
    -- One that has changed between the start of the statement and the lock has another version. It is left for later.
    select array(select f.id from found f
                   cross join lateral (select from payments p where p.place = $1 and p.id = f.id and p.version = f.version limit 1) unchanged)
  ), closed (ids) as materialized (
    select array(select unnest(ids) from locked except (${OPEN_PAYMENTS}))
  ), parts (attempts, receipts, events) as materialized (
    -- Arrays make PostgreSQL use an index of each table, even when its statistics are old.
    select array(select id from attempts where place = $1 and payment_id = any(c.ids)),
           array(select id from receipts where place = $1 and payment_id = any(c.ids)),
           array(select id from events where place = $1 and payment_id = any(c.ids))
      from closed c
  ), deleted_reviews as (
    -- A review of unmatched money names no payment, even if the money was assigned to one later.
    delete from reviews
     where place = $1
       and (payment_id = any((select ids from closed)::uuid[]) or receipt_id = any((select receipts from parts)::bigint[]))
  ), deleted_cases as (
    delete from cases where place = $1 and payment_id = any((select ids from closed)::uuid[])
  ), deleted_disputes as (
    delete from disputes where place = $1 and payment_id = any((select ids from closed)::uuid[])
  ), deleted_refunds as (
    delete from refunds where place = $1 and payment_id = any((select ids from closed)::uuid[])
  ), deleted_receipts as (
    delete from receipts where place = $1 and id = any((select receipts from parts)::bigint[])
  ), deleted_notices as (
    delete from notices where place = $1 and attempt_id = any((select attempts from parts)::uuid[])
  ), deleted_calls as (
    delete from provider_calls where place = $1 and attempt_id = any((select attempts from parts)::uuid[])
  ), deleted_customer_receipts as (
    delete from customer_receipts where place = $1 and payment_id = any((select ids from closed)::uuid[])
  ), deleted_attempts as (
    delete from attempts where place = $1 and id = any((select attempts from parts)::uuid[])
  ), deleted_deliveries as (
    delete from deliveries where place = $1 and event_id = any((select events from parts)::uuid[])
  ), deleted_events as (
    delete from events where place = $1 and id = any((select events from parts)::uuid[])
  ), counted_links as (
    -- Payments of a link count for its limit.
    update links l set deleted_payments = l.deleted_payments + paid.payments
      from (select p.link_id, count(*) as payments from payments p
             where p.place = $1 and p.id = any((select ids from closed)::uuid[]) and p.link_id is not null and p.status = 'successful'
             group by p.link_id) paid
     where l.place = $1 and l.id = paid.link_id
  ), deleted as (
    delete from payments where place = $1 and id = any((select ids from closed)::uuid[]) returning created_at as at
  )
  select array(select at from deleted) as times, (select count(*) from found) as found, (select id from found order by id desc limit 1) as last`

export interface DeletedPayments {
  /** When the deleted ones were made. */
  times: Date[]
  /** Payments that are old enough: no more than `limit`. */
  found: number
  /** The newest of them. */
  last: string | null
}

/**
 * Of the merchant's payments after that one that began before that time, oldest first: deletes those that have ended,
 * have not changed since that time and have nothing left to do, with everything that belongs to them. It is one
 * statement: foreign keys are checked at its end, and a busy process would hold the locks while its next statement
 * waits for its turn.
 */
export async function deleteClosedPayments(
  db: Queries,
  { uuid, place }: Pick<OldPaymentsOwner, 'uuid' | 'place'>,
  { mode, before, after }: { mode: Mode; before: Date; after: string },
  limit: number,
): Promise<DeletedPayments> {
  const values = [place, uuid, mode, after, firstUuidAt(before), limit, before]
  const row = await db.row<DeletedPayments>(statementOf(DELETE_CLOSED_PAYMENTS, values))
  return row ?? { times: [], found: 0, last: null }
}
