import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a run found on its machine, as shares of the time of all cores. NaN without Linux. */
export interface MachineLoad {
  /** Used by other processes, or waiting for the disk, in the seconds before the run. */
  busyBefore: number
  /** Taken away by the host of a virtual machine during the run (steal). */
  stolen(): number
}

const LOOK_MS = 5_000
const MOST_LOOKS = 24
const QUIET = 0.05

/** Waits until the machine is idle, because an installation may have just ended, but not longer than two minutes. */
export async function waitForQuiet(): Promise<MachineLoad> {
  let busyBefore = Number.NaN
  for (let look = 0; look < MOST_LOOKS && !(busyBefore <= QUIET); look++) {
    const before = readTicks()
    if (!before) break
    await sleep(LOOK_MS)
    busyBefore = 1 - shareSince(before, ({ idle }) => idle)
  }
  const atStart = readTicks()
  return { busyBefore, stolen: () => (atStart ? shareSince(atStart, ({ stolen }) => stolen) : Number.NaN) }
}

export function reportLoad({ busyBefore, stolen }: MachineLoad): string {
  if (Number.isNaN(busyBefore)) return 'The load of the machine is not known here.'
  const noisy = busyBefore > QUIET || stolen() > QUIET
  const inPercent = (share: number) => `${(share * 100).toFixed(1)} %`
  return `${inPercent(busyBefore)} of the cores were busy before the run, and the host took ${inPercent(stolen())} of them during it${noisy ? ': do not judge by this run' : ''}.`
}

interface Ticks {
  idle: number
  stolen: number
  all: number
}

/**
 * See proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal. What guests take is in the first two. Waiting for the disk is not
 * idle: every commit waits for it, too.
 */
function readTicks(): Ticks | undefined {
  if (!existsSync('/proc/stat')) return undefined
  const [, ...fields] = (readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '').split(/\s+/)
  const ticks = fields.slice(0, 8).map(Number)
  const [, , , idle = 0, , , , stolen = 0] = ticks
  return { idle, stolen, all: ticks.reduce((sum, each) => sum + each, 0) }
}

function shareSince(before: Ticks, pick: (ticks: Ticks) => number): number {
  const now = readTicks() ?? before
  return (pick(now) - pick(before)) / (now.all - before.all)
}
