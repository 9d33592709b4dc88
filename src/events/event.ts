import type { EventId, MerchantId, PaymentId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'

/** A fact about a payment, recorded with the change that made it true and never altered. */
export interface Event {
  id: EventId
  merchantId: MerchantId
  mode: Mode
  paymentId: PaymentId
  type: EventType
  /** Rises by one with each change of the payment, so that a receiver can drop stale news. */
  sequence: number
  /** The payment as it was right after the change. */
  data: Record<string, unknown>
  occurredAt: Date
  /** What set the change off. For the timeline; merchants are not sent it. */
  cause: string | null
}

/** What merchants are told of. */
export const ANNOUNCED = [
  'payment.successful',
  'payment.cancelled',
  'payment.expired',
  'payment.underpaid',
  'payment.overpaid',
  'payment.surplus',
  'attempt.failed',
  'refund.successful',
  'refund.failed',
  'refund.needs_review',
  'dispute.opened',
  'dispute.updated',
  'dispute.won',
  'dispute.lost',
] as const

/** What only our own books need: with these, every state can be derived again from its events. */
const KEPT = [
  'attempt.started',
  'attempt.pending',
  'attempt.processing',
  'attempt.successful',
  'attempt.abandoned',
  'attempt.surplus',
  'attempt.needs_review',
] as const

export type AnnouncedType = (typeof ANNOUNCED)[number]
export type EventType = AnnouncedType | (typeof KEPT)[number]

export function isAnnounced(type: string): type is AnnouncedType {
  return (ANNOUNCED as readonly string[]).includes(type)
}

/** What a merchant is sent. Made once, when the event is recorded, and kept as it is: a repeat has the same bytes. */
export function bodyOf({ id, type, occurredAt, mode, sequence, data }: Event): string {
  return JSON.stringify({ id, type, timestamp: occurredAt.toISOString(), mode, sequence, data })
}
