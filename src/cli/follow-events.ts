import type { Queries } from '../database/database.ts'
import { eventsAfter, listEvents, type RecordedEvent } from '../events/event-store.ts'
import { type EventId, firstUuidAt, idOf, uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import type { Owner } from '../kernel/scope.ts'

/** Returns each event once, starting at the first call. Survives lost connections. */
export interface EventFollower {
  /** `place`: of the merchant. */
  next(db: Queries, place: Place): Promise<RecordedEvent[]>
}

const PAGE = 500
/**
 * Ids are assigned before the commit, so a lower id may become visible after a higher one. No transaction takes this
 * long.
 */
const LATE_BY_MS = 15_000

export function followEvents(owner: Owner): EventFollower {
  let begun = false
  let newest: EventId | undefined
  let seen = new Set<EventId>()

  return {
    async next(db, place) {
      const scope = { ...owner, place }
      if (!begun) {
        const [last] = await listEvents(db, scope, {
          paymentId: undefined,
          type: undefined,
          before: undefined,
          limit: 1,
        })
        newest = last?.id
      }
      const from = horizon(newest, place)
      const found: RecordedEvent[] = []
      let page: RecordedEvent[]
      do {
        page = await eventsAfter(db, scope, found.at(-1)?.id ?? from, PAGE)
        found.push(...page)
      } while (page.length === PAGE)
      // Updated only after all pages were read: a failed call is repeated as a whole.
      const fresh = begun ? found.filter(({ id }) => !seen.has(id)) : []
      seen = new Set(found.map(({ id }) => id))
      newest = found.at(-1)?.id ?? newest
      begun = true
      return fresh
    },
  }
}

/** Reads start a little before the newest known event. Ids start with their time. */
function horizon(newest: EventId | undefined, place: Place): EventId {
  const madeAtMs = newest ? Number.parseInt(uuidOf(newest).replaceAll('-', '').slice(0, 12), 16) : 0
  return idOf('event', firstUuidAt(new Date(madeAtMs - LATE_BY_MS)), place)
}
