import type { EventId, MerchantId, PaymentId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Place } from '../kernel/place.ts'

/** A change of a payment, a case or a settlement. Recorded in the transaction of the change and immutable. */
export interface Event {
  id: EventId
  place: Place
  merchantId: MerchantId
  mode: Mode
  /** Null: of a case without a payment, or of a settlement. */
  paymentId: PaymentId | null
  type: EventType
  /** Increases by one with each change of the payment, so that a receiver can ignore stale events. */
  sequence: number | null
  /** The payment right after the change. */
  data: Record<string, unknown>
  occurredAt: Date
  /** The trigger of the change, for the timeline. Not sent to merchants. */
  cause: string | null
  /** The provider's transactions that were recorded with the change, for the audit. Not sent to merchants. */
  transactions?: { id: string; amount: number; currency: string }[]
}

/** Event types that are sent to merchants. */
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
  'case.opened',
  'case.closed',
  'settlement.paid',
  'settlement.difference',
] as const

/** Internal event types. With them, the audit derives every state again from its events. */
const INTERNAL = [
  'attempt.started',
  'attempt.pending',
  'attempt.processing',
  'attempt.successful',
  'attempt.abandoned',
  'attempt.surplus',
  'attempt.needs_review',
  'attempt.reviewed',
  'refund.split',
] as const

export type AnnouncedType = (typeof ANNOUNCED)[number]
export type EventType = AnnouncedType | (typeof INTERNAL)[number]

export function isAnnounced(type: string): type is AnnouncedType {
  return (ANNOUNCED as readonly string[]).includes(type)
}

/** The webhook body. Stored with the event, so that every retry sends the same bytes. */
export function bodyOf({ id, type, occurredAt, mode, sequence, data }: Event): string {
  return JSON.stringify({ id, type, timestamp: occurredAt.toISOString(), mode, sequence, data })
}
