import type { Version } from './against.ts'
import type { BenchDatabase } from './bench-database.ts'
import type { Duration, Gauge } from './measure.ts'
import type { Ratio } from './report.ts'

/** What each part of the benchmark is given. */
export interface Bench {
  database: BenchDatabase
  gauge: Gauge
  /** The older version of the service that is measured in the same rounds. */
  against: Version | undefined
  rounds: number
  seconds: number
  /** In the larger database of the dashboard. */
  payments: number
  say(line: string): void
}

export interface Result {
  table: string
  ratios: Ratio[]
}

/** One of the two passes of a round. */
export function passOf({ seconds }: Bench): Duration {
  return { warmUpMs: seconds * 125, measureMs: seconds * 500 }
}

/** For a new process, which needs 50 % more CPU until its code is compiled. */
export function warmUpOf({ seconds }: Bench): Duration {
  return { warmUpMs: seconds * 2_000, measureMs: 100 }
}
