import type { Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type MerchantId, uuidOf } from '../kernel/ids.ts'

export interface AuditEntry {
  /** `credential:cid_…` for the API, `cli:{user}` for the command line, `worker`, `seed`. */
  actor: string
  /** The action, such as `credential.created`. */
  act: string
  merchantId: MerchantId
  /** The object: an id or names of fields, never a secret. */
  subject: string
}

/** Writes an audit log entry in the transaction of the privileged action. The table is append-only. */
export async function recordAct(tx: Transaction, entry: AuditEntry): Promise<void> {
  await tx.rows(sql`
    insert into audit_log (actor, act, merchant_id, subject)
    values (${entry.actor}, ${entry.act}, ${uuidOf(entry.merchantId)}, ${entry.subject})`)
}
