import type { Queries, Transaction } from '../../database/database.ts'
import { Fixed, sql, statementOf } from '../../database/sql.ts'
import { firstUuidAt, idOf, type MerchantId, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES, type Place, type PlaceRange } from '../../kernel/place.ts'

/** What the charts count: new payments, and events of these types. */
export type Fact =
  | 'payment.created'
  | 'payment.successful'
  | 'payment.cancelled'
  | 'payment.expired'
  | 'attempt.started'
  | 'attempt.successful'
  | 'attempt.failed'
  | 'attempt.abandoned'

/** A sum of facts. */
export interface Sum {
  currency: string
  fact: Fact
  provider: string
  channel: string
  detail: string
  count: number
  amount: number
}

/** A stored sum: of one hour, or of one day. */
export interface Rollup extends Sum {
  merchantId: MerchantId
  mode: Mode
  /** The beginning of the hour or day. */
  at: Date
}

/** Payments and events with ids above `after`, up to `until`. */
export interface Stretch {
  place: Place
  after: string
  until: string
}

export const FIRST_UUID = firstUuidAt(new Date(0))
/** Rows of each table in a stretch: a statement of about 50 ms. */
const STRETCH = 2_000

/** The condition of the index `events_to_sum_up`, of an event `n`, as in FACTS. */
const IS_SUMMED_UP = new Fixed(`n.type in ('payment.successful', 'payment.cancelled', 'payment.expired',
                                           'attempt.started', 'attempt.successful', 'attempt.failed', 'attempt.abandoned')`)

/**
 * The facts in a stretch, one row each. They are made of columns that never change, so that the audit gets the same
 * sums again. The limit is above every stretch; with it PostgreSQL looks up each payment and attempt, and does not read
 * the whole tables. Expects `stretch`, and the place as the first parameter of the statement.
 */
export const FACTS = new Fixed(`
    select p.merchant_id, p.mode, p.created_at as at, p.currency, 'payment.created' as fact, '' as provider, '' as channel, '' as detail, p.amount
      from merchants m cross join (values ('sandbox'), ('live')) as modes (mode) cross join lateral (
            select n.merchant_id, n.mode, n.created_at, n.currency, n.amount from payments n
             where n.place = $1 and n.merchant_id = m.id and n.mode = modes.mode
               and n.id > (select after from stretch) and n.id <= (select until from stretch)
             order by n.id limit 10000) p
     where m.place = $1
    union all
    select e.merchant_id, e.mode, e.occurred_at, p.currency, e.type, coalesce(a.provider, ''), coalesce(a.channel, ''),
           case e.type
             when 'attempt.failed' then coalesce(e.data->'attempt'->'failure'->>'code', '')
             when 'payment.successful' then coalesce((array[5,10,15,20,30,45,60,90,120,180,300,600,900,1800,3600,7200,21600,43200,86400,259200])[
               1 + width_bucket(extract(epoch from e.occurred_at - p.created_at),
                                array[5,10,15,20,30,45,60,90,120,180,300,600,900,1800,3600,7200,21600,43200,86400,259200])]::text, 'more')
             else ''
           end,
           case e.type when 'payment.successful' then p.amount else 0 end
      from (select n.merchant_id, n.mode, n.payment_id, n.type, n.occurred_at, n.data from events n
             where n.place = $1
               and n.type in ('payment.successful', 'payment.cancelled', 'payment.expired',
                              'attempt.started', 'attempt.successful', 'attempt.failed', 'attempt.abandoned')
               and n.id > (select after from stretch) and n.id <= (select until from stretch)
             order by n.id limit 10000) e
      join payments p on p.place = $1 and p.id = e.payment_id
      left join attempts a on a.place = $1 and a.reference = e.data->'attempt'->>'reference'`)

/**
 * For each place with new payments or events up to `until`: all that is new, up to its last row. It may be more than a
 * stretch.
 */
export async function findUnfolded(
  db: Queries,
  until: string,
  { first, last }: PlaceRange = ALL_PLACES,
): Promise<Stretch[]> {
  return db.rows<Stretch>(sql`
    with owners as (
      select m.id, modes.mode, m.place, coalesce(c.folded_to, ${FIRST_UUID}::uuid) as after
        from merchants m cross join (values ('sandbox'), ('live')) as modes (mode) left join rollup_cursors c on c.place = m.place
       where m.place between ${first} and ${last}
    ), places as (
      select o.place, o.after, (array_agg(p.id order by p.id desc nulls last))[1] as payment
        from owners o left join lateral (
          select n.id from payments n
           where n.place = o.place and n.place between ${first} and ${last} and n.merchant_id = o.id and n.mode = o.mode and n.id > o.after and n.id <= ${until}::uuid
           order by n.id desc limit 1) p on true
       group by o.place, o.after
    )
    select d.place, d.after, greatest(e.id, d.payment) as until
      from places d left join lateral (
        select n.id from events n where n.place = d.place and n.place between ${first} and ${last} and ${IS_SUMMED_UP} and n.id > d.after and n.id <= ${until}::uuid
         order by n.id desc limit 1) e on true
     where e.id is not null or d.payment is not null`)
}

/** The end of the stretch after `after`: at most `until`, and limited in rows. */
export async function endOfStretch(db: Queries, { place, after, until }: Stretch): Promise<string> {
  const row = await db.row<{ until: string }>(sql`
    select least(${until}::uuid,
                 (select n.id from events n
                   where n.place = ${place} and ${IS_SUMMED_UP} and n.id > ${after}::uuid and n.id <= ${until}::uuid
                   order by n.id offset ${STRETCH - 1} limit 1),
                 (select p.id from merchants m cross join (values ('sandbox'), ('live')) as modes (mode) cross join lateral (
                    select n.id from payments n
                     where n.place = ${place} and n.merchant_id = m.id and n.mode = modes.mode and n.id > ${after}::uuid and n.id <= ${until}::uuid
                     order by n.id limit ${STRETCH}) p
                   where m.place = ${place} order by p.id offset ${STRETCH - 1} limit 1)
           ) as until`)
  return row?.until ?? until
}

/**
 * Adds a stretch to the rollups and moves the cursor, in one statement. Does nothing if the cursor is not where the
 * stretch begins: another process was faster. So each fact is counted once.
 */
export async function foldStretch(db: Queries, { place, after, until }: Stretch): Promise<void> {
  if (after === FIRST_UUID)
    await db.rows(sql`
      insert into rollup_cursors (place, folded_to) values (${place}, ${FIRST_UUID}::uuid) on conflict (place) do nothing`)
  await db.rows(sql`
    with stretch as materialized (select ${place}::smallint as place, ${after}::uuid as after, ${until}::uuid as until),
    moved as (
      update rollup_cursors set folded_to = ${until}::uuid where place = ${place} and folded_to = ${after}::uuid returning place
    ),
    facts as (${FACTS})
    insert into rollups as r (place, merchant_id, mode, hour, currency, fact, provider, channel, detail, count, amount)
    select ${place}::smallint, f.merchant_id, f.mode, date_trunc('hour', f.at, 'UTC'), f.currency, f.fact, f.provider, f.channel, f.detail,
           count(*), sum(f.amount)
      from moved cross join facts f group by 2, 3, 4, 5, 6, 7, 8, 9 order by 2, 3, 4, 5, 6, 7, 8, 9
    on conflict (place, merchant_id, mode, hour, currency, fact, provider, channel, detail)
    do update set count = r.count + excluded.count, amount = r.amount + excluded.amount`)
}

/**
 * Adds the sums of one more day, from its hourly sums, if that day ends before `until`. Returns false if there is none.
 * The caller knows that with the cursor at `foldedTo` all facts before `until` are folded: after a reset they are not.
 */
export async function sumNextDay(
  db: Queries,
  { place, foldedTo }: Pick<RollupCursor, 'place' | 'foldedTo'>,
  until: Date,
): Promise<boolean> {
  const row = await db.row(sql`
    with owners as (
      select m.id, mode from merchants m cross join (values ('sandbox'), ('live')) as modes (mode) where m.place = ${place}
    ),
    next as materialized (
      select c.days_to, coalesce(c.days_to, (
        select date_trunc('day', min(f.hour), 'UTC') from owners o cross join lateral (
          select hour from rollups where place = ${place} and merchant_id = o.id and mode = o.mode order by hour limit 1) f)) as day
        from rollup_cursors c where c.place = ${place}
    ),
    moved as (
      update rollup_cursors c set days_to = n.day + interval '24 hours' from next n
       where c.place = ${place} and c.folded_to >= ${foldedTo}::uuid and c.days_to is not distinct from n.days_to
         and n.day + interval '24 hours' <= ${until}
      returning n.day
    ),
    summed as (
      insert into daily_rollups (place, merchant_id, mode, day, currency, fact, provider, channel, detail, count, amount)
      select ${place}::smallint, o.id, o.mode, m.day, r.currency, r.fact, r.provider, r.channel, r.detail, sum(r.count), sum(r.amount)
        from moved m cross join owners o
        join rollups r on r.place = ${place} and r.merchant_id = o.id and r.mode = o.mode and r.hour >= m.day and r.hour < m.day + interval '24 hours'
       group by 2, 3, 4, 5, 6, 7, 8, 9
    )
    select day from moved`)
  return row !== undefined
}

/** Deletes the rollups of a place: they are made again from its first payment on. */
export async function resetRollups(tx: Transaction, place: Place): Promise<void> {
  // The cursor first: its lock waits for a fold that is being written.
  await tx.rows(sql`update rollup_cursors set folded_to = ${FIRST_UUID}::uuid, days_to = null where place = ${place}`)
  await tx.rows(sql`delete from rollups where place = ${place}`)
  await tx.rows(sql`delete from daily_rollups where place = ${place}`)
}

export interface RollupCursor {
  place: Place
  /** Payments and events with ids up to this one are in the hourly sums. */
  foldedTo: string
  /** Days before this one are in the daily sums. */
  daysTo: Date | null
}

export async function listCursors(db: Queries): Promise<RollupCursor[]> {
  return db.rows(sql`
    select place, folded_to as "foldedTo", days_to as "daysTo" from rollup_cursors
     where place between ${ALL_PLACES.first} and ${ALL_PLACES.last} order by place`)
}

interface RollupRow extends Sum {
  merchant_id: string
  mode: Mode
  at: Date
}

const rollupOf = ({ merchant_id, ...row }: RollupRow): Rollup => ({ ...row, merchantId: idOf('merchant', merchant_id) })

/** The sums of a stretch by hour, from the payments and events themselves. */
export async function sumStretch(db: Queries, { place, after, until }: Stretch): Promise<Rollup[]> {
  const rows = await db.rows<RollupRow>(sql`
    with stretch as materialized (select ${place}::smallint as place, ${after}::uuid as after, ${until}::uuid as until),
    facts as (${FACTS})
    select merchant_id, mode, date_trunc('hour', at, 'UTC') as at, currency, fact, provider, channel, detail,
           count(*) as count, sum(amount)::bigint as amount
      from facts group by 1, 2, 3, 4, 5, 6, 7, 8`)
  return rows.map(rollupOf)
}

const UNITS = { hour: 'rollups', day: 'daily_rollups' }

/** The stored sums of a place by hour or by day, after the given one (keyset pagination). */
export async function rollupsAfter(
  db: Queries,
  unit: keyof typeof UNITS,
  place: Place,
  last: Rollup | undefined,
  limit: number,
): Promise<Rollup[]> {
  const none = { at: new Date(0), mode: '', currency: '', fact: '', provider: '', channel: '', detail: '' }
  const { at, mode, currency, fact, provider, channel, detail } = last ?? none
  const key = `merchant_id, mode, ${unit}, currency, fact, provider, channel, detail`
  const text = `
    select merchant_id, mode, ${unit} as at, currency, fact, provider, channel, detail, count, amount from ${UNITS[unit]}
     where place = $1 and (${key}) > ($2::uuid, $3, $4, $5, $6, $7, $8, $9)
     order by ${key} limit $10`
  const merchant = last ? uuidOf(last.merchantId) : FIRST_UUID
  const rows = await db.rows<RollupRow>(
    statementOf(text, [place, merchant, mode, at, currency, fact, provider, channel, detail, limit]),
  )
  return rows.map(rollupOf)
}

/** Whether payments or events older than `recent` wait to be folded: then the newest are not in the charts yet. */
export async function isBehind(db: Queries, place: Place, recent: Date): Promise<boolean> {
  const until = firstUuidAt(recent)
  const row = await db.row<{ behind: boolean }>(sql`
    with start as (
      select coalesce((select folded_to from rollup_cursors where place = ${place}), ${FIRST_UUID}::uuid) as id
    )
    select exists (select from merchants m cross join (values ('sandbox'), ('live')) as modes (mode) cross join lateral (
                     select from payments n
                      where n.place = ${place} and n.merchant_id = m.id and n.mode = modes.mode
                        and n.id > (select id from start) and n.id < ${until}::uuid
                      order by n.id limit 1) p
                    where m.place = ${place})
        or exists (select from events n
                    where n.place = ${place} and ${IS_SUMMED_UP} and n.id > (select id from start) and n.id < ${until}::uuid
                    order by n.id limit 1) as behind`)
  return row?.behind ?? false
}
