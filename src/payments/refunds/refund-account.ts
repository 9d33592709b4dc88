import type { AttemptId, PaymentId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Bank, BanksAnswer } from '../../providers/provider.ts'
import { askProvider } from '../call-provider.ts'
import type { PaymentDeps } from '../deps.ts'
import type { Attempt } from '../state/attempt.ts'
import { isWaitingForAccount } from '../state/refund.ts'
import { findPaymentStateById } from '../store/payment-states.ts'
import { refundsOf } from '../store/refunds.ts'
import { capabilitiesOf } from './refund-payment.ts'

/**
 * Whether a refund of the payment needs the customer's bank account, and the banks that the provider lists.
 * `attemptId`: the attempt whose money goes back, for money that did not pay the payment.
 */
export async function refundAccountOf(
  deps: PaymentDeps,
  id: PaymentId,
  attemptId?: AttemptId,
): Promise<{ needed: boolean; provider: string; banks: Bank[] }> {
  const state = await findPaymentStateById(deps.database, id)
  const paid = state?.attempts.filter(({ amountReceived }) => amountReceived > 0) ?? []
  const attempt = attemptId
    ? paid.find((each) => each.id === attemptId)
    : (paid.find(({ status }) => status === 'successful') ?? paid.at(-1))
  if (!attempt) throw new Problem('payment_not_completed', 'Nothing was paid yet, so there is nothing to refund.')
  const { name, refundNeedsAccount = [] } = capabilitiesOf(deps, attempt)
  const needed = refundNeedsAccount.includes(attempt.channel)
  const isAsked = needed || (await refundsOf(deps.database, id)).some(isWaitingForAccount)
  return { needed, provider: name, banks: isAsked ? await listBanks(deps, attempt) : [] }
}

async function listBanks(deps: PaymentDeps, attempt: Attempt): Promise<Bank[]> {
  const { answer } = await askProvider<BanksAnswer>(
    deps,
    attempt,
    'list banks',
    async (provider) => (await provider.listBanks?.(attempt.currency)) ?? { kind: 'banks', banks: [] },
  )
  return answer.kind === 'banks' ? answer.banks : []
}
