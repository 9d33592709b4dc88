import { type Currency, formatMoney, money } from '../../kernel/money.ts'
import { ASKED_BEFORE, type Facts } from '../../providers/provider.ts'
import { callProvider } from '../call-provider.ts'
import { changePayment } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { orderHandle } from '../order-handle.ts'
import type { Attempt } from '../state/attempt.ts'
import { attemptIn } from '../state/payment-state.ts'
import { type Refund, refundReference } from '../state/refund.ts'
import { refundsOf } from '../store/refunds.ts'
import { takeKnown } from './reconcile-attempt.ts'
import { markForReview, type Reconciliation } from './write-reversals.ts'

interface Said {
  facts: Facts | undefined
  at: Date
}

/**
 * A refund that failed, or that a person ended, may be made after all, and one that was made may be taken back. Where
 * the provider lists no refunds, only its notice tells. Returns how many refunds changed. Throws to retry the notice
 * later.
 */
export async function seeFailedRefunds(deps: PaymentDeps, attempt: Attempt, said: Said): Promise<number> {
  // Of other providers, a refund that is asked for again could be made again.
  if (!deps.providers.find(attempt.provider)?.capabilities.noticesHaveFacts) return 0
  const refunds = await refundsOf(deps.database, attempt.paymentId)
  let changes = 0
  for (const refund of refunds.filter((each) => isOver(each, attempt)))
    if (await seeFailed(deps, attempt, refund, said)) changes++
  return changes
}

const isOver = ({ attemptId, status, askedAt }: Refund, { id }: Attempt) =>
  attemptId === id && (status === 'failed' || status === 'successful') && askedAt !== null

async function seeFailed(deps: PaymentDeps, attempt: Attempt, refund: Refund, said: Said): Promise<boolean> {
  const { id, transactionIds, reason, createdAt: recordedAt } = refund
  const reference = refundReference(id)
  const amount = money(refund.amount, refund.currency as Currency)
  const order = await orderHandle(deps, attempt, said.facts)
  const outcome = await callProvider(deps, attempt, 'refund', (provider) =>
    // It was asked for already, so the adapter only reads what notices said.
    provider.refund({ reference, order, transactionIds, amount, reason, recordedAt, mayAsk: async () => false }),
  )
  const isMade = refund.status === 'successful'
  if (isMade ? outcome.kind !== 'refused' || !outcome.wasAccepted : outcome.kind === 'refused') return false
  if (outcome.kind === 'pending') return false
  // No notice told what became of it.
  if (outcome.kind === 'unknown' && (outcome.neverSent || outcome.because === ASKED_BEFORE.because)) return false
  return changePayment(deps, attempt.paymentId, {
    decide: (state, _, tx) => {
      const current = state.refunds.find((each) => each.id === id)
      if (current?.status !== refund.status) return false
      const refunds = state.refunds.filter(({ attemptId }) => attemptId === attempt.id)
      const work: Reconciliation = {
        ...{ tx, deps, state, attempt: attemptIn(state, attempt.id) },
        ...{ refunds, disputes: [] },
      }
      if (outcome.kind === 'unknown') {
        const why = `the provider told what became of a refund that had failed, and ${outcome.because}`
        markForReview(work, `refund_mismatch: ${why}. Compare with its dashboard.`)
        return true
      }
      if (outcome.kind === 'refused') {
        const why = `a refund of ${formatMoney(amount)} is on record as made, and the provider says that ${outcome.because}`
        markForReview(work, `refund_mismatch: ${why}. Compare with its dashboard.`)
        return true
      }
      const { refundId } = outcome
      const waits: string[] = []
      takeKnown(work, current, { refundId, reference, amount, status: 'successful', at: said.at }, waits)
      if (waits[0]) throw new Error(`a refund that had failed was made, and cannot be booked yet: ${waits[0]}`)
      return true
    },
  })
}
