import type { Queries } from '../database/database.ts'
import { eventsAfter, listEvents, type RecordedEvent } from '../events/event-store.ts'
import { type EventId, firstUuidAt, idOf, uuidOf } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'

/** Hands out each event once, from the moment of the first call on, whatever becomes of the connection in between. */
export interface EventFollower {
  next(db: Queries): Promise<RecordedEvent[]>
}

const PAGE = 500
/** An id is made before its transaction commits, so a lower one may show up after a higher one. No transaction takes this long. */
const LATE_BY_MS = 15_000

export function followEvents(owner: Scope): EventFollower {
  let begun = false
  let newest: EventId | undefined
  let seen = new Set<EventId>()

  return {
    async next(db) {
      if (!begun) {
        const [last] = await listEvents(db, owner, {
          paymentId: undefined,
          type: undefined,
          before: undefined,
          limit: 1,
        })
        newest = last?.id
      }
      const from = horizon(newest)
      const found: RecordedEvent[] = []
      let page: RecordedEvent[]
      do {
        page = await eventsAfter(db, owner, found.at(-1)?.id ?? from, PAGE)
        found.push(...page)
      } while (page.length === PAGE)
      // Only now, when all of it was read: what fails half-way is read again as a whole.
      const fresh = begun ? found.filter(({ id }) => !seen.has(id)) : []
      seen = new Set(found.map(({ id }) => id))
      newest = found.at(-1)?.id ?? newest
      begun = true
      return fresh
    },
  }
}

/** From where to read again: a little before the newest that is known. Ids start with their time. */
function horizon(newest: EventId | undefined): EventId {
  const madeAtMs = newest ? Number.parseInt(uuidOf(newest).replaceAll('-', '').slice(0, 12), 16) : 0
  return idOf('event', firstUuidAt(new Date(madeAtMs - LATE_BY_MS)))
}
