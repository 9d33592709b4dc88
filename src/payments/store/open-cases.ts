import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES } from '../../kernel/place.ts'

/** What a person has to look at, of all merchants. For the operator; a merchant's own counts are in attention.ts. */
export interface OpenCases {
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

/** Each count is read from a partial index, and ends at `maxCounted`, of both modes together. */
export async function countOpenCases(db: Queries, maxCounted: number): Promise<CasesByMode> {
  const { first, last } = ALL_PLACES
  const rows = await db.rows<{ kind: keyof OpenCases; mode: Mode; count: number }>(sql`
    select 'needsReview' as kind, mode, count(*) as count from (
      select mode from attempts where needs_review is not null and place between ${first} and ${last} limit ${maxCounted}) d
     group by mode
    union all
    select 'unmatchedMoney', mode, count(*) from (
      select r.mode from receipts r
       where r.attempt_id is null and r.place between ${first} and ${last}
         and not exists (select from reviews v where v.place = r.place and v.receipt_id = r.id) limit ${maxCounted}) d
     group by mode
    union all
    select 'unmatchedNotices', mode, count(*) from (
      select mode from notices where state = 'unmatched' and place between ${first} and ${last} limit ${maxCounted}) d
     group by mode
    union all
    select case when stuck then 'refundsStuck' else 'refundsPending' end, mode, count(*) from (
      select mode, needs_review is not null as stuck from refunds
       where status = 'pending' and place between ${first} and ${last} limit ${maxCounted}) d
     group by stuck, mode`)
  const cases: CasesByMode = { sandbox: { ...NONE }, live: { ...NONE } }
  for (const { kind, mode, count } of rows) cases[mode][kind] = count
  for (const each of Object.values(cases)) each.refundsPending += each.refundsStuck
  return cases
}
