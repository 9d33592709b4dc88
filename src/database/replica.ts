import { Problem } from '../kernel/problem.ts'
import type { Queries } from './database.ts'
import { isStatementTimeout, isTransactionConflict } from './failure.ts'
import { sql } from './sql.ts'

export type Reads = Pick<Queries, 'rows' | 'row'>

const CHECK_EVERY_MS = 1_000
/** Data of a replica that is older than this is not shown: the primary is read instead. */
export const MAX_LAG_MS = 5_000

export interface FollowedReplica {
  reads: Reads
  isFresh(): boolean
  stop(): void
}

/**
 * Reads from a streaming replica (DATABASE_READ_URL) while it is at most five seconds behind, and otherwise from the
 * primary. See docs/decisions/0018-read-replica.md.
 *
 * The lag is measured by positions in the write-ahead log, not by time stamps, which stand still when nothing is
 * written: the replica has all that the primary had at a moment, if it has replayed the position that the primary had
 * then.
 */
export function followReplica(
  primary: Reads,
  replica: Reads,
  { checkEveryMs = CHECK_EVERY_MS, nowMs = () => performance.now() } = {},
): FollowedReplica {
  let marks: { position: number; atMs: number }[] = []
  let completeUntilMs = Number.NEGATIVE_INFINITY
  let checking = false

  async function check() {
    if (checking) return
    checking = true
    try {
      const atMs = nowMs()
      const writes = await positionOf(primary)
      marks.push({ position: writes.position, atMs })
      const reads = await positionOf(replica)
      const { position: writtenSince } = await positionOf(primary)
      // After a failover the URL may lead to the primary itself. Any other server that accepts writes has a history of
      // its own, and so has a replica that is ahead: of another server, or of this one before it was restored from a
      // backup.
      const hasOwnHistory = reads.position > writtenSince || (!reads.isReplica && reads.startedAt !== writes.startedAt)
      if (!hasOwnHistory)
        completeUntilMs = marks.findLast(({ position }) => position <= reads.position)?.atMs ?? completeUntilMs
      marks = marks.filter((mark) => mark.atMs >= nowMs() - MAX_LAG_MS)
    } catch {
      // Not measured: the data counts as older with each second.
    } finally {
      checking = false
    }
  }

  const isFresh = () => nowMs() - completeUntilMs <= MAX_LAG_MS
  const rows: Reads['rows'] = async (statement) => {
    if (!isFresh()) return primary.rows(statement)
    try {
      return await replica.rows(statement)
    } catch (error) {
      // The replica is down, or cancelled the query because it had to replay a change of the same rows. A query that is
      // too slow for the replica would only load the primary as well.
      const isDown = error instanceof Problem && error.code === 'unavailable' && !isStatementTimeout(error)
      if (isDown || isTransactionConflict(error)) return primary.rows(statement)
      throw error
    }
  }

  void check()
  const timer = setInterval(check, checkEveryMs)
  timer.unref()
  return {
    reads: { rows, row: async <Row>(statement: Parameters<Reads['row']>[0]) => (await rows<Row>(statement))[0] },
    isFresh,
    stop: () => clearInterval(timer),
  }
}

interface Position {
  /** In bytes. */
  position: number
  isReplica: boolean
  /** Of the server. Tells two servers apart. */
  startedAt: string
}

async function positionOf(reads: Reads): Promise<Position> {
  const row = await reads.row<Position>(sql`
    select pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end,
                           '0/0')::bigint as position,
           pg_is_in_recovery() as "isReplica", pg_postmaster_start_time()::text as "startedAt"`)
  if (!row) throw new Error('the server did not tell its position')
  return row
}
