import { textArray } from '../database/array-literal.ts'
import type { Queries, Transaction } from '../database/database.ts'
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
export interface DueDelivery extends Omit<Delivery, 'id'> {
  /** Its id as the database has it: it comes from there, goes back soon, and nobody sees it in between. */
  uuid: string
  body: string
  /** In base64: the same for many, and as text known again at once. */
  sealedSecret: string | null
  sealedPreviousSecret: string | null
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
  sealed_secret: string | null
  sealed_previous_secret: string | null
}

function dueOf(row: DueRow, merchantIdOf: (uuid: string) => MerchantId): DueDelivery {
  return {
    uuid: row.id,
    eventId: idOf('event', row.event_id),
    merchantId: merchantIdOf(row.merchant_id),
    mode: row.mode,
    endpointId: row.endpoint_id === null ? null : idOf('endpoint', row.endpoint_id),
    url: row.url,
    destination: row.destination,
    tries: row.tries,
    triesBefore: row.tries_before,
    body: row.body,
    sealedSecret: row.sealed_secret,
    sealedPreviousSecret: row.sealed_previous_secret,
  }
}

export interface Taking {
  me: string
  /** These, or when absent whichever have something due, in turn, after that one. */
  destinations?: string[]
  after: string
  maxDestinations: number
  perDestination: number
  ownSeconds: number
  /** What this process has already, by `uuid`. */
  inHand: string[]
  /** Destinations for which that is plenty: they are passed over. */
  sated: string[]
}

/**
 * Takes destinations for this process alone while its ownership lasts, and some of what is due for each. Destinations are found by
 * hopping along an index, so that a hundred thousand that wait for one dead endpoint cost no more than one. Whoever owns a destination
 * keeps it by taking again.
 */
export async function takeDue(db: Queries, wanted: Taking): Promise<DueDelivery[]> {
  const { me, destinations, after, maxDestinations, perDestination, ownSeconds, inHand, sated } = wanted
  const held = textArray(inHand)
  const rows = await db.rows<DueRow>(sql`
    with recursive hops (destination) as (
      (select destination from deliveries
        where state = 'waiting' and destination > ${after} and ${destinations === undefined}::boolean
        order by destination limit 1)
      union all
      select (select d.destination from deliveries d where d.state = 'waiting' and d.destination > h.destination
               order by d.destination limit 1)
        from hops h where h.destination is not null
    ), held (id) as (
      -- "Not in" looks each up in a hash; "<> all" would compare it with every one of them.
      select unnest(${held}::uuid[])
    ), open as (
      select f.destination from (select destination from hops union all select unnest(${destinations ?? []}::text[])) f (destination)
        -- A lateral with a limit, not "exists": that would be turned into a join with everything that is due.
        cross join lateral (select from deliveries d
                             where d.state = 'waiting' and d.destination = f.destination and d.due_at <= now()
                               and d.id not in (select id from held) limit 1) due
       where f.destination is not null and f.destination <> all (${sated}::text[])
         and not exists (select from delivery_lanes l
                          where l.destination = f.destination and l.owner <> ${me}::uuid and l.owned_until >= now())
       limit ${maxDestinations}
    ), mine as (
      insert into delivery_lanes as l (destination, owner, owned_until)
      select destination, ${me}::uuid, now() + ${ownSeconds}::integer * interval '1 second' from open
      on conflict (destination) do update set owner = excluded.owner, owned_until = excluded.owned_until
       where l.owner = excluded.owner or l.owned_until < now()
      returning destination
    )
    select d.id, d.event_id, d.merchant_id, d.mode, d.endpoint_id, coalesce(w.url, d.url) as url, d.destination, d.tries, d.tries_before,
           e.body, encode(coalesce(w.sealed_secret, s.sealed_secret), 'base64') as sealed_secret,
           encode(case when d.endpoint_id is not null then case when w.previous_until > now() then w.sealed_previous_secret end
                       when s.previous_until > now() then s.sealed_previous_secret end, 'base64') as sealed_previous_secret
      from mine m cross join lateral (
        select id, event_id, merchant_id, mode, endpoint_id, url, destination, tries, tries_before, due_at from deliveries
         where state = 'waiting' and destination = m.destination and due_at <= now() and id not in (select id from held)
         order by due_at limit ${perDestination}) d
      join events e on e.id = d.event_id
      left join webhook_endpoints w on w.id = d.endpoint_id
      left join webhook_secrets s on d.endpoint_id is null and s.merchant_id = d.merchant_id and s.mode = d.mode
     order by d.destination, d.due_at`)
  const merchantIds = new Map<string, MerchantId>() // many deliveries, few merchants
  const merchantIdOf = (uuid: string) => {
    const id = merchantIds.get(uuid) ?? idOf('merchant', uuid)
    merchantIds.set(uuid, id)
    return id
  }
  return rows.map((row) => dueOf(row, merchantIdOf))
}

/** For others to take at once. */
export async function releaseDestinations(db: Queries, me: string): Promise<void> {
  await db.rows(sql`delete from delivery_lanes where owner = ${me}::uuid`)
}

/** Destinations that nobody has served for long. */
export async function forgetOldDestinations(db: Queries): Promise<void> {
  await db.rows(sql`delete from delivery_lanes where owned_until < now() - interval '1 hour'`)
}

export interface TryResult {
  delivery: DueDelivery
  state: DeliveryState
  waitSeconds: number
  status: number | null
  error: string | null
  answer: string
  tookMs: number
}

/** Notes what became of many tries in one statement. What another process has noted meanwhile stands. */
export async function noteTries(db: Queries, results: TryResult[]): Promise<void> {
  const column = (pick: (result: TryResult) => string | null) => textArray(results.map(pick))
  await db.rows(sql`
    with results as (
      select * from unnest(
        ${column(({ delivery }) => delivery.uuid)}::uuid[], ${column(({ delivery }) => String(delivery.tries))}::integer[],
        ${column(({ state }) => state)}::text[], ${column(({ waitSeconds }) => String(waitSeconds))}::double precision[],
        ${column(({ status }) => (status === null ? null : String(status)))}::integer[], ${column(({ error }) => error)}::text[],
        ${column(({ answer }) => answer)}::text[], ${column(({ tookMs }) => String(Math.round(tookMs)))}::integer[],
        ${column(({ delivery }) => delivery.url)}::text[])
        as r (id, tries, state, wait_seconds, status, error, answer, took_ms, url)
    ), noted as (
      update deliveries d
         set state = r.state, url = r.url, tries = d.tries + 1, due_at = now() + r.wait_seconds * interval '1 second',
             done_at = case when r.state <> 'waiting' then now() end
        from results r where d.id = r.id and d.tries = r.tries and d.state = 'waiting'
      returning d.id, d.tries
    )
    insert into delivery_tries (delivery_id, number, status, error, answer, took_ms)
    select n.id, n.tries, r.status, r.error, r.answer, r.took_ms from noted n join results r on r.id = n.id`)
}

/** What waits for an endpoint that is switched off: kept, listed, and sent again when somebody asks. */
export async function holdDeliveries(tx: Transaction, endpointId: EndpointId): Promise<void> {
  await tx.rows(sql`
    update deliveries set state = 'disabled', done_at = now()
     where endpoint_id = ${uuidOf(endpointId)} and state = 'waiting'`)
}

interface Owner {
  merchantId: MerchantId
  mode: Mode
}

/** Sends the deliveries of an event again, from the first wait on. Returns how many there are. */
export async function requeueEvent(tx: Transaction, { merchantId, mode }: Owner, eventId: EventId): Promise<number> {
  const rows = await tx.rows(sql`
    update deliveries d set state = 'waiting', tries_before = tries, due_at = now(), done_at = null
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
