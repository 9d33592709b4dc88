import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

/** What a person has to look at, each counted up to `limit`. */
export interface Attention {
  /** What the software must not decide. */
  openCases: number
  openDisputes: number
}

/** Each count is read from an index, at any number of payments. */
export async function countAttention(
  db: Queries,
  { place, merchantId, mode }: Scope,
  limit: number,
): Promise<Attention> {
  const merchant = uuidOf(merchantId)
  const row = await db.row<Attention>(sql`
    select (select count(*) from (select from cases where place = ${place} and merchant_id = ${merchant} and mode = ${mode}
                                     and closed_at is null limit ${limit}) found) as "openCases",
           (select count(*) from (select from disputes where place = ${place} and merchant_id = ${merchant} and mode = ${mode}
                                     and status = 'open' limit ${limit}) found) as "openDisputes"`)
  return row ?? { openCases: 0, openDisputes: 0 }
}
