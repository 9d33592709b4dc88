import type { FastifyRequest } from 'fastify'
import { decimalsOf, type Money } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import { checkStepUp, inMerchant } from './guard.ts'

/**
 * The merchant's limit is for all refunds of one payment together, so that small ones do not get around it. Above it,
 * support is refused and others prove their identity, in live mode. It is stored in hundredths of a unit, also for
 * currencies that have none.
 */
export function checkRefundLimit(request: FastifyRequest, { amount, currency }: Money): void {
  const { membership, session } = inMerchant(request)
  if (amount * 100 <= membership.refundLimit * 10 ** decimalsOf(currency)) return
  if (membership.role === 'support')
    throw new Problem(
      'forbidden',
      'This refund is above the limit of your role. Ask an owner or admin of the merchant.',
    )
  checkStepUp(request, session, 'second-factor in live mode')
}

/** Who names the account decides where the money goes, whatever the amount: a stolen session must not. */
export function checkRefundAccount(request: FastifyRequest): void {
  const { destinationAccountNumber } = (request.body ?? {}) as { destinationAccountNumber?: unknown }
  if (destinationAccountNumber) checkStepUp(request, inMerchant(request).session, 'second-factor in live mode')
}
