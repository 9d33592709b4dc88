import { jsonColumns } from '../database/sql.ts'
import { type EndpointId, newId, uuidOf } from '../kernel/ids.ts'
import type { Owner } from '../kernel/scope.ts'
import { bodyOf, type Event, isAnnounced } from './event.ts'

/** PostgreSQL notification channel that wakes the delivery loops after a commit. */
export const DELIVERIES_CHANNEL = 'manilla_deliveries'

const EVENT =
  jsonColumns(`id uuid, merchant_id uuid, mode text, payment_id uuid, type text, sequence integer, data jsonb, cause text,
  occurred_at timestamptz, body text`)

/**
 * The transactional outbox, as parts of the statement that writes a change: the events, and for each that is sent to merchants one
 * delivery to every subscribed endpoint and one to the payment's own `webhook` URL. Either the change, its events and its deliveries are
 * committed together, or none of them. The delivery loop in webhooks/ sends them afterwards, at least once.
 *
 * They expect `written` with the ids of the payments that were written, the rows of `outboxOf` as JSON in `$1`, and the payments' place in
 * `$2`. The id of a delivery begins with the time of its event.
 */
export const EVENTS = `
  new_events as (
    insert into events (place, ${EVENT.names})
    select $2::smallint, ${EVENT.values}
      from jsonb_to_recordset($1::jsonb->'events') n (${EVENT.typed}) join written w on w.id = n.payment_id
    returning id, merchant_id, mode, payment_id, type, body
  )`
export const DELIVERIES = `
  new_deliveries as (
    insert into deliveries (place, id, event_id, merchant_id, mode, endpoint_id, url, destination)
    select $2::smallint, (left(e.id::text, 13) || right(gen_random_uuid()::text, 23))::uuid, e.id, e.merchant_id, e.mode, w.id, w.url, w.id::text
      from new_events e join webhook_endpoints w on w.merchant_id = e.merchant_id and w.mode = e.mode
     where e.body is not null and w.deleted_at is null and w.enabled and (w.events = '{}' or e.type = any(w.events))
    union all
    select $2::smallint, n.id, e.id, e.merchant_id, e.mode, null, n.url, n.destination
      from jsonb_to_recordset($1::jsonb->'deliveries') n (id uuid, event_id uuid, url text, destination text)
           join new_events e on e.id = n.event_id
    returning id, event_id, merchant_id, mode, endpoint_id, url, destination, due_at
  )`

/** The events as rows, and the deliveries to the payment's own `webhook` URL. */
export function outboxOf(events: Event[], webhook: string | null): { events: object[]; deliveries: object[] } {
  const rows = events.map((event) => ({
    id: uuidOf(event.id),
    merchant_id: uuidOf(event.merchantId),
    mode: event.mode,
    payment_id: uuidOf(event.paymentId),
    type: event.type,
    sequence: event.sequence,
    data: detailsOf(event),
    cause: event.cause,
    occurred_at: event.occurredAt,
    body: isAnnounced(event.type) ? bodyOf(event) : null,
  }))
  if (webhook === null) return { events: rows, deliveries: [] }
  const deliveries = events
    .filter(({ type }) => isAnnounced(type))
    .map((event) => ({
      id: uuidOf(newId('delivery', event.occurredAt, event.place)),
      event_id: uuidOf(event.id),
      url: webhook,
      destination: destinationOf({ ...event, url: webhook }),
    }))
  return { events: rows, deliveries }
}

/** What the timeline and the audit need. The payment itself is in the body, once. */
function detailsOf({ data: { payment, attempt, ...rest } }: Event): object {
  const { reference, failure } = (attempt ?? {}) as { reference?: string; failure?: unknown }
  return { ...rest, ...(attempt !== undefined && { attempt: { reference, failure } }) }
}

/** The unit of fairness: deliveries to one destination do not delay those to another. An endpoint, or merchant, mode and host. */
export function destinationOf(target: { endpointId: EndpointId } | (Owner & { url: string })): string {
  if ('endpointId' in target) return uuidOf(target.endpointId)
  return `${target.merchantId} ${target.mode} ${URL.parse(target.url)?.host ?? ''}`
}
