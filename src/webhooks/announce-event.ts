import type { Transaction } from '../database/database.ts'
import { type Event, isAnnounced } from '../events/event.ts'
import { recordEvent } from '../events/event-store.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { findPaymentById } from '../payments/store/payments.ts'
import { type Delivery, destinationOf } from './delivery.ts'
import { insertDeliveries } from './delivery-store.ts'
import { listListeners } from './endpoint-store.ts'
import { ensureDefaultSecret } from './secret-store.ts'

/** Puts an event on record, and with it what merchants are to be told of it: in one transaction with the change, so that neither can be there alone. */
export function eventRecorder({ clock, secrets }: { clock: Clock; secrets: SecretBox }) {
  const haveSecrets = new Set<string>()
  // A secret that a transaction has made is gone again if that comes to nothing, so only what was there before it is remembered.
  const making = new WeakSet<Transaction>()

  return async (tx: Transaction, event: Event): Promise<void> => {
    await recordEvent(tx, event)
    if (!isAnnounced(event.type)) return
    const { id: eventId, merchantId, mode } = event
    const fresh = () => ({ id: newId('delivery', clock.now()), eventId, merchantId, mode, tries: 0, triesBefore: 0 })
    const listeners = await listListeners(tx, event, event.type)
    const deliveries: Delivery[] = listeners.map(({ id: endpointId, url }) => ({
      ...fresh(),
      endpointId,
      url,
      destination: destinationOf({ endpointId }),
    }))
    const url = (await findPaymentById(tx, event.paymentId))?.webhook
    if (url) {
      const owner = `${merchantId} ${mode}`
      if (!haveSecrets.has(owner)) {
        if ((await ensureDefaultSecret(tx, secrets, event)) === 'made') making.add(tx)
        else if (!making.has(tx)) haveSecrets.add(owner)
      }
      deliveries.push({ ...fresh(), endpointId: null, url, destination: destinationOf({ merchantId, mode, url }) })
    }
    await insertDeliveries(tx, deliveries)
  }
}
