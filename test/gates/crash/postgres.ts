import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { compareBooks } from './check.ts'
import { Load } from './load.ts'
import type { CrashPart } from './report.ts'
import { soon, withCopies } from './slots.ts'

const CLIENTS = 8
const RESTARTED_WITHIN_MS = 60_000

/** A fast shutdown, an immediate one that leaves the recovery to the next start, and a kill of the postmaster. */
const SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const

/** Two copies stay up while their PostgreSQL ends, and is started again. */
export function crashOfPostgres(random: Random, restarts: number): Promise<CrashPart> {
  return withCopies(async ({ folder, databaseUrl, copies: { slots } }) => {
    const load = new Load('postgres', random, () => slots.flatMap(({ copy }) => copy ?? []), CLIENTS)
    let slowestMs = 0
    try {
      for (let restart = 0; restart < restarts; restart++) {
        await soon(random, load)
        const before = postmasterOf(folder) as number
        const endedAt = performance.now()
        process.kill(before, random.pick(SIGNALS))
        await otherPostmaster(folder, before)
        await load.acknowledgedMore(1)
        slowestMs = Math.max(slowestMs, performance.now() - endedAt)
      }
    } finally {
      await load.stop()
    }
    return {
      title: `PostgreSQL restarted under ${slots.length} copies`,
      kills: restarts,
      killsWhileStarting: 0,
      slowestStartMs: slowestMs,
      leftBehind: 0,
      books: await compareBooks(load.calls, databaseUrl),
    }
  })
}

/** Undefined while the server is down. */
function postmasterOf(folder: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}

async function otherPostmaster(folder: string, before: number): Promise<void> {
  for (const deadline = performance.now() + RESTARTED_WITHIN_MS; ; ) {
    const now = postmasterOf(folder)
    if (now !== undefined && now !== before) return
    if (performance.now() > deadline) throw new Error(`PostgreSQL was not restarted for ${RESTARTED_WITHIN_MS} ms`)
    // There is no event for a process that is not our child, so poll.
    await pause(20)
  }
}
