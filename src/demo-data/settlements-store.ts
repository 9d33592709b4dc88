import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Currency } from '../kernel/money.ts'
import type { Scope } from '../kernel/scope.ts'

/** Money of the demo payments that came or went back. */
export interface DemoMoney {
  provider: string
  kind: 'payment' | 'refund' | 'dispute'
  /** Of a receipt its transaction, of a refund that of the provider. */
  name: string
  /** Of a refund. */
  order: string | null
  amount: number
  fee: number | null
  currency: Currency
  at: Date
}

/** Oldest first. */
export function findDemoMoney(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { seed, since }: { seed: number; since: Date },
): Promise<DemoMoney[]> {
  const merchant = uuidOf(merchantId)
  return db.rows(sql`
    select r.provider, 'payment' as kind, r.transaction_id as name, null as order, r.amount, r.fee_charged as fee, r.currency, r.taken_at as at
      from receipts r
     where r.place = ${place} and r.merchant_id = ${merchant} and r.mode = ${mode} and r.taken_at >= ${since}
       and r.transaction_id like ${`demo-${seed}-%`}
    union all
    select a.provider, case f.kind when 'chargeback' then 'dispute' else 'refund' end, coalesce(f.provider_refund_id, f.id::text), a.order_reference,
           f.amount, null, f.currency, f.created_at
      from refunds f join attempts a on a.place = ${place} and a.id = f.attempt_id join payments p on p.place = ${place} and p.id = f.payment_id
     where f.place = ${place} and f.merchant_id = ${merchant} and f.mode = ${mode} and f.status = 'successful' and f.created_at >= ${since}
       and p.reference like ${`DEMO-${seed}-%`}
     order by at`)
}

/** Endpoints that are set up in the sandbox get no webhooks about settlements of the demo. */
export async function dropSettlementDeliveries(db: Queries, { place, merchantId, mode }: Scope): Promise<void> {
  await db.rows(sql`
    delete from deliveries d using events e
     where d.place = ${place} and e.place = ${place} and e.merchant_id = ${uuidOf(merchantId)} and e.mode = ${mode} and d.event_id = e.id
       and (e.type = 'settlement.difference' or e.type = 'case.opened' and e.data->'case'->>'reason' = 'settlement_difference')`)
}
