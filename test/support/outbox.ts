import type { Queries } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import type { Event } from '../../src/events/event.ts'
import { DELIVERIES_CHANNEL, OUTBOX, outboxOf } from '../../src/events/outbox-store.ts'
import { ensureDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import type { SecretBox } from '../../src/kernel/secret-box.ts'

/** Records an event with its deliveries, without a change of its payment. */
export async function recordEvent(
  db: Queries,
  secrets: SecretBox,
  event: Event,
  webhook: string | null,
): Promise<void> {
  if (webhook !== null) await ensureDefaultSecret(db, secrets, event)
  await db.rows(sql`
    with given as (select ${JSON.stringify(outboxOf([event], webhook))}::jsonb as doc),
         written as (select ${uuidOf(event.paymentId)}::uuid as id),${OUTBOX}
    select count(*) from new_deliveries`)
  db.notify(DELIVERIES_CHANNEL)
}
