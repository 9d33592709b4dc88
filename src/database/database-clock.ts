import type { Clock } from '../kernel/clock.ts'
import type { Database } from './database.ts'
import { sql } from './sql.ts'

const SYNC_EVERY_MS = 10_000

/**
 * The time of the database, which all processes share, carried on between looks by this process's monotonic clock. So nobody's decision about
 * what is too late, or too early to say, depends on a machine whose clock was set wrong or jumps.
 */
export async function databaseClock(database: Database): Promise<Clock & { stop(): void }> {
  let offsetMs = 0
  async function look() {
    const before = performance.now()
    const row = await database.row<{ now: Date }>(sql`select clock_timestamp() as now`)
    const middle = (before + performance.now()) / 2
    if (row) offsetMs = row.now.getTime() - middle
  }
  await look()
  const timer = setInterval(() => void look().catch(() => {}), SYNC_EVERY_MS) // when it is away, our own clock goes on as well
  timer.unref()
  return {
    now: () => new Date(performance.now() + offsetMs),
    stop: () => clearInterval(timer),
  }
}
