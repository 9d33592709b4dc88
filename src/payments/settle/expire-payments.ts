import type { PaymentId } from '../../kernel/ids.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { expire } from '../state/payment-state.ts'
import { findOverduePayments } from '../store/payments.ts'

type Deps = Pick<PaymentDeps, 'database' | 'clock' | 'links'>

/**
 * Expires overdue payments, oldest first, and returns how many. Of two processes, one finds the payment expired. One
 * that cannot be changed, such as one that stays locked, does not keep the others from expiring: its error is thrown
 * after them.
 */
export async function expirePayments(deps: Deps, limit: number): Promise<number> {
  let count = 0
  const errors: unknown[] = []
  for (const id of await findOverduePayments(deps.database, limit)) {
    try {
      if (await expirePayment(deps, id)) count++
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
  return count
}

function expirePayment(deps: Deps, id: PaymentId): Promise<boolean> {
  return changePayment(deps, id, {
    decide: (before, _, tx) => {
      if (before.payment.status !== 'pending') return false
      writeDecision(tx, deps, before, expire(before, deps.clock.now()))
      return true
    },
  })
}
