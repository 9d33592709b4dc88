import { Problem } from '../kernel/problem.ts'

/** Which failures of PostgreSQL mean what. Codes: PostgreSQL's manual, appendix A. */

// Not reachable, going down, coming up, out of connections, memory or disk, or too slow: later it may work.
const AWAY = new Set([
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '57014',
  '55P03',
  '25P03',
  '53000',
  '53100',
  '53200',
  '53300',
  '25006', // read-only: a primary that was demoted under us
])
const AWAY_SYSTEM = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
// What `pg` and `pg-pool` say without a code, when the connection broke, never came, or did not answer in time.
const AWAY_MESSAGE =
  /connection terminated|connection ended|timeout exceeded when trying to connect|timeout expired|query read timeout|client has encountered a connection error|client was closed/i

export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '')
}

export function isAway(error: unknown): boolean {
  const code = codeOf(error)
  if (AWAY.has(code) || AWAY_SYSTEM.has(code) || code.startsWith('08')) return true
  if (error instanceof AggregateError) return error.errors.some(isAway) // both addresses of "localhost" refused
  return error instanceof Error && AWAY_MESSAGE.test(error.message)
}

/** The connection itself can no longer be trusted: whatever answer it owes may belong to an earlier question. */
export function breaksConnection(error: unknown): boolean {
  const code = codeOf(error)
  // Demoted (25006) or with other tables than its prepared statements know (0A000): a new connection may find better.
  const serverHungUp = code.startsWith('57P') || code.startsWith('08') || ['25P03', '25006', '0A000'].includes(code)
  const serverAnswered = /^[0-9][0-9A-Z]{4}$/.test(code)
  return serverHungUp || (!serverAnswered && isAway(error))
}

/** Rolled back by PostgreSQL because of a neighbour; the same work may be done again. */
export function lostARace(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01'
}

/** A unique index has it already. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === '23505'
}

/** The values of one row are at fault, not the moment: class 22 (data) or 23 (constraints). */
export function isBadRow(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error))
}

/** The connection broke under a statement, which may or may not have been carried out. A server that is slow or down is not asked again. */
export function lostConnection(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error
  const code = codeOf(cause)
  return code === 'ECONNRESET' || code === 'EPIPE' || code === '57P01' || /connection terminated/i.test(String(cause))
}
