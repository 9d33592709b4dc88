import type { Queries } from '../../database/database.ts'
import { freshSql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

/** What came in and went out in a range, in one currency. */
export interface MoneySum {
  currency: string
  /** What customers paid. */
  gross: number
  /** As charged by the providers, or as calculated where the charged fee is not known. */
  fees: number
  /** The part of the fees that is only calculated. */
  calculated: number
  refunds: number
  /** Lost disputes. */
  disputes: number
}

/**
 * `providers`: all that there are, because the index of the receipts by time begins with the provider. What went out
 * counts when it was done, not when its payment was paid. Attempts are looked up only for a fee that is not known.
 */
export function moneySums(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { from, to, providers }: { from: Date; to: Date; providers: string[] },
): Promise<MoneySum[]> {
  const merchant = uuidOf(merchantId)
  return db.rows(freshSql`
    with money as (
      select currency, case when fee_charged is null then attempt_id end as uncharged, sum(amount) as amount, sum(fee_charged) as charged
        from receipts
       where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and provider = any(${providers})
         and taken_at >= ${from} and taken_at < ${to} and attempt_id is not null
       group by 1, 2
    ),
    sums as (
      select m.currency, m.amount as gross, coalesce(m.charged, 0) + coalesce(c.fee, 0) as fees, coalesce(c.fee, 0) as calculated,
             0 as refunds, 0 as disputes
        from money m
        left join lateral (select greatest(fee - coalesce(fee_charged, 0), 0) as fee from attempts
                            where place = ${place} and id = m.uncharged and status = 'successful') c on true
      union all
      select currency, 0, 0, 0, case kind when 'chargeback' then 0 else amount end, case kind when 'chargeback' then amount else 0 end
        from refunds
       where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and status = 'successful'
         and resolved_at >= ${from} and resolved_at < ${to}
    )
    select currency, sum(gross)::bigint as gross, sum(fees)::bigint as fees, sum(calculated)::bigint as calculated,
           sum(refunds)::bigint as refunds, sum(disputes)::bigint as disputes
      from sums group by currency order by gross desc`)
}
