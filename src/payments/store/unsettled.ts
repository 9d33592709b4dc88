import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf, type PaymentId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

/** An account whose provider lists what it pays out. */
export interface SettlingAccount {
  provider: string
  country: string
  /** Money that was taken earlier may be in a settlement that is not on record. */
  since: Date
}

/** A payout of 60 days back is the oldest that the first reading finds. */
export async function settlingAccounts(db: Queries, { place, merchantId, mode }: Scope): Promise<SettlingAccount[]> {
  const merchant = uuidOf(merchantId)
  return db.rows<SettlingAccount>(sql`
    select i.provider, m.country, least(greatest(i.created_at, read.first - interval '60 days'), oldest.made_at) as since
      from integrations i join merchants m on m.id = i.merchant_id
     cross join lateral (select min(r.created_at) as first, bool_or(r.finished_at is not null and r.unsupported is null) as has_list
                           from reconciliation_runs r
                          where r.merchant_id = i.merchant_id and r.mode = i.mode and r.provider = i.provider and r.kind = 'settlements') as read
      left join lateral (select s.made_at from settlements s
                          where s.place = ${place} and s.merchant_id = ${merchant} and s.mode = ${mode} and s.provider = i.provider
                          order by s.id limit 1) as oldest on true
     where i.merchant_id = ${merchant} and i.mode = ${mode} and (read.has_list or oldest.made_at is not null)
     order by i.provider`)
}

export interface Unsettled {
  receiptId: number
  paymentId: PaymentId | null
  /** Reference of the payment; null for money of none. */
  payment: string | null
  provider: string
  transactionId: string
  amount: number
  currency: string
  takenAt: Date
}

interface UnsettledRow extends Omit<Unsettled, 'paymentId'> {
  payment_id: string | null
}

/** Money of the account that no settlement has, oldest first. */
export async function listUnsettled(
  db: Queries,
  { place, merchantId, mode }: Scope,
  account: Pick<SettlingAccount, 'provider' | 'since'>,
  { before, after, limit }: { before: Date; after: { takenAt: Date; receiptId: number } | undefined; limit: number },
): Promise<Unsettled[]> {
  const rows = await db.rows<UnsettledRow>(sql`
    select r.id as "receiptId", r.payment_id, r.provider, r.transaction_id as "transactionId", r.amount, r.currency, r.taken_at as "takenAt",
           (select p.reference from payments p where p.place = ${place} and p.id = r.payment_id) as payment
      from receipts r
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${account.provider}
       and r.settled_in is null and r.taken_at >= ${account.since} and r.taken_at < ${before}
       and (r.taken_at, r.id) > (${after?.takenAt ?? account.since}::timestamptz, ${after?.receiptId ?? 0}::bigint)
     order by r.taken_at, r.id limit ${limit}`)
  return rows.map(({ payment_id, ...row }) => ({
    ...row,
    paymentId: payment_id === null ? null : idOf('payment', payment_id, place),
  }))
}

export interface UnsettledSum {
  currency: string
  payments: number
  amount: number
  /** Of those: taken before the usual delay. */
  late: number
  lateAmount: number
  /** Refunds and chargebacks that no settlement has deducted by name. */
  refunds: number
  refundAmount: number
}

/** The sums of what no settlement of the account has. */
export async function sumUnsettled(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { provider, since }: Pick<SettlingAccount, 'provider' | 'since'>,
  lateBefore: Date,
): Promise<UnsettledSum[]> {
  const merchant = uuidOf(merchantId)
  return db.rows<UnsettledSum>(sql`
    select currency, sum(payments)::integer as payments, sum(amount)::bigint as amount, sum(late)::integer as late,
           sum(late_amount)::bigint as "lateAmount", sum(refunds)::integer as refunds, sum(refund_amount)::bigint as "refundAmount"
      from (
        select currency, count(*) as payments, sum(amount) as amount, count(*) filter (where taken_at < ${lateBefore}) as late,
               coalesce(sum(amount) filter (where taken_at < ${lateBefore}), 0) as late_amount, 0 as refunds, 0 as refund_amount
          from receipts
         where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and provider = ${provider} and settled_in is null
           and taken_at >= ${since}
         group by currency
        union all
        select f.currency, 0, 0, 0, 0, count(*), sum(f.amount) from refunds f
         where f.place = ${place} and f.merchant_id = ${merchant} and f.mode = ${mode} and f.settled_in is null and f.status = 'successful'
           and f.created_at >= ${since}
           and exists (select from attempts a where a.place = ${place} and a.id = f.attempt_id and a.provider = ${provider})
         group by f.currency) s
     group by currency order by currency`)
}
