import type { Database, Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import { makeChecksDue } from '../payments/store/attempts.ts'
import { findStateByOrder } from '../payments/store/payment-states.ts'
import { type AuditScope, isOrderOfAnother } from '../payments/store/provider-audit.ts'
import { insertUnmatched, lowerReturned, readShares } from '../payments/store/receipts.ts'
import { makeReconciliationDue } from '../payments/store/reconciliation.ts'
import type { Repair } from './audit-provider.ts'

/** What was done about a difference. */
export type Repaired =
  | 'check due'
  | 'recorded as unmatched'
  | 'open again'
  | 'listing of refunds due'
  | 'order of another merchant'

/**
 * Repairs what a restored database does not know. The running service does the work: it checks the order of a known
 * attempt with the provider, or lists its refunds again. Money of an unknown order is recorded as unmatched, for a
 * person to match with a payment, with what the provider has given back of it. If a refund of it failed, it is open
 * again.
 */
export function repairDifference(
  { database, actor }: { database: Database; actor: string },
  scope: AuditScope,
  repair: Repair,
): Promise<Repaired> {
  return database.transaction(async (tx) => {
    const { repaired, subject } = await apply(tx, scope, repair)
    if (subject) await recordAct(tx, { actor, act: 'audit.repaired', merchantId: scope.merchantId, subject })
    return repaired
  })
}

async function apply(
  tx: Transaction,
  scope: AuditScope,
  repair: Repair,
): Promise<{ repaired: Repaired; subject: string | null }> {
  if (repair.kind === 'reversals') {
    await makeReconciliationDue(tx, repair.attemptId)
    return { repaired: 'listing of refunds due', subject: repair.attemptId }
  }
  const { provider } = scope
  if (repair.kind === 'failed refund') {
    const isLowered = await lowerReturned(tx, scope, { provider, keysVersion: repair.keysVersion }, repair)
    return { repaired: 'open again', subject: isLowered ? `${provider} ${repair.transactionId}` : null }
  }
  const { listed, ofOrder } = repair
  const found =
    listed.reference === null
      ? undefined
      : await findStateByOrder(tx, scope, { provider, keysVersion: listed.keysVersion }, listed.reference)
  if (found && (await makeChecksDue(tx, found.attempt.paymentId)) > 0)
    return { repaired: 'check due', subject: found.attempt.id }
  if (listed.reference !== null && (await isOrderOfAnother(tx, scope, listed.reference)))
    return { repaired: 'order of another merchant', subject: null }
  const at = { provider, keysVersion: listed.keysVersion }
  const { returnedIsOfOrder, ...alone } = listed
  const shares = returnedIsOfOrder && ofOrder && (await readShares(tx, { ...scope, ...at }, ofOrder))
  await insertUnmatched(tx, scope, at, [
    shares ? { ...alone, returned: shares.get(listed.transactionId) ?? 0 } : listed,
  ])
  return { repaired: 'recorded as unmatched', subject: `${provider} ${listed.transactionId}` }
}
