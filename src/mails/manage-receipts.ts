import type { Database } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import { Problem } from '../kernel/problem.ts'
import type { Owner } from '../kernel/scope.ts'
import { findMerchant } from '../merchants/merchant-store.ts'
import type { ReceiptSends } from '../merchants/receipt-sends.ts'
import { readReceiptSends, saveReceiptSends } from '../payments/store/customer-receipts.ts'

/** Sets when customers of this merchant get receipts in this mode. Undefined: only reads it. */
export function changeReceipts(
  { database }: { database: Database },
  actor: string,
  owner: Owner,
  sends?: ReceiptSends,
): Promise<ReceiptSends> {
  const { merchantId, mode } = owner
  return database.transaction(async (tx) => {
    if (!(await findMerchant(tx, merchantId))) throw new Problem('not_found', `There is no merchant ${merchantId}.`)
    const before = await readReceiptSends(tx, owner)
    if (sends === undefined || sends === before) return before
    await saveReceiptSends(tx, owner, sends)
    await recordAct(tx, { actor, act: 'merchant.receipts_changed', merchantId, subject: `${mode} ${sends}` })
    return sends
  })
}
