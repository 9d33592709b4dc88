import type { Queries, Transaction } from '../database/database.ts'
import { readTime } from '../database/database-clock.ts'
import { sql } from '../database/sql.ts'
import { DELIVERIES_CHANNEL, destinationOf } from '../events/outbox-store.ts'
import { type EndpointId, idOf, uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'

/**
 * Notifies every worker to drop the deliveries that it has claimed for this endpoint. What may be sent is claimed
 * again.
 */
export async function notifyChanged(db: Queries, endpointId: EndpointId): Promise<void> {
  db.notify(DELIVERIES_CHANNEL, destinationOf({ endpointId }))
}

/** Notifies every worker which of these endpoints are disabled, and leaves their deliveries to the scheduled job. */
export async function markHolding(db: Queries, endpointIds: EndpointId[]): Promise<void> {
  const rows = await db.rows<{ id: string }>(sql`
    update webhook_endpoints set holds_deliveries = true
     where id = any(${endpointIds.map(uuidOf)}::uuid[]) and not enabled and not holds_deliveries returning id`)
  for (const { id } of rows) await notifyChanged(db, idOf('endpoint', id))
}

export interface HoldingEndpoint {
  place: Place
  id: EndpointId
  enabled: boolean
}

/** Locked against changes. */
export async function lockHolding(tx: Transaction): Promise<HoldingEndpoint | undefined> {
  const row = await tx.row<{ place: number; id: string; enabled: boolean }>(sql`
    select m.place, e.id, e.enabled from webhook_endpoints e join merchants m on m.id = e.merchant_id
     where e.holds_deliveries order by e.id limit 1 for no key update of e skip locked`)
  return row && { place: row.place, id: idOf('endpoint', row.id), enabled: row.enabled }
}

/** Disabled deliveries are kept and listed, and can be redelivered. */
export async function disableWaiting(
  tx: Transaction,
  place: Place,
  destination: string,
  limit: number,
): Promise<number> {
  const now = await readTime(tx)
  const row = await tx.row<{ count: number }>(sql`
    with held as (
      -- An array: a join with the ids would read the whole table.
      update deliveries set state = 'disabled', done_at = ${now}::timestamptz
       where place = ${place}
         and id = any (array(select id from deliveries where place = ${place} and state = 'waiting' and destination = ${destination}
                              limit ${limit} for update))
      returning id
    )
    select count(*) from held`)
  return row?.count ?? 0
}

export async function endHolding(
  tx: Transaction,
  { place, id, enabled }: HoldingEndpoint,
  destination: string,
): Promise<void> {
  await tx.rows(sql`update webhook_endpoints set holds_deliveries = false where id = ${uuidOf(id)}`)
  if (!enabled) await tx.rows(sql`delete from delivery_retries where place = ${place} and destination = ${destination}`)
}
