import type { Database } from '../database/database.ts'
import type { EventId } from '../kernel/ids.ts'
import type { Owner } from '../payments/payment-store.ts'
import { requeueEvent, requeueGivenUp } from './delivery-store.ts'

/** Sends an event again to wherever it went, whatever became of it. Same id, same bytes. */
export function redeliverEvent({ database }: { database: Database }, owner: Owner, id: EventId): Promise<number> {
  return database.transaction((tx) => requeueEvent(tx, owner, id))
}

/** Sends again all that was given up in that time. */
export function redeliverGivenUp(
  { database }: { database: Database },
  owner: Owner,
  from: Date,
  to: Date,
): Promise<number> {
  return database.transaction((tx) => requeueGivenUp(tx, owner, from, to))
}
