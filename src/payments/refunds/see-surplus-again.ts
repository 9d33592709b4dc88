import { type Outcome, type RefundOutcome, unknown } from '../../providers/provider.ts'
import { callProvider } from '../call-provider.ts'
import type { PaymentDeps } from '../deps.ts'
import { orderHandle } from '../order-handle.ts'
import type { Attempt } from '../state/attempt.ts'
import { contradictionOf } from '../state/new-receipt.ts'
import type { Refund } from '../state/refund.ts'
import { hasLostMoney, totalsOf } from '../state/reversed-money.ts'
import { makeChecksDue } from '../store/attempts.ts'
import { findPaymentStateById } from '../store/payment-states.ts'
import { receiptsOf } from '../store/receipts.ts'
import { refundsOf } from '../store/refunds.ts'

/**
 * Money goes back automatically only when the provider has named it twice, and the money that paid the payment, too:
 * one wrong answer must not refund a payment. After a contradiction the refund fails, and a person decides about the
 * surplus; the next check records the contradiction. So it is when the money that paid the payment is gone by now.
 * `isMatched`: a person has decided about the surplus already.
 */
export async function seeAgain(
  deps: PaymentDeps,
  surplus: Attempt,
  isMatched: boolean,
): Promise<'seen' | RefundOutcome> {
  const state = await findPaymentStateById(deps.database, surplus.paymentId)
  const paying = state?.attempts.find(({ status }) => status === 'successful')
  const refunds = await refundsOf(deps.database, surplus.paymentId)
  const others = paying && (isMatched || paying.id !== surplus.id) ? [paying] : []
  for (const attempt of isMatched ? others : [surplus, ...others]) {
    const order = await orderHandle(deps, attempt)
    const outcome = await callProvider(deps, attempt, 'check', (client) => client.check(order))
    if (outcome.kind === 'unknown' || outcome.kind === 'processing')
      return { ...unknown('the provider has not named this money again'), neverSent: true }
    const receipts = await receiptsOf(deps.database, attempt.paymentId)
    const own = receipts.filter(({ attemptId }) => attemptId === attempt.id)
    const isContradicted = contradictionOf(own, outcome) !== undefined
    const isLost = attempt.status === 'successful' && isGone(attempt, outcome, refunds)
    if (!isContradicted && !isLost) continue
    await makeChecksDue(deps.database, attempt.paymentId)
    const because = isContradicted
      ? 'the provider did not name this money again'
      : 'the money that paid the payment went back, and this may make up for it'
    return { kind: 'refused', because: `${because}; a person must decide` }
  }
  return 'seen'
}

/** Whether the attempt lost money of its charge, by our records, or by what this answer says went back of it. */
function isGone(attempt: Attempt, outcome: Outcome, refunds: Refund[]): boolean {
  const named = 'receipts' in outcome ? outcome.receipts : []
  const { returned } = totalsOf(named.filter(({ amount }) => amount.currency === attempt.currency))
  const unsent = refunds
    .filter(({ attemptId, status, tries }) => attemptId === attempt.id && status === 'pending' && tries === 0)
    .reduce((sum, { amount }) => sum + amount, 0)
  const beyondRecords = Math.max(0, returned - Math.max(0, attempt.amountReturned - unsent))
  return hasLostMoney({ ...attempt, amountReturned: attempt.amountReturned + beyondRecords }, refunds)
}
