/**
 * The catalogue of refusals. Merchants' programs act on the codes, which never change. HTTP statuses are in
 * http/server/problems.ts; the thrown detail says what is wrong and what to do.
 */
export const API_PROBLEMS = {
  malformed_json: { title: 'The body is not JSON', retryable: false },
  invalid_request: { title: 'The request has mistakes', retryable: false },
  unknown_field: { title: 'A field looks misspelt', retryable: false },
  unknown_network: { title: 'The mobile network is missing or not offered', retryable: false },
  invalid_credentials: { title: 'The credentials are not valid', retryable: false },
  credential_expired: { title: 'The credential has expired', retryable: false },
  address_not_allowed: { title: 'The credential may not be used from this address', retryable: false },
  insufficient_scope: { title: 'The credential lacks a scope', retryable: false },
  merchant_suspended: { title: 'The merchant is suspended', retryable: false },
  not_found: { title: 'Not found', retryable: false },
  method_not_allowed: { title: 'The method is not allowed for this URL', retryable: false },
  conflict: { title: 'The current state does not allow this', retryable: false },
  duplicate_reference: { title: 'The reference is already used', retryable: false },
  duplicate_refund: { title: 'The same refund was made a moment ago', retryable: false },
  reference_conflict: { title: 'The reference belongs to another payment', retryable: false },
  attempt_in_progress: { title: 'An attempt is in progress', retryable: true },
  too_many_attempts: { title: 'Too many attempts for one payment', retryable: false },
  refund_needs_no_account: { title: 'The refund waits for no bank account', retryable: false },
  too_many_refunds: { title: 'Too many refunds of one payment', retryable: false },
  too_many_endpoints: { title: 'Too many webhook endpoints', retryable: false },
  too_many_links: { title: 'Too many links', retryable: false },
  idempotency_in_progress: { title: 'The same request is in progress', retryable: true },
  input_not_expected: { title: 'No code is asked for', retryable: false },
  input_refused: { title: 'The code was not right', retryable: false },
  payment_not_completed: { title: 'The payment is not completed', retryable: false },
  payment_already_completed: { title: 'The payment is already completed', retryable: false },
  payment_cancelled: { title: 'The payment is cancelled', retryable: false },
  payment_expired: { title: 'The payment has expired', retryable: false },
  body_too_large: { title: 'The body is too large', retryable: false },
  headers_too_large: { title: 'The headers are too large', retryable: false },
  unsupported_media_type: { title: 'The body must be JSON', retryable: false },
  no_integration_available: { title: 'No integration can take this payment', retryable: false },
  unknown_provider: { title: 'There is no such provider', retryable: false },
  provider_not_configured: { title: 'The provider is not set up', retryable: false },
  currency_not_supported: { title: 'The provider does not take this currency', retryable: false },
  amount_out_of_range: { title: 'The provider does not take this amount', retryable: false },
  refund_account_required: { title: 'The provider needs the bank account of the customer', retryable: false },
  refund_exceeds_payment: { title: 'The refund is more than was paid', retryable: false },
  provider_error: { title: 'The provider refused', retryable: true },
  provider_timeout: { title: 'The provider did not answer', retryable: true },
  idempotency_key_reused: { title: 'The idempotency key was used for another request', retryable: false },
  rate_limited: { title: 'Too many requests', retryable: true },
  request_timeout: { title: 'The request took too long to arrive', retryable: true },
  internal_error: { title: 'Something went wrong on our side', retryable: true },
  unavailable: { title: 'The service cannot answer right now', retryable: true },
} as const

/** Refusals of the dashboard's endpoints only. */
export const DASHBOARD_PROBLEMS = {
  not_signed_in: { title: 'Not signed in', retryable: false },
  sign_in_refused: { title: 'The sign-in was refused', retryable: false },
  forbidden: { title: 'This is not allowed', retryable: false },
  step_up_required: { title: 'Prove your identity again', retryable: false },
  second_factor_required: { title: 'A second factor is needed', retryable: false },
} as const

export const PROBLEMS = { ...API_PROBLEMS, ...DASHBOARD_PROBLEMS }

export type ProblemCode = keyof typeof PROBLEMS

/** One mistake in a request body: its JSON pointer, its code, and how to fix it. */
export interface Mistake {
  pointer: string
  code: string
  message: string
}

/** Escapes a key for a JSON pointer (RFC 6901). */
export function pointerPart(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

export class Problem extends Error {
  readonly code: ProblemCode
  readonly mistakes: Mistake[] | undefined
  /** Extension members of the problem document, such as `existing`. */
  readonly extra: Record<string, unknown> | undefined
  readonly retryAfterSeconds: number | undefined
  /** Whether a retry may succeed. Defaults to the catalogue's value for the code. */
  readonly retryable: boolean

  constructor(
    code: ProblemCode,
    detail: string,
    more: {
      mistakes?: Mistake[]
      extra?: Record<string, unknown>
      retryAfterSeconds?: number
      retryable?: boolean
      cause?: unknown
    } = {},
  ) {
    super(detail, { cause: more.cause })
    this.name = 'Problem'
    this.code = code
    this.mistakes = more.mistakes
    this.extra = more.extra
    this.retryAfterSeconds = more.retryAfterSeconds
    this.retryable = more.retryable ?? PROBLEMS[code].retryable
  }
}

/** Throws one problem for all mistakes: `unknown_field` when there are no others. */
export function refuse(mistakes: Mistake[]): never {
  const misspeltOnly = mistakes.every(({ code }) => code === 'unknown_field')
  throw new Problem(
    misspeltOnly ? 'unknown_field' : 'invalid_request',
    mistakes.map(({ message }) => message).join(' '),
    { mistakes },
  )
}
