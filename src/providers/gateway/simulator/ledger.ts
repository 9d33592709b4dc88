import type { Database, Transaction as DatabaseTransaction, Queries } from '../../../database/database.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { findTransactions, lockPayment } from './ledger-store.ts'
import type { Payment, PaymentKey, Transaction } from './record.ts'

/** What every change of the books needs. */
export interface LedgerDeps {
  database: Database
  clock: Clock
  publicUrl: () => string
  /** The hour of a day, in UTC, at which it settles what was taken before. */
  settlesAtHour: number
  /** Called after a commit that queued a notice. */
  wake: () => void
}

/** A payment and all that happened to it, oldest first. */
export interface Books {
  payment: Payment
  transactions: Transaction[]
}

export async function booksOf(queries: Queries, payment: Payment): Promise<Books> {
  return { payment, transactions: await findTransactions(queries, payment.place, [payment.id]) }
}

/**
 * Changes one payment's books in one transaction, alone with its row. Notices that it queued go out right after the
 * commit.
 */
export async function changeBooks<Result>(
  deps: LedgerDeps,
  key: PaymentKey,
  change: (tx: DatabaseTransaction, books: Books) => Promise<Result>,
): Promise<Result> {
  const result = await deps.database.transaction(async (tx) =>
    change(tx, await booksOf(tx, await lockPayment(tx, key))),
  )
  deps.wake()
  return result
}
