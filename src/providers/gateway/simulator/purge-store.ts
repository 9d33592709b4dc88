import type { Queries } from '../../../database/database.ts'
import { sql } from '../../../database/sql.ts'
import { ALL_PLACES, type Place } from '../../../kernel/place.ts'

/** Deletes payments with their transactions and disputes. Cards stay: merchants have saved them. Returns when they were made. */
async function deleteOldPayments(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const old = await db.rows<{ place: Place; id: number; at: Date }>(sql`
    select place, id, created_at as at from gateway_payments
     where created_at < ${before} and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by created_at limit ${limit}`)
  const [places, ids] = [old.map(({ place }) => place), old.map(({ id }) => id)]
  await db.rows(sql`
    delete from gateway_disputes d using unnest(${places}::smallint[], ${ids}::bigint[]) as old (place, id)
     where d.place = old.place and d.payment_id = old.id`)
  await db.rows(sql`
    delete from gateway_transactions t using unnest(${places}::smallint[], ${ids}::bigint[]) as old (place, id)
     where t.place = old.place and t.payment_id = old.id`)
  await db.rows(sql`
    delete from gateway_payments p using unnest(${places}::smallint[], ${ids}::bigint[]) as old (place, id)
     where p.place = old.place and p.id = old.id`)
  return old.map(({ at }) => at)
}

/** Deletes notices that are not sent any more. Returns when they were made. */
async function deleteOldNotices(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id from gateway_notices
       where state <> 'waiting' and created_at < ${before} and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by created_at limit ${limit}
    )
    delete from gateway_notices n using old where n.place = old.place and n.id = old.id returning n.created_at as at`)
  return rows.map(({ at }) => at)
}

export const PURGES = [
  {
    kind: 'sandbox_provider_payments',
    tables: ['gateway_payments', 'gateway_transactions', 'gateway_disputes'],
    deleteOld: deleteOldPayments,
  },
  { kind: 'sandbox_provider_notices', tables: ['gateway_notices'], deleteOld: deleteOldNotices },
]
