import type { FastifyRequest } from 'fastify'
import type { Queries } from '../../database/database.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { refundsOf } from '../../payments/store/refunds.ts'
import { checkStepUp, inMerchant } from './guard.ts'

/**
 * The merchant's limit is for all refunds of one payment together, so that small ones do not get around it. Above it, support is refused
 * and others prove their identity, in live mode.
 */
export function checkRefundLimit(request: FastifyRequest, total: number): void {
  const { membership, session } = inMerchant(request)
  if (total <= membership.refundLimit) return
  if (membership.role === 'support')
    throw new Problem(
      'forbidden',
      'This refund is above the limit of your role. Ask an owner or admin of the merchant.',
    )
  checkStepUp(request, session, 'second-factor in live mode')
}

/** What merchants and members have refunded of a payment. */
export async function refundedBefore(db: Queries, paymentId: PaymentId): Promise<number> {
  return (await refundsOf(db, paymentId))
    .filter(({ kind, status }) => kind === 'merchant' && status !== 'failed')
    .reduce((sum, refund) => sum + refund.amount, 0)
}
