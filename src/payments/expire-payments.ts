import type { PaymentDependencies } from './dependencies.ts'
import { expire } from './state/payment-state.ts'
import { withAttempts } from './store/payment-states.ts'
import { lockOverduePayments } from './store/payments.ts'
import { writeDecision } from './write-decision.ts'

/** Expires overdue payments, oldest first, and returns how many. Safe in several processes: `for update skip locked`. */
export function expirePayments(
  deps: Pick<PaymentDependencies, 'database' | 'clock' | 'links' | 'secrets'>,
  limit: number,
): Promise<number> {
  return deps.database.transaction(async (tx) => {
    const overdue = await withAttempts(tx, await lockOverduePayments(tx, limit))
    for (const before of overdue) await writeDecision(tx, deps, before, expire(before, deps.clock.now()))
    return overdue.length
  })
}
