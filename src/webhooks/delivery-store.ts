import { textArray } from '../database/array-literal.ts'
import type { Database, Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type DeliveryId, type EndpointId, type EventId, idOf, type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Delivery, DeliveryState } from './delivery.ts'

export const DELIVERIES_CHANNEL = 'manilla_deliveries'

export async function insertDeliveries(tx: Transaction, deliveries: Delivery[]): Promise<void> {
  for (const delivery of deliveries) {
    await tx.rows(sql`
      insert into deliveries (id, event_id, merchant_id, mode, endpoint_id, url, destination)
      values (${uuidOf(delivery.id)}, ${uuidOf(delivery.eventId)}, ${uuidOf(delivery.merchantId)}, ${delivery.mode},
              ${delivery.endpointId && uuidOf(delivery.endpointId)}, ${delivery.url}, ${delivery.destination})`)
  }
  if (deliveries.length > 0) await tx.rows(sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`)
}

/** A delivery with all that it takes to send it. */
export interface DueDelivery extends Delivery {
  body: string
  sealedSecret: Buffer | null
  sealedPreviousSecret: Buffer | null
  /** Monotonic time of this process after which the lease may be another's. */
  leasedUntilMs: number
}

interface DueRow {
  id: string
  event_id: string
  merchant_id: string
  mode: Mode
  endpoint_id: string | null
  url: string
  destination: string
  tries: number
  tries_before: number
  body: string
  sealed_secret: Buffer | null
  sealed_previous_secret: Buffer | null
}

// One claimer at a time: each sees the leases of the others, so that a destination is served by one process, which counts what it has in flight.
const CLAIM_LOCK = 6_264_554

/**
 * Deliveries that are due, for this process alone while the lease lasts: some of each destination, in turn, beginning after the one
 * where the last claim ended. Destinations are found by hopping along an index, so that a hundred thousand that wait for one dead
 * endpoint cost no more than one.
 */
export function claimDue(
  database: Database,
  {
    me,
    after,
    perDestination,
    limit,
    leaseSeconds,
  }: { me: string; after: string; perDestination: number; limit: number; leaseSeconds: number },
): Promise<DueDelivery[]> {
  return database.transaction(async (tx) => {
    await tx.rows(sql`select pg_advisory_xact_lock(${CLAIM_LOCK})`)
    const leasedUntilMs = performance.now() + leaseSeconds * 1_000
    const rows = await tx.rows<DueRow>(sql`
      with recursive lanes (destination) as (
        (select destination from deliveries where state = 'waiting' and destination > ${after} order by destination limit 1)
        union all
        select (select d.destination from deliveries d where d.state = 'waiting' and d.destination > l.destination
                 order by d.destination limit 1)
          from lanes l where l.destination is not null
      ), due as (
        select d.id from lanes l cross join lateral (
          select id from deliveries
           where state = 'waiting' and destination = l.destination and due_at <= now() and leased_until < now()
           order by due_at
           limit greatest(0, ${perDestination}::integer - (
             select count(*) from deliveries m
              where m.state = 'waiting' and m.destination = l.destination and m.leased_by is not null and m.leased_until >= now()))
        ) d
        where l.destination is not null
          and not exists (select from deliveries o
                           where o.state = 'waiting' and o.destination = l.destination and o.leased_by is not null
                             and o.leased_until >= now() and o.leased_by <> ${me}::uuid)
        limit ${limit}
      ), claimed as (
        update deliveries d set leased_by = ${me}::uuid, leased_until = now() + ${leaseSeconds}::integer * interval '1 second',
               url = coalesce((select w.url from webhook_endpoints w where w.id = d.endpoint_id), d.url) -- it may have moved
          from due where d.id = due.id
        returning d.id, d.event_id, d.merchant_id, d.mode, d.endpoint_id, d.url, d.destination, d.tries, d.tries_before, d.due_at
      )
      select c.id, c.event_id, c.merchant_id, c.mode, c.endpoint_id, c.url, c.destination, c.tries, c.tries_before, e.body,
             coalesce(w.sealed_secret, s.sealed_secret) as sealed_secret,
             case when c.endpoint_id is not null then case when w.previous_until > now() then w.sealed_previous_secret end
                  when s.previous_until > now() then s.sealed_previous_secret end as sealed_previous_secret
        from claimed c join events e on e.id = c.event_id
        left join webhook_endpoints w on w.id = c.endpoint_id
        left join webhook_secrets s on c.endpoint_id is null and s.merchant_id = c.merchant_id and s.mode = c.mode
       order by c.destination, c.due_at`)
    return rows.map((row) => ({
      id: idOf('delivery', row.id),
      eventId: idOf('event', row.event_id),
      merchantId: idOf('merchant', row.merchant_id),
      mode: row.mode,
      endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
      url: row.url,
      destination: row.destination,
      tries: row.tries,
      triesBefore: row.tries_before,
      body: row.body,
      sealedSecret: row.sealed_secret,
      sealedPreviousSecret: row.sealed_previous_secret,
      leasedUntilMs,
    }))
  })
}

export interface TryResult {
  delivery: Delivery
  state: DeliveryState
  waitSeconds: number
  status: number | null
  error: string | null
  answer: string
  tookMs: number
}

/** Notes what became of many tries in one statement. Whose lease has passed to another is left to that one. */
export async function noteTries(db: Queries, me: string, results: TryResult[]): Promise<void> {
  const column = (pick: (result: TryResult) => string | null) => textArray(results.map(pick))
  await db.rows(sql`
    with results as (
      select * from unnest(
        ${column(({ delivery }) => uuidOf(delivery.id))}::uuid[], ${column(({ state }) => state)}::text[],
        ${column(({ waitSeconds }) => String(waitSeconds))}::double precision[],
        ${column(({ status }) => (status === null ? null : String(status)))}::integer[], ${column(({ error }) => error)}::text[],
        ${column(({ answer }) => answer)}::text[], ${column(({ tookMs }) => String(Math.round(tookMs)))}::integer[])
        as r (id, state, wait_seconds, status, error, answer, took_ms)
    ), noted as (
      update deliveries d
         set state = case when d.state = 'waiting' then r.state else d.state end, tries = d.tries + 1,
             due_at = now() + r.wait_seconds * interval '1 second', leased_by = null, leased_until = '-infinity',
             done_at = case when r.state <> 'waiting' then now() end
        from results r where d.id = r.id and d.leased_by = ${me}::uuid
      returning d.id, d.tries
    )
    insert into delivery_tries (delivery_id, number, status, error, answer, took_ms)
    select n.id, n.tries, r.status, r.error, r.answer, r.took_ms from noted n join results r on r.id = n.id`)
}

/** Gives back what was claimed and not sent, for anyone to take at once. */
export async function releaseDeliveries(db: Queries, me: string, ids: DeliveryId[]): Promise<void> {
  if (ids.length === 0) return
  await db.rows(sql`
    update deliveries set leased_by = null, leased_until = '-infinity'
     where id = any(${ids.map(uuidOf)}::uuid[]) and leased_by = ${me}::uuid`)
}

/** What waits for an endpoint that is switched off: kept, listed, and sent again when somebody asks. */
export async function holdDeliveries(tx: Transaction, endpointId: EndpointId): Promise<void> {
  await tx.rows(sql`
    update deliveries set state = 'disabled', done_at = now(), leased_by = null, leased_until = '-infinity'
     where endpoint_id = ${uuidOf(endpointId)} and state = 'waiting'`)
}

interface Owner {
  merchantId: MerchantId
  mode: Mode
}

/** Sends the deliveries of an event again, from the first wait on. Returns how many there are. */
export async function requeueEvent(tx: Transaction, { merchantId, mode }: Owner, eventId: EventId): Promise<number> {
  const rows = await tx.rows(sql`
    update deliveries d set state = 'waiting', tries_before = tries, due_at = now(), done_at = null, leased_by = null, leased_until = '-infinity'
     where event_id = ${uuidOf(eventId)} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode}
       and (endpoint_id is null or exists (select from webhook_endpoints e where e.id = d.endpoint_id and e.enabled))
    returning id`)
  if (rows.length > 0) await tx.rows(sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`)
  return rows.length
}

/** Sends again what was given up in that time. */
export async function requeueGivenUp(
  tx: Transaction,
  { merchantId, mode }: Owner,
  from: Date,
  to: Date,
): Promise<number> {
  const rows = await tx.rows(sql`
    update deliveries d set state = 'waiting', tries_before = tries, due_at = now(), done_at = null
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and state in ('exhausted', 'disabled')
       and created_at >= ${from} and created_at < ${to}
       and (endpoint_id is null or exists (select from webhook_endpoints e where e.id = d.endpoint_id and e.enabled))
    returning id`)
  if (rows.length > 0) await tx.rows(sql`select pg_notify(${DELIVERIES_CHANNEL}, '')`)
  return rows.length
}

export interface DeliveryRecord {
  id: DeliveryId
  endpointId: EndpointId | null
  url: string
  state: DeliveryState
  dueAt: Date
  tries: { number: number; at: Date; status: number | null; error: string | null; tookMs: number; answer: string }[]
}

export async function deliveriesOf(db: Queries, eventId: EventId): Promise<DeliveryRecord[]> {
  const rows = await db.rows<{
    id: string
    endpoint_id: string | null
    url: string
    state: DeliveryState
    due_at: Date
    tries: (Omit<DeliveryRecord['tries'][number], 'at'> & { at: string })[] | null
  }>(sql`
    select d.id, d.endpoint_id, d.url, d.state, d.due_at,
           (select json_agg(json_build_object('number', t.number, 'at', t.at, 'status', t.status, 'error', t.error,
                                              'tookMs', t.took_ms, 'answer', t.answer) order by t.number)
              from delivery_tries t where t.delivery_id = d.id) as tries
      from deliveries d where event_id = ${uuidOf(eventId)} order by d.id`)
  return rows.map((row) => ({
    id: idOf('delivery', row.id),
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url: row.url,
    state: row.state,
    dueAt: row.due_at,
    tries: (row.tries ?? []).map((each) => ({ ...each, at: new Date(each.at) })),
  }))
}

/** Deliveries and their tries are kept for thirty days after they ended. */
export async function forgetOldDeliveries(db: Queries, limit: number): Promise<number> {
  const rows = await db.rows(sql`
    delete from deliveries
     where id in (select id from deliveries where done_at < now() - interval '30 days' limit ${limit})
    returning id`)
  return rows.length
}
