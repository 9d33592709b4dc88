// `npm run crash`: `kill -9` under load, again and again, then the books of the clients are compared with the database.
// --kills 20 of two copies on one PostgreSQL, --restarts 5 of one copy with its own; --seed N to have the same choices again.
import { numbersFrom } from '../arguments.ts'
import { randomOf } from '../random.ts'
import { crashOfCopies } from './copies.ts'
import { crashOfEmbedded } from './embedded.ts'
import { isCleanPart, printPart } from './report.ts'

export interface CrashOptions {
  kills: number
  restarts: number
  seed: number
}

export interface CrashReport {
  seed: number
  clean: boolean
  print(): string
}

export async function crash({ kills, restarts, seed }: CrashOptions): Promise<CrashReport> {
  // At the same time, since most of it is waiting for starts. Both are awaited, so that even after a failure both have cleaned up.
  const ended = await Promise.allSettled([
    crashOfCopies(randomOf(seed, 1), kills),
    crashOfEmbedded(randomOf(seed, 2), restarts),
  ])
  const parts = ended.map((part) => {
    if (part.status === 'rejected') throw part.reason
    return part.value
  })
  return {
    seed,
    clean: parts.every(isCleanPart),
    print: () => [`crash, seed ${seed}`, ...parts.map(printPart), ''].join('\n\n'),
  }
}

if (import.meta.main) {
  const { kills, restarts, seed } = numbersFrom({ kills: 20, restarts: 5 })
  process.stdout.write(`seed ${seed}\n`)
  const report = await crash({ kills, restarts, seed })
  process.stdout.write(report.print())
  process.exitCode = report.clean ? 0 : 1
}
