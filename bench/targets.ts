import { CAN_READ_CPU } from './cpu.ts'
import type { DeliveryRound } from './deliveries.ts'
import type { GrowthPlan, GrowthRound } from './growth.ts'
import type { Measurement } from './measure.ts'
import type { NotificationsRound } from './notifications.ts'
import type { PageRound } from './pages.ts'
import { growthsOf, pageRatios, percent, ratiosTo } from './report.ts'
import type { Round } from './rounds.ts'
import { median } from './statistics.ts'
import type { Streams } from './streams.ts'

/** What the service promises about its speed, judged by the median of the rounds. */
export interface Target {
  name: string
  wanted: string
  measured: string
  /** The spread of the rounds: a target within it cannot be judged. */
  lowest: string
  highest: string
  /** Undefined: cannot be measured on this machine. */
  met: boolean | undefined
}

export function judge(rounds: Round[], growth: GrowthRound[], { rows }: GrowthPlan): Target[] {
  const manillaTo = (base: string, connections: number, pick: (measurement: Measurement) => number) =>
    ratiosTo(rounds, base, 'manilla', connections, pick)
  const rate = (measurement: Measurement) => measurement.rate
  const cpu = manillaTo('floor', 64, ({ cpuUs }) => cpuUs)
  return [
    target('rate at 64, × floor', '>= 1.8', manillaTo('floor', 64, rate), (ratio) => ratio >= 1.8),
    target(
      'p99 at 64, × floor',
      '<= 1',
      manillaTo('floor', 64, ({ p99Ms }) => p99Ms),
      (ratio) => ratio <= 1,
    ),
    target(
      'rate at 64, × same app without the database call',
      '>= 0.8',
      manillaTo('no database', 64, rate),
      (ratio) => ratio >= 0.8,
    ),
    target('CPU per create at 64 (server + PostgreSQL), × floor', '<= 0.5', cpu, (ratio) => ratio <= 0.5),
    target(
      'p50 at 1, × floor',
      '<= 1.3',
      manillaTo('floor', 1, ({ p50Ms }) => p50Ms),
      (ratio) => ratio <= 1.3,
    ),
    target(
      `rate at 64, from 0 to ${rows.toLocaleString('en-US')} rows`,
      '> -15 %',
      growthsOf(growth, rate),
      (change) => change > -0.15,
      percent,
    ),
  ].map((each) => (CAN_READ_CPU || !each.name.startsWith('CPU') ? each : { ...each, met: undefined }))
}

/** At least as fast as the faster of the two, round by round, and quick when there is nothing to do. */
export function judgeDeliveries(rounds: DeliveryRound[]): Target[] {
  const of = (system: string) => rounds.filter((round) => round.system === system)
  const [graphile, boss] = [of('graphile-worker'), of('pg-boss')]
  const ratios = of('manilla').map(
    ({ rate }, index) => rate / Math.max(graphile[index]?.rate ?? 0, boss[index]?.rate ?? 0),
  )
  return [
    target('deliveries a second, × the faster of two job libraries', '>= 1', ratios, (ratio) => ratio >= 1),
    target(
      'idle, from the commit to the arrival, p50 ms',
      '<= 20',
      of('manilla').map(({ p50Ms }) => p50Ms),
      (p50) => p50 <= 20,
      (value) => value.toFixed(1),
    ),
  ]
}

/**
 * Judged with gzip, because every browser asks for it. The static page was compressed once, before the run, so this ratio mostly
 * shows the cost of zlib. Uncompressed pages are reported and not judged.
 */
export function judgeNotifications(rounds: NotificationsRound[]): Target[] {
  const ratios = rounds.map(({ listeners, noListeners }) => listeners / noListeners)
  return [target('settles with listeners, × without', '>= 0.95', ratios, (ratio) => ratio >= 0.95)]
}

export function judgePages(rounds: PageRound[]): Target[] {
  return [
    target(
      'gzip page views a second at 64, × the same bytes, static',
      '>= 0.1',
      pageRatios(rounds, 'gzip', ({ rate }) => rate),
      (ratio) => ratio >= 0.1,
    ),
  ]
}

export function judgeStreams({ streams, rounds }: Streams): Target[] {
  return [
    target(
      `from settled to page updated, ${streams.toLocaleString('en-US')} open pages, p99 ms`,
      '<= 500',
      rounds.map(({ settledToTold }) => settledToTold.p99Ms),
      (p99) => p99 <= 500,
      (value) => value.toFixed(1),
    ),
  ]
}

export function target(
  name: string,
  wanted: string,
  values: number[],
  isMet: (value: number) => boolean,
  show: (value: number) => string = (value) => (Number.isNaN(value) ? 'n/a' : value.toFixed(3)),
): Target {
  const value = median(values)
  return {
    name,
    wanted,
    measured: show(value),
    lowest: show(Math.min(...values)),
    highest: show(Math.max(...values)),
    met: isMet(value),
  }
}
