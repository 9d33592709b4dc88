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
}

export type EventType = 'payment.cancelled' | 'payment.expired'
