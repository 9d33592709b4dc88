// Imports nothing, so that the pages of the dashboard can have the types of schemas with a status.

export type PaymentStatus = 'pending' | 'successful' | 'cancelled' | 'expired'

export const PAYMENT_STATUSES: readonly PaymentStatus[] = ['pending', 'successful', 'cancelled', 'expired']

/**
 * - pending: the customer has instructions and has not paid yet
 * - processing: the outcome is unknown; money may have moved
 * - abandoned: the payment ended before this attempt was paid
 * - surplus: paid after the payment was successful; the money is refunded
 */
export type AttemptStatus = 'pending' | 'processing' | 'successful' | 'failed' | 'abandoned' | 'surplus'

export const ATTEMPT_STATUSES: readonly AttemptStatus[] = [
  'pending',
  'processing',
  'successful',
  'failed',
  'abandoned',
  'surplus',
]
