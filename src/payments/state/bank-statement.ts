import { type Currency, parseAmount } from '../../kernel/money.ts'
import { beginsWithDay } from '../../kernel/time-zone.ts'

/** A bank statement as a file, read to its credits. Pure. */

export const DATE_ORDERS = ['day-month', 'month-day'] as const

export interface StatementColumns {
  /** Their names in the header. */
  date: string
  amount: string
  /** Of dates like 03/04/2026. */
  dateOrder: (typeof DATE_ORDERS)[number]
}

export interface StatementCredit {
  /** As the file has it, without a time zone: 2026-05-31. */
  day: string
  amount: number
  /** The line of the file, from 1. */
  line: number
}

export type ReadStatement =
  | { kind: 'read'; credits: StatementCredit[] /** Lines that are no credit. */; skipped: number }
  | { kind: 'mistakes'; mistakes: string[] }

const MOST_ROWS = 20_000
const MOST_MISTAKES = 10
/** Between columns. */
const MARKS = [',', ';', '\t']
/** A bank writes its name and yours above the header. */
const HEADER_WITHIN = 50

export function readStatement(text: string, columns: StatementColumns, currency: Currency): ReadStatement {
  const plain = text.replace(/^\uFEFF/, '')
  const same = (name: string) => (cell: string) => cell.trim().toLowerCase() === name.trim().toLowerCase()
  const isHeader = ({ cells }: Row) => cells.some(same(columns.date)) && cells.some(same(columns.amount))
  const tries = MARKS.map((mark) => rowsOf(plain, mark))
  const rows = tries.find((each) => each.slice(0, HEADER_WITHIN).some(isHeader))
  if (!rows) {
    const widest = tries
      .flatMap((each) => each.slice(0, HEADER_WITHIN))
      .sort((a, b) => b.cells.length - a.cells.length)[0]
    const found = widest?.cells.map((cell) => `"${cell.trim()}"`).join(', ')
    return mistake(`The file has no line with the columns "${columns.date}" and "${columns.amount}". It has: ${found}.`)
  }
  if (rows.length > MOST_ROWS) return mistake(`The file has more than ${MOST_ROWS} lines. Upload it in parts.`)
  const header = rows.findIndex(isHeader)
  const names = rows[header]?.cells ?? []
  const [dateAt, amountAt] = [names.findIndex(same(columns.date)), names.findIndex(same(columns.amount))]
  const credits: StatementCredit[] = []
  const mistakes: string[] = []
  let skipped = 0
  for (const { cells, line } of rows.slice(header + 1)) {
    const [date, amount] = [cells[dateAt]?.trim() ?? '', cells[amountAt]?.trim() ?? '']
    const credit = creditOf(amount, currency)
    const day = dayOf(date, columns.dateOrder)
    // Debits, and the sums below the last line.
    if (credit === 'none' || (date === '' && credit !== 'unreadable')) skipped++
    else if (credit === 'unreadable')
      mistakes.push(`Line ${line}: "${amount}" in the column "${columns.amount}" is no amount of ${currency}.`)
    else if (!day) mistakes.push(`Line ${line}: "${date}" in the column "${columns.date}" is no day.`)
    else credits.push({ day, amount: credit, line })
    if (mistakes.length === MOST_MISTAKES) break
  }
  return mistakes.length > 0 ? { kind: 'mistakes', mistakes } : { kind: 'read', credits, skipped }
}

const mistake = (text: string): ReadStatement => ({ kind: 'mistakes', mistakes: [text] })

/** `none`: a debit, or nothing. */
function creditOf(text: string, currency: Currency): number | 'none' | 'unreadable' {
  const bare = text.replaceAll(/[\p{Sc}\s]|CR$/giu, '').replaceAll(new RegExp(`^N(?=\\d)|${currency}`, 'g'), '')
  if (bare === '' || /^[-–—−(]/.test(bare) || /(-|DR)$/i.test(bare)) return 'none'
  // 1.234.567,89 and 1.234,50
  const western = /^\d{1,3}(\.\d{3})+(,\d{1,2})?$/.test(bare) && (bare.includes(',') || bare.split('.').length > 2)
  const amount = parseAmount((western ? bare.replaceAll('.', '') : bare).replace(/^\+/, ''), currency)
  return amount === undefined ? 'unreadable' : amount === 0 ? 'none' : amount
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** The day that a text names: 2026-05-31, 31/05/2026, 31-May-26, May 31, 2026. A time after it is left out. */
function dayOf(text: string, order: StatementColumns['dateOrder']): string | undefined {
  const iso = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)/.exec(text)
  if (iso) return dayFrom(iso[1], iso[2], iso[3])
  const named = /^(\d{1,2})[-/. ]*([a-z]{3})[a-z]*[-/., ]*(\d{4}|\d{2})(?!\d)/i.exec(text)
  if (named) return dayFrom(named[3], monthOf(named[2]), named[1])
  const american = /^([a-z]{3})[a-z]*[-/. ]*(\d{1,2})[-/., ]+(\d{4}|\d{2})(?!\d)/i.exec(text)
  if (american) return dayFrom(american[3], monthOf(american[1]), american[2])
  const [, first, second, year] = /^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4}|\d{2})(?!\d)/.exec(text) ?? []
  return order === 'day-month' ? dayFrom(year, second, first) : dayFrom(year, first, second)
}

const monthOf = (name = '') => String(MONTHS.indexOf(name.toLowerCase()) + 1)

function dayFrom(year = '', month = '', day = ''): string | undefined {
  const text = `${year.length === 2 ? `20${year}` : year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  return beginsWithDay(text) ? text : undefined
}

interface Row {
  cells: string[]
  /** From 1. */
  line: number
}

/** RFC 4180. */
function rowsOf(text: string, mark: string): Row[] {
  const rows: Row[] = []
  let [cells, cell, isQuoted, line, from]: [string[], string, boolean, number, number] = [[], '', false, 1, 1]
  const endRow = () => {
    cells.push(cell)
    if (cells.some((each) => each.trim() !== '')) rows.push({ cells, line: from })
    ;[cells, cell, from] = [[], '', line]
  }
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] as string
    if (letter === '\n') line++
    if (isQuoted) {
      if (letter !== '"') cell += letter
      else if (text[at + 1] === '"') cell += text[++at]
      else isQuoted = false
    } else if (letter === '"' && cell.trim() === '') [isQuoted, cell] = [true, '']
    else if (letter === mark) {
      cells.push(cell)
      cell = ''
    } else if (letter === '\n') endRow()
    else if (letter !== '\r') cell += letter
  }
  endRow()
  return rows
}

/** Equal credits of a day are numbered, so that the same statement, or one that overlaps, can be uploaded again. */
export function numbered(credits: StatementCredit[]): (StatementCredit & { number: number })[] {
  const seen = new Map<string, number>()
  return credits.map((credit) => {
    const name = `${credit.day} ${credit.amount}`
    const number = (seen.get(name) ?? 0) + 1
    seen.set(name, number)
    return { ...credit, number }
  })
}

/** Pairs in which neither side fits another one. What is ambiguous is not guessed. */
export function certainPairs<Pair extends { settlement: string; credit: number }>(candidates: Pair[]): Pair[] {
  const bySettlement = Map.groupBy(candidates, ({ settlement }) => settlement)
  const byCredit = Map.groupBy(candidates, ({ credit }) => credit)
  return candidates.filter(
    ({ settlement, credit }) => bySettlement.get(settlement)?.length === 1 && byCredit.get(credit)?.length === 1,
  )
}
