import { actRecorded } from '../../events/audit-log-store.ts'
import { Problem } from '../../kernel/problem.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { isLost, type Refund } from '../state/refund.ts'
import { lockRefund, saveResolved } from '../store/refunds.ts'
import { decideRefund, withRefund, withReversal } from './refund-payment.ts'

/**
 * A person has looked in the provider's dashboard: a refund that it was asked for, and does not list, was not made. It
 * fails, so its amount can be refunded again. If the provider lists it after all, it is successful.
 */
export function endRefund(
  deps: Pick<PaymentDeps, 'database' | 'clock' | 'links'>,
  { actor, note }: { actor: string; note: string },
  { id, paymentId }: Pick<Refund, 'id' | 'paymentId'>,
): Promise<Refund> {
  return changePayment(deps, paymentId, {
    read: (tx) => lockRefund(tx, id),
    decide: (before, _, tx) => {
      const refund = before.refunds.find((each) => each.id === id)
      if (!refund || !isLost(refund))
        throw new Problem(
          'conflict',
          'Only a refund that the provider was asked for, and has not listed for a day, can be ended. Read it again.',
        )
      const now = deps.clock.now()
      const failure = 'The provider did not make it, says a person.'
      const failed: Refund = { ...refund, status: 'failed', failure, needsReview: null, resolvedAt: now }
      saveResolved(tx, failed)
      const refunds = withRefund(before.refunds, failed)
      const decision = decideRefund(withReversal(before, failed.attemptId, -failed.amount), refunds, failed, now)
      writeDecision(tx, deps, before, decision, { cause: `ended by ${actor}: ${note}`, refunds })
      const { place, merchantId } = before.payment
      tx.write(actRecorded(place, { actor, act: 'refund.ended', merchantId, subject: id }))
      return failed
    },
  })
}
