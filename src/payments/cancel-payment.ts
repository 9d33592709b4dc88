import type { PaymentId } from '../kernel/ids.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { cancel, type PaymentState } from './state/payment-state.ts'
import { lockPaymentState } from './store/attempts.ts'
import { writeDecision } from './write-decision.ts'

export function cancelPayment(
  deps: Pick<PaymentDependencies, 'database' | 'clock' | 'links' | 'secrets'>,
  id: PaymentId,
): Promise<PaymentState> {
  return deps.database.transaction(async (tx) => {
    const before = await lockPaymentState(tx, id)
    const decision = cancel(before, deps.clock.now())
    await writeDecision(tx, deps, before, decision)
    return decision.state
  })
}
