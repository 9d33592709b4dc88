import type { Queries } from '../../src/database/database.ts'
import { statementOf } from '../../src/database/sql.ts'
import type { Event } from '../../src/events/event.ts'
import { DELIVERIES, DELIVERIES_CHANNEL, EVENTS, outboxOf } from '../../src/events/outbox-store.ts'
import { uuidOf } from '../../src/kernel/ids.ts'

/** Records an event with its deliveries, without a change of its payment. */
export async function recordEvent(db: Queries, event: Event, webhook: string | null): Promise<void> {
  const text = `
    with written as (select $3::uuid as id), ${EVENTS}, ${DELIVERIES}
    select count(*) from new_deliveries`
  await db.rows(statementOf(text, [JSON.stringify(outboxOf([event], webhook)), event.place, uuidOf(event.paymentId)]))
  db.notify(DELIVERIES_CHANNEL)
}
