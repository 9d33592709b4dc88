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

export type EventType = (typeof ANNOUNCED)[number] | (typeof KEPT)[number]
