import type { PaymentId } from '../../kernel/ids.ts'
import { type ChangeDependencies, changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDependencies } from '../dependencies.ts'
import { cancel, type PaymentState } from '../state/payment-state.ts'

export function cancelPayment(
  deps: ChangeDependencies & Pick<PaymentDependencies, 'database'>,
  id: PaymentId,
): Promise<PaymentState> {
  return changePayment(deps, id, {
    decide: (before, _, tx) => {
      const decision = cancel(before, deps.clock.now())
      writeDecision(tx, deps, before, decision)
      return decision.state
    },
  })
}
