import type { Country } from '../../kernel/country.ts'
import type { MerchantId, PaymentId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'

/** What a merchant asked for: one reference, one amount. A checkout is a payment made through the first endpoint. */
export interface Payment extends PaymentRequest {
  id: PaymentId
  merchantId: MerchantId
  mode: Mode
  reference: string
  shortCode: string
  status: PaymentStatus
  /** The money came after the payment was cancelled or had expired. */
  late: boolean
  amountPaid: number
  amountRefunded: number
  /** Counts the changes of this payment; each one's event carries the number. */
  sequence: number
  createdAt: Date
  expiresAt: Date
  completedAt: Date | null
}

export type PaymentStatus = 'pending' | 'successful' | 'cancelled' | 'expired'

export const PAYMENT_STATUSES: readonly PaymentStatus[] = ['pending', 'successful', 'cancelled', 'expired']

/** The customer, as the merchant names them. */
export interface User {
  /** The merchant's own id of a customer who is signed in with the merchant. Their saved cards belong to it. */
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

/** Nothing but a pending payment can go on. */
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
