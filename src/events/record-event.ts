import type { Transaction } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { type Event, isAnnounced } from './event.ts'
import { insertEvent } from './event-store.ts'
import { destinationOf, insertDeliveries, listSubscribedEndpoints, type NewDelivery } from './outbox-store.ts'
import { ensureDefaultSecret } from './webhook-secret-store.ts'

/**
 * The transactional outbox: writes the event and one delivery for each subscribed endpoint, and for the payment's own `webhook` URL, in
 * the caller's transaction. Either the change, its event and its deliveries are committed together, or none of them. The delivery loop in
 * webhooks/ sends them afterwards, at least once.
 */
export async function recordEvent(
  tx: Transaction,
  { clock, secrets }: { clock: Clock; secrets: SecretBox },
  event: Event,
  webhook: string | null,
): Promise<void> {
  await insertEvent(tx, event)
  if (!isAnnounced(event.type)) return
  const { id: eventId, merchantId, mode } = event
  const newDelivery = () => ({ id: newId('delivery', clock.now()), eventId, merchantId, mode })
  const endpoints = await listSubscribedEndpoints(tx, event, event.type)
  const deliveries: NewDelivery[] = endpoints.map(({ endpointId, url }) => ({
    ...newDelivery(),
    endpointId,
    url,
    destination: destinationOf({ endpointId }),
  }))
  if (webhook !== null) {
    await ensureDefaultSecret(tx, secrets, event)
    const destination = destinationOf({ merchantId, mode, url: webhook })
    deliveries.push({ ...newDelivery(), endpointId: null, url: webhook, destination })
  }
  await insertDeliveries(tx, deliveries)
}
