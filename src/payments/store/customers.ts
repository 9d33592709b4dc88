import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

/** What the payments of one e-mail address come to. */
export interface CustomerSummary {
  totals: { currency: string; payments: number; successful: number; amountPaid: number; amountRefunded: number }[]
  name: string | null
  phoneNumber: string | null
  /** The merchant's ids of this customer. */
  userIds: string[]
  firstAt: Date
  lastAt: Date
  /** The sums are those of the newest payments only. */
  isPartial: boolean
}

/** Payments of one customer that are summed up. A shop that uses one address for all customers has many more. */
const MAX_SUMMED = 2_000

/** Undefined if no payment has this e-mail address. */
export async function summarizeCustomer(
  db: Queries,
  { place, merchantId, mode }: Scope,
  email: string,
): Promise<CustomerSummary | undefined> {
  const rows = await db.rows<{
    currency: string
    payments: number
    successful: number
    amount_paid: number
    amount_refunded: number
    name: string | null
    phone_number: string | null
    user_ids: string[] | null
    first_at: Date
    last_at: Date
  }>(sql`
    with of_customer as materialized (
      select id, currency, status, amount_paid, amount_refunded, user_name, user_phone_number, user_id, created_at from payments
       where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and lower(user_email) = lower(${email})
       order by id desc limit ${MAX_SUMMED}
    )
    select currency, count(*) as payments, count(*) filter (where status = 'successful') as successful,
           sum(amount_paid)::bigint as amount_paid, sum(amount_refunded)::bigint as amount_refunded,
           (select o.user_name from of_customer o where o.user_name is not null order by o.id desc limit 1) as name,
           (select o.user_phone_number from of_customer o where o.user_phone_number is not null order by o.id desc limit 1) as phone_number,
           (select array_agg(distinct o.user_id) from of_customer o where o.user_id is not null) as user_ids,
           (select min(o.created_at) from of_customer o) as first_at, (select max(o.created_at) from of_customer o) as last_at
      from of_customer group by currency order by currency`)
  const [first] = rows
  if (!first) return undefined
  return {
    totals: rows.map((row) => ({
      currency: row.currency,
      payments: row.payments,
      successful: row.successful,
      amountPaid: row.amount_paid,
      amountRefunded: row.amount_refunded,
    })),
    name: first.name,
    phoneNumber: first.phone_number,
    userIds: first.user_ids ?? [],
    firstAt: first.first_at,
    lastAt: first.last_at,
    isPartial: rows.reduce((sum, { payments }) => sum + payments, 0) === MAX_SUMMED,
  }
}
