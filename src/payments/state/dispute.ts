import type { AttemptId, DisputeId, MerchantId, PaymentId, RefundId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { ListedDispute } from '../../providers/provider.ts'

/**
 * A cardholder disputes a charge with their bank. The payment stays `successful`; lost money is counted by one refund
 * row.
 */
export interface Dispute {
  id: DisputeId
  paymentId: PaymentId
  attemptId: AttemptId
  merchantId: MerchantId
  mode: Mode
  providerDisputeId: string
  amount: number
  currency: string
  status: DisputeStatus
  reason: string | null
  /** The merchant's deadline for a response at the provider. */
  respondBy: Date | null
  /** The refund that counts the lost money: a chargeback, or the provider's own refund of the same money. */
  refundId: RefundId | null
  /** The provider's refund that settled the dispute: its money is counted by `refundId` already. */
  settledBy: string | null
  openedAt: Date
  resolvedAt: Date | null
}

export type DisputeStatus = 'open' | 'won' | 'lost'

export const DISPUTE_STATUSES: readonly DisputeStatus[] = ['open', 'won', 'lost']

/**
 * The change that a listed dispute causes. A resolved dispute can switch between won and lost (a provider may reinstate
 * the money), but never reopens: a stale list must not undo a result.
 */
export function disputeChange(known: Dispute, listed: ListedDispute): 'updated' | 'won' | 'lost' | null {
  if (listed.status !== 'open') return listed.status === known.status ? null : listed.status
  if (known.status !== 'open') return null
  const { amount, reason, respondBy } = withListed(known, listed)
  const isSame =
    amount === known.amount && reason === known.reason && respondBy?.getTime() === known.respondBy?.getTime()
  return isSame ? null : 'updated'
}

/** The dispute with the amount, reason and deadline that the provider lists now. */
export function withListed(known: Dispute, { amount, reason, respondBy }: ListedDispute): Dispute {
  const isReadable = amount.currency === known.currency && amount.amount > 0
  return {
    ...known,
    amount: isReadable ? amount.amount : known.amount,
    reason: reason ?? known.reason,
    respondBy: respondBy ?? known.respondBy,
  }
}

export function disputeView(dispute: Dispute) {
  const { id, amount, currency, status, reason } = dispute
  return {
    id,
    amount,
    currency,
    status,
    reason,
    respondBy: dispute.respondBy?.toISOString() ?? null,
    openedAt: dispute.openedAt.toISOString(),
    resolvedAt: dispute.resolvedAt?.toISOString() ?? null,
  }
}
