import type { Database } from '../database/database.ts'
import { recordEvent } from '../events/event-store.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId, type PaymentId } from '../kernel/ids.ts'
import { cancel, type Payment } from './payment.ts'
import { lockPayment, savePayment } from './payment-store.ts'

export function cancelPayment(
  { database, clock }: { database: Database; clock: Clock },
  id: PaymentId,
): Promise<Payment> {
  return database.transaction(async (tx) => {
    const before = await lockPayment(tx, id)
    if (!before) throw new Error(`payment ${id} is gone`)
    const after = cancel(before, clock.now())
    await savePayment(tx, before, after)
    await recordEvent(tx, {
      id: newId('event', clock.now()),
      merchantId: after.merchantId,
      mode: after.mode,
      paymentId: after.id,
      type: 'payment.cancelled',
      sequence: after.sequence,
      data: { payment: after },
    })
    return after
  })
}
