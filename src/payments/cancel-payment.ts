import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { PaymentId } from '../kernel/ids.ts'
import { changePayment } from './change-payment.ts'
import { cancel, type Payment } from './payment.ts'
import { lockPayment } from './payment-store.ts'

export function cancelPayment(parts: { database: Database; clock: Clock }, id: PaymentId): Promise<Payment> {
  const { database, clock } = parts
  return database.transaction(async (tx) => {
    const before = await lockPayment(tx, id)
    if (!before) throw new Error(`payment ${id} is gone`)
    const after = cancel(before, clock.now())
    await changePayment(tx, clock, before, after, 'payment.cancelled')
    return after
  })
}
