import type { Transaction } from '../database/database.ts'
import type { EventType } from '../events/event.ts'
import { recordEvent } from '../events/event-store.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { Payment } from './payment.ts'
import { savePayment } from './payment-store.ts'

/** The one way to change a payment: the new state and the event that tells of it, in one transaction, on a locked row. */
export async function changePayment(
  tx: Transaction,
  clock: Clock,
  before: Payment,
  after: Payment,
  type: EventType,
): Promise<void> {
  await savePayment(tx, before, after)
  await recordEvent(tx, {
    id: newId('event', clock.now()),
    merchantId: after.merchantId,
    mode: after.mode,
    paymentId: after.id,
    type,
    sequence: after.sequence,
    data: { payment: after },
  })
}
