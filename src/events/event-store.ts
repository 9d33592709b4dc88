import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type EventId, firstUuidAt, idOf, LAST_UUID, type PaymentId, placeOf, uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import type { Scope } from '../kernel/scope.ts'
import type { AnnouncedType } from './event.ts'

/** PostgreSQL notification channel. The payload is the id of a payment whose change was committed. */
export const PAYMENTS_CHANNEL = 'manilla_payments'

/** A stored event that is sent to merchants. */
export interface RecordedEvent {
  id: EventId
  /** Null: of a case without a payment. */
  paymentId: PaymentId | null
  type: AnnouncedType
  body: string
}

interface EventRow {
  place: number
  id: string
  payment_id: string | null
  type: AnnouncedType
  body: string
}

function recordedOf(row: EventRow): RecordedEvent {
  const { place, type, body } = row
  return { id: idOf('event', row.id, place), paymentId: paymentOf(row, place), type, body }
}

function paymentOf({ payment_id }: Pick<EventRow, 'payment_id'>, place: Place): PaymentId | null {
  return payment_id === null ? null : idOf('payment', payment_id, place)
}

/** Events that are sent to merchants, newest first (keyset pagination by id). */
export async function listEvents(
  db: Queries,
  { place, merchantId, mode }: Scope,
  filter: { paymentId: PaymentId | undefined; type: string | undefined; before: EventId | undefined; limit: number },
): Promise<RecordedEvent[]> {
  const { paymentId, type, before, limit } = filter
  const below = before ? uuidOf(before) : LAST_UUID
  if (paymentId) {
    const rows = await db.rows<EventRow>(sql`
      select place, id, payment_id, type, body from events
       where place = ${place} and payment_id = ${uuidOf(paymentId)} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and body is not null
         and id < ${below}::uuid and (${type ?? null}::text is null or type = ${type ?? null})
       order by id desc limit ${limit}`)
    return rows.map(recordedOf)
  }
  // One statement per index: a condition "type is null or …" would scan the events of every type.
  const rows =
    type === undefined
      ? await db.rows<EventRow>(sql`
          select place, id, payment_id, type, body from events
           where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and body is not null and id < ${below}::uuid
           order by id desc limit ${limit}`)
      : await db.rows<EventRow>(sql`
          select place, id, payment_id, type, body from events
           where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and type = ${type} and body is not null and id < ${below}::uuid
           order by id desc limit ${limit}`)
  return rows.map(recordedOf)
}

export async function findEvent(
  db: Queries,
  { merchantId, mode }: Scope,
  id: EventId,
): Promise<RecordedEvent | undefined> {
  const row = await db.row<EventRow>(sql`
    select place, id, payment_id, type, body from events
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and body is not null`)
  return row && recordedOf(row)
}

/** Events after the given one, oldest first. */
export async function eventsAfter(
  db: Queries,
  { place, merchantId, mode }: Scope,
  last: EventId,
  limit: number,
): Promise<RecordedEvent[]> {
  const rows = await db.rows<EventRow>(sql`
    select place, id, payment_id, type, body from events
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and body is not null and id > ${uuidOf(last)}::uuid
     order by id limit ${limit}`)
  return rows.map(recordedOf)
}

export type RecordedChange = Pick<RecordedEvent, 'id' | 'paymentId' | 'type'>

/** The events whose ids are of that time or later, oldest first. */
export async function changesSince(
  db: Queries,
  { place, merchantId, mode }: Scope,
  from: Date,
  limit: number,
): Promise<RecordedChange[]> {
  const rows = await db.rows<Omit<EventRow, 'body'>>(sql`
    select place, id, payment_id, type from events
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and body is not null and id >= ${firstUuidAt(from)}::uuid
     order by id limit ${limit}`)
  return rows.map((row) => ({
    id: idOf('event', row.id, place),
    paymentId: paymentOf(row, place),
    type: row.type,
  }))
}
