import type { PaymentId } from '../kernel/ids.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { cancel, type PaymentState } from './state/payment-state.ts'
import { changePayment } from './write-decision.ts'

export function cancelPayment(
  deps: Pick<PaymentDependencies, 'database' | 'clock' | 'links' | 'secrets'>,
  id: PaymentId,
): Promise<PaymentState> {
  return changePayment(deps, id, async (_, before) => {
    const decision = cancel(before, deps.clock.now())
    return { decision, result: decision.state }
  })
}
