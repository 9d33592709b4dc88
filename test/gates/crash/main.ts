// `npm run gate -- crash`: repeated `kill -9` under load, then the clients' records are compared with the database.
// --kills 20 of two copies on one PostgreSQL, --restarts 5 of one copy with its own,
// --postgres 5 restarts of PostgreSQL under two copies,
// --refunds 10 kills in the middle of refunds, while clients repeat them with the same key; 0 leaves a part out.
// --seed N to repeat a run.
import { numbersFrom } from '../arguments.ts'
import { recordFigures } from '../figures.ts'
import { randomOf } from '../random.ts'
import { crashOfCopies } from './copies.ts'
import { crashOfEmbedded } from './embedded.ts'
import { crashOfPostgres } from './postgres.ts'
import { crashOfRefunds, printRefunds } from './refunds.ts'
import { isCleanPart, printPart } from './report.ts'

export interface CrashOptions {
  kills: number
  restarts: number
  postgres: number
  refunds: number
  seed: number
}

export interface CrashReport {
  seed: number
  clean: boolean
  figures: Record<string, number>
  print(): string
}

export async function crash({ kills, restarts, postgres, refunds, seed }: CrashOptions): Promise<CrashReport> {
  // At the same time, since most of it is waiting for starts. Both are awaited, so that even after a failure both have
  // cleaned up.
  const ended = await Promise.allSettled([
    ...(kills > 0 ? [crashOfCopies(randomOf(seed, 1), kills)] : []),
    ...(restarts > 0 ? [crashOfEmbedded(randomOf(seed, 2), restarts)] : []),
  ])
  const killed = ended.map((part) => {
    if (part.status === 'rejected') throw part.reason
    return part.value
  })
  // Alone: beside the other parts a copy would be slow, and look dead.
  const restarted = postgres > 0 ? [await crashOfPostgres(randomOf(seed, 4), postgres)] : []
  const refunded = refunds > 0 ? await crashOfRefunds(randomOf(seed, 3), refunds) : undefined
  const parts = [...killed, ...restarted]
  const killsOfParts = killed.reduce((sum, part) => sum + part.kills + part.killsWhileStarting, 0)
  return {
    seed,
    clean: parts.every(isCleanPart) && (refunded?.differences.length ?? 0) === 0,
    figures: {
      'kill -9': killsOfParts + (refunded?.kills ?? 0),
      'restarts of PostgreSQL': postgres,
      'acknowledged checkouts': parts.reduce((sum, { books }) => sum + books.acknowledged, 0),
      'unknown calls that were settled': parts.reduce((sum, { books }) => sum + books.unknown, 0),
      'refunds at the providers': refunded?.made ?? 0,
      'slowest restart, ms': Math.max(0, ...parts.map(({ slowestStartMs }) => Math.round(slowestStartMs))),
    },
    print: () =>
      [`crash, seed ${seed}`, ...parts.map(printPart), ...(refunded ? [printRefunds(refunded)] : []), ''].join('\n\n'),
  }
}

if (import.meta.main) {
  const options = numbersFrom({ kills: 20, restarts: 5, postgres: 5, refunds: 10 })
  process.stdout.write(`seed ${options.seed}\n`)
  const report = await crash(options)
  process.stdout.write(report.print())
  recordFigures(report.figures)
  process.exitCode = report.clean ? 0 : 1
}
