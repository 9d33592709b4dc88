import { createHash, timingSafeEqual } from 'node:crypto'
import type { NoticeReading, RawNotice } from '../provider.ts'
import { receiptOf, stateOf } from './mapping.ts'
import type { NoticeBody } from './wire.ts'

/**
 * Why a notice is not to be believed; undefined when it comes from somebody who knows the secret hash.
 *
 * `verif-hash` is that secret itself, sent along: it covers neither the body nor the time. So what a notice says is never taken for true:
 * it is a reason to ask, and the answer counts.
 */
export function findForgery(secretHash: string, { headers }: RawNotice): string | undefined {
  const said = headers['verif-hash']
  if (!said) return 'no verif-hash'
  // Digests are of one length, so that not even the length of the secret can be felt.
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
      // Part of the money is not paid. Whoever acts on this asks first.
      return { ...about, says: data.charged < data.amount ? 'pending' : 'paid', receipts: [receiptOf(data)] }
    case 'reversed':
      return { ...about, says: 'refund', receipts: [] }
    case 'failed':
    case 'cancelled':
      // The event is called completed all the same, and the page stays open for the next try.
      return { ...about, says: 'failed', receipts: [] }
    case 'pending':
      return { ...about, says: 'pending', receipts: [] }
    default:
      return { ...about, says: 'other', receipts: [] }
  }
}
