import { addDays, startOfDay } from '../../kernel/time-zone.ts'
import type { ChartSum } from '../../payments/store/chart-sums.ts'
import type { Charts, Group, Sums } from './overview-contract.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
export const MAX_DAYS = 366
/** Up to this many days are shown by hour. */
const HOURLY_DAYS = 2

export interface ChartRange {
  unit: 'hour' | 'day'
  /** The beginning of each part. */
  starts: Date[]
  to: Date
}

/** The parts of a range of days, both included. `from` and `to` are real days, and there are 1 to MAX_DAYS of them. */
export function rangeOf({ from, to, zone }: { from: string; to: string; zone: string }): ChartRange {
  const count = Math.min(countDays(from, to), MAX_DAYS)
  const days = Array.from({ length: count }, (_, index) => startOfDay(addDays(from, index), zone))
  const end = startOfDay(addDays(from, count), zone)
  const [start = end] = days
  if (count > HOURLY_DAYS) return { unit: 'day', starts: days, to: end }
  // At most two days, of 25 hours where clocks change. A day that a zone left out has no hours.
  const hours = Math.max(1, (end.getTime() - start.getTime()) / HOUR_MS)
  return {
    unit: 'hour',
    starts: Array.from({ length: hours }, (_, index) => new Date(start.getTime() + index * HOUR_MS)),
    to: end,
  }
}

export function countDays(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
}

/** The answer for one currency: totals, the parts of the range, and groups. */
export function chartsOf(
  sums: ChartSum[],
  { unit, starts }: ChartRange,
  wanted: string | undefined,
): Omit<Charts, 'isBehind'> {
  const currencies = busiestFirst(
    sums.filter(({ part }) => part === null),
    ({ currency }) => currency,
  )
  const currency = wanted ?? currencies[0] ?? null
  const byPart = Map.groupBy(
    sums.filter((sum) => sum.currency === currency),
    ({ part }) => part,
  )
  const own = byPart.get(null) ?? []
  return {
    unit,
    currency,
    currencies,
    totals: sumUp(own),
    parts: starts.map((at, index) => ({ at: at.toISOString(), ...sumUp(byPart.get(index + 1) ?? []) })),
    providers: groupsBy(own, ({ provider }) => provider),
    channels: groupsBy(own, ({ channel }) => channel),
    declines: declinesOf(own),
  }
}

function sumUp(sums: ChartSum[]): Sums {
  const count = (fact: ChartSum['fact']) => total(sums.filter((sum) => sum.fact === fact))
  const paid = sums.filter(({ fact }) => fact === 'payment.successful')
  return {
    volume: paid.reduce((volume, { amount }) => volume + amount, 0),
    created: count('payment.created'),
    paid: total(paid),
    cancelled: count('payment.cancelled'),
    expired: count('payment.expired'),
    attempts: count('attempt.started'),
    attemptsPaid: count('attempt.successful'),
    attemptsFailed: count('attempt.failed'),
    attemptsAbandoned: count('attempt.abandoned'),
    timeToPay: timesOf(paid),
  }
}

function groupsBy(sums: ChartSum[], nameOf: (sum: ChartSum) => string): Group[] {
  const named = sums.filter((sum) => nameOf(sum) !== '')
  return busiestFirst(named, nameOf).map((name) => {
    const { volume, paid, attemptsPaid, attemptsFailed } = sumUp(named.filter((sum) => nameOf(sum) === name))
    return { name, volume, paid, attemptsPaid, attemptsFailed }
  })
}

function declinesOf(sums: ChartSum[]): Charts['declines'] {
  const failed = sums.filter(({ fact }) => fact === 'attempt.failed')
  return busiestFirst(failed, ({ detail }) => detail).map((code) => ({
    code,
    count: total(failed.filter(({ detail }) => detail === code)),
  }))
}

function total(sums: ChartSum[]): number {
  return sums.reduce((sum, { count }) => sum + count, 0)
}

function busiestFirst(sums: ChartSum[], nameOf: (sum: ChartSum) => string): string[] {
  const counts = [...Map.groupBy(sums, nameOf)].map(([name, own]) => ({ name, count: total(own) }))
  return counts.sort((a, b) => b.count - a.count || a.name.localeCompare(b.name)).map(({ name }) => name)
}

/** Longer times to pay are counted as this one: a week. */
const LONGEST_SECONDS = 7 * 24 * 3_600

/**
 * Median and 90th percentile of a histogram, interpolated within a bucket. The detail is the upper bound of the bucket.
 */
function timesOf(paid: ChartSum[]): Sums['timeToPay'] {
  if (paid.length === 0) return null
  const boundOf = ({ detail }: ChartSum) => (detail === 'more' ? LONGEST_SECONDS : Number(detail))
  const buckets = [...Map.groupBy(paid, boundOf)].map(([bound, own]) => ({ bound, count: total(own) }))
  buckets.sort((a, b) => a.bound - b.bound)
  return { p50: percentile(buckets, 0.5), p90: percentile(buckets, 0.9) }
}

function percentile(buckets: { bound: number; count: number }[], share: number): number {
  let left = share * buckets.reduce((sum, { count }) => sum + count, 0)
  for (const { bound, count } of buckets) {
    if (left <= count) {
      const lower = BOUNDS.findLast((each) => each < bound) ?? 0
      return Math.round(lower + ((bound - lower) * left) / count)
    }
    left -= count
  }
  return buckets.at(-1)?.bound ?? 0
}

/** Of the histogram in payments/store/rollups.ts. */
const BOUNDS = [
  ...[5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200],
  ...[21_600, 43_200, 86_400, 259_200],
]
