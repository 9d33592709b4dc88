import type { Clock } from '../kernel/clock.ts'
import type { Database, Queries } from './database.ts'
import { sql } from './sql.ts'

const SYNC_EVERY_MS = 10_000

/**
 * The clock of the database, which all processes share, advanced by this process's monotonic clock between two
 * synchronizations. Expiry and timeouts therefore do not depend on a machine whose clock is wrong or jumps.
 */
export async function databaseClock(database: Database): Promise<Clock & { stop(): void }> {
  let offsetMs = 0
  async function synchronize() {
    const before = performance.now()
    const row = await database.row<{ now: Date }>(sql`select clock_timestamp() as now`)
    const middle = (before + performance.now()) / 2
    if (row) offsetMs = row.now.getTime() - middle
  }
  await synchronize()
  // without a database the monotonic clock continues
  const timer = setInterval(() => void synchronize().catch(() => {}), SYNC_EVERY_MS)
  timer.unref()
  return {
    now: () => new Date(performance.now() + offsetMs),
    stop: () => clearInterval(timer),
  }
}

/**
 * The time of the database, exactly, for a statement that follows. For operations that are rare; others use the clock
 * of the service.
 */
export async function readTime(db: Queries): Promise<string> {
  const row = await db.row<{ now: string }>(sql`select now()::text as now`)
  if (!row) throw new Error('PostgreSQL did not tell the time')
  return row.now
}
