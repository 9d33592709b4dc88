import type { Queries, Transaction } from '../../database/database.ts'
import { freshSql, sql, statementOf } from '../../database/sql.ts'
import { firstUuidAt } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES, type Place } from '../../kernel/place.ts'
import { HOLDS_OPEN_MONEY, IS_LATE_AND_OPEN } from './transfers.ts'

// Ids begin with the time, so old rows are at the beginning of the indexes that lists use. No index by age is needed.

/** Deletes calls of attempts that began before that time. Returns when they were made. */
export async function deleteOldProviderCalls(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(freshSql`
    with old as materialized (
      select o.place, o.id from generate_series(${ALL_PLACES.first}::integer, ${ALL_PLACES.last}::integer) as s (place)
       cross join lateral (
         select c.place, c.id from provider_calls c
          where c.place = s.place::smallint and c.attempt_id < ${firstUuidAt(before)}::uuid and c.at < ${before}
          order by c.attempt_id limit ${limit}) o
       limit ${limit}
    )
    delete from provider_calls c using old where c.place = old.place and c.id = old.id returning c.at`)
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
         where p.place = m.place and p.merchant_id = m.id and p.mode = ${mode} and p.id < ${firstUuidAt(before)}::uuid
         order by p.id limit 1) o on true
     order by m.id`)
}

/** Locks the merchant's payments after that one that began before that time, oldest first. */
export async function lockOldPayments(
  tx: Transaction,
  { uuid, place }: OldPaymentsOwner,
  { mode, before, after }: { mode: Mode; before: Date; after: string },
  limit: number,
): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    select id from payments
     where place = ${place} and merchant_id = ${uuid} and mode = ${mode} and id > ${after}::uuid and id < ${firstUuidAt(before)}::uuid
     order by id limit ${limit} for update skip locked`)
  return rows.map(({ id }) => id)
}

/** Of the payments $2 in the place $1: those that have changed since $3, or for which something is left to do. */
const OPEN_PAYMENTS = `
  select payment_id from events where place = $1 and payment_id = any($2) and occurred_at >= $3
  union all
  select a.payment_id from attempts a
   where a.place = $1 and a.payment_id = any($2)
     and (a.next_check_at is not null or a.needs_review is not null or ${HOLDS_OPEN_MONEY.text})
  union all
  select payment_id from refunds where place = $1 and payment_id = any($2) and status = 'pending'
  union all
  select payment_id from disputes where place = $1 and payment_id = any($2) and status = 'open'
  union all
  -- A lateral with a limit: for a join PostgreSQL reads every delivery that waits.
  select e.payment_id from events e
   cross join lateral (select from deliveries d where d.place = e.place and d.event_id = e.id and d.state = 'waiting' limit 1) waiting
   where e.place = $1 and e.payment_id = any($2)
  union all
  -- Payments of a link count for its limit.
  select p.id from payments p left join links l on l.place = p.place and l.id = p.link_id
   where p.place = $1 and p.id = any($2)
     and (p.status = 'pending' or ${IS_LATE_AND_OPEN.text} or l.active and l.max_payments is not null)`

const DELETE_CLOSED_PAYMENTS = `
  with closed (ids) as materialized (
    select array(select unnest($2::uuid[]) except (${OPEN_PAYMENTS}))
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
  ), deleted_attempts as (
    delete from attempts where place = $1 and id = any((select attempts from parts)::uuid[])
  ), deleted_deliveries as (
    delete from deliveries where place = $1 and event_id = any((select events from parts)::uuid[])
  ), deleted_events as (
    delete from events where place = $1 and id = any((select events from parts)::uuid[])
  )
  delete from payments where place = $1 and id = any((select ids from closed)::uuid[]) returning created_at as at`

/**
 * Deletes those of the payments that have ended, have not changed since that time and have nothing left to do, with everything that belongs
 * to them. Returns when they were made. One statement: foreign keys are checked at its end, and in a busy process each statement waits. The
 * payments are locked before, so it sees every change of them.
 */
export async function deleteClosedPayments(tx: Transaction, place: Place, ids: string[], since: Date): Promise<Date[]> {
  if (ids.length === 0) return []
  const rows = await tx.rows<{ at: Date }>(statementOf(DELETE_CLOSED_PAYMENTS, [place, ids, since]))
  return rows.map(({ at }) => at)
}
