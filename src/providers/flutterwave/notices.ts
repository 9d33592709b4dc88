import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { NoticeReading, RawNotice } from '../provider.ts'
import { receiptOf, stateOf } from './mapping.ts'
import type { NoticeBody } from './wire.ts'

/**
 * Verifies a notice. Returns the reason for rejecting it, or undefined when it comes from who knows the secret hash.
 *
 * `verif-hash` is the secret itself. It covers neither the body nor the time, so the content is not trusted: it
 * triggers a check of the order. `flutterwave-signature` is base64 of HMAC-SHA256 over the body with the same secret;
 * one of their pages compares it with the secret itself.
 */
export function findForgery(secretHash: string, { headers, body }: RawNotice): string | undefined {
  const { 'flutterwave-signature': signature, 'verif-hash': hash } = headers
  if (signature) {
    const right = createHmac('sha256', secretHash).update(body).digest('base64')
    const isRight = isSame(signature, right) || isSame(signature, secretHash)
    return isRight ? undefined : 'a wrong flutterwave-signature'
  }
  if (!hash) return 'neither verif-hash nor flutterwave-signature'
  return isSame(hash, secretHash) ? undefined : 'a wrong verif-hash'
}

/** Constant-time comparison. Digests have equal lengths, so the length of the secret does not leak. */
const isSame = (one: string, other: string) => timingSafeEqual(digest(one), digest(other))
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
