import type { Database, Transaction } from '../database/database.ts'
import { destinationOf } from '../events/outbox-store.ts'
import type { EndpointId } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import { disableWaiting, endHolding, lockHolding, markHolding, notifyChanged } from './held-delivery-store.ts'

/** Rows that are updated during the merchant's own request. */
const AT_ONCE = 200

/**
 * Stops the deliveries of an endpoint that was disabled or deleted. A claim sees that the endpoint is disabled. The
 * first rows are updated here; the scheduled job updates the others, which can be hundreds of thousands.
 */
export async function holdDeliveries(tx: Transaction, place: Place, id: EndpointId): Promise<void> {
  await markHolding(tx, [id])
  // It may hold deliveries already: it was disabled, enabled and disabled again within a second.
  await notifyChanged(tx, id)
  const destination = destinationOf({ endpointId: id })
  if ((await disableWaiting(tx, place, destination, AT_ONCE)) === 0)
    await endHolding(tx, { place, id, enabled: false }, destination)
}

/** Updates the next rows of a disabled endpoint. Returns whether there is more to do. */
export function holdNextDeliveries(database: Database, limit: number): Promise<boolean> {
  return database.transaction(async (tx) => {
    const endpoint = await lockHolding(tx)
    if (!endpoint) return false
    const destination = destinationOf({ endpointId: endpoint.id })
    // It was enabled again: its waiting deliveries are sent.
    const count = endpoint.enabled ? 0 : await disableWaiting(tx, endpoint.place, destination, limit)
    if (count === 0) await endHolding(tx, endpoint, destination)
    return true
  })
}
