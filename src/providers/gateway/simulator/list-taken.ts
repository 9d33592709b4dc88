import { findTaken, type PageRange } from './dispute-store.ts'
import { cursorAfter } from './disputes.ts'
import type { LedgerDeps } from './ledger.ts'
import { findTransactions } from './ledger-store.ts'
import { placeOfMerchant } from './place.ts'
import { type Transaction, transactionId } from './record.ts'

/**
 * A page of what was taken in a range of time. `refunded` is what was given back of that transaction, see `shareOf`.
 */
export async function listTaken({ database }: LedgerDeps, merchantUuid: string, range: PageRange) {
  const taken = await findTaken(database, merchantUuid, range)
  const all = await findTransactions(database, placeOfMerchant(merchantUuid), [
    ...new Set(taken.map(({ paymentId }) => paymentId)),
  ])
  const byPayment = Map.groupBy(all, ({ paymentId }) => paymentId)
  return {
    transactions: taken.map((transaction) => ({
      id: transactionId(transaction),
      reference: transaction.reference,
      amount: transaction.amount,
      currency: transaction.currency,
      at: transaction.at.toISOString(),
      refunded: shareOf(transaction, byPayment.get(transaction.paymentId) ?? [], transaction.refunded),
    })),
    nextCursor: cursorAfter(taken, range),
  }
}

/** The ledger counts what was given back by payment. The newest transactions are taken to have gone back first. */
function shareOf({ id, amount }: Pick<Transaction, 'id' | 'amount'>, all: Transaction[], refunded: number): number {
  const newer = all
    .filter((other) => (other.kind === 'charge' || other.kind === 'transfer') && other.status === 'paid')
    .filter((other) => other.id > id)
    .reduce((sum, other) => sum + other.amount, 0)
  return Math.min(amount, Math.max(0, refunded - newer))
}
