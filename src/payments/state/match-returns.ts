import type { ListedRefund } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import type { Dispute } from './dispute.ts'
import { type Refund, refundReference } from './refund.ts'

/** What is on record about the money that went back through one attempt. */
export interface OnRecord {
  attempt: Attempt
  refunds: Refund[]
  disputes: Dispute[]
}

/** What a refund in the provider's list is, compared with what is on record. */
export type RefundMeaning =
  /** A refund that is already in our records. */
  | { kind: 'known'; refund: Refund }
  /** The money of a lost dispute, shown once more as a refund. */
  | { kind: 'settles'; dispute: Dispute }
  /** Part or all of the money that was given back before we first saw it, recorded without the provider's id of the refund. */
  | { kind: 'adopts'; refund: Refund }
  /** Made at the provider, and not on record. */
  | { kind: 'new' }
  /** It cannot be told yet what it is: guessing could count money twice or never. */
  | { kind: 'waits'; because: string }
  /** There is no money on record that it could be of. A person has to look. */
  | { kind: 'unfit'; because: string }
  | { kind: 'nothing' }

/** Explains one listed refund. `isAnother`: an earlier entry of the same list was the refund of ours with this reference. */
export function matchRefund(onRecord: OnRecord, listed: ListedRefund, isAnother: boolean): RefundMeaning {
  const { refunds, disputes } = onRecord
  const byId = refunds.find(
    ({ kind, providerRefundId }) => kind !== 'chargeback' && providerRefundId === listed.refundId,
  )
  const byReference = isAnother ? undefined : refunds.find(({ id }) => listed.reference === refundReference(id))
  const known = byId ?? byReference
  if (known) return { kind: 'known', refund: known }
  if (disputes.some(({ settledBy }) => settledBy === listed.refundId)) return { kind: 'nothing' }
  if (listed.status === 'failed') return { kind: 'nothing' }
  const meaning = explainUnknown(onRecord, listed)
  // What was given back at first sight includes refunds under way. Such a one is told by its id from here on, should it fail.
  return listed.status === 'successful' || meaning.kind === 'adopts' ? meaning : { kind: 'nothing' }
}

function explainUnknown({ attempt, refunds, disputes }: OnRecord, listed: ListedRefund): RefundMeaning {
  const { amount, currency } = listed.amount
  if (currency !== attempt.currency || amount < 1)
    return { kind: 'unfit', because: `a refund of ${amount} ${currency} is listed` }
  const counted = disputes.filter((dispute) => dispute.status === 'lost' && dispute.refundId && !dispute.settledBy)
  const linked = counted.find(({ providerDisputeId }) => providerDisputeId === listed.disputeId)
  if (linked) return { kind: 'settles', dispute: linked }
  const unanswered = refunds.filter(({ status, createdAt }) => status === 'pending' && mayBeAfter(listed.at, createdAt))
  if (listed.reference === null && unanswered.some((refund) => refund.amount === amount)) {
    // It may be any of these, or none. Each is asked for again under its own reference; after that this one can be told from them.
    return { kind: 'waits', because: 'a refund of ours of the same amount is not answered yet' }
  }
  // Some providers list the money of a lost dispute as a refund, and do not say which dispute it settles.
  const settled =
    listed.disputeId === undefined && counted.find((dispute) => dispute.amount === amount && madeAfter(listed, dispute))
  if (settled) return { kind: 'settles', dispute: settled }
  const unnamed = covering(refunds, amount, listed.at)
  if (unnamed) return { kind: 'adopts', refund: unnamed }
  const misfit = withoutRoom({ attempt, refunds }, amount)
  return misfit ?? { kind: 'new' }
}

/** Money that the provider had given back when we first saw it: on record as returned, without the provider's id of the refund. */
function isUnnamed({ kind, status, providerRefundId }: Refund): boolean {
  return kind === 'provider' && status === 'successful' && providerRefundId === null
}

const CLOCKS_DIFFER_BY_MS = 5 * 60_000

/** The row of such money that something which the provider lists with this time is a part of. One row may stand for several refunds. */
function covering(refunds: Refund[], amount: number, at: Date): Refund | undefined {
  return refunds.find(
    (refund) =>
      isUnnamed(refund) && refund.amount >= amount && at.getTime() <= refund.createdAt.getTime() + CLOCKS_DIFFER_BY_MS,
  )
}

/** What the provider made before we asked for a refund is not that refund. */
function mayBeAfter(at: Date, asked: Date): boolean {
  return at.getTime() >= asked.getTime() - CLOCKS_DIFFER_BY_MS
}

/** Why so much cannot have gone back of what came in; undefined when it can. */
export function withoutRoom(
  { attempt, refunds }: Pick<OnRecord, 'attempt' | 'refunds'>,
  amount: number,
): Extract<RefundMeaning, { kind: 'waits' | 'unfit' }> | undefined {
  if (amount <= attempt.amountReceived - attempt.amountReturned) return undefined
  // The provider was quicker than we are. Ours will be refused for that, and then there is room for this one.
  if (refunds.some(({ status }) => status === 'pending'))
    return { kind: 'waits', because: 'a refund of ours of this money is not answered yet' }
  // A refund can be announced before its payment, also for an attempt that had failed or was abandoned.
  if (attempt.status !== 'successful' && attempt.status !== 'surplus')
    return { kind: 'waits', because: 'the payment that it refunds is not on record yet' }
  return { kind: 'unfit', because: `the provider gave ${amount} back beyond what is on record` }
}

/** How the money of a lost dispute is counted. */
export type LossMeaning =
  /** By a refund that is on record. */
  | { kind: 'counted'; refund: Refund; settledBy: string | null }
  /** By money that was given back before we first saw it. */
  | { kind: 'adopts'; refund: Refund }
  /** By a new refund of kind `chargeback`. `review`: why a person has to look, when not all of it can be counted. */
  | { kind: 'chargeback'; amount: number; review: string | null }
  | { kind: 'waits'; because: string }

/** Lost money counts once: the refund that gave the same money back counts it, or else a chargeback does. */
export function matchLoss(onRecord: OnRecord, dispute: Dispute, listed: ListedRefund[]): LossMeaning {
  const { attempt, refunds, disputes } = onRecord
  const taken = new Set(disputes.filter(({ id }) => id !== dispute.id).map(({ refundId }) => refundId))
  const free = refunds.filter(({ id, status }) => status === 'successful' && !taken.has(id))
  const own = free.find(({ id }) => id === dispute.refundId) ?? free.find((refund) => isChargebackOf(refund, dispute))
  if (own) return { kind: 'counted', refund: own, settledBy: dispute.settledBy }
  for (const refund of free.filter(({ kind }) => kind === 'provider')) {
    const entry = listed.find(({ refundId }) => refundId === refund.providerRefundId)
    const isLinked = entry?.disputeId === dispute.providerDisputeId
    const isSameMoney = entry && entry.disputeId === undefined && madeAfter(entry, dispute)
    if (isLinked || (refund.amount === dispute.amount && isSameMoney))
      return { kind: 'counted', refund, settledBy: refund.providerRefundId }
  }
  const unnamed = covering(free, dispute.amount, dispute.openedAt)
  if (unnamed) return { kind: 'adopts', refund: unnamed }
  const misfit = dispute.currency === attempt.currency ? withoutRoom(onRecord, dispute.amount) : undefined
  if (misfit?.kind === 'waits') return misfit
  const room = dispute.currency === attempt.currency ? attempt.amountReceived - attempt.amountReturned : 0
  const amount = Math.min(room, dispute.amount)
  const review =
    amount < dispute.amount
      ? `dispute_lost: ${dispute.amount} ${dispute.currency} was lost, ${room} was left of what came in.`
      : null
  return { kind: 'chargeback', amount, review }
}

/** The id that a chargeback is recorded under, so that a dispute is counted once. */
export function chargebackId({ providerDisputeId }: Pick<Dispute, 'providerDisputeId'>): string {
  return `dispute-${providerDisputeId}`
}

/** Older versions recorded some chargebacks under the dispute's bare id. */
export function isChargebackOf(
  { kind, providerRefundId }: Refund,
  dispute: Pick<Dispute, 'providerDisputeId'>,
): boolean {
  return (
    kind === 'chargeback' &&
    (providerRefundId === chargebackId(dispute) || providerRefundId === dispute.providerDisputeId)
  )
}

function madeAfter({ at }: ListedRefund, { openedAt }: Dispute): boolean {
  return at >= openedAt
}
