import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { firstUuidAt, LAST_UUID, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import { FACTS, type Sum } from './rollups.ts'

const DAY_MS = 24 * 3_600_000

/**
 * `part`: which part of a chart, from 1; then provider and channel are empty, and detail too, except for times to pay.
 * Null: of all parts.
 */
export type ChartSum = Sum & { part: number | null }

/** Stored sums to add to a part of a chart, or to subtract from it. */
interface Span {
  part: number
  sign: 1 | -1
  from: Date
  to: Date
}

/**
 * The stored sums that make up each part. Where a part has days in the daily sums, these are used, and hourly sums
 * correct its two ends: a day in Lagos is the day of UTC, with the hour before it and without its last hour. `daysTo`:
 * days before this one have daily sums.
 */
export function spansOf(starts: Date[], to: Date, daysTo: Date | null): { hours: Span[]; days: Span[] } {
  const hours: Span[] = []
  const days: Span[] = []
  const bounds = [...starts, to]
  for (const [index, from] of starts.entries()) {
    const part = index + 1
    const end = bounds[part] ?? to
    const [firstDay, endDay] = [nearestDay(from), nearestDay(end)]
    const add = (spans: Span[], since: Date, until: Date) => {
      if (since < until) spans.push({ part, sign: 1, from: since, to: until })
      if (until < since) spans.push({ part, sign: -1, from: until, to: since })
    }
    const corrected = distance(from, firstDay) + distance(endDay, end)
    if (!daysTo || endDay > daysTo || corrected >= distance(from, end)) {
      add(hours, from, end)
    } else {
      add(days, firstDay, endDay)
      add(hours, from, firstDay)
      add(hours, endDay, end)
    }
  }
  return { hours, days }
}

const distance = (a: Date, b: Date) => Math.abs(b.getTime() - a.getTime())

/** The beginning of a day in UTC. */
function nearestDay(at: Date): Date {
  return new Date(Math.round(at.getTime() / DAY_MS) * DAY_MS)
}

/**
 * The sums of a merchant, for each part of a range and for all of it: `starts` are the beginnings of the parts. Facts
 * after the cursor are read from the payments and events themselves, from `recent` on, so that the newest ones are
 * counted too. Each span is summed up by itself, so that PostgreSQL reads it by the index, and does not compare all
 * rows of a merchant with all spans.
 */
export async function chartSums(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { starts, to, recent }: { starts: Date[]; to: Date; recent: Date },
): Promise<ChartSum[]> {
  const [merchant, from] = [uuidOf(merchantId), starts[0]]
  const cursor = await db.row<{ days_to: Date | null }>(sql`select days_to from rollup_cursors where place = ${place}`)
  const daysTo = cursor?.days_to ?? null
  const withDays = spansOf(starts, to, daysTo)
  const withoutDays = spansOf(starts, to, null)
  const days = arraysOf(withDays.days)
  const hours = arraysOf([...withDays.hours, ...withoutDays.hours])
  const areWithDays = [...withDays.hours.map(() => true), ...withoutDays.hours.map(() => false)]
  // `has_days` is false when there are no daily sums, or no more: they are being made again, or this is a replica that
  // is behind.
  return db.rows<ChartSum>(sql`
    with cursor as materialized (
      select c.folded_to, c.days_to from (select ${place}::smallint as place) as one left join rollup_cursors c using (place)
    ),
    daily as materialized (select coalesce(days_to >= ${daysTo}::timestamptz, false) as has_days from cursor),
    stretch as materialized (
      select ${LAST_UUID}::uuid as until, greatest(${firstUuidAt(recent)}::uuid, folded_to) as after from cursor
    ),
    facts as (${FACTS}),
    sums as (
      select s.part, r.currency, r.fact, r.provider, r.channel, r.detail, s.sign * r.count as count, s.sign * r.amount as amount
        from unnest(${hours.parts}::integer[], ${hours.signs}::integer[], ${hours.since}::timestamptz[], ${hours.until}::timestamptz[],
                    ${areWithDays}::boolean[]) as s (part, sign, since, until, with_days)
       cross join lateral (
         select n.currency, n.fact, n.provider, n.channel, n.detail, sum(n.count) as count, sum(n.amount) as amount from rollups n
          where n.place = ${place} and n.merchant_id = ${merchant} and n.mode = ${mode} and n.hour >= s.since and n.hour < s.until
          group by 1, 2, 3, 4, 5) r
       where s.with_days = (select has_days from daily)
      union all
      select s.part, r.currency, r.fact, r.provider, r.channel, r.detail, s.sign * r.count, s.sign * r.amount
        from unnest(${days.parts}::integer[], ${days.signs}::integer[], ${days.since}::timestamptz[], ${days.until}::timestamptz[])
             as s (part, sign, since, until)
       cross join lateral (
         select n.currency, n.fact, n.provider, n.channel, n.detail, sum(n.count) as count, sum(n.amount) as amount from daily_rollups n
          where n.place = ${place} and n.merchant_id = ${merchant} and n.mode = ${mode} and n.day >= s.since and n.day < s.until
          group by 1, 2, 3, 4, 5) r
       where (select has_days from daily)
      union all
      select width_bucket(at, ${starts}::timestamptz[]), currency, fact, provider, channel, detail, 1, amount from facts
       where merchant_id = ${merchant} and mode = ${mode} and at >= ${from} and at < ${to}
    ),
    parts as (
      select *, case fact when 'payment.successful' then detail else '' end as time_to_pay from sums
    )
    select part, currency, fact, coalesce(provider, '') as provider, coalesce(channel, '') as channel, coalesce(time_to_pay, detail) as detail,
           sum(count)::bigint as count, sum(amount)::bigint as amount
      from parts
     group by grouping sets ((part, currency, fact, time_to_pay), (currency, fact, provider, channel, detail))
    having sum(count) <> 0`)
}

/** The spans as the arrays that `unnest` turns into rows. */
function arraysOf(spans: Span[]) {
  return {
    parts: spans.map(({ part }) => part),
    signs: spans.map(({ sign }) => sign),
    since: spans.map(({ from }) => from),
    until: spans.map(({ to }) => to),
  }
}
