import type { Database } from '../database/database.ts'
import type { EventId } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import { requeueEvent, requeueGivenUp } from './delivery-store.ts'

/** Sends an event again to its destinations, in any state of delivery. The id and the bytes stay the same. */
export function redeliverEvent({ database }: { database: Database }, owner: Scope, id: EventId): Promise<number> {
  return database.transaction((tx) => requeueEvent(tx, owner, id))
}

/** Keeps each transaction well below the statement timeout. */
const CHUNK = 5_000

/** A delivery to a blocked address is exhausted again at once: the calls that read it must end. */
const MAX_CHUNKS = 10

/** Sends the exhausted and disabled deliveries of that time again, at most 50 000 of them. */
export async function redeliverGivenUp(
  { database }: { database: Database },
  owner: Scope,
  from: Date,
  to: Date,
): Promise<number> {
  let total = 0
  for (let chunk = 0; chunk < MAX_CHUNKS; chunk++) {
    const count = await database.transaction((tx) => requeueGivenUp(tx, owner, { from, to, limit: CHUNK }))
    total += count
    if (count < CHUNK) break
  }
  return total
}
