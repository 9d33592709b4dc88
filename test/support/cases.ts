import type { Queries } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { reasonOf } from '../../src/payments/state/case.ts'

/** Opens a case for unmatched money that a test has written by itself. */
export async function openCasesOfMoney(db: Queries): Promise<void> {
  await db.rows(sql`
    insert into cases (place, id, merchant_id, mode, reason, subject_kind, subject, amount, currency, summary, opened_at)
    select r.place, gen_random_uuid(), r.merchant_id, r.mode, 'unmatched_money', 'receipt', r.id::text, r.amount, r.currency, 'test', now()
      from receipts r
     where r.attempt_id is null and not exists (select from reviews v where v.receipt_id = r.id)
       and not exists (select from cases c where c.subject_kind = 'receipt' and c.subject = r.id::text)`)
}

/** Opens a case about each attempt of the payments with these references, or of all payments. */
export async function openCases(db: Queries, references: string[] | undefined, why: string): Promise<void> {
  await db.rows(sql`
    insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, subject_reference, amount, currency, summary, opened_at)
    select a.place, a.id, a.merchant_id, a.mode, a.payment_id, a.provider, ${reasonOf(why)}, 'attempt', a.id::text, a.reference, a.amount_charged, a.currency, ${why}, now()
      from payments p join attempts a on a.payment_id = p.id
     where ${references === undefined} or p.reference = any(${references ?? []})`)
}
