import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { firstUuidAt, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

/** What a person has to look at, each counted up to `limit`. */
export interface Attention {
  /** Attempts whose outcome the software cannot decide. */
  reviews: number
  openDisputes: number
  /** Refunds that failed since `since`. */
  failedRefunds: number
}

/** Each count is read from an index, at any number of payments. */
export async function countAttention(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { since, limit }: { since: Date; limit: number },
): Promise<Attention> {
  const merchant = uuidOf(merchantId)
  const row = await db.row<Attention>(sql`
    select (select count(*) from (select from cases where place = ${place} and merchant_id = ${merchant} and mode = ${mode}
                                     and closed_at is null and subject_kind = 'attempt' and summary not like 'held: %' limit ${limit}) found) as reviews,
           (select count(*) from (select from disputes where place = ${place} and merchant_id = ${merchant} and mode = ${mode}
                                     and status = 'open' limit ${limit}) found) as "openDisputes",
           (select count(*) from (select from refunds where place = ${place} and merchant_id = ${merchant} and mode = ${mode}
                                     and status = 'failed' and id >= ${firstUuidAt(since)}::uuid limit ${limit}) found) as "failedRefunds"`)
  return row ?? { reviews: 0, openDisputes: 0, failedRefunds: 0 }
}
