import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Proof } from './list.ts'

export interface Run {
  proof: string
  /** The last commit that changed the program. */
  commit: string
  command: string
  startedAt: string
  /** Absent: it was interrupted. */
  result?: { status: 'clean' | 'failed' | 'cannot run'; seconds: number; figures: Record<string, number>; note: string }
}

/** The runs so far, in a file, so that the proof continues where it was stopped. */
export class State {
  readonly runs: Run[]
  readonly #file: string

  constructor(folder: string, name: string) {
    mkdirSync(folder, { recursive: true })
    this.#file = join(folder, `${name}.json`)
    this.runs = existsSync(this.#file) ? JSON.parse(readFileSync(this.#file, 'utf8')) : []
  }

  save(): void {
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.runs, null, 2))
    renameSync(`${this.#file}.new`, this.#file)
  }
}

export const runsOf = (runs: Run[], { name }: Proof, status?: NonNullable<Run['result']>['status']) =>
  runs.filter((run) => run.proof === name && (status === undefined || run.result?.status === status))

/** Sums of the clean runs. A figure that is called "slowest …" or "longest …" is the highest of them. */
export function figuresOf(runs: Run[], proof: Proof): Record<string, number> {
  const total: Record<string, number> = {}
  for (const { result } of runsOf(runs, proof, 'clean')) {
    for (const [name, value] of Object.entries(result?.figures ?? {})) {
      const before = total[name] ?? 0
      total[name] = /^(slowest|longest) /.test(name) ? Math.max(before, value) : before + value
    }
  }
  return total
}

export const doneOf = (runs: Run[], proof: Proof) => figuresOf(runs, proof)[proof.counts] ?? 0
