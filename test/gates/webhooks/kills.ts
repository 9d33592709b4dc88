import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { type EventId, idOf } from '../../../src/kernel/ids.ts'
import { type Heard, type Listener, openListener } from '../../support/listener.ts'
import type { Random } from '../random.ts'
import { mustBeNone } from '../report.ts'
import { Slot } from '../slot.ts'
import { type Ground, onGround } from './ground.ts'
import type { Part } from './report.ts'
import { type Door, makeAndCancel, type Told } from './stream.ts'

const CLIENTS = 6
// Deliveries to a destination wait for the take-over when its worker dies. With many destinations the stream continues.
const LISTENERS = 24
const TAKEOVER_MS = 10_000
const SETTLE_WITHIN_MS = TAKEOVER_MS + 30_000

/**
 * When a process is killed: after it acknowledged a change, during a call, or after the answer and before it recorded
 * the result.
 */
const MOMENTS = ['acknowledged', 'heard', 'answered'] as const
type Moment = (typeof MOMENTS)[number]

/**
 * `kill -9` between commit and delivery, and between delivery and its record. `hasten`: the leases of dead workers end
 * at once.
 */
export function killsUnderStream(
  random: Random,
  kills: number,
  { copies, hasten }: { copies: number; hasten: boolean },
): Promise<Part> {
  return onGround(async (ground) => {
    const slots = Array.from({ length: copies }, () => new Slot(ground.env))
    const listeners = await Promise.all(Array.from({ length: LISTENERS }, () => openListener()))
    try {
      await slots[0]?.start() // the first one migrates
      await Promise.all(slots.slice(1).map((slot) => slot.start()))
      return await run(random, kills, hasten, ground, slots, listeners)
    } finally {
      await Promise.all(slots.map((slot) => slot.end()))
      for (const listener of listeners) listener.close()
    }
  })
}

async function run(
  random: Random,
  kills: number,
  hasten: boolean,
  { database, headers, webhookSecret }: Ground,
  slots: Slot[],
  listeners: Listener[],
): Promise<Part> {
  const judge = new Webhook(webhookSecret)
  const faults: string[] = []
  let onHeard: ((heard: Heard, response: ServerResponse) => void) | undefined
  for (const listener of listeners) {
    listener.answer = (heard, response) => {
      try {
        judge.verify(heard.body, heard.headers as Record<string, string>)
      } catch (error) {
        faults.push(`${heard.headers['webhook-id']}: its signature does not hold: ${error}`)
      }
      if (onHeard) onHeard(heard, response)
      else response.end('ok')
    }
  }

  const told: Told[] = []
  let going = true
  let acknowledged = 0
  let onAcknowledged: ((door: Door, reference: string) => void) | undefined
  const client = async () => {
    while (going) {
      const number = told.length
      const reference = `told-${number}`
      const entry: Told = { reference, fault: 'under way' }
      told.push(entry)
      const webhook = (listeners[number % LISTENERS] as Listener).url
      const doors = () => slots.flatMap(({ copy }) => copy ?? [])
      const done = await makeAndCancel(doors, headers, { reference, webhook }, (door) => {
        acknowledged++
        onAcknowledged?.(door, reference)
      })
      entry.fault = done.fault
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)

  /**
   * Kills at that moment and waits for the restart. Returns the id of the event in flight, or the reference that was
   * acknowledged.
   */
  const killAt = async (moment: Moment): Promise<string> => {
    const reached = acknowledged + random.between(3, 30)
    await until(() => acknowledged >= reached, 'acknowledged calls')
    const crashed: Promise<void>[] = []
    const crash = (some: Slot[]) => crashed.push(...some.map((slot) => slot.crash()))
    const victim = await within(
      new Promise<string>((resolve) => {
        if (moment === 'acknowledged') {
          onAcknowledged = ({ port }, reference) => {
            onAcknowledged = undefined
            crash(slots.filter(({ copy }) => copy?.port === port))
            resolve(reference)
          }
          return
        }
        onHeard = (heard, response) => {
          onHeard = undefined
          resolve(String(heard.headers['webhook-id']))
          // The listener does not know which copy sent it, so all are killed.
          if (moment === 'heard') crash(slots)
          else response.end('ok', () => crash(slots))
        }
      }),
      moment,
    )
    await until(() => crashed.length > 0, 'a kill')
    await Promise.all(crashed)
    return victim
  }

  const cutOff: string[] = []
  const counts: Record<Moment, number> = { acknowledged: 0, heard: 0, answered: 0 }
  try {
    for (let kill = 0; kill < kills; kill++) {
      const moment = MOMENTS[kill % MOMENTS.length] as Moment
      const victim = await killAt(moment)
      counts[moment]++
      if (moment === 'heard') cutOff.push(victim)
    }
  } finally {
    going = false
    await Promise.all(clients)
  }
  const settledMs = await settle(database, hasten)
  return compare(database, { told, listeners, faults, cutOff, counts, settledMs, slots })
}

/** Waits until no delivery is waiting, or until SETTLE_WITHIN_MS. Returns the time that it took. */
async function settle(database: Database, hasten: boolean): Promise<number> {
  const startedAt = performance.now()
  while (performance.now() - startedAt < SETTLE_WITHIN_MS) {
    const left = await database.row<{ count: number }>(sql`select count(*) from deliveries where state = 'waiting'`)
    if (left?.count === 0) break
    await pause(250)
    // Live workers have finished theirs long before, so the rest belongs to dead ones.
    if (hasten && performance.now() - startedAt > 1_500) {
      await database.rows(sql`update delivery_leases set owned_until = '-infinity'`)
    }
  }
  return performance.now() - startedAt
}

interface Seen {
  told: Told[]
  listeners: Listener[]
  faults: string[]
  cutOff: string[]
  counts: Record<Moment, number>
  settledMs: number
  slots: Slot[]
}

/** Compares the acknowledged changes and the received webhooks with the database. */
async function compare(database: Database, seen: Seen): Promise<Part> {
  const { told, listeners, faults, cutOff, counts, settledMs } = seen
  const events = await database.rows<{ place: number; id: string; body: string; reference: string }>(sql`
    select e.place, e.id, e.body, p.reference from events e join payments p on p.place = e.place and p.id = e.payment_id where e.body is not null`)
  const bodies = new Map<string, string>(
    events.map(({ place, id, body }) => [idOf('event', id, place) as EventId, body]),
  )
  const states = await database.rows<{ state: string; count: number }>(
    sql`select state, count(*) from deliveries group by state`,
  )
  const heard = Map.groupBy(
    listeners.flatMap((listener) => listener.heard),
    ({ headers }) => String(headers['webhook-id']),
  )
  const cancelled = new Set(events.map(({ reference }) => reference))
  const lost = [...bodies.keys()].filter((id) => !heard.has(id))
  const unrecorded = told.filter(({ reference, fault }) => !fault && !cancelled.has(reference))
  const undelivered = states.filter(({ state }) => state !== 'delivered').reduce((sum, { count }) => sum + count, 0)
  const made = states.reduce((sum, { count }) => sum + count, 0)
  const altered = [...heard].filter(([id, copies]) => copies.some(({ body }) => body !== bodies.get(id)))
  const stale = [...heard.values()].filter((copies) => !risesIn(copies))
  const unrepeated = cutOff.filter((id) => (heard.get(id)?.length ?? 0) < 2)
  const repeats = [...heard.values()].reduce((sum, copies) => sum + copies.length - 1, 0)
  const wrong = [
    ...faults,
    ...told.filter(({ fault }) => fault).map(({ reference, fault }) => `${reference}: ${fault}`),
    ...lost.map((id) => `${id}: never heard`),
    ...unrecorded.map(({ reference }) => `${reference}: acknowledged, and no event of it`),
    ...altered.map(([id]) => `${id}: not the bytes that were recorded, or not recorded at all`),
    ...unrepeated.map((id) => `${id}: cut off, and not repeated`),
  ]
  return {
    title: `kill -9 under a stream of payments, copies: ${seen.slots.length}, listeners: ${LISTENERS}`,
    events: events.length,
    rows: [
      ['kills', `${counts.acknowledged} after commit, ${counts.heard} in mid-call, ${counts.answered} before the note`],
      ['slowest start', `${Math.max(...seen.slots.map((slot) => slot.slowestStartMs)).toFixed(0)} ms`],
      ['payments told', told.length],
      ['events', events.length],
      ['webhooks heard', `${[...heard.values()].flat().length}, of them repeats ${repeats}`],
      ['settled after', `${(settledMs / 1_000).toFixed(1)} s`],
      ['lost', mustBeNone(lost.length + unrecorded.length)],
      ['not delivered', mustBeNone(undelivered + Math.abs(made - events.length))],
      ['other bytes', mustBeNone(altered.length)],
      ['stale timestamps', mustBeNone(stale.length)],
      ['not repeated', mustBeNone(unrepeated.length)],
      ['faults', mustBeNone(wrong.length)],
    ],
    faults: wrong,
    clean:
      wrong.length + undelivered + stale.length + Math.abs(made - events.length) === 0 && events.length === told.length,
  }
}

/** Each repeat has a timestamp of its own, which never goes back. */
function risesIn(copies: Heard[]): boolean {
  const stamps = copies.toSorted((a, b) => a.at - b.at).map(({ headers }) => Number(headers['webhook-timestamp']))
  return stamps.every((stamp, index) => index === 0 || stamp >= (stamps[index - 1] as number))
}

const PATIENCE_MS = 60_000

async function until(isSo: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`no ${what} for ${PATIENCE_MS} ms`)
    await pause(2)
  }
}

function within<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no moment "${what}" for ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  return Promise.race([promise, tooLate]).finally(() => clearTimeout(timer))
}
