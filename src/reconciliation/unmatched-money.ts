import type { Database, Queries } from '../database/database.ts'
import { reversedAmount, sharesOf } from '../payments/state/reversed-money.ts'
import { type AuditScope, findRecorded } from '../payments/store/provider-audit.ts'
import { insertUnmatched, lowerReturned, readShares } from '../payments/store/receipts.ts'
import { findInOrder } from '../payments/transfers/confirm-money.ts'
import type { ListedTransaction, Providers } from '../providers/provider.ts'
import type { Compared } from './compare-entries.ts'

/** What the provider gave back of unmatched money, of what it gave back of the order. */
export async function shareOf(
  db: Queries,
  scope: AuditScope,
  { transactionId }: ListedTransaction,
  ofOrder: ListedTransaction[],
): Promise<number> {
  const recorded = await findRecorded(
    db,
    scope,
    ofOrder.map((each) => each.transactionId),
  )
  const assigned = recorded.filter(({ attemptId }) => attemptId !== null)
  const byAttempt = new Map(
    assigned.map(({ attemptId, returned, returning, byHand }) => [attemptId, returned + returning + byHand]),
  )
  const taken = assigned.reduce((sum, { amount }) => sum + amount, 0)
  const byPayments = [...byAttempt.values()].reduce((sum, returned) => sum + returned, 0)
  const known = recorded.map((each) => ({
    transactionId: each.transactionId,
    returned: each.returned,
    isAssigned: each.attemptId !== null,
    isReturnedByHand: each.returning > 0,
  }))
  return sharesOf(ofOrder, known, Math.min(byPayments, taken)).get(transactionId) ?? 0
}

/**
 * Money of no attempt that has one of our references, or is unmatched and on record: recorded as unmatched, with what
 * the provider has given back of it. A person matches it with a payment.
 */
export async function bookUnmatched(
  { database, providers }: { database: Database; providers: Providers },
  scope: AuditScope,
  { listed, ours, ofOrder, returned }: NonNullable<Compared['transaction']>,
): Promise<void> {
  if (ours && returned < ours.returned)
    return reopenFailed({ database, providers }, scope, { listed, ours, ofOrder, returned })
  const keysVersion = ours?.keysVersion ?? listed.keysVersion
  const at = { provider: scope.provider, keysVersion }
  const { returnedIsOfOrder, ...alone } = listed
  await database.transaction(async (tx) => {
    const shares = ofOrder.length > 0 && (await readShares(tx, { ...scope, ...at }, ofOrder))
    await insertUnmatched(tx, scope, at, [
      shares ? { ...alone, returned: shares.get(listed.transactionId) ?? 0 } : listed,
    ])
  })
}

/**
 * Less was given back of unmatched money than is on record: a refund failed, or is under way and not listed. The check
 * of an order counts refunds under way. With several transactions in one order, no share is certain.
 */
async function reopenFailed(
  { database, providers }: { database: Database; providers: Providers },
  scope: AuditScope,
  { listed, ours }: NonNullable<Compared['transaction']>,
): Promise<void> {
  if (!ours || listed.reference === null || ours.returning > 0) return
  const client = await providers.connect(scope, scope.provider, { keysVersion: listed.keysVersion })
  const found = await findInOrder(client, listed, listed.reference)
  if ('kind' in found || !found.returnedIsOfOrder || found.ofOrder.length > 1) return
  const returned = Math.max(reversedAmount(found), reversedAmount(listed))
  if (returned >= ours.returned) return
  const { transactionId, keysVersion, returned: recorded } = ours
  const at = { provider: scope.provider, keysVersion }
  await database.transaction((tx) => lowerReturned(tx, scope, at, { transactionId, recorded, returned }))
}
