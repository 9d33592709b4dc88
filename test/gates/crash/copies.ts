import type { Random } from '../random.ts'
import type { Slot } from '../slot.ts'
import { compareBooks } from './check.ts'
import { Load } from './load.ts'
import type { CrashPart } from './report.ts'
import { soon, withCopies } from './slots.ts'

const CLIENTS = 8

/** Two copies on one PostgreSQL that stays up. They are killed in turns, sometimes both at once. */
export function crashOfCopies(random: Random, kills: number): Promise<CrashPart> {
  return withCopies(async ({ databaseUrl, copies: { slots } }) => {
    const load = new Load('copies', random, () => slots.flatMap(({ copy }) => copy ?? []), CLIENTS)
    try {
      const restarts: Promise<void>[] = []
      while (restarts.length < kills) {
        restarts.push(...(await killSome(random, load, slots, kills - restarts.length)))
      }
      await Promise.all(restarts)
    } finally {
      await load.stop()
    }
    return {
      title: `${slots.length} copies on one PostgreSQL`,
      kills,
      killsWhileStarting: 0,
      slowestStartMs: Math.max(...slots.map((slot) => slot.slowestStartMs)),
      leftBehind: 0,
      books: await compareBooks(load.calls, databaseUrl),
    }
  })
}

/**
 * Kills one of those that are up, or all of them, and does not wait for their return: the next kill may come while one
 * is starting.
 */
async function killSome(random: Random, load: Load, slots: readonly Slot[], most: number): Promise<Promise<void>[]> {
  await soon(random, load)
  const up = slots.filter(({ copy }) => copy)
  const all = up.length <= most && random.chance(0.2)
  const chosen = all || up.length === 0 ? up : [random.pick(up)]
  return chosen.map((slot) => {
    const restarted = slot.crash()
    restarted.catch(() => {}) // reported at the end, where all of them are awaited
    return restarted
  })
}
