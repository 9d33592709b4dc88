import type { Database } from '../database/database.ts'
import { type ChangeDependencies, changePayment, writeDecision } from './change-payment.ts'
import { expire } from './state/payment-state.ts'
import { findOverduePayments } from './store/payments.ts'

/** Expires overdue payments, oldest first, and returns how many. Of two processes, one finds the payment expired. */
export async function expirePayments(
  deps: ChangeDependencies & { database: Database },
  limit: number,
): Promise<number> {
  let count = 0
  for (const id of await findOverduePayments(deps.database, limit)) {
    const isExpired = await changePayment(deps, id, {
      decide: (before, _, tx) => {
        if (before.payment.status !== 'pending') return false
        writeDecision(tx, deps, before, expire(before, deps.clock.now()))
        return true
      },
    })
    if (isExpired) count++
  }
  return count
}
