import { createHmac, timingSafeEqual } from 'node:crypto'
import type { NoticeReading, RawNotice } from '../provider.ts'
import { isWhole, receiptsOf } from './mapping.ts'
import type { GatewayNotice } from './wire.ts'

const TOLERANCE_SECONDS = 300

/**
 * Why a notice is not to be believed; undefined when it is genuine.
 * `gateway-signature: t={unix seconds},v1={hex}`, an HMAC-SHA256 of "{t}.{body}" with the secret key.
 */
export function findForgery(secretKey: string, { headers, body, receivedAt }: RawNotice): string | undefined {
  const header = headers['gateway-signature']
  if (!header) return 'no signature'
  const match = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header)
  const [, seconds, hex] = match ?? []
  if (!seconds || !hex) return 'a signature that cannot be read'
  // Over the bytes as they came, and without a hint of how much of a guess was right.
  const right = createHmac('sha256', secretKey).update(`${seconds}.`).update(body).digest()
  if (!timingSafeEqual(Buffer.from(hex, 'hex'), right)) return 'a wrong signature'
  const ageSeconds = Math.abs(receivedAt.getTime() / 1000 - Number(seconds))
  return ageSeconds > TOLERANCE_SECONDS ? 'a signature from another time' : undefined
}

export function readingOf({ type, reference, data }: GatewayNotice): NoticeReading {
  if (!data || data.reference !== reference) {
    if (SAYS.has(type)) return { kind: 'unreadable', because: `a ${type} whose payment cannot be read` }
    return { kind: 'notice', reference, says: 'other', receipts: [] }
  }
  const receipts = receiptsOf(data)
  const says = SAYS.get(type) ?? 'other'
  // No money or a partial amount is not paid. The order is checked before anything is recorded.
  if (says === 'paid' && !isWhole(data, receipts)) return { kind: 'notice', reference, says: 'pending', receipts }
  return { kind: 'notice', reference, says, receipts }
}

const SAYS = new Map<string, Extract<NoticeReading, { kind: 'notice' }>['says']>([
  ['payment.paid', 'paid'],
  ['payment.failed', 'failed'],
  ['payment.processing', 'processing'],
  ['transfer.received', 'paid'],
  ['refund.successful', 'refund'],
  ['dispute.opened', 'dispute'],
  ['dispute.updated', 'dispute'],
  ['dispute.closed', 'dispute'],
])
