import { actRecorded } from '../../events/audit-log-store.ts'
import type { AttemptId, PaymentId } from '../../kernel/ids.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { endAttempt as end, type PaymentState } from '../state/payment-state.ts'

/** A person ends an attempt that stays in progress, and says why. */
export function endAttempt(
  deps: Pick<PaymentDeps, 'database' | 'clock' | 'links'>,
  { actor, note }: { actor: string; note: string },
  { id, paymentId }: { id: AttemptId; paymentId: PaymentId },
): Promise<PaymentState> {
  return changePayment(deps, paymentId, {
    decide: (before, _, tx) => {
      const decision = end(before, id, deps.clock.now())
      writeDecision(tx, deps, before, decision, { cause: `ended by ${actor}: ${note}` })
      const { place, merchantId } = before.payment
      tx.write(actRecorded(place, { actor, act: 'attempt.ended', merchantId, subject: id }))
      return decision.state
    },
  })
}
