export type Cell = string | number | boolean | Date | null

/** Excel takes a file for UTF-8 only with it. */
export const BYTE_ORDER_MARK = '\uFEFF'

/** A line of RFC 4180. */
export function csvLine(cells: Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

/**
 * CSV injection: a spreadsheet runs a cell that begins with one of these as a formula. Some skip spaces, quotes and
 * invisible characters before it, and some split a line at semicolons or tabs, too, so the text after each of those
 * counts as a cell.
 */
const FORMULA = /(^|[;\t\r\n])(?=[\s"'\p{Cf}]*[=+\-@＝＋－＠])|^(?=[\s"'\p{Cf}]*[\t\r])/gu

function csvCell(cell: Cell): string {
  if (cell === null) return ''
  if (cell instanceof Date) return cell.toISOString()
  if (typeof cell !== 'string') return String(cell)
  const text = cell.replaceAll(FORMULA, "$1'")
  return /[",;\t\r\n]|^'|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
