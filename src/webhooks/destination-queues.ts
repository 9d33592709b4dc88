import { type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Destination, DueDelivery } from './claim-store.ts'

export const MAX_IN_FLIGHT_PER_DESTINATION = 8

/** The claimed deliveries of one destination. */
export interface DestinationQueue extends Destination {
  merchantId: MerchantId
  /** Claimed and not sent yet. */
  pending: DueDelivery[]
  inFlight: number
  /** The last claim was full, so the database may hold more that is due. */
  hasMore: boolean
  /** Monotonic time at which the lease on the destination ends. */
  leasedUntilMs: number
}

/** The deliveries that this worker has claimed, by destination, until their results are recorded. */
export class DestinationQueues {
  readonly #queues = new Map<string, DestinationQueue>()
  /** The destination of each claimed delivery, by `uuid`. A claim must not return these again. */
  readonly #claimed = new Map<string, string>()

  readonly #closed = new Set<string>()

  get claimedCount(): number {
    return this.#claimed.size
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
    return queue
  }

  /** The result of a delivery is recorded, or is never going to be. */
  forget({ uuid }: DueDelivery): void {
    this.#claimed.delete(uuid)
  }

  /** Leaves the deliveries that were not sent yet to the next claim. */
  drop(destination: string): void {
    for (const delivery of this.#queues.get(destination)?.pending.splice(0) ?? []) this.forget(delivery)
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

  dropAll(): void {
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
    const isFull = ({ inFlight, pending }: DestinationQueue) =>
      inFlight + pending.length >= MAX_IN_FLIGHT_PER_DESTINATION
    return [...[...this.#queues.values()].filter(isFull).map(({ destination }) => destination), ...this.#closed]
  }

  /** Merchants with so many destinations here, by uuid. */
  merchantsWith(minDestinations: number): string[] {
    const counts = new Map<MerchantId, number>()
    for (const { merchantId } of this.#queues.values()) counts.set(merchantId, (counts.get(merchantId) ?? 0) + 1)
    return [...counts].filter(([, count]) => count >= minDestinations).map(([merchantId]) => uuidOf(merchantId))
  }
}
