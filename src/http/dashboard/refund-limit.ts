import type { FastifyRequest } from 'fastify'
import { Problem } from '../../kernel/problem.ts'
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
