import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import { changePayment } from './change-payment.ts'
import { expire } from './payment.ts'
import { lockOverduePayments } from './payment-store.ts'

/** Ends payments whose time is over, oldest first, and returns how many. Several processes may do it at once: each takes others. */
export function expirePayments(parts: { database: Database; clock: Clock }, limit: number): Promise<number> {
  const { database, clock } = parts
  return database.transaction(async (tx) => {
    const overdue = await lockOverduePayments(tx, limit)
    for (const before of overdue) {
      await changePayment(tx, clock, before, expire(before, clock.now()), 'payment.expired')
    }
    return overdue.length
  })
}
