import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES } from '../../kernel/place.ts'

/** What a person has to look at, of all merchants. For the operator; a merchant's own counts are in attention.ts. */
export interface OpenCases {
  /** Without unmatched money, refunds, and money that an attempt holds. */
  needsReview: number
  unmatchedMoney: number
  unmatchedNotices: number
  refundsPending: number
  /** Of these: not finished in time. */
  refundsStuck: number
}

export type CasesByMode = Record<Mode, OpenCases>

const NONE: OpenCases = {
  needsReview: 0,
  unmatchedMoney: 0,
  unmatchedNotices: 0,
  refundsPending: 0,
  refundsStuck: 0,
}

/**
 * Each count is read from a partial index, and ends at `maxCounted` of each mode: many cases in the sandbox must not
 * hide one in live mode.
 */
export async function countOpenCases(db: Queries, maxCounted: number): Promise<CasesByMode> {
  const { first, last } = ALL_PLACES
  const rows = await db.rows<{ kind: keyof OpenCases; mode: Mode; count: number }>(sql`
    with modes (mode) as (values ('sandbox'), ('live'))
    select 'needsReview' as kind, m.mode, count(*) as count from modes m cross join lateral (
      select from cases
       where closed_at is null and mode = m.mode and reason <> 'unmatched_money' and subject_kind <> 'refund'
         and summary not like 'held: %' and place between ${first} and ${last} limit ${maxCounted}) d
     group by m.mode
    union all
    select 'unmatchedMoney', m.mode, count(*) from modes m cross join lateral (
      select from cases
       where closed_at is null and mode = m.mode and reason = 'unmatched_money' and place between ${first} and ${last} limit ${maxCounted}) d
     group by m.mode
    union all
    select 'unmatchedNotices', m.mode, count(*) from modes m cross join lateral (
      select from notices where state = 'unmatched' and mode = m.mode and place between ${first} and ${last} limit ${maxCounted}) d
     group by m.mode
    union all
    select case when d.stuck then 'refundsStuck' else 'refundsPending' end, m.mode, count(*) from modes m cross join lateral (
      select (select c.reason from cases c
               where c.place = r.place and c.place between ${first} and ${last} and c.payment_id = r.payment_id and c.subject_kind = 'refund'
                 and c.subject = r.id::text and c.closed_at is null limit 1) is not null as stuck
        from refunds r
       where r.status = 'pending' and r.mode = m.mode and r.place between ${first} and ${last} limit ${maxCounted}) d
     group by d.stuck, m.mode`)
  const cases: CasesByMode = { sandbox: { ...NONE }, live: { ...NONE } }
  for (const { kind, mode, count } of rows) cases[mode][kind] = count
  for (const each of Object.values(cases)) each.refundsPending += each.refundsStuck
  return cases
}
