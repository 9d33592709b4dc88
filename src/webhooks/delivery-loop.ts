import { setTimeout as sleep } from 'node:timers/promises'
import { batch } from '../database/batch.ts'
import type { Database } from '../database/database.ts'
import { destinationOf } from '../events/outbox-store.ts'
import { groupByPlace, type Place } from '../kernel/place.ts'
import type { WebhookAnswer } from '../outbound/webhook-http.ts'
import { claimDestinations, type DueDelivery } from './claim-store.ts'
import type { TryResult } from './delivery-store.ts'
import { type DestinationQueue, DestinationQueues, MAX_IN_FLIGHT_PER_DESTINATION } from './destination-queues.ts'
import { markHolding } from './held-delivery-store.ts'
import { recordResults } from './record-results.ts'
import { scheduleRetries } from './retry-store.ts'
import { type Destination, type FoundDestination, findFirstTries, findRetries, type Search } from './search-store.ts'
import { deliverySender, resultOf, type SendDependencies } from './send-delivery.ts'
import { WorkerLease } from './worker-lease.ts'

export interface DeliveryDependencies extends SendDependencies {
  database: Database
}

export interface DeliveryEngine {
  /**
   * Deliveries may be due. `changedDestination`: what was claimed for it is dropped, and claimed again if it may be
   * sent.
   */
  wake(changedDestination?: string): void
  /** Claims no more, waits a few seconds for calls in flight, and releases the leases for other workers. */
  stop(): Promise<void>
}

const LEASE_SECONDS = 30
/** A call takes 15 s at most. It is not started when it could outlive the lease on its destination. */
const LONGEST_CALL_MS = 16_000
/**
 * The batch for an endpoint that has answered fast, so that it does not wait for the database. Others get what can be
 * in flight.
 */
const LARGE_BATCH = 256
const FAST_MS = 1_000
const DESTINATIONS_PER_CLAIM = 32
const DESTINATIONS_PER_MERCHANT_AND_CLAIM = 16
/** Limits the destinations of one merchant, so that there is room for other merchants. */
const MAX_DESTINATIONS_PER_MERCHANT = 256
/** Fewer for retries, so that hosts that are down do not delay first tries of the same merchant. */
const MAX_RETRIED_DESTINATIONS_PER_MERCHANT = 128
/** Backpressure: no more is claimed while so many deliveries are claimed and not recorded. */
const MAX_CLAIMED = 8_192
const POLL_MS = 1_000
const STOP_WITHIN_MS = 5_000
const RECORD_RETRY_MS = 1_000
const RECORD_TOGETHER_MS = 50
/** Before all merchants. */
const FIRST = '00000000-0000-0000-0000-000000000000'

type ClaimKind = 'first tries' | 'retries' | 'refill'

/**
 * Sends due deliveries from the transactional outbox: claims them in batches, posts them, and records the results.
 * Delivery is at-least-once: a delivery whose result was not recorded is sent again, with the same id and the same
 * bytes. Each destination has a queue and a limit of its own, so that a slow endpoint does not delay the others.
 *
 * States of the loop:
 *   running  -> draining  stop() was called: no claim and no call is started, results of calls in flight are recorded
 *   draining -> stopped   the calls have ended, or STOP_WITHIN_MS have passed: leases are released, and later results
 *                         are discarded
 *
 * States of claiming, with one claim at a time:
 *   idle      -> scheduled  a kind of claim was requested; requests in the same turn of the event loop share one claim
 *   scheduled -> claiming   the kind that was requested first is claimed
 *   scheduled -> idle       MAX_CLAIMED is reached, the worker lease is not valid, or the loop is not running
 *   claiming  -> idle       the claim has ended; the next kind is scheduled if one is requested
 *
 * Kinds of claims. They take turns, so that none delays the others. The first two search for destinations with
 * something due, then claim those; the third claims at known ones:
 *   first tries  requested by wake() and each poll, and again while destinations are left
 *   retries      requested by each poll, and again while destinations are left
 *   refill       requested by a destination that answers fast, has more due, and less than half of LARGE_BATCH pending
 *
 * A search that found as many as it may of one merchant is repeated. By then these destinations have enough, or have
 * nothing more due, so that the next ones are found. After a search that was full the next one begins with the
 * following merchant; when it ends, there is one more from the first merchant on.
 */
class DeliveryLoop implements DeliveryEngine {
  #state: 'running' | 'draining' | 'stopped' = 'running'
  #claimState: 'idle' | 'scheduled' | 'claiming' = 'idle'
  readonly #dependencies: DeliveryDependencies
  readonly #send: ReturnType<typeof deliverySender>
  readonly #lease: WorkerLease
  readonly #queues = new DestinationQueues()
  readonly #inFlight = new Set<Promise<void>>()
  readonly #requested = new Set<ClaimKind>()
  readonly #refills = new Map<string, Destination>()
  /** The merchant after which each search begins, by uuid. */
  readonly #after = { 'first tries': FIRST, retries: FIRST }
  /** Destinations of disabled endpoints. They are closed until the next poll, so that each search finds others. */
  readonly #disabled = new Set<string>()
  readonly #pollTimer: NodeJS.Timeout
  #claiming: Promise<void> | undefined
  #polling: Promise<void> | undefined
  #releasing: Promise<void> | undefined
  #recordTogether: Promise<void> | undefined

  constructor(dependencies: DeliveryDependencies) {
    this.#dependencies = dependencies
    this.#send = deliverySender(dependencies)
    this.#lease = new WorkerLease(dependencies.database)
    this.#pollTimer = setInterval(() => this.#poll(), POLL_MS)
    this.#poll()
  }

  wake(changedDestination = ''): void {
    if (changedDestination) this.#queues.drop(changedDestination)
    if (this.#disabled.delete(changedDestination)) this.#queues.reopen(changedDestination)
    this.#request('first tries')
  }

  async stop(): Promise<void> {
    this.#state = 'draining'
    clearInterval(this.#pollTimer)
    await Promise.all([this.#claiming, this.#polling, this.#releasing])
    this.#queues.dropAll()
    const patience = new AbortController()
    const tooLong = sleep(STOP_WITHIN_MS, undefined, { signal: patience.signal }).catch(() => {})
    await Promise.race([Promise.allSettled(this.#inFlight), tooLong])
    patience.abort()
    this.#state = 'stopped'
    // The leases would end by themselves, too. The release lets other workers continue at once.
    await this.#lease.release().catch(() => {})
  }

  #poll(): void {
    this.#polling ??= this.#renewLease().finally(() => {
      this.#polling = undefined
      for (const destination of this.#disabled) this.#queues.reopen(destination)
      this.#disabled.clear()
      this.#request('retries', 'first tries')
    })
  }

  async #renewLease(): Promise<void> {
    const { log } = this.#dependencies
    try {
      const { hadLapsed, lapsed } = await this.#lease.renew()
      // Other workers may have claimed the destinations.
      if (hadLapsed) this.#queues.dropAll()
      if (lapsed.length > 0) this.#releaseOthers(lapsed)
    } catch (err) {
      log.warn({ err }, 'renewing the lease of the delivery worker failed; retrying')
    }
  }

  /** Not awaited by the renewal: releasing many destinations may take longer than the worker lease lasts. */
  #releaseOthers(lapsed: string[]): void {
    this.#releasing ??= this.#lease
      .releaseOthers(lapsed)
      .catch((err) =>
        this.#dependencies.log.warn({ err }, 'taking over from a lapsed delivery worker failed; retrying'),
      )
      .finally(() => {
        this.#releasing = undefined
        this.#request('retries', 'first tries')
      })
  }

  #request(...kinds: ClaimKind[]): void {
    for (const kind of kinds) this.#requested.add(kind)
    this.#scheduleClaim()
  }

  #scheduleClaim(): void {
    if (this.#claimState !== 'idle' || this.#requested.size === 0) return
    this.#claimState = 'scheduled'
    setImmediate(() => this.#startClaim())
  }

  #startClaim(): void {
    this.#claimState = 'idle'
    const [kind] = this.#requested
    const mayClaim = this.#state === 'running' && this.#lease.isValid && this.#queues.claimedCount < MAX_CLAIMED
    if (!kind || !mayClaim) return
    this.#claimState = 'claiming'
    this.#requested.delete(kind)
    this.#claiming = this.#claim(kind)
      .catch((err) => this.#dependencies.log.warn({ err, kind }, 'claiming due deliveries failed; retrying'))
      .finally(() => {
        this.#claimState = 'idle'
        this.#claiming = undefined
        this.#scheduleClaim()
      })
  }

  async #claim(kind: ClaimKind): Promise<void> {
    await this.#claimAt(kind, kind === 'refill' ? this.#nextRefills() : await this.#search(kind))
  }

  async #search(kind: 'first tries' | 'retries'): Promise<FoundDestination[]> {
    const { database } = this.#dependencies
    const after = this.#after[kind]
    const limits = { maxDestinations: DESTINATIONS_PER_CLAIM, perMerchant: DESTINATIONS_PER_MERCHANT_AND_CLAIM }
    const search = (exceptDestinations: string[], maxPerMerchant: number): Search => ({
      ...{ workerId: this.#lease.workerId, after, ...limits, exceptDestinations },
      exceptMerchants: this.#queues.merchantsWith(maxPerMerchant),
    })
    const found =
      kind === 'retries'
        ? await findRetries(database, search(this.#queues.claimedDestinations(), MAX_RETRIED_DESTINATIONS_PER_MERCHANT))
        : await findFirstTries(database, {
            // Otherwise each poll would claim more for an endpoint that does not answer, up to MAX_CLAIMED.
            ...search(this.#queues.fullDestinations(), MAX_DESTINATIONS_PER_MERCHANT),
            claimedIds: this.#queues.claimedIds(),
          })
    const last = found.length === DESTINATIONS_PER_CLAIM ? found.at(-1) : undefined
    this.#after[kind] = last?.merchantUuid ?? FIRST
    const perMerchant = Map.groupBy(found, ({ merchantUuid }) => merchantUuid).values()
    const isCut = perMerchant.some(({ length }) => length === DESTINATIONS_PER_MERCHANT_AND_CLAIM)
    if (last || isCut || after !== FIRST) this.#requested.add(kind)
    return found
  }

  #nextRefills(): Destination[] {
    const next = [...this.#refills.values()].slice(0, DESTINATIONS_PER_CLAIM)
    for (const { destination } of next) this.#refills.delete(destination)
    if (this.#refills.size > 0) this.#requested.add('refill')
    return next
  }

  /** Each place in a statement of its own. A failure of one does not stop the others. */
  async #claimAt(kind: ClaimKind, destinations: Destination[]): Promise<void> {
    this.#queues.beginClaim()
    const groups = groupByPlace(destinations, ({ place }) => place)
    const claims = groups.map(([place, some]) => {
      const names = some.map(({ destination }) => destination).sort()
      return this.#claimIn(kind, place, names)
    })
    const failed = (await Promise.allSettled(claims)).find(({ status }) => status === 'rejected')
    if (failed) throw (failed as PromiseRejectedResult).reason
  }

  /** Claims what is due at these destinations, puts it into their queues, and starts to send. */
  async #claimIn(kind: ClaimKind, place: Place, destinations: string[]): Promise<void> {
    const { database } = this.#dependencies
    const { workerId } = this.#lease
    const claimedIds = this.#queues.claimedIds(destinations)
    const perDestination = kind === 'refill' ? LARGE_BATCH : MAX_IN_FLIGHT_PER_DESTINATION
    const limits = { leaseSeconds: LEASE_SECONDS, perDestination, claimedIds }
    const claimedAtMs = performance.now()
    const claimed = await claimDestinations(database, place, destinations, { workerId, ...limits })
    const idle: string[] = []
    for (const each of claimed) {
      const { destination, deliveries, leaseMs } = each
      const [first] = deliveries
      if (!first) idle.push(destination)
      if (!first || this.#queues.isClosed(destination) || this.#queues.wasDropped(destination)) continue
      if (!first.isEnabled && first.endpointId) {
        this.#disabled.add(destination)
        this.#queues.close(destination)
        await markHolding(database, [first.endpointId])
        continue
      }
      const hasMore = deliveries.length === perDestination
      this.#sendNext(this.#queues.add(each, { hasMore, leasedUntilMs: claimedAtMs + leaseMs }))
    }
    // A destination on the retry schedule with nothing due: its schedule must be corrected.
    if (kind === 'retries') await scheduleRetries(database, place, idle)
  }

  #sendNext(queue: DestinationQueue): void {
    while (this.#state === 'running' && queue.inFlight < MAX_IN_FLIGHT_PER_DESTINATION && queue.pending.length > 0) {
      if (!this.#lease.isValid || performance.now() + LONGEST_CALL_MS > queue.leasedUntilMs) {
        // The lease could end during the call: claim the destination again first, which renews it.
        this.#queues.drop(queue.destination)
        this.#request('retries', 'first tries')
        break
      }
      const call = this.#deliver(queue, queue.pending.shift() as DueDelivery).finally(() => {
        this.#inFlight.delete(call)
        this.#scheduleClaim()
      })
      this.#inFlight.add(call)
    }
    this.#queues.removeIfEmpty(queue)
  }

  async #deliver(queue: DestinationQueue, delivery: DueDelivery): Promise<void> {
    queue.inFlight++
    const answer = await this.#send(delivery)
    queue.inFlight--
    if (!answer) {
      this.#queues.forget(delivery) // a later poll claims it again
      return this.#sendNext(queue)
    }
    if (queue.hasMore && isFast(answer) && queue.pending.length < LARGE_BATCH / 2) {
      queue.hasMore = false
      this.#refills.set(queue.destination, { place: queue.place, destination: queue.destination })
      this.#request('refill')
    }
    // An endpoint that answered 410 gets no further call, although it is disabled only when the result is recorded.
    const isGone = answer.kind === 'answer' && answer.status === 410 && delivery.endpointId !== null
    if (isGone) this.#queues.close(queue.destination)
    this.#sendNext(queue)
    const result = resultOf(delivery, answer, this.#dependencies.clock.now())
    if (this.#state === 'running') await this.#gatherResults()
    // The process ended this call when it stopped. That is no failure of the endpoint.
    if (this.#state !== 'stopped') await this.#record(queue, result)
    if (isGone) this.#queues.reopen(queue.destination)
    this.#queues.forget(delivery)
  }

  /**
   * Each record is a commit, so the results of a moment are written together. After a crash in that moment they are
   * sent again.
   */
  #gatherResults(): Promise<void> {
    this.#recordTogether ??= sleep(RECORD_TOGETHER_MS).then(() => {
      this.#recordTogether = undefined
    })
    return this.#recordTogether
  }

  /** Retries until the lease on the destination ends. After that another worker may send the delivery again. */
  async #record(queue: DestinationQueue, result: TryResult): Promise<void> {
    for (;;) {
      try {
        return await this.#recordInBatch(result)
      } catch {
        if (this.#state !== 'running' || performance.now() > queue.leasedUntilMs) return
        await sleep(RECORD_RETRY_MS)
      }
    }
  }

  readonly #recordInBatch = batch<TryResult, void>({
    name: 'record tries',
    write: async (results) => {
      const { log } = this.#dependencies
      const disabled = await recordResults(this.#dependencies, results).catch((err) => {
        log.warn({ err, count: results.length }, 'recording delivery results failed; retrying')
        throw err
      })
      // Their deliveries are held in the database and must not be sent.
      for (const endpointId of disabled) this.#queues.drop(destinationOf({ endpointId }))
      return results.map(() => undefined)
    },
    maxItems: 500,
    maxWaiting: Number.POSITIVE_INFINITY,
    tooMany: () => new Error('unreachable'),
    failsAll: () => false,
  })
}

const isFast = (answer: WebhookAnswer) => answer.kind === 'answer' && answer.status < 300 && answer.tookMs < FAST_MS

export function startDelivering(dependencies: DeliveryDependencies): DeliveryEngine {
  const loop = new DeliveryLoop(dependencies)
  return { wake: (changedDestination) => loop.wake(changedDestination), stop: () => loop.stop() }
}
