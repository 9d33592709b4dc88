import type { Clock } from '../kernel/clock.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

const SYNC_EVERY_MS = 10_000

/**
 * The clock of the database, which all processes share, advanced by this process's monotonic clock between two synchronizations. Expiry
 * and timeouts therefore do not depend on a machine whose clock is wrong or jumps.
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
  const timer = setInterval(() => void synchronize().catch(() => {}), SYNC_EVERY_MS) // without a database the monotonic clock continues
  timer.unref()
  return {
    now: () => new Date(performance.now() + offsetMs),
    stop: () => clearInterval(timer),
  }
}
