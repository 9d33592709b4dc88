import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { releaseWorkers, renewWorker } from './lease-store.ts'

/** With a renewal every second and a check every second, a dead worker is replaced within 8 s. */
const TTL_SECONDS = 6
const OBSERVE_SECONDS = 2
/** A renewal that hangs is given up, so that there is time for two more before the lease ends. */
const RENEW_WITHIN_MS = 2_000

/**
 * Proof that this worker is alive. Its leases on destinations are valid while it renews; another worker releases them
 * when it has not renewed for `TTL_SECONDS`. So a worker that lost touch with the database starts no call after that
 * time. A call that is in flight then goes on, and another worker may send the same delivery: delivery is
 * at-least-once.
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

  /** `hadLapsed`: this worker may have lost its leases. `lapsed`: other workers that have not renewed in time. */
  async renew(): Promise<{ hadLapsed: boolean; lapsed: string[] }> {
    const validUntilMs = performance.now() + TTL_SECONDS * 1_000
    const timing = { ttlSeconds: TTL_SECONDS, observeSeconds: OBSERVE_SECONDS }
    const { aliveSince, lapsed } = await within(RENEW_WITHIN_MS, renewWorker(this.#database, this.workerId, timing))
    const hadLapsed = this.#aliveSince !== '' && this.#aliveSince !== aliveSince
    this.#aliveSince = aliveSince
    this.#validUntilMs = validUntilMs
    return { hadLapsed, lapsed }
  }

  releaseOthers(lapsed: string[]): Promise<void> {
    return releaseWorkers(this.#database, this.workerId, lapsed)
  }

  async release(): Promise<void> {
    this.#validUntilMs = 0
    await releaseWorkers(this.#database, this.workerId, [this.workerId])
  }
}

async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const done = new AbortController()
  const tooSlow = sleep(ms, undefined, { signal: done.signal }).then(() => {
    throw new Error(`PostgreSQL did not answer within ${ms} ms`)
  })
  tooSlow.catch(() => {}) // aborted
  work.catch(() => {}) // it may fail after the time is up
  return await Promise.race([work, tooSlow]).finally(() => done.abort())
}
