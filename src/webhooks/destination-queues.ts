import { type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { ClaimedDestination, DueDelivery } from './claim-store.ts'
import type { Destination } from './search-store.ts'

export const MAX_IN_FLIGHT_PER_DESTINATION = 8

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
  /** The claimed deliveries of each destination, by `uuid`. A claim must not return these again. */
  readonly #claimed = new Map<string, Set<string>>()
  readonly #closed = new Set<string>()
  readonly #dropped = new Set<string>()
  claimedCount = 0

  /** Adds claimed deliveries of one destination. */
  add(
    { place, destination, deliveries }: ClaimedDestination,
    claim: Pick<DestinationQueue, 'hasMore' | 'leasedUntilMs'>,
  ): DestinationQueue {
    const [{ merchantId }] = deliveries as [DueDelivery]
    const empty = { place, destination, merchantId, pending: [] as DueDelivery[], inFlight: 0 }
    const queue = Object.assign(this.#queues.get(destination) ?? empty, claim)
    this.#queues.set(destination, queue)
    const claimed = this.#claimed.get(destination) ?? new Set()
    this.#claimed.set(destination, claimed)
    for (const { uuid } of deliveries) claimed.add(uuid)
    this.claimedCount += deliveries.length
    queue.pending.push(...deliveries)
    return queue
  }

  /** The result of a delivery is recorded, or is never going to be. */
  forget({ uuid, destination }: DueDelivery): void {
    const claimed = this.#claimed.get(destination)
    if (!claimed?.delete(uuid)) return
    this.claimedCount--
    if (claimed.size === 0) this.#claimed.delete(destination)
  }

  /** Leaves the deliveries that were not sent yet, and further ones, to a claim that begins after this. */
  drop(destination: string): void {
    this.#dropped.add(destination)
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
    for (const destination of this.#queues.keys()) this.drop(destination)
  }

  removeIfEmpty({ destination, pending, inFlight }: DestinationQueue): void {
    if (pending.length === 0 && inFlight === 0) this.#queues.delete(destination)
  }

  /** Of these destinations, or of all. */
  claimedIds(destinations: Iterable<string> = this.#claimed.keys()): string[] {
    return [...destinations].flatMap((destination) => [...(this.#claimed.get(destination) ?? [])])
  }

  /** Destinations with claimed deliveries, and closed ones. */
  claimedDestinations(): string[] {
    return [...this.#claimed.keys(), ...this.#closed]
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

function isFull({ inFlight, pending }: DestinationQueue): boolean {
  return inFlight + pending.length >= MAX_IN_FLIGHT_PER_DESTINATION
}
