import type { Queries, Transaction } from '../database/database.ts'
import { type Statement, sql } from '../database/sql.ts'
import { type MerchantId, uuidOf } from '../kernel/ids.ts'

export interface AuditEntry {
  /**
   * `credential:cid_…` for the API, `member:mem_… from {address}` for the dashboard, `cli:{user}` for the command line,
   * `visitor from {address}` for a request without a session, `worker`, `seed`.
   */
  actor: string
  /** The action, such as `credential.created`. */
  act: string
  /** Null for an action on the installation itself. */
  merchantId: MerchantId | null
  /** The object: an id or names of fields, never a secret. */
  subject: string
}

/** Writes an audit log entry in the transaction of the privileged action. The table is append-only. */
export async function recordAct(tx: Transaction, entry: AuditEntry): Promise<void> {
  await tx.rows(actRecorded(entry))
}

export function actRecorded(entry: AuditEntry): Statement {
  const { actor, address } = splitActor(entry.actor)
  const merchant = entry.merchantId && uuidOf(entry.merchantId)
  return sql`
    insert into audit_log (place, actor, address, act, merchant_id, subject)
    values (coalesce((select m.place from merchants m where m.id = ${merchant}), 0), ${actor}, ${address}, ${entry.act}, ${merchant},
            ${entry.subject})`
}

/** Operations pass the actor as one text. Its address has a column of its own. */
export function splitActor(text: string): { actor: string; address: string | null } {
  const [, actor, address] = /^(member:\S+|visitor) from (\S+)$/.exec(text) ?? []
  return actor && address ? { actor, address } : { actor: text, address: null }
}

export interface RecordedAct {
  id: number
  at: Date
  actor: string
  address: string | null
  act: string
  subject: string
}

/** Newest first. */
export function listActs(
  db: Queries,
  merchantId: MerchantId,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<RecordedAct[]> {
  return db.rows(sql`
    select id, at, actor, address, act, subject from audit_log
     where place = (select m.place from merchants m where m.id = ${uuidOf(merchantId)})
       and merchant_id = ${uuidOf(merchantId)} and id < ${before ?? Number.MAX_SAFE_INTEGER}
     order by id desc limit ${limit}`)
}
