import { existsSync, readFileSync } from 'node:fs'
import { arch, cpus, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDatabase } from './bench-database.ts'
import { LOG_LEVEL } from './subjects.ts'

const LOOK_MS = 2_000
const BUSY_LOAD = 1
const MUCH_STEAL = 0.05

/**
 * Reads the load before the run. The function that it returns reads it again, and reports both, with what the run ran
 * on.
 */
export async function watchMachine(): Promise<(database: BenchDatabase) => string> {
  const first = readTicks()
  await sleep(LOOK_MS)
  const start = readTicks()
  const startedAt = performance.now()
  const before = { load: loadOfMinute(), steal: stealBetween(first, start) }
  return ({ version, settings }) => {
    const after = { load: loadOfMinute(), steal: stealBetween(start, readTicks()) }
    const isNoisy = before.load > BUSY_LOAD || before.steal > MUCH_STEAL || after.steal > MUCH_STEAL
    const date = new Date().toISOString().slice(0, 16).replace('T', ' ')
    return [
      `${date} UTC, ${Math.round((performance.now() - startedAt) / 1_000)} s; ${cpus().length} cores, ${cpus()[0]?.model.trim()} (${arch()});`,
      `Node.js ${process.versions.node}; PostgreSQL ${version}, ${settings}; LOG_LEVEL=${LOG_LEVEL}, RATE_LIMIT=off.`,
      `Load average ${before.load.toFixed(2)} before and ${after.load.toFixed(2)} after the run, which causes some itself;`,
      `CPU steal ${inPercent(before.steal)} before and ${inPercent(after.steal)} during the run.`,
      ...(isNoisy ? ['The machine was busy: do not judge by this run.'] : []),
    ].join('\n')
  }
}

const loadOfMinute = () => loadavg()[0] as number
const inPercent = (share: number) => (Number.isNaN(share) ? 'unknown' : `${(share * 100).toFixed(1)} %`)

interface Ticks {
  steal: number
  all: number
}

/**
 * See proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal. What guests take is in the first two. NaN
 * without Linux.
 */
function readTicks(): Ticks {
  if (!existsSync('/proc/stat')) return { steal: Number.NaN, all: Number.NaN }
  const [, ...fields] = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '').split(/\s+/)
  const ticks = fields.slice(0, 8).map(Number)
  return { steal: ticks[7] ?? Number.NaN, all: ticks.reduce((sum, each) => sum + each, 0) }
}

/** The share of the time of all cores that the host of a virtual machine took away. */
function stealBetween(from: Ticks, to: Ticks): number {
  return (to.steal - from.steal) / (to.all - from.all)
}
