import { mustBeNone, printRows } from '../report.ts'
import { type Books, isClean } from './check.ts'

export interface CrashPart {
  title: string
  kills: number
  killsWhileStarting: number
  /** The longest time from a kill until the copy was ready again. */
  slowestStartMs: number
  /** Servers that outlived the process they belonged to. */
  leftBehind: number
  books: Books
}

export function isCleanPart({ books, leftBehind }: CrashPart): boolean {
  return isClean(books) && leftBehind === 0
}

export function printPart({ title, kills, killsWhileStarting, slowestStartMs, leftBehind, books }: CrashPart): string {
  const { settledAs } = books
  const rows: [string, string | number][] = [
    ['kills', `${kills} under load, ${killsWhileStarting} while starting`],
    ['slowest start', `${slowestStartMs.toFixed(0)} ms`],
    ['acknowledged', books.acknowledged],
    ['unknown', books.unknown],
    ['  settled as', `replay ${settledAs.replay}, duplicate ${settledAs.duplicate}, new ${settledAs.new}`],
    ['  unsettled', mustBeNone(books.unsettled)],
    ['refused', mustBeNone(books.refused)],
    ['missing', mustBeNone(books.missing)],
    ['doubled', mustBeNone(books.doubled)],
    ['extra', mustBeNone(books.extra)],
    ['left behind', mustBeNone(leftBehind)],
  ]
  return printRows(title, rows, books.faults, 10)
}
