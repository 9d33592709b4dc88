import type { PaymentId } from '../../kernel/ids.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { cancel, type PaymentState } from '../state/payment-state.ts'

export function cancelPayment(
  deps: Pick<PaymentDeps, 'database' | 'clock' | 'links'>,
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
