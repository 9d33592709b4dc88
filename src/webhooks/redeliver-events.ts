import type { Database } from '../database/database.ts'
import type { EventId } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import { requeueEvent, requeueGivenUp } from './delivery-store.ts'

/** Sends an event again to wherever it went, whatever became of it. Same id, same bytes. */
export function redeliverEvent({ database }: { database: Database }, owner: Scope, id: EventId): Promise<number> {
  return database.transaction((tx) => requeueEvent(tx, owner, id))
}

/** Keeps each transaction well below the statement timeout. */
const CHUNK = 5_000

/** Sends again all that was given up in that time. */
export async function redeliverGivenUp(
  { database }: { database: Database },
  owner: Scope,
  from: Date,
  to: Date,
): Promise<number> {
  for (let total = 0; ; ) {
    const count = await database.transaction((tx) => requeueGivenUp(tx, owner, { from, to, limit: CHUNK }))
    total += count
    if (count < CHUNK) return total
  }
}
