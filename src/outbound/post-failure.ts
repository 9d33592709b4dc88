/** Why a call got no answer. */
export type Because =
  | 'timeout'
  | 'refused'
  | 'reset'
  | 'tls'
  | 'dns'
  | 'blocked_address'
  | 'invalid_url'
  | 'too_many'
  | 'other'

export interface Failed {
  kind: 'failed'
  because: Because
  detail: string
}

export const failed = (because: Because, detail: string): Failed => ({ kind: 'failed', because, detail })

// Which address it was stays with us: a name may be known inside only.
export const NOT_PUBLIC = 'the address is not a public one'

/** An error that says itself what it is. */
export class Refusal extends Error {
  readonly outcome: Failed
  constructor(outcome: Failed) {
    super(outcome.detail)
    this.outcome = outcome
  }
}

export function failureOf(error: Error, { duringTls = false } = {}): Failed {
  if (error instanceof Refusal) return error.outcome
  if (error instanceof AggregateError) return failureOf(error.errors[0], { duringTls }) // one for each address
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return failed('refused', code)
  if (code === 'ETIMEDOUT') return failed('timeout', code)
  if (RESET.has(code)) return failed('reset', code)
  if (NOT_OURS_TO_SEND.has(code)) return failed('other', `the request could not be made: ${code}`)
  // What the system says (no route, no more files) names its call; what TLS says does not.
  const saidByTls = (error as NodeJS.ErrnoException).syscall === undefined || code === 'EPROTO'
  if (/^ERR_(SSL|TLS)/.test(code) || (duringTls && saidByTls)) return failed('tls', code)
  return failed('other', code)
}

/** The other side has ended the connection. */
export const isReset = (error: Error): boolean => RESET.has(codeOf(error))

const RESET = new Set(['ECONNRESET', 'EPIPE'])
const NOT_OURS_TO_SEND = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])

/** The code alone: a message may quote what was sent, or an address. */
export function codeOf(error: unknown): string {
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown }
  if (code === 'UND_ERR_SOCKET' && (message === 'other side closed' || message === 'closed')) return 'ECONNRESET'
  // The parser's own reason is one of a fixed list, but its code gets lost.
  if (name === 'HTTPParserError') return String(message).endsWith('(Invalid EOF state)') ? 'ECONNRESET' : 'HPE_INVALID'
  return typeof code === 'string' && /^\w+$/.test(code) ? (USUAL_NAMES[code] ?? code) : 'no code'
}

// undici's words for what everybody knows by another name.
const USUAL_NAMES: Record<string, string> = {
  UND_ERR_HEADERS_OVERFLOW: 'HPE_HEADER_OVERFLOW',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'ECONNRESET', // the answer broke off
}
