import { type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Destination, DueDelivery } from './claim-store.ts'

export const MAX_IN_FLIGHT_PER_DESTINATION = 8
/** Leases that are remembered. Deliveries to other destinations are claimed. */
const MAX_LEASES = 10_000
/** Some seconds of deliveries. */
const MAX_FORGOTTEN = 10_000

/** The claimed deliveries of one destination. */
export interface DestinationQueue extends Destination {
  merchantId: MerchantId
  /** Claimed and not sent yet. */
  pending: DueDelivery[]
  inFlight: number
  /** The database may hold more that is due: the last claim was full, or the queue is. */
  hasMore: boolean
  /** Monotonic time at which the lease on the destination ends. */
  leasedUntilMs: number
}

/** The deliveries that this worker has claimed, by destination, until their results are recorded. */
export class DestinationQueues {
  readonly #queues = new Map<string, DestinationQueue>()
  /** The destination of each claimed delivery, by `uuid`. A claim must not return these again. */
  readonly #claimed = new Map<string, string>()

  /** The latest that are no longer claimed, by `uuid`, and those before them. */
  #forgotten = new Set<string>()
  #forgottenBefore = new Set<string>()

  /** Monotonic time at which the lease on each destination ends. */
  readonly #leasedUntilMs = new Map<string, number>()
  readonly #closed = new Set<string>()
  readonly #dropped = new Set<string>()

  get claimedCount(): number {
    return this.#claimed.size
  }

  /** How many destinations there are. */
  get size(): number {
    return this.#queues.size
  }

  /** Adds deliveries to one destination. */
  add(
    destination: string,
    deliveries: DueDelivery[],
    claim: Pick<DestinationQueue, 'hasMore' | 'leasedUntilMs'>,
  ): DestinationQueue {
    const [{ place, merchantId }] = deliveries as [DueDelivery]
    const empty = { place, destination, merchantId, pending: [], inFlight: 0 }
    const known = this.#queues.get(destination) ?? { ...empty, ...claim }
    const queue = Object.assign(known, claim)
    this.#queues.set(destination, queue)
    for (const delivery of deliveries) {
      this.#claimed.set(delivery.uuid, destination)
      queue.pending.push(delivery)
    }
    if (this.#leasedUntilMs.size >= MAX_LEASES) this.#leasedUntilMs.clear() // the others are claimed once more
    this.#leasedUntilMs.set(destination, claim.leasedUntilMs)
    return queue
  }

  /** 0: this worker has no lease on it. */
  leasedUntilMs(destination: string): number {
    return this.#leasedUntilMs.get(destination) ?? 0
  }

  get(destination: string): DestinationQueue | undefined {
    return this.#queues.get(destination)
  }

  /** The result of a delivery is recorded, or is never going to be. */
  forget({ uuid }: DueDelivery): void {
    this.#claimed.delete(uuid)
    this.#forgotten.add(uuid)
    // In two generations: the first entries of a set from which many were deleted are slow to find.
    if (this.#forgotten.size < MAX_FORGOTTEN) return
    this.#forgottenBefore = this.#forgotten
    this.#forgotten = new Set()
  }

  /** Whether it is here, or was a moment ago: a claim can return a delivery before its writer has the answer to the commit. */
  wasClaimed(uuid: string): boolean {
    return this.#claimed.has(uuid) || this.#forgotten.has(uuid) || this.#forgottenBefore.has(uuid)
  }

  /** Leaves the deliveries that were not sent yet, and further ones, to a claim that begins after this. */
  drop(destination: string): void {
    this.#dropped.add(destination)
    this.#leasedUntilMs.delete(destination)
    for (const delivery of this.#queues.get(destination)?.pending.splice(0) ?? []) this.forget(delivery)
  }

  beginClaim(): void {
    this.#dropped.clear()
  }

  /** Since the claim began: it may have read the endpoint before a change. */
  wasDropped(destination: string): boolean {
    return this.#dropped.has(destination)
  }

  /** Keeps further deliveries away from a destination until it is reopened. */
  close(destination: string): void {
    this.#closed.add(destination)
    this.drop(destination)
  }

  reopen(destination: string): void {
    this.#closed.delete(destination)
  }

  isClosed(destination: string): boolean {
    return this.#closed.has(destination)
  }

  /** The leases may be lost. */
  dropAll(): void {
    this.#leasedUntilMs.clear()
    for (const destination of this.#queues.keys()) this.drop(destination)
  }

  removeIfEmpty({ destination, pending, inFlight }: DestinationQueue): void {
    if (pending.length === 0 && inFlight === 0) this.#queues.delete(destination)
  }

  /** Of these destinations, or of all. */
  claimedIds(destinations?: string[]): string[] {
    if (!destinations) return [...this.#claimed.keys()]
    const found: string[] = []
    for (const [uuid, destination] of this.#claimed) if (destinations.includes(destination)) found.push(uuid)
    return found
  }

  /** Destinations with as many deliveries as can be in flight, and closed ones. */
  fullDestinations(): string[] {
    return [...[...this.#queues.values()].filter(isFull).map(({ destination }) => destination), ...this.#closed]
  }

  /** Merchants with so many destinations here, by uuid. */
  merchantsWith(minDestinations: number): string[] {
    const counts = new Map<MerchantId, number>()
    for (const { merchantId } of this.#queues.values()) counts.set(merchantId, (counts.get(merchantId) ?? 0) + 1)
    return [...counts].filter(([, count]) => count >= minDestinations).map(([merchantId]) => uuidOf(merchantId))
  }
}

export function isFull({ inFlight, pending }: DestinationQueue): boolean {
  return inFlight + pending.length >= MAX_IN_FLIGHT_PER_DESTINATION
}
