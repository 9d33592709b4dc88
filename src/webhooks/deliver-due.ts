import { type KeyObject, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { batch } from '../database/batch.ts'
import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import { type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { ClaimRounds } from './claim-rounds.ts'
import {
  type Claimed,
  claimAt,
  claimFirstTries,
  claimRetries,
  type DueDelivery,
  releaseDestinations,
} from './claim-store.ts'
import { type Answer, destinationOf, judge, type Verdict } from './delivery.ts'
import type { TryResult } from './delivery-store.ts'
import { endpointSecretPlace } from './endpoint-store.ts'
import { markHolding } from './held-delivery-store.ts'
import { noteResults } from './note-results.ts'
import { scheduleRetries } from './retry-store.ts'
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
  /** There may be something to send. `switchedOff`: to this destination nothing more is sent. */
  wake(switchedOff?: string): void
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
const DESTINATIONS_PER_MERCHANT = 16
/** A merchant with this many destinations in hand gets no others until some are done, so that there is room for other merchants. */
const MOST_FIRST_TRIES_PER_MERCHANT = 256
/** Fewer for retries, so that hosts that are down do not hold up first tries of the same merchant. */
const MOST_RETRIES_PER_MERCHANT = 128
const MOST_IN_HAND = 8_192
const LOOK_EVERY_MS = 1_000
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
  const hungry = new Set<string>()
  const limits = { maxDestinations: DESTINATIONS_AT_ONCE, perMerchant: DESTINATIONS_PER_MERCHANT }
  const [firstTries, retries] = [new ClaimRounds(limits), new ClaimRounds(limits)]
  /** Kinds of claims that may find something. They take turns, so that none waits for the others. */
  const wanted = new Set<'more' | 'first tries' | 'retries'>()
  let gathering: Promise<void> | undefined

  const note = batch<TryResult, void>({
    write: async (results) => {
      const switchedOff = await noteResults(parts, results).catch((err) => {
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

  /** A first try may be due anywhere. Retries become due by the clock alone. */
  function wake(switchedOff = ''): void {
    if (switchedOff) drop(lanes.get(switchedOff))
    wanted.add('first tries')
    take()
  }

  /** Soon: destinations that answered in the same turn of the event loop are asked for in the same statement. */
  function take(): void {
    if (takingSoon || taking || wanted.size === 0) return
    takingSoon = true
    setImmediate(() => {
      takingSoon = false
      const [kind] = wanted
      if (stopping || taking || inHand.size >= MOST_IN_HAND || !kind) return
      wanted.delete(kind) // and added again at the end of the line
      taking = (kind === 'more' ? takeMore() : kind === 'retries' ? takeRetries() : takeFirstTries())
        .catch((err) => log.warn({ err }, 'claiming due deliveries failed; retrying'))
        .finally(() => {
          taking = undefined
          take()
        })
    })
  }

  async function takeFirstTries(): Promise<void> {
    const claimed = await claimBy(firstTries, MOST_FIRST_TRIES_PER_MERCHANT, (look) =>
      claimFirstTries(database, { ...look, past: firstTries.past }),
    )
    if (firstTries.advance(claimed)) wanted.add('first tries')
  }

  async function takeRetries(): Promise<void> {
    const claimed = await claimBy(retries, MOST_RETRIES_PER_MERCHANT, (look) => claimRetries(database, look))
    if (retries.advance(claimed)) wanted.add('retries')
    if (claimed.idle.length > 0) await scheduleRetries(database, claimed.idle)
  }

  async function claimBy(
    rounds: ClaimRounds,
    mostPerMerchant: number,
    claim: (look: Parameters<typeof claimRetries>[1]) => Promise<Claimed>,
  ): Promise<Claimed> {
    const { after, maxDestinations, perMerchant } = rounds
    try {
      return await takeOn(IN_FLIGHT_PER_DESTINATION, inHandFor(undefined), (basis) =>
        claim({
          ...basis,
          after,
          maxDestinations,
          perMerchant,
          crowded: crowdedMerchants(mostPerMerchant),
          // Or each look would take more for an endpoint that answers nothing, until there is no room for anybody else's.
          sated: [...lanes.values()].filter(isSated).map(({ destination }) => destination),
        }),
      )
    } catch (error) {
      rounds.shrink()
      throw error
    }
  }

  /** For destinations that go faster than we looked. */
  async function takeMore(): Promise<void> {
    const destinations = [...hungry].slice(0, DESTINATIONS_AT_ONCE)
    for (const destination of destinations) hungry.delete(destination)
    if (hungry.size > 0) wanted.add('more')
    await takeOn(TAKEN_WHEN_QUICK, inHandFor(destinations), (basis) => claimAt(database, destinations, basis))
  }

  /** Puts what a claim returns into the lanes of its destinations. */
  async function takeOn(
    perDestination: number,
    held: string[],
    claim: (basis: Parameters<typeof claimAt>[2]) => Promise<Claimed>,
  ): Promise<Claimed> {
    const ownedUntilMs = performance.now() + OWN_SECONDS * 1_000
    const claimed = await claim({ me, ownSeconds: OWN_SECONDS, perDestination, inHand: held })
    for (const [destination, deliveries] of Map.groupBy(claimed.deliveries, (delivery) => delivery.destination)) {
      const [{ merchantId, isEnabled, endpointId }] = deliveries as [DueDelivery]
      if (!isEnabled && endpointId) {
        await markHolding(database, [endpointId])
        continue
      }
      const lane = laneOf(destination, merchantId)
      lane.ownedUntilMs = ownedUntilMs
      lane.more = deliveries.length === perDestination // who got less has nothing left that is due
      for (const delivery of deliveries) {
        inHand.set(delivery.uuid, destination)
        lane.waiting.push(delivery)
        lane.hasRetries ||= delivery.tries > delivery.triesBefore
      }
      pump(lane)
    }
    return claimed
  }

  function crowdedMerchants(most: number): string[] {
    const counts = new Map<MerchantId, number>()
    for (const { merchantId } of lanes.values()) counts.set(merchantId, (counts.get(merchantId) ?? 0) + 1)
    return [...counts].filter(([, count]) => count >= most).map(([merchantId]) => uuidOf(merchantId))
  }

  function inHandFor(destinations: string[] | undefined): string[] {
    if (!destinations) return [...inHand.keys()]
    const found: string[] = []
    for (const [uuid, destination] of inHand) if (destinations.includes(destination)) found.push(uuid)
    return found
  }

  function laneOf(destination: string, merchantId: MerchantId): Lane {
    const known = lanes.get(destination)
    if (known) return known
    const lane: Lane = {
      destination,
      merchantId,
      waiting: [],
      flying: 0,
      more: false,
      hasRetries: false,
      ownedUntilMs: 0,
    }
    lanes.set(destination, lane)
    return lane
  }

  function pump(lane: Lane): void {
    while (!stopping && lane.flying < IN_FLIGHT_PER_DESTINATION && lane.waiting.length > 0) {
      if (performance.now() + LONGEST_CALL_MS > lane.ownedUntilMs) {
        // Its endpoint is slow, and the destination may soon be another's: take it again first.
        drop(lane)
        wanted.add('retries')
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
      wanted.add('more')
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

  const look = () => {
    wanted.add('retries')
    wake()
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  look()
  return {
    wake,
    async stop() {
      stopping = true
      clearInterval(timer)
      await taking
      const retried = [...lanes.values()].filter(({ hasRetries }) => hasRetries).map(({ destination }) => destination)
      for (const lane of lanes.values()) drop(lane)
      let patience: NodeJS.Timeout | undefined
      const enough = new Promise<void>((resolve) => {
        patience = setTimeout(resolve, STOP_WITHIN_MS)
      })
      await Promise.race([Promise.allSettled(underWay), enough])
      clearTimeout(patience)
      patient = false
      // Our leases end by themselves, too; this lets other processes go on at once.
      if (retried.length > 0) await scheduleRetries(database, retried.sort()).catch(() => {})
      await releaseDestinations(database, me).catch(() => {})
    },
  }
}

interface Lane {
  destination: string
  merchantId: MerchantId
  waiting: DueDelivery[]
  flying: number
  /** The database may hold more that is due. */
  more: boolean
  /** Whether it is on the retry schedule. */
  hasRetries: boolean
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

type KeyOf = ReturnType<typeof signingKeys>

/** One for each secret that is valid now. */
function keysOf(delivery: DueDelivery, keyOf: KeyOf): KeyObject[] {
  const { endpointId, sealedSecret, sealedPreviousSecret } = delivery
  const place = endpointId ? endpointSecretPlace(endpointId) : defaultSecretPlace(delivery)
  const keys = sealedSecret ? [keyOf(sealedSecret, place)] : []
  if (sealedPreviousSecret) keys.push(keyOf(sealedPreviousSecret, place))
  return keys
}
