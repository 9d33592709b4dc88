import { recordAct } from '../events/audit-log-store.ts'
import type { PaymentId } from '../kernel/ids.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type Handling, write } from './handle-transfer.ts'
import { markReviewed, type PaymentState } from './state/payment-state.ts'
import { lockPaymentState } from './store/payment-states.ts'
import { writeDecision } from './write-decision.ts'

/** A person has looked at a payment that needs a review, and says what they found. */
export async function reviewPayment(
  deps: PaymentDependencies,
  by: Handling & { note: string },
  id: PaymentId,
): Promise<PaymentState> {
  return deps.database.transaction(async (tx) => {
    const before = await lockPaymentState(tx, id)
    const decision = markReviewed(before)
    await writeDecision(tx, deps, before, decision, { cause: 'review' })
    const { amount, currency, merchantId } = before.payment
    await write(tx, deps, by, { kind: 'payment', act: 'reviewed', paymentId: id, amount, currency })
    await recordAct(tx, { actor: by.actor, act: 'payment.reviewed', merchantId, subject: id })
    return decision.state
  })
}
