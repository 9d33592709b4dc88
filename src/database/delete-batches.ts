import { setTimeout as sleep } from 'node:timers/promises'
import { overdueSince, retentionBatchSeconds, retentionDeleted } from '../metrics/instruments.ts'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import type { Database, Transaction } from './database.ts'
import { isStatementTimeout } from './failure.ts'
import { sql } from './sql.ts'

/** The size of the batches is adapted so that one takes about this time. PostgreSQL ends a statement after 100 ms. */
const AIM_MS = 40
const FIRST_SIZE = 10
const MAX_SIZE = 5_000

export interface Deleted {
  /** Of each deleted row: the time from which its age counts. */
  times: Date[]
  /** As many rows as allowed were found, so more may be left. */
  isFull: boolean
}

/** Deletes rows in small transactions, so that payments never wait for a lock or a connection for long. */
export class DeleteBatches {
  readonly #database: Database
  readonly #kind: string
  readonly #keptMs: number
  /** Rows of the next batch. */
  size = FIRST_SIZE
  #isStopped = () => false
  #isInterrupted = false

  /** `kind`: for the metrics. Rows of that kind are kept for `keptMs`. */
  constructor(database: Database, kind: string, keptMs: number) {
    this.#database = database
    this.#kind = kind
    this.#keptMs = keptMs
  }

  /** Begins a run over all old rows of the kind. It ends early when `isStopped`. */
  start(isStopped: () => boolean): void {
    this.#isStopped = isStopped
    this.#isInterrupted = false
  }

  /** All old rows were found: those that are left are still in use. */
  end(): void {
    if (!this.#isInterrupted) overdueSince.set(this.#kind, null)
  }

  /** Deletes up to `size` rows. Returns true when more may be left. */
  async next(deleteRows: (tx: Transaction, limit: number) => Promise<Deleted>): Promise<boolean> {
    if (this.#isStopped()) return this.#interrupt()
    let startedAt = 0
    let deleted: Deleted | undefined
    try {
      deleted = await this.#database.transaction(async (tx) => {
        startedAt = performance.now() // not while it waited for a connection
        return (await begin(tx)) ? deleteRows(tx, this.size) : undefined
      })
    } catch (error) {
      if (!isStatementTimeout(error) || this.size === 1) throw error
      this.size = Math.ceil(this.size / 4)
      return true
    }
    if (!deleted) return this.#interrupt() // another process deletes
    const tookMs = performance.now() - startedAt
    if (deleted.isFull || tookMs > AIM_MS)
      this.size = Math.max(1, Math.min(MAX_SIZE, Math.round(this.size * Math.min(2, AIM_MS / tookMs))))
    this.#count(deleted.times, tookMs)
    if (deleted.isFull) await sleep(tookMs) // at most half of the time
    return deleted.isFull
  }

  #count(times: Date[], tookMs: number): void {
    retentionBatchSeconds.observe(tookMs / 1_000)
    retentionDeleted.inc({ kind: this.#kind }, times.length)
    if (times.length === 0) return
    const oldest = Math.min(...times.map((time) => time.getTime()))
    overdueSince.set(this.#kind, new Date(oldest + this.#keptMs))
  }

  #interrupt(): false {
    this.#isInterrupted = true
    return false
  }
}

/** False: another process is deleting. A crash may undo a batch: the rows are then deleted again. */
async function begin(tx: Transaction): Promise<boolean> {
  const row = await tx.row<{ mine: boolean }>(sql`
    select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.retention}) as mine, set_config('statement_timeout', '100ms', true),
           set_config('synchronous_commit', 'off', true), set_config('manilla.retention', 'on', true)`)
  return row?.mine ?? false
}
