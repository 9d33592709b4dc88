import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startEmbedded } from '../../../src/database/embedded.ts'
import { killWhileStarting, processesWith, untilNone } from '../processes.ts'
import type { Random } from '../random.ts'
import { Slot } from '../slot.ts'
import { type Books, compareBooks } from './check.ts'
import { type Call, Load } from './load.ts'
import type { CrashPart } from './report.ts'
import { soon } from './slots.ts'

const CLIENTS = 8
const GONE_WITHIN_MS = 10_000

/**
 * One copy with its own PostgreSQL, killed and started again at once on the same folder, as `npm start` in a loop
 * would.
 */
export async function crashOfEmbedded(random: Random, restarts: number): Promise<CrashPart> {
  const dataDir = await mkdtemp(join(tmpdir(), 'manilla-crash-own-'))
  const env = { DATA_DIR: dataDir, RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }
  const slot = new Slot(env)
  let killsWhileStarting = 0
  const interruptStart = async () => {
    killsWhileStarting++
    const ms = random.between(50, 1_500)
    await killWhileStarting(env, () => pause(ms))
  }
  try {
    await interruptStart() // even the very first start, when there are no files yet
    await slot.start()
    const load = new Load('own', random, () => (slot.copy ? [slot.copy] : []), CLIENTS)
    try {
      for (let kill = 0; kill < restarts; kill++) {
        await soon(random, load)
        await slot.crash(random.chance(0.4) ? interruptStart : undefined)
      }
    } finally {
      await load.stop()
    }
    await slot.end()
    const afterKill = await leftBehind(dataDir)
    killsWhileStarting++
    await killWhileStarting(env, () => serverAppears(dataDir))
    const afterStart = await leftBehind(dataDir)
    return {
      title: 'one copy with its own PostgreSQL',
      kills: restarts + 1,
      killsWhileStarting,
      slowestStartMs: slot.slowestStartMs,
      leftBehind: afterKill + afterStart,
      books: await openBooks(load.calls, dataDir),
    }
  } finally {
    await slot.end()
    await leftBehind(dataDir)
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** How many processes on this folder outlived their owner. The gate started them, so it ends them. */
async function leftBehind(dataDir: string): Promise<number> {
  const left = await untilNone(() => processesWith(dataDir), GONE_WITHIN_MS)
  for (const pid of left) process.kill(pid, 'SIGINT')
  await untilNone(() => processesWith(dataDir), GONE_WITHIN_MS)
  return left.length
}

/** Resolves when the PostgreSQL process exists, before its owner knows that. */
async function serverAppears(dataDir: string): Promise<void> {
  const deadline = performance.now() + GONE_WITHIN_MS
  while (processesWith(dataDir).length === 0 && performance.now() < deadline) {
    await pause(5)
  }
}

/** Reads the files after every process of the service has ended. */
async function openBooks(calls: Call[], dataDir: string): Promise<Books> {
  const server = await startEmbedded({ dataDir, purpose: 'own' })
  try {
    return await compareBooks(calls, server.url)
  } finally {
    await server.stop()
  }
}
