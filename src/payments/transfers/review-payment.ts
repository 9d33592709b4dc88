import { actRecorded } from '../../events/audit-log-store.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { markReviewed, type PaymentState } from '../state/payment-state.ts'
import { type Handling, writeReview } from './handle-transfer.ts'

/** A person has looked at a payment that needs a review, and says what they found. */
export async function reviewPayment(
  deps: PaymentDeps,
  by: Handling & { note: string },
  id: PaymentId,
): Promise<PaymentState> {
  return changePayment(deps, id, {
    decide: (before, _, tx) => {
      const decision = markReviewed(before, { by: by.actor, note: by.note }, deps.clock.now())
      writeDecision(tx, deps, before, decision, { cause: 'review' })
      const { place, amount, currency, merchantId } = before.payment
      writeReview(tx, deps, by, { kind: 'payment', act: 'reviewed', paymentId: id, amount, currency })
      tx.write(actRecorded(place, { actor: by.actor, act: 'payment.reviewed', merchantId, subject: id }))
      return decision.state
    },
  })
}
