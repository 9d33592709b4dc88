import { after } from 'node:test'
import type { Database } from '../../src/database/database.ts'
import { listen } from '../../src/database/listen.ts'
import { sql } from '../../src/database/sql.ts'
import { DELIVERIES_CHANNEL } from '../../src/events/outbox-store.ts'
import { findDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { type EventId, placeOf, uuidOf } from '../../src/kernel/ids.ts'
import type { Mode } from '../../src/kernel/mode.ts'
import { type WebhookHttp, webhookHttp } from '../../src/outbound/webhook-http.ts'
import { type DeliveryDependencies, type DeliveryEngine, startDelivering } from '../../src/webhooks/delivery-loop.ts'
import { scheduleRetries } from '../../src/webhooks/retry-store.ts'
import { createDatabase } from './database.ts'
import { eventually, type PayingService, type Shop, startPaying } from './paying.ts'
import type { Answer } from './service.ts'

/** A service without a delivery loop. Tests start engines with the options that they need. */
export interface DeliveringService extends PayingService {
  databaseUrl: string
  startEngine(changes?: EngineChanges): DeliveryEngine
}

export interface EngineChanges
  extends Partial<Pick<DeliveryDependencies, 'clock' | 'database' | 'allowPrivate' | 'log'>> {
  /** 15 s in the service. */
  deadlineMs?: number
  /** The calls that `deadlineMs` is for. Default: all. */
  isHurried?: (url: string) => boolean
}

export async function startDeliveringService(): Promise<DeliveringService> {
  const { url, database } = await createDatabase()
  const service = await startPaying({ database, databaseUrl: url })
  return {
    ...service,
    databaseUrl: url,
    startEngine({ deadlineMs = 15_000, isHurried = () => true, ...changes } = {}) {
      const [patient, hurried] = [webhookHttp(), webhookHttp({ deadlineMs })]
      const http: WebhookHttp = {
        post: (call) => (isHurried(call.url) ? hurried : patient).post(call),
        close() {
          patient.close()
          hurried.close()
        },
      }
      const allowPrivate = (mode: Mode) => mode === 'sandbox'
      const engine = startDelivering({ ...service.parts, allowPrivate, ...changes, http })
      const listening = listen(url, { [DELIVERIES_CHANNEL]: { heard: engine.wake, missed: engine.wake } })
      let stopped: Promise<void> | undefined
      const stop = () => {
        stopped ??= (async () => {
          await Promise.all([engine.stop(), listening.stop()])
          http.close()
        })()
        return stopped
      }
      after(stop)
      return { wake: engine.wake, stop }
    },
  }
}

/** Creates and cancels a payment, which records an event. Returns the event's id. */
export async function tell(shop: Shop, wanted: Record<string, unknown> = {}): Promise<EventId> {
  const body = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' }, ...wanted }
  const made = await shop.call('POST', '/payments/v1/checkouts', body)
  const { reference } = made.body.data
  await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
  const events = await shop.call('GET', `/payments/v1/events?payment=${reference}`)
  return events.body.data[0].id
}

export interface SeenDelivery {
  id: string
  endpoint: string | null
  url: string
  state: string
  nextTryAt: string | null
  tries: { number: number; at: string; status: number | null; error: string | null; tookMs: number; answer: string }[]
}

/** The deliveries of an event, as its merchant sees them. */
export async function deliveriesSeen(shop: Shop, eventId: string): Promise<SeenDelivery[]> {
  return (await shop.call('GET', `/payments/v1/events/${eventId}`)).body.data.deliveries
}

export async function deliverySeen(shop: Shop, eventId: string): Promise<SeenDelivery> {
  const [first] = await deliveriesSeen(shop, eventId)
  if (!first) throw new Error(`${eventId} has no delivery`)
  return first
}

/** The event's only delivery, when so many tries are recorded. */
export function triedTimes(shop: Shop, eventId: string, count: number): Promise<SeenDelivery> {
  return eventually(
    () => deliverySeen(shop, eventId),
    ({ tries }) => tries.length >= count,
  )
}

/**
 * Makes the next try due now. One that is due already may be in flight: with another time it would count as a
 * redelivery. Returns how many tries are recorded.
 */
export async function makeDue(database: Database, eventId: EventId): Promise<number> {
  const rows = await database.rows<{ destination: string; tries: number }>(sql`
    update deliveries set due_at = least(due_at, now()) where event_id = ${uuidOf(eventId)} returning destination, tries`)
  await scheduleRetries(
    database,
    placeOf(eventId),
    rows.map(({ destination }) => destination),
  )
  return Math.max(...rows.map(({ tries }) => tries))
}

/** Ends the leases on the destinations of this event. */
export async function endLeases(database: Database, eventId: EventId): Promise<void> {
  await database.rows(
    sql`update delivery_leases set owned_until = now() - interval '1 second'
         where destination in (select destination from deliveries where event_id = ${uuidOf(eventId)})`,
  )
}

/** Adds many due deliveries of an event to one destination. */
export async function heapUp(
  database: Database,
  eventId: EventId,
  place: { url: string; destination: string },
  count: number,
): Promise<void> {
  await database.rows(sql`
    insert into deliveries (place, id, event_id, merchant_id, mode, url, destination)
    select e.place, gen_random_uuid(), e.id, e.merchant_id, e.mode, ${place.url}, ${place.destination}
      from events e cross join generate_series(1, ${count}::integer) where e.id = ${uuidOf(eventId)}`)
}

export async function defaultSecretOf({ database, parts }: PayingService, shop: Shop): Promise<string> {
  const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
  return (await findDefaultSecret(database, parts.secrets, owner)) ?? ''
}

export const ENDPOINTS = '/payments/v1/webhook-endpoints'

export async function addEndpoint(
  shop: Shop,
  url: string,
  wanted: Record<string, unknown> = {},
): Promise<Answer['body']> {
  return (await shop.call('POST', ENDPOINTS, { url, ...wanted })).body.data
}
