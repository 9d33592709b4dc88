import { Problem } from '../kernel/problem.ts'

/** Classifies PostgreSQL errors. The codes are in PostgreSQL's manual, appendix A. */

// Unreachable, starting, stopping, out of connections, memory or disk, or too slow: a retry may work.
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
  '25006', // read-only: a demoted primary
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
// Messages of `pg` and `pg-pool` that have no code: the connection broke, was refused, or timed out.
const AWAY_MESSAGE =
  /connection terminated|connection ended|timeout exceeded when trying to connect|timeout expired|query read timeout|client has encountered a connection error|client was closed/i

export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '')
}

export function isAway(error: unknown): boolean {
  const code = codeOf(error)
  if (AWAY.has(code) || AWAY_SYSTEM.has(code) || code.startsWith('08')) return true
  if (error instanceof AggregateError) return error.errors.some(isAway) // both addresses of localhost refused
  return error instanceof Error && AWAY_MESSAGE.test(error.message)
}

/** The connection must be closed: its next response may belong to an earlier query. */
export function breaksConnection(error: unknown): boolean {
  const code = codeOf(error)
  // A demoted server (25006) or outdated prepared statements (0A000): a new connection may work.
  const serverHungUp = code.startsWith('57P') || code.startsWith('08') || ['25P03', '25006', '0A000'].includes(code)
  const serverAnswered = /^[0-9][0-9A-Z]{4}$/.test(code)
  return serverHungUp || (!serverAnswered && isAway(error))
}

/** Rolled back because of a concurrent transaction (deadlock or serialization failure). A retry is safe. */
export function isTransactionConflict(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40001' || code === '40P01'
}

/** An earlier statement of the transaction failed. */
export function isAborted(error: unknown): boolean {
  return codeOf(error) === '25P02'
}

/** The statement took longer than `statement_timeout`. */
export function isStatementTimeout(error: unknown): boolean {
  return codeOf(error instanceof Problem ? error.cause : error) === '57014'
}

/** A row or key stayed locked by another transaction for longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error instanceof Problem ? error.cause : error) === '55P03'
}

/** A unique constraint was violated. */
export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === '23505'
}

/** The values of a row are wrong: class 22 (data) or 23 (constraints). A retry would fail again. */
export function isBadRow(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error))
}

/** The connection broke during a statement, which may have been executed. False for a server that is slow or down. */
export function lostConnection(error: unknown): boolean {
  const cause = error instanceof Problem ? error.cause : error
  const code = codeOf(cause)
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === '57P01') return true
  // The second is PgBouncer's. Its code, 08P01, is also that of a server that is down.
  return /connection terminated|server conn crashed/i.test(String(cause))
}
