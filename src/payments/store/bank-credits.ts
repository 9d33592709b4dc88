import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import { certainPairs } from '../state/bank-statement.ts'

/** Days by which a bank may book a payout earlier or later than its provider says. */
const [DAYS_EARLIER, DAYS_LATER] = [1, 4]

/**
 * Gives each payout its credit on the bank statement: equal amounts, days close to each other, and no other payout or
 * credit that would fit as well. Returns how many were matched.
 */
export async function matchCredits(tx: Transaction, { place, merchantId, mode }: Scope): Promise<number> {
  const merchant = uuidOf(merchantId)
  const candidates = await tx.rows<{ settlement: string; credit: number }>(sql`
    select s.id as settlement, c.id as credit
      from settlements s
      join bank_credits c on c.place = ${place} and c.merchant_id = ${merchant} and c.mode = ${mode} and c.currency = s.currency and c.amount = s.net
       and c.day between coalesce((s.paid_at at time zone 'UTC')::date, s.expected_on) - ${DAYS_EARLIER}::integer
                     and coalesce((s.paid_at at time zone 'UTC')::date, s.expected_on) + ${DAYS_LATER}::integer
     where s.place = ${place} and s.merchant_id = ${merchant} and s.mode = ${mode} and s.status = 'paid' and s.credit_id is null
       and not exists (select from settlements o where o.place = ${place} and o.credit_id = c.id)`)
  const pairs = certainPairs(candidates)
  if (pairs.length > 0)
    await tx.rows(sql`
      update settlements s set credit_id = l.credit
        from unnest(${pairs.map(({ settlement }) => settlement)}::uuid[], ${pairs.map(({ credit }) => credit)}::bigint[]) as l (settlement, credit)
       where s.place = ${place} and s.id = l.settlement and s.credit_id is null`)
  return pairs.length
}
