import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type DeliveryId, type EndpointId, type EventId, idOf, uuidOf } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import type { AnnouncedType } from './event.ts'

/** PostgreSQL notification channel that wakes the delivery loops after a commit. */
export const DELIVERIES_CHANNEL = 'manilla_deliveries'

export interface NewDelivery extends Scope {
  id: DeliveryId
  eventId: EventId
  endpointId: EndpointId | null
  url: string
  destination: string
}

export async function listSubscribedEndpoints(
  db: Queries,
  { merchantId, mode }: Scope,
  type: AnnouncedType,
): Promise<{ endpointId: EndpointId; url: string }[]> {
  const rows = await db.rows<{ id: string; url: string }>(sql`
    select id, url from webhook_endpoints
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and deleted_at is null and enabled
       and (events = '{}' or ${type} = any(events)) order by id`)
  return rows.map(({ id, url }) => ({ endpointId: idOf('endpoint', id), url }))
}

export async function insertDeliveries(tx: Transaction, deliveries: NewDelivery[]): Promise<void> {
  for (const delivery of deliveries) {
    await tx.rows(sql`
      insert into deliveries (id, event_id, merchant_id, mode, endpoint_id, url, destination)
      values (${uuidOf(delivery.id)}, ${uuidOf(delivery.eventId)}, ${uuidOf(delivery.merchantId)}, ${delivery.mode},
              ${delivery.endpointId && uuidOf(delivery.endpointId)}, ${delivery.url}, ${delivery.destination})`)
  }
  if (deliveries.length > 0) await tx.rows(sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`)
}

/** The unit of fairness: deliveries to one destination do not delay those to another. An endpoint, or merchant, mode and host. */
export function destinationOf(place: { endpointId: EndpointId } | (Scope & { url: string })): string {
  if ('endpointId' in place) return place.endpointId
  return `${place.merchantId} ${place.mode} ${URL.parse(place.url)?.host ?? ''}`
}
