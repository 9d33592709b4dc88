import { createHmac, timingSafeEqual } from 'node:crypto'
import type { NoticeReading, RawNotice } from '../provider.ts'
import { isWhole, receiptsOf } from './mapping.ts'
import { readSettlement } from './settlements.ts'
import type { MonnifyNotice } from './wire.ts'

/**
 * `monnify-signature: {hex}`, an HMAC-SHA512 of the raw body with the secret key. Their prose says a plain SHA-512 of
 * key and body; their own library and what they send say HMAC. There is no time in it, so an old notice can be sent
 * again: it only makes us ask.
 */
export function readSignature(secretKey: string, { headers, body }: RawNotice): 'genuine' | 'wrong' | 'missing' {
  const header = headers['monnify-signature']
  if (header === undefined) return 'missing'
  if (!/^[0-9a-f]{128}$/i.test(header)) return 'wrong'
  // Over the bytes as they came, and without a hint of how much of a guess was right.
  const right = createHmac('sha512', secretKey).update(body).digest()
  return timingSafeEqual(Buffer.from(header, 'hex'), right) ? 'genuine' : 'wrong'
}

/** An unsigned notice is not trusted. At most the order that it names is checked. */
export function hintOf(notice: MonnifyNotice | undefined): NoticeReading {
  const reference = notice?.paymentReference ?? notice?.transactionReference
  return reference ? { kind: 'hint', reference } : { kind: 'forged', because: 'not signed, and names no order' }
}

export function readingOf(notice: MonnifyNotice, receivedAt: Date): NoticeReading {
  const { type, paymentReference, transactionReference, transaction } = notice
  const reference = paymentReference ?? transactionReference
  switch (type) {
    case 'SUCCESSFUL_TRANSACTION': {
      // The money is read from the answer to a check.
      if (!transaction && reference) return { kind: 'notice', reference, says: 'other', receipts: [] }
      if (!transaction) return { kind: 'unreadable', because: 'money that cannot be read, of no order' }
      // Whether a notice lists all transfers or the last one, they do not say. The same names as in a check, or none.
      const receipts = receiptsOf(transaction, receivedAt) ?? []
      const isPaid =
        ['PAID', 'OVERPAID'].includes(transaction.status) && isWhole(transaction) && transaction.amountPaid > 0
      return { kind: 'notice', reference, says: isPaid ? 'paid' : 'pending', receipts }
    }
    case 'REJECTED_PAYMENT':
      // One transfer was turned away. The account is still open for the right one.
      return { kind: 'notice', reference, says: 'pending', receipts: [] }
    case 'SUCCESSFUL_REFUND':
    case 'FAILED_REFUND':
      // Ours is not in it; theirs is not enough for a saved card, whose charge we know by our own reference alone.
      if (!transactionReference) return { kind: 'unreadable', because: 'a refund of no transaction' }
      return { kind: 'notice', reference, says: 'refund', receipts: [], transactionId: transactionReference }
    case 'SETTLEMENT': {
      const settlement = readSettlement(notice.eventData, receivedAt)
      if (!settlement) return { kind: 'unreadable', because: 'a settlement that cannot be read' }
      return { kind: 'notice', reference: null, says: 'other', receipts: [], settlement }
    }
    default:
      // A payout: its references are of the merchant's transfer, and of no order.
      if (type.endsWith('_DISBURSEMENT')) return { kind: 'notice', reference: null, says: 'other', receipts: [] }
      return { kind: 'notice', reference, says: 'other', receipts: [] }
  }
}
