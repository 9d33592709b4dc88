import { actRecorded } from '../../events/audit-log-store.ts'
import { money } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { BankAccount } from '../../providers/provider.ts'
import { changePayment } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { isWaitingForAccount, type Refund, refundSubject } from '../state/refund.ts'
import { saveRefundAccount, sealAccount } from '../store/refund-accounts.ts'
import { leaseRefund, lockRefund } from '../store/refunds.ts'
import { reviewsOf } from '../store/reviews.ts'
import { type RefundRequest, refundedBefore, sendRefund } from './refund-payment.ts'

/**
 * Sends the customer's bank account to a provider that waits for it. The account is committed, sealed, before the
 * provider is called. It decides where the money goes, so the limit of the member applies as to a new refund.
 */
export async function retryRefund(
  deps: PaymentDeps,
  actor: string,
  { id, paymentId }: Refund,
  { account, limit }: { account: BankAccount; limit: RefundRequest['limit'] },
): Promise<Refund> {
  const refund = await changePayment(deps, paymentId, {
    read: (tx) => Promise.all([reviewsOf(tx, paymentId), lockRefund(tx, id)]),
    decide: ({ payment, refunds }, [reviews], tx) => {
      const refund = refunds.find((each) => each.id === id)
      if (!refund || !isWaitingForAccount(refund))
        throw new Problem(
          'refund_needs_no_account',
          'The provider does not wait for a bank account for this refund. Read it again.',
        )
      const others = refunds.filter((each) => each.id !== id)
      limit?.(money(refund.amount + refundedBefore(others, reviews), payment.currency))
      saveRefundAccount(tx, id, sealAccount(deps.secrets, id, account), deps.clock.now())
      const subject = refundSubject(id, account)
      tx.write(actRecorded(payment.place, { actor, act: 'refund.retried', merchantId: payment.merchantId, subject }))
      return refund
    },
  })
  // Without the lease another process is asking the provider, and sends the account next.
  const lease = await leaseRefund(deps.database, id, deps.clock.now())
  return lease ? sendRefund(deps, refund, lease) : refund
}
