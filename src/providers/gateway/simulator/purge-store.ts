import type { Queries } from '../../../database/database.ts'
import { sql } from '../../../database/sql.ts'
import { ALL_PLACES } from '../../../kernel/place.ts'

const { first, last } = ALL_PLACES

/**
 * Deletes payments with their transactions and disputes. Cards stay: merchants have saved them. Returns when they were
 * made.
 */
async function deleteOldPayments(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id, created_at as at from gateway_payments
       where created_at < ${before} and place between ${first} and ${last}
       order by created_at limit ${limit}
    ), keys (places, ids) as materialized (
      -- PostgreSQL expects few rows of an array. So it uses an index of each table, even when its statistics are old.
      select array(select place from old order by place, id), array(select id from old order by place, id)
    ), deleted_disputes as (
      delete from gateway_disputes d using keys cross join lateral unnest(places, ids) as o (place, id)
       where d.place between ${first} and ${last} and d.place = o.place and d.payment_id = o.id
    ), deleted_transactions as (
      delete from gateway_transactions t using keys cross join lateral unnest(places, ids) as o (place, id)
       where t.place between ${first} and ${last} and t.place = o.place and t.payment_id = o.id
    ), deleted_payments as (
      delete from gateway_payments p using keys cross join lateral unnest(places, ids) as o (place, id)
       where p.place between ${first} and ${last} and p.place = o.place and p.id = o.id
    )
    select at from old`)
  return rows.map(({ at }) => at)
}

/** Deletes notices that are not sent any more. Returns when they were made. */
async function deleteOldNotices(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id from gateway_notices
       where state <> 'waiting' and created_at < ${before} and place between ${first} and ${last}
       order by created_at limit ${limit}
    )
    delete from gateway_notices n using old
     where n.place between ${first} and ${last} and n.place = old.place and n.id = old.id
    returning n.created_at as at`)
  return rows.map(({ at }) => at)
}

/** The transactions go with their payments. Returns when the settlements were made. */
async function deleteOldSettlements(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id from gateway_settlements
       where made_at < ${before} and place between ${first} and ${last}
       order by made_at limit ${limit}
    )
    delete from gateway_settlements s using old
     where s.place between ${first} and ${last} and s.place = old.place and s.id = old.id
    returning s.made_at as at`)
  return rows.map(({ at }) => at)
}

export const PURGES = [
  {
    kind: 'sandbox_provider_payments',
    tables: ['gateway_payments', 'gateway_transactions', 'gateway_disputes'],
    deleteOld: deleteOldPayments,
  },
  { kind: 'sandbox_provider_settlements', tables: ['gateway_settlements'], deleteOld: deleteOldSettlements },
  { kind: 'sandbox_provider_notices', tables: ['gateway_notices'], deleteOld: deleteOldNotices },
]
