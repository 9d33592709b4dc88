import type { Database, Transaction } from '../database/database.ts'
import { destinationOf } from '../events/outbox-store.ts'
import type { EndpointId } from '../kernel/ids.ts'
import { disableWaiting, endHolding, lockHolding, markHolding, tellSwitchedOff } from './held-delivery-store.ts'

/** As many rows as an update in the merchant's own call may take. */
const AT_ONCE = 200

/**
 * An endpoint was switched off or deleted. What waits for it is not sent from now on: a claim sees that the endpoint is off. Rows
 * beyond the first ones, hundreds of thousands maybe, are updated later by the worker.
 */
export async function holdDeliveries(tx: Transaction, id: EndpointId): Promise<void> {
  await markHolding(tx, [id])
  // It may hold from an earlier time: switched off, on and off again within a second.
  await tellSwitchedOff(tx, id)
  const destination = destinationOf({ endpointId: id })
  if ((await disableWaiting(tx, destination, AT_ONCE)) === 0) await endHolding(tx, { id, enabled: false }, destination)
}

/** Updates the next rows of an endpoint that was switched off. Returns whether there is more to do. */
export function holdNextDeliveries(database: Database, limit: number): Promise<boolean> {
  return database.transaction(async (tx) => {
    const endpoint = await lockHolding(tx)
    if (!endpoint) return false
    const destination = destinationOf({ endpointId: endpoint.id })
    // Switched on again: what still waits is sent.
    const count = endpoint.enabled ? 0 : await disableWaiting(tx, destination, limit)
    if (count === 0) await endHolding(tx, endpoint, destination)
    return true
  })
}
