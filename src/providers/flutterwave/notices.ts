import { createHash, timingSafeEqual } from 'node:crypto'
import type { NoticeReading, RawNotice } from '../provider.ts'
import { receiptOf, stateOf } from './mapping.ts'
import type { NoticeBody } from './wire.ts'

/**
 * Verifies a notice. Returns the reason for rejecting it, or undefined when the secret hash is right.
 *
 * `verif-hash` is the secret itself. It covers neither the body nor the time, so the content is not trusted: it
 * triggers a check of the order.
 */
export function findForgery(secretHash: string, { headers }: RawNotice): string | undefined {
  const said = headers['verif-hash']
  if (!said) return 'no verif-hash'
  // Constant-time comparison. Digests have equal lengths, so the length of the secret does not leak.
  return timingSafeEqual(digest(said), digest(secretHash)) ? undefined : 'a wrong verif-hash'
}

const digest = (text: string) => createHash('sha256').update(text).digest()

export function readingOf({ about: subject, reference, transactionId, data }: NoticeBody): NoticeReading {
  const about = { kind: 'notice' as const, reference, ...(!reference && transactionId && { transactionId }) }
  if (subject === 'refund' || subject === 'dispute') {
    const isNamed = reference !== null || transactionId !== null
    return isNamed
      ? { ...about, says: subject, receipts: [] }
      : { kind: 'unreadable', because: `a ${subject} that names no transaction` }
  }
  if (subject === 'something else') return { ...about, says: 'other', receipts: [] }
  // Without its money, or without our reference, it is still a reason to check the order.
  if (!data || !reference) {
    return reference || transactionId
      ? { ...about, says: 'other', receipts: [] }
      : { kind: 'unreadable', because: 'a charge that names neither order nor transaction' }
  }
  switch (stateOf(data)) {
    case 'successful':
      // A partial amount is not paid. The order is checked before anything is recorded.
      return { ...about, says: data.charged < data.amount ? 'pending' : 'paid', receipts: [receiptOf(data)] }
    case 'reversed':
      return { ...about, says: 'refund', receipts: [] }
    case 'failed':
    case 'cancelled':
      // The event name is `completed` for a failure, too. The page stays open for the next try.
      return { ...about, says: 'failed', receipts: [] }
    case 'pending':
      return { ...about, says: 'pending', receipts: [] }
    default:
      return { ...about, says: 'other', receipts: [] }
  }
}
