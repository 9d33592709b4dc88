import type { Queries, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { firstUuidAt } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES, type Place } from '../../kernel/place.ts'
import { HOLDS_OPEN_MONEY, IS_LATE_AND_OPEN } from './transfers.ts'

// Ids begin with the time, so old rows are at the beginning of the indexes that lists use. No index by age is needed.

/** Deletes calls of attempts that began before that time. Returns when they were made. */
export async function deleteOldProviderCalls(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
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

export interface OldPayment {
  id: string
  created_at: Date
  status: string
}

/** Locks the merchant's payments after that one that began before that time, oldest first. */
export function lockOldPayments(
  tx: Transaction,
  { uuid, place }: OldPaymentsOwner,
  { mode, before, after }: { mode: Mode; before: Date; after: string },
  limit: number,
): Promise<OldPayment[]> {
  return tx.rows<OldPayment>(sql`
    select id, created_at, status from payments
     where place = ${place} and merchant_id = ${uuid} and mode = ${mode} and id > ${after}::uuid and id < ${firstUuidAt(before)}::uuid
     order by id limit ${limit} for update skip locked`)
}

/** Those of the payments that changed since, or for which something is still to be done. */
export async function findOpenPayments(tx: Transaction, place: Place, ids: string[], since: Date): Promise<string[]> {
  const rows = await tx.rows<{ id: string }>(sql`
    select payment_id as id from events where place = ${place} and payment_id = any(${ids}::uuid[]) and occurred_at >= ${since}
    union
    select payment_id from attempts
     where place = ${place} and payment_id = any(${ids}::uuid[]) and (next_check_at is not null or needs_review is not null)
    union
    -- Money that does not add up, until a person has handled it.
    select a.payment_id from attempts a where a.place = ${place} and a.payment_id = any(${ids}::uuid[]) and ${HOLDS_OPEN_MONEY}
    union
    select p.id from payments p where p.place = ${place} and p.id = any(${ids}::uuid[]) and ${IS_LATE_AND_OPEN}
    union
    select payment_id from refunds where place = ${place} and payment_id = any(${ids}::uuid[]) and status = 'pending'
    union
    select payment_id from disputes where place = ${place} and payment_id = any(${ids}::uuid[]) and status = 'open'
    union
    select e.payment_id from events e join deliveries d on d.place = e.place and d.event_id = e.id
     where e.place = ${place} and e.payment_id = any(${ids}::uuid[]) and d.state = 'waiting'
    union
    -- They count for the limit of their link.
    select p.id from payments p join links l on l.place = p.place and l.id = p.link_id
     where p.place = ${place} and p.id = any(${ids}::uuid[]) and l.active and l.max_payments is not null`)
  return rows.map(({ id }) => id)
}

/** Deletes payments with everything that belongs to them. Rows that refer to others go first. */
export async function deletePayments(tx: Transaction, place: Place, ids: string[]): Promise<void> {
  const attempts = await tx.rows<{ id: string }>(sql`
    select id from attempts where place = ${place} and payment_id = any(${ids}::uuid[])`)
  const attemptIds = attempts.map(({ id }) => id)
  await tx.rows(sql`delete from reviews where place = ${place} and payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`
    delete from reviews v using receipts r
     where r.place = ${place} and r.payment_id = any(${ids}::uuid[]) and v.place = r.place and v.receipt_id = r.id`)
  await tx.rows(sql`delete from disputes where place = ${place} and payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`delete from refunds where place = ${place} and payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`delete from receipts where place = ${place} and payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`delete from notices where place = ${place} and attempt_id = any(${attemptIds}::uuid[])`)
  await tx.rows(sql`delete from provider_calls where place = ${place} and attempt_id = any(${attemptIds}::uuid[])`)
  await tx.rows(sql`delete from attempts where place = ${place} and payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`
    delete from deliveries d using events e
     where e.place = ${place} and e.payment_id = any(${ids}::uuid[]) and d.place = e.place and d.event_id = e.id`)
  await tx.rows(sql`delete from events where place = ${place} and payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`delete from payments where place = ${place} and id = any(${ids}::uuid[])`)
}
