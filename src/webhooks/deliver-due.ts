import { type KeyObject, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { batch } from '../database/batch.ts'
import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { EndpointId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { recordAct } from '../merchants/audit-store.ts'
import { type Answer, destinationOf, judge, type Verdict } from './delivery.ts'
import {
  type DueDelivery,
  holdDeliveries,
  noteTries,
  releaseDestinations,
  type Taking,
  type TryResult,
  takeDue,
} from './delivery-store.ts'
import { disableEndpoint, endpointSecretPlace, noteHealth } from './endpoint-store.ts'
import { defaultSecretPlace } from './secret-store.ts'
import { signingKeys, webhookHeaders } from './signature.ts'

export interface DeliveryParts {
  database: Database
  clock: Clock
  log: Logger
  secrets: SecretBox
  http: {
    post(call: {
      url: string
      headers: Record<string, string>
      body: string
      allowPrivate: boolean
      destination?: string
    }): Promise<Answer>
  }
  /** Whether webhooks of a mode, or one webhook URL, may have a private address. */
  allowPrivate: (mode: Mode, url?: string) => boolean
}

export interface DeliveryEngine {
  /** There may be something to send. */
  wake(): void
  /** Takes no more, waits for what is under way, within reason, and leaves the rest to others at once. */
  stop(): Promise<void>
}

const OWN_SECONDS = 30
/** A call takes 15 s at most; one that could outlive our ownership of its destination is not begun. */
const LONGEST_CALL_MS = 16_000
const IN_FLIGHT_PER_DESTINATION = 8
/** Taken for an endpoint that has shown to be quick, so that it never waits for the database. Any other gets what can fly at once. */
const TAKEN_WHEN_QUICK = 256
const QUICK_MS = 1_000
const DESTINATIONS_AT_ONCE = 32
const MOST_IN_HAND = 8_192
const LOOK_EVERY_MS = 1_000
const FAILING_DAYS = 5
const STOP_WITHIN_MS = 5_000
const NOTE_AGAIN_AFTER_MS = 1_000
const GATHER_MS = 50

/** Carries events out: each destination at its own pace, none in another's way. */
export function startDelivering(parts: DeliveryParts): DeliveryEngine {
  const { database, log } = parts
  const me = randomUUID()
  const lanes = new Map<string, Lane>()
  const keyOf = signingKeys((sealed, place) => parts.secrets.open(sealed, place))
  const underWay = new Set<Promise<void>>()
  /** Taken and not noted yet, with its destination: not to be taken again. */
  const inHand = new Map<string, string>()
  let stopping = false
  let patient = true
  let taking: Promise<void> | undefined
  let takingSoon = false
  let tookMore = false
  let wanted = false
  const hungry = new Set<string>()
  let after = ''
  let gathering: Promise<void> | undefined

  const note = batch<TryResult, void>({
    write: async (results) => {
      const switchedOff = await noteAll(parts, results).catch((err) => {
        log.warn({ err, count: results.length }, 'deliveries could not be noted yet')
        throw err
      })
      // What waits for an endpoint that was switched off is held in the database, so it is not ours to send any more.
      for (const endpointId of switchedOff) drop(lanes.get(destinationOf({ endpointId })))
      return results.map(() => undefined)
    },
    maxItems: 500,
    maxWaiting: Number.POSITIVE_INFINITY,
    tooMany: () => new Error('unreachable'),
    failsAll: () => false,
  })

  /** Something may be due anywhere. */
  function wake(): void {
    wanted = true
    take()
  }

  /** Soon: who answered in the same turn of the event loop is asked for in the same statement. */
  function take(): void {
    if (takingSoon || taking || !(wanted || hungry.size > 0)) return
    takingSoon = true
    setImmediate(() => {
      takingSoon = false
      if (stopping || taking || inHand.size >= MOST_IN_HAND || !(wanted || hungry.size > 0)) return
      // In turn, so that neither those who are quick nor those whom we do not know yet wait for the others.
      const isForMore = hungry.size > 0 && !(wanted && tookMore)
      tookMore = isForMore
      taking = (isForMore ? takeMore() : takeAnywhere())
        .catch((err) => log.warn({ err }, 'deliveries could not be taken; they will be'))
        .finally(() => {
          taking = undefined
          take()
        })
    })
  }

  async function takeAnywhere(): Promise<void> {
    wanted = false
    const taken = await takeFrom({
      after,
      maxDestinations: DESTINATIONS_AT_ONCE,
      perDestination: IN_FLIGHT_PER_DESTINATION,
    })
    const destinations = new Set(taken.map(({ destination }) => destination))
    // As many as we asked for: go on after the last one, so that everybody gets a turn. Else we are through, and begin again.
    const full = destinations.size === DESTINATIONS_AT_ONCE
    if (full || after !== '') wanted = true
    after = full ? (taken.at(-1)?.destination ?? '') : ''
  }

  /** For destinations that go faster than we looked. */
  async function takeMore(): Promise<void> {
    const destinations = [...hungry].slice(0, DESTINATIONS_AT_ONCE)
    for (const destination of destinations) hungry.delete(destination)
    await takeFrom({ after: '', destinations, maxDestinations: destinations.length, perDestination: TAKEN_WHEN_QUICK })
  }

  async function takeFrom(
    where: Pick<Taking, 'after' | 'destinations' | 'maxDestinations' | 'perDestination'>,
  ): Promise<DueDelivery[]> {
    const ownedUntilMs = performance.now() + OWN_SECONDS * 1_000
    const taken = await takeDue(database, {
      ...where,
      me,
      ownSeconds: OWN_SECONDS,
      inHand: inHandFor(where.destinations),
      // Or each look would take more for an endpoint that answers nothing, until there is no room for anybody else's.
      sated: where.destinations ? [] : [...lanes.values()].filter(isSated).map(({ destination }) => destination),
    })
    for (const [destination, deliveries] of Map.groupBy(taken, (delivery) => delivery.destination)) {
      const lane = laneOf(destination)
      lane.ownedUntilMs = ownedUntilMs
      lane.more = deliveries.length === where.perDestination // who got less has nothing left that is due
      for (const delivery of deliveries) {
        inHand.set(delivery.uuid, destination)
        lane.waiting.push(delivery)
      }
      pump(lane)
    }
    return taken
  }

  function inHandFor(destinations: string[] | undefined): string[] {
    if (!destinations) return [...inHand.keys()]
    const found: string[] = []
    for (const [uuid, destination] of inHand) if (destinations.includes(destination)) found.push(uuid)
    return found
  }

  function laneOf(destination: string): Lane {
    const known = lanes.get(destination)
    if (known) return known
    const lane: Lane = { destination, waiting: [], flying: 0, more: false, ownedUntilMs: 0 }
    lanes.set(destination, lane)
    return lane
  }

  function pump(lane: Lane): void {
    while (!stopping && lane.flying < IN_FLIGHT_PER_DESTINATION && lane.waiting.length > 0) {
      if (performance.now() + LONGEST_CALL_MS > lane.ownedUntilMs) {
        // Its endpoint is slow, and the destination may soon be another's: take it again first.
        drop(lane)
        wake()
        break
      }
      fly(lane, lane.waiting.shift() as DueDelivery)
    }
    if (lane.waiting.length === 0 && lane.flying === 0) lanes.delete(lane.destination)
  }

  function fly(lane: Lane, delivery: DueDelivery): void {
    lane.flying++
    const flight = carry(lane, delivery).finally(() => {
      underWay.delete(flight)
      take()
    })
    underWay.add(flight)
  }

  async function carry(lane: Lane, delivery: DueDelivery): Promise<void> {
    const answer = await send(delivery)
    lane.flying--
    if (lane.more && isQuick(answer) && lane.waiting.length < TAKEN_WHEN_QUICK / 2) {
      lane.more = false
      hungry.add(lane.destination)
      take()
    }
    // Gone for good: nothing more is begun there, though its end is not noted yet.
    if (answer.kind === 'answer' && answer.status === 410 && delivery.endpointId) drop(lane)
    pump(lane)
    if (lane.waiting.length > 0 && !stopping) await handful()
    // Cut because we stop: no fault of the endpoint's.
    if (patient) await noteSurely(lane, resultOf(delivery, answer))
    inHand.delete(delivery.uuid)
  }

  /** While there is more to send, results are noted together: each note is a commit. With nothing left to send it is made at once. */
  function handful(): Promise<void> {
    gathering ??= sleep(GATHER_MS).then(() => {
      gathering = undefined
    })
    return gathering
  }

  /** For as long as the destination is ours. After that whoever owns it sends it again, with the same id and the same bytes. */
  async function noteSurely(lane: Lane, result: TryResult): Promise<void> {
    for (;;) {
      try {
        return await note(result)
      } catch {
        if (stopping || performance.now() > lane.ownedUntilMs) return
        await sleep(NOTE_AGAIN_AFTER_MS)
      }
    }
  }

  async function send(delivery: DueDelivery): Promise<Answer> {
    const { eventId: id, body, url, mode, destination } = delivery
    try {
      const headers = webhookHeaders(keysOf(delivery, keyOf), { id, body, at: parts.clock.now() })
      return await parts.http.post({ url, headers, body, allowPrivate: parts.allowPrivate(mode, url), destination })
    } catch (err) {
      log.error({ err, eventId: id }, 'a delivery could not be made')
      return { kind: 'failed', because: 'other', detail: 'it could not be sent; the log has the reason', tookMs: 0 }
    }
  }

  /** Leaves what was not begun to whoever takes it next. */
  function drop(lane: Lane | undefined): void {
    for (const { uuid } of lane?.waiting.splice(0) ?? []) inHand.delete(uuid)
  }

  const timer = setInterval(wake, LOOK_EVERY_MS)
  wake()
  return {
    wake,
    async stop() {
      stopping = true
      clearInterval(timer)
      await taking
      for (const lane of lanes.values()) drop(lane)
      let patience: NodeJS.Timeout | undefined
      const enough = new Promise<void>((resolve) => {
        patience = setTimeout(resolve, STOP_WITHIN_MS)
      })
      await Promise.race([Promise.allSettled(underWay), enough])
      clearTimeout(patience)
      patient = false
      await releaseDestinations(database, me).catch(() => {}) // our ownership ends by itself, too
    },
  }
}

interface Lane {
  destination: string
  waiting: DueDelivery[]
  flying: number
  /** The database may hold more that is due. */
  more: boolean
  /** Monotonic time after which the destination may be another's. */
  ownedUntilMs: number
}

const isQuick = (answer: Answer) => answer.kind === 'answer' && answer.status < 300 && answer.tookMs < QUICK_MS
const isSated = ({ flying, waiting }: Lane) => flying + waiting.length >= IN_FLIGHT_PER_DESTINATION

function resultOf(delivery: DueDelivery, answer: Answer): TryResult & { verdict: Verdict } {
  const verdict = judge(answer, delivery.tries - delivery.triesBefore + 1, Math.random())
  return {
    delivery,
    verdict,
    state: verdict.state,
    waitSeconds: verdict.waitSeconds,
    status: answer.kind === 'answer' ? answer.status : null,
    error: answer.kind === 'answer' ? null : `${answer.because}: ${answer.detail}`,
    answer: answer.kind === 'answer' ? answer.excerpt : '',
    tookMs: answer.tookMs,
  }
}

/** Returns the endpoints that were switched off for it. */
async function noteAll({ database, log }: DeliveryParts, results: TryResult[]): Promise<EndpointId[]> {
  await noteTries(database, results)
  const configured = results.filter(({ delivery }) => delivery.endpointId !== null)
  if (configured.length === 0) return []
  const idsOf = (some: TryResult[]) => [...new Set(some.map(({ delivery }) => delivery.endpointId as EndpointId))]
  const healthy = idsOf(configured.filter(({ state }) => state === 'delivered'))
  const failing = idsOf(configured.filter(({ state }) => state !== 'delivered')).filter((id) => !healthy.includes(id))
  const gone = idsOf(configured.filter(({ status }) => status === 410))
  return database.transaction(async (tx) => {
    const switchedOff: EndpointId[] = []
    const sick = await noteHealth(tx, { healthy, failing, maxDays: FAILING_DAYS })
    const reasons = new Map<EndpointId, string>([
      ...sick.map((id) => [id, `It has done nothing but fail for ${FAILING_DAYS} days.`] as const),
      ...gone.map((id) => [id, 'It answered 410 Gone.'] as const),
    ])
    for (const [id, reason] of reasons) {
      const merchantId = await disableEndpoint(tx, id, reason)
      if (!merchantId) continue
      await holdDeliveries(tx, id)
      await recordAct(tx, { actor: 'worker', act: 'webhook_endpoint.disabled', merchantId, subject: id })
      log.warn({ merchantId, endpointId: id }, 'webhook endpoint disabled')
      switchedOff.push(id)
    }
    return switchedOff
  })
}

type KeyOf = ReturnType<typeof signingKeys>

/** One for each secret that is valid now. */
function keysOf(delivery: DueDelivery, keyOf: KeyOf): KeyObject[] {
  const { endpointId, sealedSecret, sealedPreviousSecret } = delivery
  const place = endpointId ? endpointSecretPlace(endpointId) : defaultSecretPlace(delivery)
  const keys = sealedSecret ? [keyOf(sealedSecret, place)] : []
  if (sealedPreviousSecret) keys.push(keyOf(sealedPreviousSecret, place))
  return keys
}
