import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { firstUuidAt, LAST_UUID, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Refund } from '../state/refund.ts'
import { CLOCKS_MAY_DIFFER_MS, type PaymentCriteria } from './payment-search.ts'

/**
 * The number of payments for the criteria that the table of payments can answer alone; the rows to expect. Undefined
 * with other criteria. No more than `most` are counted.
 */
export async function countPayments(
  db: Queries,
  { place, merchantId, mode }: Scope,
  criteria: PaymentCriteria,
  most: number,
): Promise<number | undefined> {
  const { search, provider, channel, needsReview, status = null, currency = null, late = false } = criteria
  const { amountFrom = null, amountTo = null, from = null, to = null } = criteria
  if (search || provider || channel || needsReview) return undefined
  const first = firstUuidAt(new Date((from?.getTime() ?? 0) - CLOCKS_MAY_DIFFER_MS))
  const last = to ? firstUuidAt(new Date(to.getTime() + CLOCKS_MAY_DIFFER_MS)) : LAST_UUID
  const row = await db.row<{ count: number }>(sql`
    select count(*) as count from (
      select from payments
       where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and id >= ${first}::uuid and id < ${last}::uuid
         and (${status}::text is null or status = ${status})
         and (${currency}::text is null or currency = ${currency})
         and (${amountFrom}::bigint is null or amount >= ${amountFrom})
         and (${amountTo}::bigint is null or amount <= ${amountTo})
         and (${from}::timestamptz is null or created_at >= ${from})
         and (${to}::timestamptz is null or created_at < ${to})
         and (not ${late}::boolean or late)
       limit ${most}) as counted`)
  return row?.count
}

export async function countRefunds(
  db: Queries,
  { place, merchantId, mode }: Scope,
  status: Refund['status'] | undefined,
  most: number,
): Promise<number | undefined> {
  const row = await db.row<{ count: number }>(sql`
    select count(*) as count from (
      select from refunds
       where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode}
         and (${status ?? null}::text is null or status = ${status ?? null})
       limit ${most}) as counted`)
  return row?.count
}
