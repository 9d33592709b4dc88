import { arch, cpus } from 'node:os'
import type { BenchDatabase } from './bench-database.ts'
import { CAN_READ_CPU } from './cpu.ts'
import { type DeliveryRound, SYSTEMS } from './deliveries.ts'
import { GROWTH_CONNECTIONS, type GrowthPlan, type GrowthRound } from './growth.ts'
import { type MachineLoad, reportLoad } from './machine-load.ts'
import type { Measurement } from './measure.ts'
import type { NotificationsRound } from './notifications.ts'
import { PAGE_CONNECTIONS, type PageRound } from './pages.ts'
import { CONCURRENCIES, PGBENCH_CONNECTIONS, type Round } from './rounds.ts'
import { median } from './statistics.ts'
import type { Streams } from './streams.ts'
import { FLOOR_CONNECTIONS, LOG_LEVEL } from './subjects.ts'
import type { Target } from './targets.ts'

const SUBJECTS = ['manilla', 'floor', 'no database']

export function reportRounds(rounds: Round[]): string {
  const rows = CONCURRENCIES.flatMap((connections) =>
    SUBJECTS.map((subject) => {
      const of = (pick: (measurement: Measurement) => number) =>
        median(rounds.map(({ measurements }) => pick(find(measurements, subject, connections))))
      const toFloor = (pick: (measurement: Measurement) => number) =>
        subject === 'floor' ? '1' : times(median(ratiosTo(rounds, 'floor', subject, connections, pick)))
      return [
        String(connections),
        subject,
        count(of(({ rate }) => rate)),
        toFloor(({ rate }) => rate),
        ms(of(({ p50Ms }) => p50Ms)),
        toFloor(({ p50Ms }) => p50Ms),
        ms(of(({ p99Ms }) => p99Ms)),
        toFloor(({ p99Ms }) => p99Ms),
        `${us(of(({ serverCpuUs }) => serverCpuUs))} + ${us(of(({ postgresCpuUs }) => postgresCpuUs))}`,
        toFloor(({ cpuUs }) => cpuUs),
      ]
    }),
  )
  const head = [
    'conc.',
    'server',
    'creates/s',
    '× floor',
    'p50 ms',
    '× floor',
    'p99 ms',
    '× floor',
    'CPU µs',
    '× floor',
  ]
  return `${table(head, rows)}\n\n${pgbenchLine(rounds)}`
}

function pgbenchLine(rounds: Round[]): string {
  const pgbench = rounds.flatMap(({ pgbenchRate }) => pgbenchRate ?? [])
  if (pgbench.length === 0) return 'pgbench: not on this machine.'
  const ratio = median(
    rounds.map(
      ({ measurements, pgbenchRate }) => find(measurements, 'manilla', PGBENCH_CONNECTIONS).rate / (pgbenchRate ?? 1),
    ),
  )
  const rate = count(median(pgbench))
  return `pgbench, the same INSERT without any HTTP, ${PGBENCH_CONNECTIONS} connections: ${rate} creates/s; manilla over HTTP is ${times(ratio)} of it.`
}

export function reportGrowth(rounds: GrowthRound[], { rows }: GrowthPlan): string {
  const line = (label: string, pick: (measurement: Measurement) => number, show: (value: number) => string) => [
    label,
    show(median(rounds.map(({ empty }) => pick(empty)))),
    show(median(rounds.map(({ large }) => pick(large)))),
    percent(median(growthsOf(rounds, pick))),
  ]
  const head = [`concurrency ${GROWTH_CONNECTIONS}`, 'empty table', `${count(rows)} rows`, 'change']
  return table(head, [
    line('creates/s', ({ rate }) => rate, count),
    line('p50 ms', ({ p50Ms }) => p50Ms, ms),
    line('p99 ms', ({ p99Ms }) => p99Ms, ms),
    line('CPU µs', ({ cpuUs }) => cpuUs, us),
  ])
}

export function reportDeliveries(rounds: DeliveryRound[]): string {
  const rows = SYSTEMS.map((system) => {
    const own = rounds.filter((round) => round.system === system)
    const of = (pick: (round: DeliveryRound) => number) => median(own.map(pick))
    return [system, count(of(({ rate }) => rate)), ms(of(({ p50Ms }) => p50Ms)), ms(of(({ p99Ms }) => p99Ms))]
  })
  return table(['a POST per job', 'deliveries/s', 'idle p50 ms', 'idle p99 ms'], rows)
}

export function reportNotifications(rounds: NotificationsRound[]): string {
  const row = (what: string, way: keyof NotificationsRound) => [
    what,
    median(rounds.map((round) => round[way])).toFixed(0),
    median(rounds.map((round) => round[way] / round.silent)).toFixed(2),
  ]
  return table(
    ['32 clients that settle', 'a second', '× without'],
    [
      row('without notifications', 'silent'),
      row('notified after the commit, no listeners', 'noListeners'),
      row('notified after the commit, 8 listeners', 'listeners'),
      row('NOTIFY inside the transaction, 8 listeners', 'inTransaction'),
    ],
  )
}

export function reportPages(rounds: PageRound[]): string {
  const codings = rounds[0]?.codings ?? []
  const rows = codings.flatMap(({ coding, bytes }) =>
    (['manilla', 'static'] as const).map((subject) => {
      const measured = rounds.flatMap((round) => round.codings.filter((each) => each.coding === coding))
      const of = (pick: (measurement: Measurement) => number) => median(measured.map((each) => pick(each[subject])))
      const ratio = (pick: (measurement: Measurement) => number) =>
        subject === 'static' ? '1' : times(median(pageRatios(rounds, coding, pick)))
      return [
        coding,
        count(bytes),
        subject,
        count(of(({ rate }) => rate)),
        ratio(({ rate }) => rate),
        ms(of(({ p50Ms }) => p50Ms)),
        ms(of(({ p99Ms }) => p99Ms)),
        ratio(({ p99Ms }) => p99Ms),
        `${us(of(({ serverCpuUs }) => serverCpuUs))} + ${us(of(({ postgresCpuUs }) => postgresCpuUs))}`,
      ]
    }),
  )
  const head = [
    `concurrency ${PAGE_CONNECTIONS}`,
    'bytes',
    'server',
    'views/s',
    '× static',
    'p50 ms',
    'p99 ms',
    '× static',
    'CPU µs',
  ]
  return table(head, rows)
}

/** The ratio of our page to the static one, within each round. */
export function pageRatios(rounds: PageRound[], coding: string, pick: (measurement: Measurement) => number): number[] {
  return rounds.flatMap(({ codings }) =>
    codings.filter((each) => each.coding === coding).map((each) => pick(each.manilla) / pick(each.static)),
  )
}

export function reportStreams({ streams, rssBytes, heapBytes, rounds }: Streams): string {
  const kib = (bytes: number) => (bytes / 1024 / streams).toFixed(1)
  const of = (pick: (round: Streams['rounds'][number]) => number) => ms(median(rounds.map(pick)))
  return table(
    [`${count(streams)} open pages, each of a payment of its own`, ''],
    [
      ['memory a stream, KiB: resident', kib(rssBytes)],
      ['memory a stream, KiB: heap after a collection', kib(heapBytes)],
      ['from settled (time of the event) to page updated, p50 ms', of(({ settledToTold }) => settledToTold.p50Ms)],
      ['from settled (time of the event) to page updated, p99 ms', of(({ settledToTold }) => settledToTold.p99Ms)],
      ['from the charge at the provider to page updated, p50 ms', of(({ chargedToTold }) => chargedToTold.p50Ms)],
      ['from the charge at the provider to page updated, p99 ms', of(({ chargedToTold }) => chargedToTold.p99Ms)],
    ],
  )
}

export function reportTargets(targets: Target[]): string {
  const verdict = ({ met }: Target) => (met === undefined ? 'n/a' : met ? 'PASS' : 'FAIL')
  return table(
    ['target', 'wanted', 'measured', 'rounds from', 'to', ''],
    targets.map((target) => [
      target.name,
      target.wanted,
      target.measured,
      target.lowest,
      target.highest,
      verdict(target),
    ]),
  )
}

export function reportMachine(database: BenchDatabase, tookMs: number, load: MachineLoad): string {
  const [cpu] = cpus()
  return [
    `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${Math.round(tookMs / 1_000)} s;`,
    `${cpus().length} cores, ${cpu?.model.trim() || 'unknown model'} (${arch()});`,
    `Node.js ${process.versions.node}; PostgreSQL ${database.version}, ${database.settings}.`,
    reportLoad(load),
    `Servers, PostgreSQL and load generator share the machine; LOG_LEVEL=${LOG_LEVEL}, RATE_LIMIT=off;`,
    `10 connections to PostgreSQL for manilla, ${FLOOR_CONNECTIONS} for the floor.`,
  ].join(' ')
}

/** Ratios within each round, so that a slow round affects both sides. */
export function ratiosTo(
  rounds: Round[],
  base: string,
  subject: string,
  connections: number,
  pick: (measurement: Measurement) => number,
): number[] {
  return rounds.map(
    ({ measurements }) => pick(find(measurements, subject, connections)) / pick(find(measurements, base, connections)),
  )
}

/** The relative change from the empty to the large table in each round: 0.1 is 10 % more. */
export function growthsOf(rounds: GrowthRound[], pick: (measurement: Measurement) => number): number[] {
  return rounds.map(({ empty, large }) => pick(large) / pick(empty) - 1)
}

function find(measurements: Measurement[], subject: string, connections: number): Measurement {
  const found = measurements.find((each) => each.subject === subject && each.connections === connections)
  if (!found) throw new Error(`${subject} was not measured at ${connections}`)
  return found
}

export const times = (ratio: number) => (Number.isNaN(ratio) ? 'n/a' : ratio.toFixed(2))
export const percent = (share: number) => `${share > 0 ? '+' : ''}${(share * 100).toFixed(1)} %`
export const count = (value: number) => Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')
export const ms = (value: number) => value.toFixed(2)
const us = (value: number) => (CAN_READ_CPU ? String(Math.round(value)) : 'n/a')

/** Markdown that reads well as plain text too. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
