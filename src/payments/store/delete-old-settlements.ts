import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES } from '../../kernel/place.ts'

const { first, last } = ALL_PLACES

/** Deletes settlements with their lines. Returns when they were made. */
export function deleteOldSettlements(mode: Mode) {
  return async (db: Queries, before: Date, limit: number): Promise<Date[]> => {
    const rows = await db.rows<{ at: Date }>(sql`
      with old as materialized (
        select place, id from settlements
         where mode = ${mode} and made_at < ${before} and place between ${first} and ${last}
         order by made_at limit ${limit}
      ), keys (places, ids) as materialized (
        -- PostgreSQL expects few rows of an array. So it uses an index of each table, even when its statistics are old.
        select array(select place from old order by place, id), array(select id from old order by place, id)
      ), deleted_lines as (
        delete from settlement_lines l using keys cross join lateral unnest(places, ids) as o (place, id)
         where l.place between ${first} and ${last} and l.place = o.place and l.settlement_id = o.id
      )
      delete from settlements s using keys cross join lateral unnest(places, ids) as o (place, id)
       where s.place between ${first} and ${last} and s.place = o.place and s.id = o.id
      returning s.made_at as at`)
    return rows.map(({ at }) => at)
  }
}

/** Deletes credits of bank statements. Returns when they were uploaded. */
export function deleteOldCredits(mode: Mode) {
  return async (db: Queries, before: Date, limit: number): Promise<Date[]> => {
    const rows = await db.rows<{ at: Date }>(sql`
      with old as materialized (
        select place, id from bank_credits
         where mode = ${mode} and recorded_at < ${before} and place between ${first} and ${last}
         order by recorded_at limit ${limit}
      )
      delete from bank_credits c using old
       where c.place between ${first} and ${last} and c.place = old.place and c.id = old.id
      returning c.recorded_at as at`)
    return rows.map(({ at }) => at)
  }
}
