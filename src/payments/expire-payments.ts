import { placeOf } from '../kernel/ids.ts'
import { groupByPlace } from '../kernel/place.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { expire } from './state/payment-state.ts'
import { withAttempts } from './store/payment-states.ts'
import { findOverduePayments, lockOverduePayments } from './store/payments.ts'
import { writeDecision } from './write-decision.ts'

/** Expires overdue payments, oldest first, and returns how many. Safe in several processes: `for update skip locked`. */
export async function expirePayments(
  deps: Pick<PaymentDependencies, 'database' | 'clock' | 'links' | 'secrets'>,
  limit: number,
): Promise<number> {
  let count = 0
  for (const [place, ids] of groupByPlace(await findOverduePayments(deps.database, limit), placeOf)) {
    count += await deps.database.transaction(async (tx) => {
      const overdue = await withAttempts(tx, await lockOverduePayments(tx, place, ids))
      for (const before of overdue) await writeDecision(tx, deps, before, expire(before, deps.clock.now()))
      return overdue.length
    })
  }
  return count
}
