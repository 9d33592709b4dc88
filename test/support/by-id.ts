import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import type { PaymentId } from '../../src/kernel/ids.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { type PageChoice, payOnPage } from '../../src/payments/start/pay-on-page.ts'
import { type Start, startAttempt } from '../../src/payments/start/start-attempt.ts'
import type { Payment } from '../../src/payments/state/payment.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'

// What routes do with a payment that they have read, by its id.

const merchantName = 'Shop'

export async function paymentById(database: Database, id: string): Promise<Payment> {
  const state = await findPaymentStateById(database, id as PaymentId)
  return state?.payment ?? assert.fail(`no payment ${id}`)
}

export async function startById(parts: PaymentDeps, id: string, start: Omit<Start, 'merchantName'>) {
  return startAttempt(parts, await paymentById(parts.database, id), { ...start, merchantName })
}

export async function submitById(parts: PaymentDeps, id: string, choice: Omit<PageChoice, 'merchantName'>) {
  return payOnPage(parts, await paymentById(parts.database, id), { ...choice, merchantName })
}
