import { ASKED_BEFORE, type RefundOrder, type RefundOutcome, type Unknown, unknown, unreadable } from '../provider.ts'
import type { Session } from './api.ts'
import { REFUSED_FOR_NOW, refundOutcomeOf, uuidOf } from './mapping.ts'
import { isUuid, type Moved, ORDER, readFound, readInitiation, toWire } from './wire.ts'

/**
 * A refund has an id of ours, and they make no second one with the same id. So the same request can be sent again at
 * any time. What they refuse may still have been accepted before, by a request whose answer was lost: only when they do
 * not know the id, a refusal counts.
 */
export async function refund(session: Session, wanted: RefundOrder): Promise<RefundOutcome> {
  if (wanted.refundId !== undefined) {
    const found = await find(session, wanted)
    return found === 'not found' ? ASKED_BEFORE : outcomeOf(found, wanted)
  }
  const { order, transactionIds, amount } = wanted
  const [transactionId, ...others] = transactionIds
  if (others.length > 0) return { kind: 'refused', because: 'it is the money of several deposits' }
  // A person may have matched the deposit of another order with this payment.
  const depositId = transactionId && isUuid(transactionId) ? transactionId : uuidOf(order.reference)
  const answer = await session.post('/v2/refunds', {
    ...{ refundId: uuidOf(wanted.reference), depositId },
    ...{ amount: toWire(amount), currency: amount.currency, clientReferenceId: wanted.reference },
    metadata: [{ [ORDER]: order.reference }],
  })
  if (answer.kind === 'unknown') return answer
  const said = readInitiation(answer.text)
  if (!said || answer.status === 401 || answer.status === 403) return unreadable(answer.status)
  switch (said.status) {
    case 'ACCEPTED':
    case 'DUPLICATE_IGNORED': {
      if (said.id !== null && said.id !== uuidOf(wanted.reference)) return unknown('it answered about another refund')
      const found = await find(session, wanted)
      if (found !== 'not found' && 'amount' in found) return outcomeOf(found, wanted)
      // The next question finds it.
      return said.status === 'ACCEPTED' ? { kind: 'pending', refundId: uuidOf(wanted.reference) } : ASKED_BEFORE
    }
    case 'REJECTED': {
      const found = await find(session, wanted)
      if (found !== 'not found') return outcomeOf(found, wanted)
      if (!said.failureCode) return unreadable(answer.status)
      // Nothing was made. Another refund of this deposit is under way, or the network is.
      if (REFUSED_FOR_NOW.has(said.failureCode)) return { kind: 'pending', refundId: null }
      return { kind: 'refused', because: said.failureCode }
    }
    default:
      return unknown('an undocumented status')
  }
}

function outcomeOf(found: Moved | Unknown, { amount }: RefundOrder): RefundOutcome {
  if ('kind' in found) return found
  const isSame = found.amount.amount === amount.amount && found.amount.currency === amount.currency
  return isSame ? refundOutcomeOf(found) : unknown('it has another amount under the id of this refund')
}

async function find(session: Session, { reference }: RefundOrder): Promise<Moved | 'not found' | Unknown> {
  const id = uuidOf(reference)
  const answer = await session.get(`/v2/refunds/${id}`)
  if (answer.kind === 'unknown') return answer
  const found = answer.status === 200 ? readFound(answer.text, 'refundId') : undefined
  if (!found) return unreadable(answer.status)
  return found === 'not found' || found.id === id ? found : unknown('it answered about another refund')
}
