import type { Measurement } from './measure.ts'
import { median } from './statistics.ts'

/** One ratio or time, judged by the median of the rounds. */
export interface Ratio {
  name: string
  /** Of each round, so that a slow round affects both sides. */
  values: number[]
  /** The target, if there is one: at least, or at most. */
  least?: number
  most?: number
}

/** Within the noise of a machine with other work: it counts as reached. */
const TOLERANCE = 0.15

export function verdictOf({ values, least, most }: Ratio): 'reached' | 'reached (within 15 %)' | 'missed' | '' {
  const value = median(values)
  const reaches = (tolerance: number) =>
    (least === undefined || value >= least * (1 - tolerance)) && (most === undefined || value <= most * (1 + tolerance))
  if (least === undefined && most === undefined) return ''
  if (reaches(0)) return 'reached'
  return reaches(TOLERANCE) ? 'reached (within 15 %)' : 'missed'
}

export function reportRatios(ratios: Ratio[]): string {
  const wanted = ({ least, most }: Ratio) =>
    least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : ''
  const rows = ratios.map((ratio) => [ratio.name, wanted(ratio), spread(ratio.values, 2), verdictOf(ratio)])
  return table(['ratio', 'target', 'measured (min–max)', 'verdict'], rows)
}

/** One row for each subject and number of clients. `what`: what is counted, like "creates". */
export function reportRounds(rounds: Measurement[][], what: string): string {
  const rows = (rounds[0] ?? []).map(({ clients, subject }) => {
    const of = (pick: (measurement: Measurement) => number) =>
      rounds.map((round) => pick(find(round, subject, clients)))
    const ms = (pick: (measurement: Measurement) => number) => median(of(pick)).toFixed(2)
    return [
      String(clients),
      subject,
      spread(
        of(({ rate }) => rate),
        0,
      ),
      ms(({ p50Ms }) => p50Ms),
      ms(({ p99Ms }) => p99Ms),
      `${ms(({ serverCpuMs }) => serverCpuMs)} + ${ms(({ postgresCpuMs }) => postgresCpuMs)}`,
    ]
  })
  return table(['clients', what, 'a second (min–max)', 'p50 ms', 'p99 ms', 'CPU ms: server + PostgreSQL'], rows)
}

/** What one subject is to another within each round. */
export function ratiosOf(
  rounds: Measurement[][],
  clients: number,
  [subject, base]: [subject: string, base: string],
  pick: (measurement: Measurement) => number = ({ rate }) => rate,
): number[] {
  return rounds.map((round) => pick(find(round, subject, clients)) / pick(find(round, base, clients)))
}

function find(round: Measurement[], subject: string, clients: number): Measurement {
  const found = round.find((each) => each.subject === subject && each.clients === clients)
  if (!found) throw new Error(`${subject} was not measured with ${clients} clients`)
  return found
}

/** The median, with the lowest and the highest round. */
export function spread(values: number[], digits: number): string {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(digits),
  )
  return values.length > 1 ? `${middle} (${least}–${most})` : `${middle}`
}

/** Markdown that reads well as plain text too. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
