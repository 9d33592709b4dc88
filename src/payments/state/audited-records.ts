import type { EventType } from '../../events/event.ts'
import type { PaymentState } from './payment-state.ts'
import type { Refund } from './refund.ts'

/** All records of a payment, from which the audit derives its state again. */
export interface Records {
  state: PaymentState
  events: RecordedEvent[]
  /** Amounts as the first webhook body has them, for payments whose events have no `price`. */
  told?: Told | undefined
  receipts: {
    attemptId: string
    transactionId: string
    amount: number
    currency: string
    counted: boolean
    returned: number
  }[]
  refunds: RecordedRefund[]
  disputes: {
    id: string
    attemptId: string
    status: string
    amount: number
    currency: string
    refundId: string | null
  }[]
}

/** An event is append-only, so what it says is compared with the rows, which can be changed by SQL. */
export interface RecordedEvent {
  type: EventType
  sequence: number
  merchantId: string
  mode: string
  at: Date
  attemptReference: string | null
  price?: { amount: number; currency: string; amountCharged: number; fee: number } | null
  transactions?: { id: string; amount: number; currency: string }[] | null
  refund?: Said | null
  dispute?: Said | null
}

/** A refund or dispute as an event shows it. */
interface Said {
  id: string
  amount: number
  currency: string
  status: string
}

export interface Told {
  amount: number
  currency: string
  attempts: { reference: string; amountCharged: number; fee: number }[]
}

export interface RecordedRefund
  extends Pick<
    Refund,
    'id' | 'attemptId' | 'counted' | 'kind' | 'status' | 'amount' | 'currency' | 'transactionIds' | 'resolvedAt'
  > {
  dueAt: Date | null
  leasedUntil: Date
}

/** What to do about a finding. */
export const SET_BACK = 'find out who changed the row, and set it back'
export const COMPARE = 'compare it with the provider (`manilla audit --provider`), then correct the row'

/** Where the state that the records give is different: what differs, and what to do. */
export function compareWith(found: string[], todo: string) {
  return (what: string, is: unknown, derived: unknown) => {
    if (is !== derived) found.push(`${what} is ${String(is)}, its records say ${String(derived)}: ${todo}`)
  }
}
