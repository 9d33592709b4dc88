// `npm run crash`: repeated `kill -9` under load, then the clients' records are compared with the database.
// --kills 20 of two copies on one PostgreSQL, --restarts 5 of one copy with its own, --refunds 10 kills in the middle of refunds, while clients
// repeat them with the same key; --seed N to repeat a run.
import { numbersFrom } from '../arguments.ts'
import { randomOf } from '../random.ts'
import { crashOfCopies } from './copies.ts'
import { crashOfEmbedded } from './embedded.ts'
import { crashOfRefunds, printRefunds } from './refunds.ts'
import { isCleanPart, printPart } from './report.ts'

export interface CrashOptions {
  kills: number
  restarts: number
  refunds: number
  seed: number
}

export interface CrashReport {
  seed: number
  clean: boolean
  print(): string
}

export async function crash({ kills, restarts, refunds, seed }: CrashOptions): Promise<CrashReport> {
  // At the same time, since most of it is waiting for starts. Both are awaited, so that even after a failure both have cleaned up.
  const ended = await Promise.allSettled([
    crashOfCopies(randomOf(seed, 1), kills),
    crashOfEmbedded(randomOf(seed, 2), restarts),
  ])
  const parts = ended.map((part) => {
    if (part.status === 'rejected') throw part.reason
    return part.value
  })
  // Alone: beside the other parts a copy would be slow, and look dead.
  const refunded = refunds > 0 ? await crashOfRefunds(randomOf(seed, 3), refunds) : undefined
  return {
    seed,
    clean: parts.every(isCleanPart) && (refunded?.differences.length ?? 0) === 0,
    print: () =>
      [`crash, seed ${seed}`, ...parts.map(printPart), ...(refunded ? [printRefunds(refunded)] : []), ''].join('\n\n'),
  }
}

if (import.meta.main) {
  const { kills, restarts, refunds, seed } = numbersFrom({ kills: 20, restarts: 5, refunds: 10 })
  process.stdout.write(`seed ${seed}\n`)
  const report = await crash({ kills, restarts, refunds, seed })
  process.stdout.write(report.print())
  process.exitCode = report.clean ? 0 : 1
}
