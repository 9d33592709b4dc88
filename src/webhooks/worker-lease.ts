import { randomUUID } from 'node:crypto'
import type { Database } from '../database/database.ts'
import { releaseWorkers, renewWorker } from './lease-store.ts'

/** With a renewal every second and a check every second, a dead worker is replaced within 8 s. */
const TTL_SECONDS = 6
const OBSERVE_SECONDS = 2

/**
 * Proof that this worker is alive. Its leases on destinations are valid while it renews; another worker releases them when it has not
 * renewed for `TTL_SECONDS`. So a worker that lost touch with the database starts no call after that time.
 */
export class WorkerLease {
  readonly workerId = randomUUID()
  readonly #database: Database
  #validUntilMs = 0
  #aliveSince = ''

  constructor(database: Database) {
    this.#database = database
  }

  get isValid(): boolean {
    return performance.now() < this.#validUntilMs
  }

  /** Renews, and takes over from workers that are gone. Returns whether this worker itself had lapsed and may have lost its leases. */
  async renew(): Promise<{ hadLapsed: boolean }> {
    const validUntilMs = performance.now() + TTL_SECONDS * 1_000
    const timing = { ttlSeconds: TTL_SECONDS, observeSeconds: OBSERVE_SECONDS }
    const { aliveSince, lapsed } = await renewWorker(this.#database, this.workerId, timing)
    const hadLapsed = this.#aliveSince !== '' && this.#aliveSince !== aliveSince
    this.#aliveSince = aliveSince
    this.#validUntilMs = validUntilMs
    if (lapsed.length > 0) await releaseWorkers(this.#database, this.workerId, lapsed)
    return { hadLapsed }
  }

  async release(): Promise<void> {
    this.#validUntilMs = 0
    await releaseWorkers(this.#database, this.workerId, [this.workerId])
  }
}
