import type { Database } from '../../../database/database.ts'
import { findFaults } from './fault-store.ts'
import { type Chance, chanceOf, NO_FAULTS } from './faults.ts'

export type Dice = (merchantUuid: string) => Promise<Chance>

/**
 * A merchant's faults as the database has them now, so that every process plays by them. How many were drawn is counted
 * here, in this process, and from the start again when the faults are set anew.
 */
export function diceOf(database: Database): Dice {
  const drawn = new Map<string, { setAtMs: number; counters: Map<string, number> }>()
  return async (merchantUuid) => {
    const faults = await findFaults(database, merchantUuid)
    if (!faults) return chanceOf(NO_FAULTS)
    const setAtMs = faults.setAt.getTime()
    let known = drawn.get(merchantUuid)
    if (known?.setAtMs !== setAtMs) {
      known = { setAtMs, counters: new Map() }
      drawn.set(merchantUuid, known)
    }
    return chanceOf(faults, known.counters)
  }
}
