import type { Checkout, Problem, ProblemCode, Refund } from './api-types.ts'

/** The base of all errors of this library. None contains a secret. */
export class ManillaError extends Error {
  override name = 'ManillaError'
}

/** What the library knows about a call that failed. */
export interface FailedCall {
  /** The key of a POST. Pass it as `idempotencyKey` to repeat the call safely. */
  idempotencyKey: string | undefined
  /** How often the call was repeated before it failed. */
  retries: number
}

/** No answer arrived: no connection, a broken one, or a timeout. The service may have carried out the call. */
export class ManillaConnectionError extends ManillaError implements FailedCall {
  override name = 'ManillaConnectionError'
  readonly timedOut: boolean
  readonly idempotencyKey: string | undefined
  readonly retries: number

  constructor(message: string, { timedOut, idempotencyKey, retries }: FailedCall & { timedOut: boolean }) {
    super(message)
    this.timedOut = timedOut
    this.idempotencyKey = idempotencyKey
    this.retries = retries
  }
}

/** `http_error`: the answer came from a proxy or another server, not from Manilla. */
export type ErrorCode = ProblemCode | 'http_error'

type Existing<Code> = Code extends 'duplicate_reference' ? Checkout : Code extends 'duplicate_refund' ? Refund : unknown

/** The service refused the call. `code` says why: https://www.rfc-editor.org/rfc/rfc9457 */
export class ManillaApiError extends ManillaError implements FailedCall {
  override name = 'ManillaApiError'
  readonly status: number
  readonly code: ErrorCode
  /** For people, in English. It may change; use `code` in programs. */
  readonly detail: string
  /** Quote it when you ask the operator about this error. */
  readonly requestId: string | undefined
  /** Every mistake of the request, each with a JSON pointer. */
  readonly errors: NonNullable<Problem['errors']>
  /** The same call may succeed later. */
  readonly retryable: boolean
  readonly retryAfterSeconds: number | undefined
  /** `duplicate_reference`: the checkout that has the reference. `duplicate_refund`: the first refund. */
  readonly existing: unknown
  /** The reference of the attempt that is in progress. */
  readonly attempt: string | undefined
  /** The amount that can still be refunded. */
  readonly refundable: number | undefined
  readonly idempotencyKey: string | undefined
  readonly retries: number

  constructor(response: Response, body: unknown, { idempotencyKey, retries }: FailedCall) {
    const problem = (isProblem(body) ? body : {}) as Partial<Problem> & Record<string, unknown>
    const requestId = problem.requestId ?? response.headers.get('request-id') ?? undefined
    const detail = problem.detail ?? `The answer has status ${response.status} and is not from Manilla.`
    const code = problem.code ?? 'http_error'
    super(`${detail} (${code}${requestId ? `, request ${requestId}` : ''})`)
    this.status = response.status
    this.code = code
    this.detail = detail
    this.requestId = requestId
    this.errors = problem.errors ?? []
    this.retryable = problem.retryable ?? (response.status >= 500 || response.status === 429)
    this.retryAfterSeconds = retryAfterOf(response)
    this.existing = problem.existing
    this.attempt = problem.attempt as string | undefined
    this.refundable = problem.refundable as number | undefined
    this.idempotencyKey = idempotencyKey
    this.retries = retries
  }

  /** Narrows the type: `if (error.is('duplicate_reference')) error.existing.url`. */
  is<Code extends ErrorCode>(code: Code): this is this & { code: Code; existing: Existing<Code> } {
    return this.code === code
  }
}

export type WebhookFault = 'missing_headers' | 'body_not_raw' | 'no_match' | 'too_old' | 'in_future'

/** Do not trust this webhook. `reason` says why; the message says what to do. */
export class WebhookVerificationError extends ManillaError {
  override name = 'WebhookVerificationError'
  readonly reason: WebhookFault

  constructor(reason: WebhookFault, message: string) {
    super(message)
    this.reason = reason
  }
}

function isProblem(body: unknown): boolean {
  const { code, detail } = (body ?? {}) as Partial<Problem>
  return typeof code === 'string' && typeof detail === 'string'
}

/** Seconds or an HTTP date. */
function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get('retry-after')
  if (!text) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
