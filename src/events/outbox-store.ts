import type { Writes } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type EndpointId, newId, uuidOf } from '../kernel/ids.ts'
import type { Owner } from '../kernel/scope.ts'
import { alertOf, alertRaised } from './alert-store.ts'
import { bodyOf, type Event, isAnnounced } from './event.ts'

/** PostgreSQL notification channel that wakes the delivery loops after a commit. */
export const DELIVERIES_CHANNEL = 'manilla_deliveries'

/**
 * The transactional outbox: writes an event in the transaction of its change, and if it is sent to merchants, one
 * delivery to every subscribed endpoint and one to the payment's own `webhook` URL. Either the change, its events and
 * its deliveries are committed together, or none of them. The delivery loop in webhooks/ sends them afterwards, at
 * least once.
 */
export function writeEvent(tx: Writes, event: Event, webhook: string | null): void {
  const isSent = isAnnounced(event.type)
  tx.write(sql`
    insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data, cause, occurred_at, body)
    values (${event.place}, ${uuidOf(event.id)}, ${uuidOf(event.merchantId)}, ${event.mode}, ${event.paymentId && uuidOf(event.paymentId)}, ${event.type},
            ${event.sequence}, ${JSON.stringify(detailsOf(event))}, ${event.cause}, ${event.occurredAt}, ${isSent ? bodyOf(event) : null})`)
  if (!isSent) return
  const alert = alertOf(event)
  if (alert) tx.write(alertRaised(event, alert, event.occurredAt))
  writeDeliveriesToEndpoints(tx, event)
  if (webhook !== null) writeDeliveryTo(tx, event, webhook)
  tx.notify(DELIVERIES_CHANNEL)
}

/**
 * The id of a delivery begins with the time of its event, as the ids that this process makes. The rest of it is a
 * digest of event and endpoint, so that the statement writes the same rows wherever it is run again.
 */
function writeDeliveriesToEndpoints(tx: Writes, { place, id, merchantId, mode, type }: Event): void {
  const uuid = uuidOf(id)
  tx.write(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, endpoint_id, url, destination)
    select ${place}::smallint, (left(${uuid}::text, 13) || right(md5(${uuid}::text || w.id::text)::uuid::text, 23))::uuid, ${uuid}::uuid,
           w.merchant_id, w.mode, w.id, w.url, w.id::text
      from webhook_endpoints w
     where w.merchant_id = ${uuidOf(merchantId)} and w.mode = ${mode} and w.deleted_at is null and w.enabled
       and (w.events = '{}' or ${type} = any(w.events))`)
}

function writeDeliveryTo(tx: Writes, event: Event, url: string): void {
  const { place, id, merchantId, mode, occurredAt } = event
  tx.write(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination)
    values (${place}, ${uuidOf(newId('delivery', occurredAt, place))}, ${uuidOf(id)}, ${uuidOf(merchantId)}, ${mode}, ${url},
            ${destinationOf({ merchantId, mode, url })})`)
}

/** What the timeline and the audit need. The payment itself is in the body, once. */
function detailsOf({ data: { payment, attempt, ...rest }, transactions }: Event): object {
  const { reference, failure } = (attempt ?? {}) as { reference?: string; failure?: unknown }
  return {
    ...rest,
    ...(attempt !== undefined && { attempt: { reference, failure } }),
    ...(transactions && { transactions }),
  }
}

/**
 * The unit of fairness: deliveries to one destination do not delay those to another. An endpoint, or merchant, mode and
 * host.
 */
export function destinationOf(target: { endpointId: EndpointId } | (Owner & { url: string })): string {
  if ('endpointId' in target) return uuidOf(target.endpointId)
  return `${target.merchantId} ${target.mode} ${URL.parse(target.url)?.host ?? ''}`
}
