import type { RefundId } from '../../kernel/ids.ts'
import { type Currency, formatMoney, type Money, money } from '../../kernel/money.ts'
import type { ListedRefund } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import type { Dispute } from './dispute.ts'
import { type Refund, refundReference } from './refund.ts'

/** The recorded refunds and disputes of one attempt. */
export interface OnRecord {
  attempt: Attempt
  refunds: Refund[]
  disputes: Dispute[]
  /** The refunds that a person recorded as returned by hand, perhaps in the provider's dashboard. */
  byHand?: ReadonlySet<RefundId>
}

/** How a refund in the provider's list matches our records. */
export type RefundMatch =
  /** The provider lists the money of a lost dispute as a refund, too. */
  | { kind: 'settles'; dispute: Dispute }
  /** A part of money that was reversed before we first saw it and recorded without the provider's refund id. */
  | { kind: 'adopts'; refund: Refund }
  /** Made at the provider and not recorded yet. `review`: it may be money that is counted already. */
  | { kind: 'new'; review?: string }
  /** Not decidable yet: guessing could count money twice or never. */
  | { kind: 'waits'; because: string }
  /** It exceeds the recorded money. A person has to review it. */
  | { kind: 'unfit'; because: string }
  | { kind: 'nothing' }

/** Of several tries with one reference, the successful one counts, then a pending one. */
export function rankOf({ status }: ListedRefund): number {
  return { successful: 0, pending: 1, failed: 2 }[status]
}

/**
 * Which listed refund is which of our records: by the provider's id, else by our reference. Each of ours is one refund
 * at the provider. Another successful one with the same reference was made twice, and is money of its own.
 */
export function matchKnown({ refunds }: Pick<OnRecord, 'refunds'>, listed: ListedRefund[]): Map<ListedRefund, Refund> {
  const own = refunds.filter(({ kind }) => kind !== 'chargeback')
  const known = new Map<ListedRefund, Refund>()
  for (const refund of own) {
    const byId = listed.filter(({ refundId }) => refundId === refund.providerRefundId)
    const isFree = ({ refundId }: ListedRefund) => !own.some(({ providerRefundId }) => providerRefundId === refundId)
    const byReference = listed.filter((each) => each.reference === refundReference(refund.id) && isFree(each))
    const [best] = [...byId, ...byReference].toSorted((a, b) => rankOf(a) - rankOf(b))
    if (best) known.set(best, refund)
  }
  return known
}

/** Matches a listed refund that is none of `matchKnown`. */
export function matchRefund(onRecord: OnRecord, listed: ListedRefund): RefundMatch {
  const { disputes } = onRecord
  if (disputes.some(({ settledBy }) => settledBy === listed.refundId)) return { kind: 'nothing' }
  if (listed.status === 'failed') return { kind: 'nothing' }
  const match = matchUnknownRefund(onRecord, listed)
  // Money that was reversed at first sight includes pending refunds. With their id on record, a later failure is
  // recognised.
  return listed.status === 'successful' || match.kind === 'adopts' ? match : { kind: 'nothing' }
}

function matchUnknownRefund(onRecord: OnRecord, listed: ListedRefund): RefundMatch {
  const { attempt, refunds, disputes } = onRecord
  const { amount, currency } = listed.amount
  if (currency !== attempt.currency || amount < 1)
    return { kind: 'unfit', because: `a refund of ${formatMoney(listed.amount)} is listed` }
  const counted = disputes.filter((dispute) => dispute.status === 'lost' && dispute.refundId && !dispute.settledBy)
  const linked = counted.find(({ providerDisputeId }) => providerDisputeId === listed.disputeId)
  if (linked) return { kind: 'settles', dispute: linked }
  const unanswered = refunds.filter(({ status, createdAt }) => status === 'pending' && mayBeAfter(listed.at, createdAt))
  if (listed.reference === null && unanswered.some((refund) => refund.amount === amount)) {
    // It may be one of these or another one. Each is retried under its own reference; after that it can be matched.
    return { kind: 'waits', because: 'a refund of ours of the same amount is not answered yet' }
  }
  // Some providers list the money of a lost dispute as a refund without naming the dispute. That is certain only when
  // both cannot be true. Else it is counted, because a refund of the same amount may be another one.
  const settled =
    listed.disputeId === undefined && counted.find((dispute) => dispute.amount === amount && madeAfter(listed, dispute))
  const isRoom = amount <= attempt.amountReceived - attempt.amountReturned
  if (settled && isRoom) return { kind: 'new', review: perhapsTwice(listed.amount) }
  if (settled) return { kind: 'settles', dispute: settled }
  const early = unnamedBefore(refunds, listed.at)
  const isByHand = ({ id }: Refund) => onRecord.byHand?.has(id) === true
  const unnamed = covering(early, amount, isByHand)
  if (unnamed) return { kind: 'adopts', refund: unnamed }
  const sumOf = (some: Refund[]) => some.reduce((sum, refund) => sum + refund.amount, 0)
  const byHand = early.filter(isByHand)
  if (sumOf(byHand) === amount || sumOf(early) - sumOf(byHand) >= amount)
    return {
      kind: 'unfit',
      because: `a refund of ${formatMoney(listed.amount)} is listed, and several earlier refunds may include it`,
    }
  const exceeded = whyExceeded({ attempt, refunds }, amount)
  return exceeded ?? { kind: 'new' }
}

/** Money that went back, recorded without the provider's refund id. */
export function isUnnamed({ kind, status, providerRefundId }: Refund): boolean {
  return kind === 'provider' && status === 'successful' && providerRefundId === null
}

function unnamedBefore(refunds: Refund[], at: Date): Refund[] {
  return refunds.filter((refund) => isUnnamed(refund) && mayBeBefore(at, refund.createdAt))
}

const CLOCKS_DIFFER_BY_MS = 5 * 60_000

/**
 * The row that covers this amount, with the least left over. A row of money that was reversed before we first saw it
 * may stand for several refunds; what a person returned by hand is one, of that amount.
 */
function covering(unnamed: Refund[], amount: number, isByHand: (refund: Refund) => boolean): Refund | undefined {
  return unnamed
    .filter((refund) => (isByHand(refund) ? refund.amount === amount : refund.amount >= amount))
    .toSorted((a, b) => a.amount - b.amount)[0]
}

function mayBeBefore(at: Date, seen: Date): boolean {
  return at.getTime() <= seen.getTime() + CLOCKS_DIFFER_BY_MS
}

/** A refund that the provider made before our request is not ours. */
function mayBeAfter(at: Date, asked: Date): boolean {
  return at.getTime() >= asked.getTime() - CLOCKS_DIFFER_BY_MS
}

/** Why this amount cannot be a reversal of the received money; undefined if it can. */
export function whyExceeded(
  { attempt, refunds }: Pick<OnRecord, 'attempt' | 'refunds'>,
  amount: number,
): Extract<RefundMatch, { kind: 'waits' | 'unfit' }> | undefined {
  if (amount <= attempt.amountReceived - attempt.amountReturned) return undefined
  // The provider will refuse our pending refund, because the money was reversed already. Then this one fits.
  if (refunds.some(({ status }) => status === 'pending'))
    return { kind: 'waits', because: 'a refund of ours of this money is not answered yet' }
  // A refund can be announced before its payment, also for an attempt that had failed or was abandoned.
  if (attempt.status !== 'successful' && attempt.status !== 'surplus')
    return { kind: 'waits', because: 'the payment that it refunds is not on record yet' }
  return {
    kind: 'unfit',
    because: `the provider returned ${formatMoney(money(amount, attempt.currency))} more than is on record`,
  }
}

/** Which record counts the money of a lost dispute. */
export type LossMatch =
  /** A recorded refund. */
  | { kind: 'counted'; refund: Refund; settledBy: string | null }
  /** Money that was reversed before we first saw it. */
  | { kind: 'adopts'; refund: Refund }
  /** A new refund of kind `chargeback`. `review`: the reason if it cannot be counted in full. */
  | { kind: 'chargeback'; amount: number; review: string | null }
  | { kind: 'waits'; because: string }

/** Lost money counts once: by the refund of the same money if there is one, else by a chargeback. */
export function matchLoss(onRecord: OnRecord, dispute: Dispute, listed: ListedRefund[]): LossMatch {
  const { attempt, refunds, disputes } = onRecord
  const taken = new Set(disputes.filter(({ id }) => id !== dispute.id).map(({ refundId }) => refundId))
  const free = refunds.filter(({ id, status }) => status === 'successful' && !taken.has(id))
  const own = free.find(({ id }) => id === dispute.refundId) ?? free.find((refund) => isChargebackOf(refund, dispute))
  if (own) return { kind: 'counted', refund: own, settledBy: dispute.settledBy }
  const isRoom =
    dispute.currency === attempt.currency && dispute.amount <= attempt.amountReceived - attempt.amountReturned
  for (const refund of free.filter(({ kind }) => kind === 'provider')) {
    const entry = listed.find(({ refundId }) => refundId === refund.providerRefundId)
    const isLinked = entry?.disputeId === dispute.providerDisputeId
    const isSameMoney = entry && entry.disputeId === undefined && madeAfter(entry, dispute)
    if (!isLinked && (refund.amount !== dispute.amount || !isSameMoney)) continue
    if (!isLinked && isRoom)
      return {
        kind: 'chargeback',
        amount: dispute.amount,
        review: perhapsTwice(money(dispute.amount, attempt.currency)),
      }
    return { kind: 'counted', refund, settledBy: refund.providerRefundId }
  }
  const early = unnamedBefore(free, dispute.openedAt).filter(({ id }) => !onRecord.byHand?.has(id))
  const unnamed = covering(early, dispute.amount, () => false)
  if (unnamed) return { kind: 'adopts', refund: unnamed }
  const exceeded = dispute.currency === attempt.currency ? whyExceeded(onRecord, dispute.amount) : undefined
  if (exceeded?.kind === 'waits') return exceeded
  const room = dispute.currency === attempt.currency ? attempt.amountReceived - attempt.amountReturned : 0
  const amount = Math.min(room, dispute.amount)
  const review =
    amount < dispute.amount
      ? `dispute_lost: ${formatMoney(money(dispute.amount, dispute.currency as Currency))} was lost, ${formatMoney(money(room, attempt.currency))} was left of what came in.`
      : null
  return { kind: 'chargeback', amount, review }
}

const perhapsTwice = (amount: Money) =>
  `refund_mismatch: ${formatMoney(amount)} was lost in a dispute, and a refund of the same amount is listed. Both are counted. Compare with the provider's dashboard.`

/** The provider refund id of a chargeback. It is unique, so that a dispute is counted once. */
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
