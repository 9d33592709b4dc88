import type { Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type MerchantId, uuidOf } from '../kernel/ids.ts'

export interface AuditEntry {
  /** `credential:cid_…` for the API, `cli:{user}` for the command line, `worker`, `seed`. */
  actor: string
  /** What they did: `credential.created`. */
  act: string
  merchantId: MerchantId
  /** To what: an id or the names of fields, never a secret. */
  subject: string
}

/** Puts a privileged act on record, in the transaction that does it. The table takes no update and no delete. */
export async function recordAct(tx: Transaction, entry: AuditEntry): Promise<void> {
  await tx.rows(sql`
    insert into audit_log (actor, act, merchant_id, subject)
    values (${entry.actor}, ${entry.act}, ${uuidOf(entry.merchantId)}, ${entry.subject})`)
}
