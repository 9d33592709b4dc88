import type { Queries, Transaction } from '../database/database.ts'
import { type Statement, sql } from '../database/sql.ts'
import { type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'

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
  await tx.rows(actRecorded(entry.merchantId ? await placeOfMerchant(tx, entry.merchantId) : NO_PLACE, entry))
}

/** Of actions on the installation itself, and of a merchant that does not exist. */
const NO_PLACE: Place = 0

async function placeOfMerchant(db: Queries, id: MerchantId): Promise<Place> {
  const row = await db.row<{ place: Place }>(sql`select place from merchants where id = ${uuidOf(id)}`)
  return row?.place ?? NO_PLACE
}

export function actRecorded(place: Place, { actor: by, act, merchantId, subject }: AuditEntry): Statement {
  const { actor, address } = splitActor(by)
  return sql`
    insert into audit_log (place, actor, address, act, merchant_id, subject)
    values (${place}, ${actor}, ${address}, ${act}, ${merchantId && uuidOf(merchantId)}, ${subject})`
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
export async function listActs(
  db: Queries,
  merchantId: MerchantId,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<RecordedAct[]> {
  const place = await placeOfMerchant(db, merchantId)
  return db.rows(sql`
    select id, at, actor, address, act, subject from audit_log
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and id < ${before ?? Number.MAX_SAFE_INTEGER}
     order by id desc limit ${limit}`)
}
