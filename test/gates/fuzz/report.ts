import type { FuzzCase } from './requests.ts'
import { printable } from './wire.ts'

export interface Failure {
  fault: string
  kind: string
  /** The first case that showed it. */
  index: number
  request: string
  answer: string
  count: number
}

/**
 * An export has every payment so far in its answer, thousands at the end, and waits while two others are being sent.
 */
const EXPORT_FACTOR = 5

/** The results of a run. */
export class FuzzReport {
  readonly seed: number
  readonly maxMs: number
  requests = 0
  created = 0
  readBack = 0
  /** Answers over the limit. One pause of the process delays all requests in flight, so they are counted together. */
  slow = 0
  slowest = { tookMs: 0, kind: '', index: 0 }
  rssMiB = { warm: 0, end: 0 }
  readonly #byKind = new Map<string, Map<string, number>>()
  readonly #failures = new Map<string, Failure>()

  constructor(seed: number, maxMs: number) {
    this.seed = seed
    this.maxMs = maxMs
  }

  count({ kind, index }: FuzzCase, outcome: string, tookMs: number): void {
    this.requests++
    const outcomes = this.#byKind.get(kind) ?? new Map<string, number>()
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    this.#byKind.set(kind, outcomes)
    if (tookMs > this.maxMs * (kind === 'export' ? EXPORT_FACTOR : 1)) this.slow++
    if (tookMs > this.slowest.tookMs) this.slowest = { tookMs, kind, index }
  }

  /** The same fault of the same kind is reported once, with its first case. */
  fail(fault: string, sent?: FuzzCase, answer = ''): void {
    const kind = sent?.kind ?? 'the run'
    const known = this.#failures.get(`${kind} ${fault}`)
    if (known) {
      known.count++
      return
    }
    const request = sent ? printable(Buffer.concat(sent.pieces)) : ''
    const index = sent?.index ?? -1
    this.#failures.set(`${kind} ${fault}`, { fault, kind, index, request, answer: answer.slice(0, 300), count: 1 })
  }

  get failures(): Failure[] {
    return [...this.#failures.values()]
  }

  get figures(): Record<string, number> {
    const outcomes = [...this.#byKind.values()].flatMap((counts) => [...counts])
    const with5xx = outcomes.filter(([outcome]) => outcome.startsWith('5'))
    return {
      requests: this.requests,
      'answers with 5xx': with5xx.reduce((sum, [, count]) => sum + count, 0),
      'payments read back': this.readBack,
      'slowest answer, ms': Math.round(this.slowest.tookMs),
      failures: this.failures.length,
    }
  }

  print(): string {
    const rows = [...this.#byKind.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
    const { slowest, rssMiB } = this
    return [
      `fuzz, seed ${this.seed}`,
      '',
      ...rows.map(([kind, outcomes]) => `  ${kind.padEnd(26)} ${outcomesOf(outcomes)}`),
      '',
      `  requests   ${this.requests}`,
      `  created    ${this.created}, read back ${this.readBack}`,
      `  slowest    ${slowest.tookMs.toFixed(0)} ms (${slowest.kind}, case ${slowest.index}); ${this.slow} over ${this.maxMs} ms`,
      `  RSS        ${rssMiB.warm.toFixed(0)} MiB after a third, ${rssMiB.end.toFixed(0)} MiB at the end`,
      `  failures   ${this.failures.length}`,
      ...this.failures.flatMap((failure) => describe(failure, this.seed)),
      '',
    ].join('\n')
  }
}

function outcomesOf(outcomes: Map<string, number>): string {
  const entries = [...outcomes.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([outcome, count]) => `${outcome} ×${count}`.padEnd(12)).join(' ')
}

function describe({ fault, kind, index, request, answer, count }: Failure, seed: number): string[] {
  if (index === -1) return ['', `  FAILED  ${fault}`, `    ${answer}`]
  return [
    '',
    `  FAILED  ${kind}: ${fault} (×${count})`,
    `    repeat  --seed ${seed} --only ${index}`,
    `    sent    ${request}`,
    `    answer  ${JSON.stringify(answer)}`,
  ]
}
