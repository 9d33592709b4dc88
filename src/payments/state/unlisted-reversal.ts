import type { ListedRefund, Receipt } from '../../providers/provider.ts'
import { matchKnown, matchRefund, type OnRecord } from './match-reversals.ts'
import { totalsOf } from './reversed-money.ts'

/** What is on record of an attempt's money. */
interface OnRecordReceipt {
  attemptId: string
  transactionId: string
}

/**
 * What the provider has given back of an attempt beyond our records, when no list of its names it: a reversal by the
 * bank, for example. Called after the lists changed nothing.
 *
 * Money is never counted twice:
 * - `amountReturned` has reversals at first sight, surplus and lost disputes.
 * - A refund of ours that is pending may be what the provider means, before its list has it: it is looked for first.
 * - A refund that the provider lists as pending, and that is not on record, is recorded when it is successful.
 * - Where the provider names one sum for an order, a transaction of the order that is not of this attempt makes the
 *   attempt's share unknown.
 * - Money that a person matched is of another order, so the answer does not name it: then it is the least that went
 * back.
 * - A refund in the list that does not fit is reviewed by a person first.
 * - A refund or a lost dispute that is listed later adopts the row, see `covering`.
 */
export function unlistedReversal(
  onRecord: OnRecord,
  recorded: OnRecordReceipt[],
  answered: Receipt[],
  refunds: ListedRefund[],
): number {
  const { attempt } = onRecord
  const own = recorded.filter(({ attemptId }) => attemptId === attempt.id)
  const names = new Set(own.map(({ transactionId }) => transactionId))
  const isOfOthers = answered.some(
    ({ returnedIsOfOrder, transactionId }) => returnedIsOfOrder && !names.has(transactionId),
  )
  const isPending = onRecord.refunds.some(({ status }) => status === 'pending')
  if (isPending || isOfOthers) return 0
  const known = matchKnown(onRecord, refunds)
  const others = refunds.filter((refund) => !known.has(refund))
  const matches = others.map((refund) => ({ refund, match: matchRefund(onRecord, refund) }))
  if (matches.some(({ match }) => match.kind === 'unfit' || match.kind === 'waits')) return 0
  const pending = matches.filter(({ refund, match }) => refund.status === 'pending' && match.kind === 'nothing')
  const announced = pending.reduce((sum, { refund }) => sum + refund.amount.amount, 0)
  const ofAttempt = answered.filter(
    ({ transactionId, amount }) => names.has(transactionId) && amount.currency === attempt.currency,
  )
  const { returned } = totalsOf(ofAttempt)
  const left = attempt.amountReceived - attempt.amountReturned
  return Math.max(0, Math.min(returned - announced - attempt.amountReturned, left))
}
