import { setTimeout as sleep } from 'node:timers/promises'
import { overdueSince, retentionBatchSeconds, retentionDeleted } from '../metrics/instruments.ts'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import type { Database, Queries, Transaction } from './database.ts'
import { isStatementTimeout } from './failure.ts'
import { sql } from './sql.ts'

/** The size of the batches is adapted so that deleting the rows of one takes about this time. */
const AIM_MS = 30
const FIRST_SIZE = 10
const MAX_SIZE = 5_000
/** A statement ends after it, so that the transaction ends within 100 ms. */
const TIMEOUT_MS = 60
const MAX_TIMEOUT_MS = 5_000

export interface Deleted {
  /** Of each deleted row: the time from which its age counts. */
  times: Date[]
  /** As many rows as allowed were found, so more may be left. */
  isFull: boolean
}

/** Another process is deleting. */
export class DeletingElsewhere extends Error {}

/** Deletes rows of one kind in small transactions, so that payments never wait for a lock or a connection for long. */
export class DeleteBatches {
  readonly #database: Database
  readonly #kind: string
  readonly #keptMs: number
  /** Rows of the next batch. */
  size = FIRST_SIZE
  /** Rows that were deleted. */
  deleted = 0
  /** More for a single row that takes longer: it would never be deleted, and keep the others from it. */
  #timeoutMs = TIMEOUT_MS

  /** `kind`: for the metrics. Rows of that kind are kept for `keptMs`. */
  constructor(database: Database, kind: string, keptMs: number) {
    this.#database = database
    this.#kind = kind
    this.#keptMs = keptMs
  }

  /** All old rows were found: those that are left are still in use. */
  end(): void {
    overdueSince.set(this.#kind, null)
  }

  /**
   * Deletes up to `size` rows by one statement, then pauses for half as long as that took. Returns true when more may
   * be left. Throws DeletingElsewhere while another process deletes.
   */
  async next(deleteRows: (db: Queries, limit: number) => Promise<Deleted>): Promise<boolean> {
    let [startedAt, workMs] = [performance.now(), 0]
    let deleted: Deleted
    const endedAfterMs = () => performance.now() - startedAt
    try {
      deleted = await this.#database.transaction(async (tx) => {
        await begin(tx, this.#timeoutMs)
        startedAt = performance.now() // no row is locked before
        const result = await deleteRows(tx.last, this.size)
        workMs = endedAfterMs()
        return result
      })
    } catch (error) {
      if (!isStatementTimeout(error) || this.#timeoutMs === MAX_TIMEOUT_MS) throw error
      if (this.size === 1) this.#timeoutMs = Math.min(this.#timeoutMs * 4, MAX_TIMEOUT_MS)
      this.size = Math.ceil(this.size / 4)
      retentionBatchSeconds.observe(endedAfterMs() / 1_000)
      await sleep(endedAfterMs())
      return true
    }
    retentionBatchSeconds.observe(endedAfterMs() / 1_000)
    this.#timeoutMs = TIMEOUT_MS
    this.#count(deleted.times)
    this.#adapt(deleted.isFull, workMs)
    await sleep(workMs / 2)
    return deleted.isFull
  }

  /** By the time of the statement alone: in a busy process the others take long however few the rows are. */
  #adapt(isFull: boolean, workMs: number): void {
    if (!isFull && workMs < AIM_MS) return
    const fitting = Math.round(this.size * Math.min(2, AIM_MS / workMs))
    this.size = Math.max(1, Math.min(MAX_SIZE, fitting))
  }

  #count(times: Date[]): void {
    retentionDeleted.inc({ kind: this.#kind }, times.length)
    this.deleted += times.length
    if (times.length === 0) return
    const oldest = Math.min(...times.map((time) => time.getTime()))
    overdueSince.set(this.#kind, new Date(oldest + this.#keptMs))
  }
}

/** A crash may undo a batch: the rows are then deleted again. */
async function begin(tx: Transaction, timeoutMs: number): Promise<void> {
  const row = await tx.row<{ mine: boolean }>(sql`
    select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.retention}) as mine, set_config('statement_timeout', ${String(timeoutMs)}, true),
           set_config('synchronous_commit', 'off', true), set_config('manilla.retention', 'on', true)`)
  if (!row?.mine) throw new DeletingElsewhere()
}
