import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { createMerchant } from '../../../src/integrations/create-merchant.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { Country } from '../../../src/kernel/country.ts'
import { type EndpointId, idOf, type MerchantId } from '../../../src/kernel/ids.ts'
import { secretBox } from '../../../src/kernel/secret-box.ts'
import { createCredential } from '../../../src/merchants/manage-merchants.ts'
import { changeEndpoint, createEndpoint } from '../../../src/webhooks/manage-endpoints.ts'
import { redeliverGivenUp } from '../../../src/webhooks/redeliver-events.ts'
import { type Listener, type Manner, openListener, takes } from '../../support/listener.ts'
import { endNow, loopbackOf, residentMiB, startWithin } from '../processes.ts'
import type { Random } from '../random.ts'
import { mustBeNone } from '../report.ts'
import { type Ground, onGround } from './ground.ts'
import { mustBeWithin, type Part } from './report.ts'
import { makeAndCancel, type Told } from './stream.ts'

const SICK = 0.3
const SICKNESSES: Record<string, Manner> = {
  silence: takes.inSilence,
  500: takes.with(500, {}, 'not today'),
  drip: takes.byDrips(200),
  reset: takes.byReset,
  410: takes.with(410),
  301: takes.with(301, { location: 'http://127.0.0.1:9/' }),
  429: takes.with(429, { 'retry-after': '120' }),
  endless: takes.withoutEnd(),
}
const CLIENTS = 8
const IN_FLIGHT = 8
const P50_MS = 1_000
const P99_MS = 5_000
const GROWTH_MIB = 128
const CURED_WITHIN_MS = 90_000

/**
 * One endpoint with a merchant of its own. Half of them are `webhook` URLs of requests, the others are configured
 * endpoints.
 */
interface Place {
  /** Of the merchant. */
  place: number
  merchantId: MerchantId
  headers: Record<string, string>
  listener: Listener
  sickness: string | undefined
  endpointId: EndpointId | undefined
  told: Told[]
}

/**
 * Many endpoints, some of them failing: nothing is lost, healthy ones are not delayed, and failing ones receive all
 * after they recover.
 */
export function crowdOfEndpoints(
  random: Random,
  { endpoints, events }: { endpoints: number; events: number },
): Promise<Part> {
  return onGround(async (ground) => {
    const service = await startWithin(ground.env)
    const places: Place[] = []
    try {
      const names = Object.keys(SICKNESSES)
      for (let number = 0; number < endpoints; number++) {
        const isSick = number < Math.round(endpoints * SICK)
        places.push(await settleIn(ground, number, isSick ? names[number % names.length] : undefined))
      }
      const { port } = loopbackOf(service.baseUrl)
      const memory = () => residentMiB(service.pid)
      return await run(random, ground, { port, memory, places, events })
    } finally {
      await endNow(service)
      for (const { listener } of places) listener.close()
    }
  })
}

async function settleIn({ database, secretKey }: Ground, number: number, sickness: string | undefined): Promise<Place> {
  const listener = await openListener(sickness === undefined ? takes.well : SICKNESSES[sickness])
  const parts = { database, clock: systemClock, secrets: secretBox(secretKey) }
  const { id, place } = await createMerchant(parts, 'gate', { name: `Shop ${number}`, country: 'NG' as Country })
  const { clientId, clientSecret } = await createCredential(parts, 'gate', id, 'sandbox')
  const wanted = { url: listener.url, events: [], enabled: true }
  // A 410 disables a configured endpoint; a `webhook` URL of a request cannot be disabled.
  const made =
    number % 2 === 0 || sickness === '410'
      ? await createEndpoint(parts, 'gate', { merchantId: id, mode: 'sandbox' }, wanted)
      : undefined
  const headers = { 'client-id': clientId, 'client-secret': clientSecret }
  return { place, merchantId: id, headers, listener, sickness, endpointId: made?.endpoint.id, told: [] }
}

interface Crowd {
  port: number
  memory: () => number
  places: Place[]
  events: number
}

async function run(random: Random, ground: Ground, { port, memory, places, events }: Crowd): Promise<Part> {
  const { database } = ground
  let number = 0
  let memoryBefore = 0
  const startedAt = performance.now()
  const client = async () => {
    while (number < events) {
      const mine = number++
      if (mine === Math.floor(events / 5)) memoryBefore = memory() // warm by now
      // Each endpoint gets one, the rest are distributed at random.
      const place = mine < places.length ? (places[mine] as Place) : random.pick(places)
      const webhook = place.endpointId ? {} : { webhook: place.listener.url }
      place.told.push(await makeAndCancel(() => [{ port }], place.headers, { reference: `told-${mine}`, ...webhook }))
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const streamedMs = performance.now() - startedAt
  const healthy = places.filter(({ sickness }) => sickness === undefined)
  await until(() => healthy.every(({ listener, told }) => distinct(listener) >= told.length), P99_MS * 2)
  const memoryAfter = memory()
  const before = await countStates(database)
  const missed = healthy.reduce((sum, { listener, told }) => sum + Math.max(0, told.length - distinct(listener)), 0)
  const latencies = healthy.flatMap(({ listener }) => firstTryDelays(listener)).sort((a, b) => a - b)
  const curedMs = await cure(ground, places)
  const after = await countStates(database)

  const recorded = await database.rows<{
    place: number
    id: string
    merchant_id: string
    body: string
    has_delivery: boolean
  }>(sql`
    select place, id, merchant_id, body, exists (select from deliveries d where d.place = e.place and d.event_id = e.id) as has_delivery
      from events e where body is not null`)
  const heard = new Map<string, string>(
    places.flatMap(({ merchantId, listener }) =>
      listener.heard.map(({ headers, body }) => [`${merchantId} ${headers['webhook-id']}`, body] as const),
    ),
  )
  const nameOf = (row: (typeof recorded)[number]) =>
    `${idOf('merchant', row.merchant_id)} ${idOf('event', row.id, row.place)}`
  // Events during the time that an endpoint is disabled have no delivery. All others must have one, and it must arrive.
  const gone = new Set<string>(places.filter(({ sickness }) => sickness === '410').map(({ merchantId }) => merchantId))
  const owed = recorded.filter((row) => row.has_delivery || !gone.has(idOf('merchant', row.merchant_id)))
  const lost = owed.filter((row) => !heard.has(nameOf(row)))
  const names = new Set(recorded.map(nameOf))
  const strange = [...heard.keys()].filter((name) => !names.has(name))
  const altered = recorded.filter((row) => heard.has(nameOf(row)) && heard.get(nameOf(row)) !== row.body)
  const faults = [
    ...places.flatMap(({ told }) =>
      told.filter(({ fault }) => fault).map((each) => `${each.reference}: ${each.fault}`),
    ),
    ...lost.map((row) => `${nameOf(row)}: never heard`),
    ...strange.map((name) => `${name}: heard, and not recorded for that merchant`),
    ...altered.map((row) => `${nameOf(row)}: other bytes`),
  ]
  const [p50, p99, worst] = [at(latencies, 0.5), at(latencies, 0.99), latencies.at(-1) ?? 0]
  const crowded = places.filter(({ listener }) => listener.mostAtOnce > IN_FLIGHT)
  const growth = memoryAfter - memoryBefore
  const undelivered = Object.entries(after).reduce(
    (sum, [state, count]) => sum + (state === 'delivered' ? 0 : count),
    0,
  )
  const sick = places.length - healthy.length
  return {
    title: `${places.length} endpoints, ${sick} of them sick (${Object.keys(SICKNESSES).join(', ')})`,
    events: recorded.length,
    rows: [
      ['events', `${recorded.length} of ${events} in ${(streamedMs / 1_000).toFixed(1)} s`],
      ['while switched off', recorded.length - owed.length],
      ['then', printStates(before)],
      ['when all are well', `${printStates(after)}, after ${(curedMs / 1_000).toFixed(1)} s`],
      ['healthy first try p50', mustBeWithin(p50, P50_MS, 'ms')],
      ['healthy first try p99', mustBeWithin(p99, P99_MS, 'ms')],
      ['the slowest', `${worst.toFixed(0)} ms`],
      [
        'memory',
        `${memoryBefore.toFixed(0)} → ${memoryAfter.toFixed(0)} MiB, growth ${mustBeWithin(growth, GROWTH_MIB, 'MiB')}`,
      ],
      ['missed by the healthy', mustBeNone(missed)],
      ['lost', mustBeNone(lost.length + Math.abs(events - recorded.length))],
      ['not delivered', mustBeNone(undelivered)],
      ['other bytes', mustBeNone(altered.length)],
      ['heard by others', mustBeNone(strange.length)],
      [`over ${IN_FLIGHT} in flight`, mustBeNone(crowded.length)],
    ],
    faults,
    clean:
      faults.length + missed + undelivered + crowded.length + Math.abs(events - recorded.length) === 0 &&
      p50 <= P50_MS &&
      p99 <= P99_MS &&
      growth <= GROWTH_MIB,
  }
}

/** All endpoints recover, retries become due, and exhausted deliveries are redelivered. Returns how long it took. */
async function cure({ database, secretKey }: Ground, places: Place[]): Promise<number> {
  const startedAt = performance.now()
  const parts = { database, clock: systemClock, secrets: secretBox(secretKey) }
  for (const place of places.filter(({ sickness }) => sickness !== undefined)) {
    place.listener.answer = takes.well
    place.listener.hangUp()
  }
  while (performance.now() - startedAt < CURED_WITHIN_MS) {
    for (const { place, merchantId, endpointId, sickness } of places) {
      if (sickness === undefined) continue
      const owner = { place, merchantId, mode: 'sandbox' as const }
      if (endpointId) await changeEndpoint(parts, 'gate', owner, endpointId, { enabled: true })
      await redeliverGivenUp(parts, owner, new Date(0), new Date(Date.now() + 60_000))
    }
    // Rows that the service is writing are left for the next turn: waiting for several of them can be a deadlock.
    await database.rows(sql`
      update deliveries set due_at = now() where (place, id) in (
        select place, id from deliveries where state = 'waiting' and due_at > now() for update skip locked)`)
    await database.rows(sql`
      update delivery_retries set next_due_at = now() where (place, destination) in (
        select place, destination from delivery_retries where next_due_at > now() for update skip locked)`)
    await pause(400)
    const states = await countStates(database)
    if (Object.keys(states).every((state) => state === 'delivered')) break
  }
  return performance.now() - startedAt
}

async function countStates(database: Database): Promise<Record<string, number>> {
  const rows = await database.rows<{ state: string; count: number }>(
    sql`select state, count(*) from deliveries group by state order by state`,
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

const printStates = (states: Record<string, number>) =>
  Object.entries(states)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')

const distinct = ({ heard }: Listener) => new Set(heard.map(({ headers }) => headers['webhook-id'])).size

/** Milliseconds from the timestamp of an event to its first arrival. */
function firstTryDelays({ heard }: Listener): number[] {
  const byId = Map.groupBy(heard, ({ headers }) => headers['webhook-id'])
  return [...byId.values()].map(([first]) => {
    const heardAt = performance.timeOrigin + (first?.at ?? 0)
    return Math.max(0, heardAt - Date.parse(JSON.parse(first?.body ?? '').timestamp))
  })
}

function at(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

async function until(isSo: () => boolean, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!isSo() && performance.now() < deadline) await pause(20)
}
