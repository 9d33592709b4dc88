import type { Country } from '../../kernel/country.ts'
import type { LinkId, MerchantId, PaymentId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import type { Place } from '../../kernel/place.ts'
import { Problem } from '../../kernel/problem.ts'
import type { PaymentStatus } from './statuses.ts'

export { PAYMENT_STATUSES, type PaymentStatus } from './statuses.ts'

/** A payment: one reference, one amount. A checkout is a payment created with POST /checkouts. */
export interface Payment extends PaymentRequest {
  id: PaymentId
  place: Place
  merchantId: MerchantId
  mode: Mode
  reference: string
  shortCode: string
  /** The reusable link that it was made with. */
  link: LinkId | null
  status: PaymentStatus
  /** The money arrived after the payment was cancelled or expired. */
  late: boolean
  amountPaid: number
  amountRefunded: number
  /** Number of changes of this payment. Each event carries its number. */
  sequence: number
  /** Raised by each change, so that retention deletes no payment that has just changed. */
  version: number
  createdAt: Date
  expiresAt: Date
  completedAt: Date | null
}

/** The customer. */
export interface User {
  /** The merchant's id of a customer who is signed in at the merchant. Saved cards belong to this id. */
  id: string | null
  email: string
  phoneNumber: string | null
  name: string | null
}

/** The part of a payment that the merchant chose. */
export interface PaymentRequest {
  amount: number
  currency: Currency
  country: Country
  customerBearsCharge: boolean
  user: User
  redirectURL: string | null
  webhook: string | null
  metadata: Record<string, string>
}

/** Throws the Problem for a payment that has ended. */
export function assertPending({ status, reference, completedAt }: Payment): void {
  const when = completedAt ? ` at ${completedAt.toISOString()}` : ''
  switch (status) {
    case 'pending':
      return
    case 'successful':
      throw new Problem('payment_already_completed', `Payment ${reference} was completed${when}.`)
    case 'cancelled':
      throw new Problem('payment_cancelled', `Payment ${reference} was cancelled${when}.`)
    case 'expired':
      throw new Problem('payment_expired', `Payment ${reference} expired${when}.`)
  }
}
