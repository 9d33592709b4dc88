import { type Database, type Queries, reservedOf } from '../database/database.ts'
import { type EndpointId, type EventId, idOf, type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Place } from '../kernel/place.ts'
import { bodyOf, type Event } from './event.ts'
import { DELIVERIES_CHANNEL } from './outbox-store.ts'

/** A delivery with everything that is needed to send it. */
export interface UnsentDelivery {
  /** The id as the database stores it. It is never shown, so it is not converted. */
  uuid: string
  place: Place
  eventId: EventId
  merchantId: MerchantId
  mode: Mode
  endpointId: EndpointId | null
  url: string
  destination: string
  body: string
  /** Exactly as the database has it, in text: another value later means that a redelivery was requested since. */
  dueAt: string
  /** In base64, which is the key of the cache of opened secrets. */
  sealedSecret: string | null
  sealedPreviousSecret: string | null
}

/** Takes charge of deliveries right after their commit. Returns false if the delivery loops must be woken for some of them. */
export type Sender = (deliveries: UnsentDelivery[]) => boolean

const senders = new WeakMap<Queries, Sender>()

/**
 * Registers the delivery loop of this process, which then gets what this process writes directly and needs no claim for it. Returns the
 * function that ends this.
 */
export function sendNewWith(database: Database, sender: Sender): () => void {
  const connections = [database, reservedOf(database)]
  for (const each of connections) senders.set(each, sender)
  return () => {
    for (const each of connections) if (senders.get(each) === sender) senders.delete(each)
  }
}

/** A payment that was written, or one of the new deliveries. */
export type WrittenRow = { payment_id: string; id: null } | (DeliveryRow & { payment_id: null })

interface DeliveryRow {
  id: string
  event_id: string
  endpoint_id: string | null
  url: string
  destination: string
  due_at: string
  sealed_secret: string | null
  sealed_previous_secret: string | null
  previous_until: Date | null
}

/**
 * The end of a statement with `EVENTS` and `DELIVERIES` (outbox-store.ts): what it has written. Not one join of payments and deliveries:
 * PostgreSQL expects one of each, and would compare all of them with each other.
 */
export const WRITTEN_WITH_DELIVERIES = `
  select id as payment_id, null::uuid as id, null::uuid as event_id, null::uuid as endpoint_id, null as url, null as destination,
         null as due_at, null as sealed_secret, null as sealed_previous_secret, null::timestamptz as previous_until
    from written
  union all
  select null, d.id, d.event_id, d.endpoint_id, d.url, d.destination, d.due_at::text,
         encode(coalesce(w.sealed_secret, s.sealed_secret), 'base64') as sealed_secret,
         encode(coalesce(w.sealed_previous_secret, s.sealed_previous_secret), 'base64') as sealed_previous_secret,
         coalesce(w.previous_until, s.previous_until) as previous_until
    from new_deliveries d
    left join webhook_endpoints w on w.id = d.endpoint_id
    left join webhook_secrets s on d.endpoint_id is null and s.merchant_id = d.merchant_id and s.mode = d.mode`

/**
 * Sends the deliveries of these events, or wakes the delivery loops. In a transaction they are not committed yet: the loops are woken after
 * its commit, and claim them.
 */
export function sendNew(db: Queries, rows: WrittenRow[], events: Event[]): void {
  const eventsByUuid = new Map(events.map((event) => [uuidOf(event.id), event]))
  const sender = senders.get(db)
  const isTaken = sender?.(
    rows.flatMap((row) => {
      const event = row.id === null ? undefined : eventsByUuid.get(row.event_id)
      return row.id === null || !event ? [] : [unsentOf(row, event)]
    }),
  )
  if (!isTaken) db.notify(DELIVERIES_CHANNEL)
}

function unsentOf(row: DeliveryRow, event: Event): UnsentDelivery {
  const { id: eventId, place, merchantId, mode, occurredAt } = event
  const hasPrevious = row.previous_until !== null && row.previous_until > occurredAt
  return {
    ...{ place, eventId, merchantId, mode },
    uuid: row.id,
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url: row.url,
    destination: row.destination,
    body: bodyOf(event),
    dueAt: row.due_at,
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: hasPrevious ? row.sealed_previous_secret : null,
  }
}
