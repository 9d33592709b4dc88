import type { Queries } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { reasonOf } from '../../src/payments/state/case.ts'

/** Opens a case about each attempt of the payments with these references, or of all payments. */
export async function openCases(db: Queries, references: string[] | undefined, why: string): Promise<void> {
  await db.rows(sql`
    insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, subject_reference, summary, opened_at)
    select a.place, a.id, a.merchant_id, a.mode, a.payment_id, a.provider, ${reasonOf(why)}, 'attempt', a.id::text, a.reference, ${why}, now()
      from payments p join attempts a on a.payment_id = p.id
     where ${references === undefined} or p.reference = any(${references ?? []})`)
}
