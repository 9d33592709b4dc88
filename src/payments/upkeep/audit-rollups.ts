import type { Database } from '../../database/database.ts'
import type { Mode } from '../../kernel/mode.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { Place } from '../../kernel/place.ts'
import { LEAST_DAYS } from '../../kernel/retention.ts'
import { endOfStretch, FIRST_UUID, listCursors, type Rollup, rollupsAfter, sumStretch } from '../store/rollups.ts'

const PAGE = 5_000
const MAX_READS = 20
const DAY_MS = 24 * 3_600_000

export interface RollupDifference {
  rollup: string
  finding: string
}

type Totals = Map<string, { count: number; amount: number }>

/** Sums up all payments and events again, and compares the sums with the rollups. */
export async function auditRollups(database: Database): Promise<{ rollups: number; differences: RollupDifference[] }> {
  const differences: RollupDifference[] = []
  let rollups = 0
  for (const { place, foldedTo, daysTo } of await listCursors(database)) {
    // What is folded later has later ids, but may be of an hour that is compared: read the stored sums again until the
    // cursor stood still.
    let [stored, until]: [Totals | undefined, string] = [undefined, foldedTo]
    for (let tries = 1; !stored; tries++) {
      if (tries > MAX_READS)
        throw new OperatorError(`The rollups changed during ${MAX_READS} reads. Run the audit at a quieter time.`)
      const read = await storedTotals(database, place)
      const now = (await listCursors(database)).find((cursor) => cursor.place === place)?.foldedTo ?? until
      if (now === until) stored = read
      until = now
    }
    rollups += stored.size
    differences.push(...compare(stored, await derivedTotals(database, place, until)))
    if (daysTo) differences.push(...(await compareDays(database, place, daysTo)))
  }
  return { rollups, differences }
}

async function storedTotals(
  database: Database,
  place: Place,
  unit: 'hour' | 'day' = 'hour',
  change = (rollups: Rollup[]) => rollups,
): Promise<Totals> {
  const totals: Totals = new Map()
  let page: Rollup[] = []
  do {
    page = await rollupsAfter(database, unit, place, page.at(-1), PAGE)
    add(totals, change(page))
  } while (page.length === PAGE)
  return totals
}

/** Compares the daily sums with the hourly ones. Days before `daysTo` do not change. */
async function compareDays(database: Database, place: Place, daysTo: Date): Promise<RollupDifference[]> {
  const beforeDaysTo = (rollups: Rollup[]) => rollups.filter(({ at }) => at < daysTo)
  const byDay = (rollups: Rollup[]) => beforeDaysTo(rollups).map((rollup) => ({ ...rollup, at: startOfDay(rollup.at) }))
  const days = await storedTotals(database, place, 'day', beforeDaysTo)
  const hours = await storedTotals(database, place, 'hour', byDay)
  return differencesOf(days, hours).map(({ rollup, name, is, should }) => ({
    rollup: `day ${rollup}`,
    finding: `${name} is ${is}, its hours say ${should}`,
  }))
}

const startOfDay = (at: Date) => new Date(Math.floor(at.getTime() / DAY_MS) * DAY_MS)

async function derivedTotals(database: Database, place: Place, foldedTo: string): Promise<Totals> {
  const totals: Totals = new Map()
  for (let after = FIRST_UUID; after !== foldedTo; ) {
    const until = await endOfStretch(database, { place, after, until: foldedTo })
    add(totals, await sumStretch(database, { place, after, until }))
    after = until
  }
  return totals
}

function add(totals: Totals, rollups: Rollup[]): void {
  for (const { merchantId, mode, at, currency, fact, provider, channel, detail, count, amount } of rollups) {
    const key = [merchantId, mode, at.toISOString(), currency, fact, provider, channel, detail].join(' ').trimEnd()
    const before = totals.get(key) ?? { count: 0, amount: 0 }
    totals.set(key, { count: before.count + count, amount: before.amount + amount })
  }
}

/** Sums may be higher than their records if payments were deleted because of their age. */
function compare(stored: Totals, derived: Totals): RollupDifference[] {
  return differencesOf(stored, derived)
    .filter(({ rollup, is, should }) => !(is > should && mayBeDeleted(rollup)))
    .map(({ rollup, name, is, should }) => ({ rollup, finding: `${name} is ${is}, its records say ${should}` }))
}

function differencesOf(stored: Totals, derived: Totals) {
  const none = { count: 0, amount: 0 }
  return [...new Set([...stored.keys(), ...derived.keys()])].sort().flatMap((rollup) => {
    const [is, should] = [stored.get(rollup) ?? none, derived.get(rollup) ?? none]
    return (['count', 'amount'] as const)
      .filter((name) => is[name] !== should[name])
      .map((name) => ({ rollup, name, is: is[name], should: should[name] }))
  })
}

/** Whether payments of this hour may have been deleted because of their age: the sums stay. */
function mayBeDeleted(rollup: string): boolean {
  const [, mode, hour] = rollup.split(' ') as [string, Mode, string]
  return Date.parse(hour) < Date.now() - LEAST_DAYS[mode] * DAY_MS
}
