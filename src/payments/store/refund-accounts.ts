import type { Queries, Writes } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { placeOf, type RefundId, uuidOf } from '../../kernel/ids.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { BankAccount } from '../../providers/provider.ts'

// The customer's bank account that a refund goes to, sealed, until the provider has it.

/** Associated data of the sealed bank account. */
export const refundAccountContext = (id: RefundId): string => `bank account of refund ${id}`

export async function findRefundAccount(
  db: Queries,
  secrets: SecretBox,
  id: RefundId,
): Promise<{ account: BankAccount; sealed: Buffer } | undefined> {
  const row = await db.row<{ sealed_account: Buffer | null }>(
    sql`select sealed_account from refunds where place = ${placeOf(id)} and id = ${uuidOf(id)}`,
  )
  const sealed = row?.sealed_account
  return sealed ? { account: JSON.parse(secrets.open(sealed, refundAccountContext(id))), sealed } : undefined
}

export function sealAccount(secrets: SecretBox, id: RefundId, account: BankAccount): Buffer {
  return secrets.seal(JSON.stringify(account), refundAccountContext(id))
}

/**
 * The refund is due at once, so that the worker sends it if this process dies. The caller has locked it, and it is
 * pending.
 */
export function saveRefundAccount(tx: Writes, id: RefundId, sealed: Buffer, now: Date): void {
  tx.write(sql`
    update refunds set sealed_account = ${sealed}, due_at = ${now} where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}

/** The provider has the account. */
export function forgetRefundAccount(tx: Writes, id: RefundId): void {
  tx.write(sql`update refunds set sealed_account = null where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}
