import { ASKED_BEFORE, type RefundOrder, type RefundOutcome, unknown, unreadable } from '../provider.ts'
import { type Api, findById } from './api.ts'
import { findOurs, receiptOf, refundOutcomeOf, refundRefusal } from './mapping.ts'
import { refundsOf, required } from './reversals.ts'
import { majorOf, type Refund, readEnvelope, readRefund } from './wire.ts'

/**
 * They have no idempotency key, so we look first: our reference is in the comment of a refund that we have asked for
 * before. When we cannot look, nothing is asked for. Their list can lag: what was asked for once is only looked for.
 */
export async function giveBack(api: Api, wanted: RefundOrder): Promise<RefundOutcome> {
  const refunds = new Map<string, Refund[]>()
  for (const id of wanted.transactionIds) {
    const earlier = required(await refundsOf(api, { id, currency: wanted.amount.currency }))
    if ('kind' in earlier) return earlier
    const ours = findOurs(earlier, wanted)
    if (ours === 'maybe') return unknown('a refund of this amount is there already, and does not say whose it is')
    if (ours) return refundOutcomeOf(ours, wanted)
    refunds.set(id, earlier)
  }
  if (wanted.refundId) return unknown('it does not list the refund that it has accepted')
  const id = await choose(api, wanted, refunds)
  if (typeof id !== 'string') return id
  if (wanted.isLeaseHeld?.() === false) return unknown('the lease ran out before the request')
  return (await wanted.mayAsk?.()) === false ? ASKED_BEFORE : askFor(api, id, wanted)
}

/** A refund is of one transaction. When the money came in several, the newest that is large enough gives it. */
async function choose(
  api: Api,
  { transactionIds, amount }: RefundOrder,
  refunds: Map<string, Refund[]>,
): Promise<string | RefundOutcome> {
  const [only, ...more] = transactionIds
  if (only === undefined) return { kind: 'refused', because: 'no transaction is known that brought the money' }
  if (more.length === 0) return only
  for (const id of transactionIds.toReversed()) {
    const found = await findById(api, id)
    if (found.kind === 'unknown') return found
    if (found.kind === 'none') continue
    const given = (refunds.get(id) ?? []).reduce((sum, refund) => sum + refund.amount, 0)
    if (receiptOf(found.transaction).amount.amount - given >= amount.amount) return id
  }
  return { kind: 'refused', because: 'the money came in parts, and none is as large as this: ask for smaller refunds' }
}

async function askFor(api: Api, transactionId: string, wanted: RefundOrder): Promise<RefundOutcome> {
  const { reference, amount, reason } = wanted
  const answer = await api.post(`/transactions/${encodeURIComponent(transactionId)}/refund`, {
    amount: majorOf(amount),
    comments: `${reference}${reason ? `: ${reason}` : ''}`.slice(0, 200).toWellFormed(),
  })
  if (answer.kind === 'unknown') return answer
  const { status, text } = answer
  const envelope = readEnvelope(text)
  if (status === 200 || status === 201) {
    const refund = envelope?.isSuccess ? readRefund(envelope.data, amount.currency) : undefined
    if (!refund) return unreadable(status)
    if (refund.transactionId !== transactionId) return unknown('it answered about another transaction')
    return refundOutcomeOf(refund, wanted)
  }
  // A refused key has done nothing, and says nothing of an earlier try under the same reference.
  if (status === 401 || status === 403) return { ...unreadable(status), neverSent: true }
  if (!envelope || envelope.isSuccess || (status !== 400 && status !== 404)) return unreadable(status)
  const because = refundRefusal(envelope.message)
  return because ? { kind: 'refused', because } : unknown('it may have given this back before')
}
