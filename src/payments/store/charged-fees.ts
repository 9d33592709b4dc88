import type { Queries } from '../../database/database.ts'
import { freshSql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

export interface ChargedFees {
  provider: string
  currency: string
  month: string
  payments: number
  gross: number
  fees: number
  feesCharged: number
}

/** Calculated and charged fees of what was paid in a range, where the provider has named the real one. */
export function chargedFees(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { from, to }: { from: Date; to: Date },
): Promise<ChargedFees[]> {
  return db.rows(freshSql`
    select provider, currency, to_char(resolved_at at time zone 'UTC', 'YYYY-MM') as month, count(*)::integer as payments,
           sum(amount_received)::bigint as gross, sum(fee)::bigint as fees, sum(fee_charged)::bigint as "feesCharged"
      from attempts
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and status = 'successful' and fee_charged is not null
       and resolved_at >= ${from} and resolved_at < ${to}
     group by 1, 2, 3 order by 3, 1, 2`)
}
