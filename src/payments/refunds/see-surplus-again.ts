import { type RefundOutcome, unknown } from '../../providers/provider.ts'
import { callProvider } from '../call-provider.ts'
import type { PaymentDeps } from '../deps.ts'
import { type Attempt, handleOf } from '../state/attempt.ts'
import { contradictionOf } from '../state/new-receipt.ts'
import { makeChecksDue } from '../store/attempts.ts'
import { findPaymentStateById } from '../store/payment-states.ts'
import { receiptsOf } from '../store/receipts.ts'

/**
 * Money goes back automatically only when the provider has named it twice, and the money that paid the payment, too:
 * one wrong answer must not refund a payment. After a contradiction the refund fails, and a person decides about the
 * surplus; the next check records the contradiction. `isMatched`: a person has decided about the surplus already.
 */
export async function seeAgain(
  deps: PaymentDeps,
  surplus: Attempt,
  isMatched: boolean,
): Promise<'seen' | RefundOutcome> {
  const state = await findPaymentStateById(deps.database, surplus.paymentId)
  const paying = state?.attempts.find(({ status }) => status === 'successful')
  const others = paying && (isMatched || paying.id !== surplus.id) ? [paying] : []
  for (const attempt of isMatched ? others : [surplus, ...others]) {
    const outcome = await callProvider(deps, attempt, 'check', (client) => client.check(handleOf(attempt)))
    if (outcome.kind === 'unknown' || outcome.kind === 'processing')
      return { ...unknown('the provider has not named this money again'), neverSent: true }
    const receipts = await receiptsOf(deps.database, attempt.paymentId)
    const own = receipts.filter(({ attemptId }) => attemptId === attempt.id)
    if (!contradictionOf(own, outcome)) continue
    await makeChecksDue(deps.database, attempt.paymentId)
    return { kind: 'refused', because: 'the provider did not name this money again; a person must decide' }
  }
  return 'seen'
}
