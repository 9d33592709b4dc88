import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** CPU time from the kernel's counters per process: exact, independent of other load. Linux only. */
export const CAN_READ_CPU = existsSync('/proc/self/stat')

const MS_PER_TICK = CAN_READ_CPU ? 1_000 / (Number(spawnSync('getconf', ['CLK_TCK']).stdout) || 100) : Number.NaN

interface Counters {
  parent: number
  ownMs: number
  /** Of children that have ended. */
  endedChildrenMs: number
}

/** The process alone, without its children. */
export function cpuMsOf(pid: number): number {
  return CAN_READ_CPU ? (readCounters(pid)?.ownMs ?? 0) : Number.NaN
}

/** All of PostgreSQL: the postmaster and its present and past children. */
export function cpuMsWithChildren(pid: number): number {
  if (!CAN_READ_CPU) return Number.NaN
  let totalMs = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const counters = readCounters(Number(name))
    if (Number(name) === pid) totalMs += (counters?.ownMs ?? 0) + (counters?.endedChildrenMs ?? 0)
    else if (counters?.parent === pid) totalMs += counters.ownMs
  }
  return totalMs
}

function readCounters(pid: number): Counters | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined // it ended between the listing and now
  }
  // The second field is the name in brackets, which may itself hold spaces and brackets. See proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = (field: number) => Number(fields[field - 3])
  return {
    parent: ticks(4),
    ownMs: (ticks(14) + ticks(15)) * MS_PER_TICK,
    endedChildrenMs: (ticks(16) + ticks(17)) * MS_PER_TICK,
  }
}
