import { errors } from 'undici'

/** Why a request got no response. */
export type Because =
  | 'timeout'
  | 'refused'
  | 'reset'
  | 'tls'
  | 'dns'
  | 'blocked_address'
  | 'invalid_url'
  | 'invalid_request'
  | 'too_many'
  | 'other'

export interface Failed {
  kind: 'failed'
  because: Because
  detail: string
}

export const failed = (because: Because, detail: string): Failed => ({ kind: 'failed', because, detail })

/** It does not name the address, because a name may resolve inside our network only. */
export const NOT_PUBLIC = 'the address is not a public one'

/** An error with a known outcome. */
export class Refusal extends Error {
  readonly outcome: Failed
  constructor(outcome: Failed) {
    super(outcome.detail)
    this.outcome = outcome
  }
}

export function failureOf(error: Error, { duringTls = false, endedByPeer = false } = {}): Failed {
  if (error instanceof Refusal) return error.outcome
  if (error instanceof AggregateError) return failureOf(error.errors[0], { duringTls }) // one for each address
  const code = endedByPeer && isCutShort(error) ? 'ECONNRESET' : codeOf(error)
  if (code === 'ECONNREFUSED') return failed('refused', code)
  if (code === 'ETIMEDOUT') return failed('timeout', code)
  if (code === 'ECONNRESET' || code === 'EPIPE') return failed('reset', code)
  if (error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError) {
    return failed('invalid_request', code)
  }
  // An error of the operating system (no route, too many open files) names its system call; an error of TLS does not.
  const isFromTls = (error as NodeJS.ErrnoException).syscall === undefined || code === 'EPROTO'
  if (/^ERR_(SSL|TLS)/.test(code) || (duringTls && isFromTls)) return failed('tls', code)
  return failed('other', code)
}

/** undici's errors for a response that ended too early. */
function isCutShort(error: Error): boolean {
  return (
    error instanceof errors.SocketError ||
    error instanceof errors.HTTPParserError ||
    error instanceof errors.ResponseContentLengthMismatchError
  )
}

/** The code alone: a message may contain the request, with its key, or an address. */
export function codeOf(error: unknown): string {
  if (error instanceof errors.HeadersOverflowError) return 'HPE_HEADER_OVERFLOW'
  if (error instanceof errors.HTTPParserError) return 'HPE_INVALID'
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && /^\w+$/.test(code) ? code : 'no code'
}
