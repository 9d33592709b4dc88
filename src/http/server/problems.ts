import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { PROBLEMS, Problem, type ProblemCode } from '../../kernel/problem.ts'
import { RateLimiter } from './rate-limit.ts'

export const STATUS: Record<ProblemCode, number> = {
  malformed_json: 400,
  invalid_request: 400,
  unknown_field: 400,
  invalid_credentials: 401,
  credential_expired: 401,
  not_signed_in: 401,
  sign_in_refused: 401,
  address_not_allowed: 403,
  insufficient_scope: 403,
  merchant_suspended: 403,
  forbidden: 403,
  step_up_required: 403,
  second_factor_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  duplicate_reference: 409,
  duplicate_refund: 409,
  refund_needs_no_account: 409,
  too_many_refunds: 409,
  reference_conflict: 409,
  attempt_in_progress: 409,
  too_many_attempts: 409,
  too_many_endpoints: 409,
  too_many_links: 409,
  idempotency_in_progress: 409,
  payment_not_completed: 409,
  payment_already_completed: 409,
  payment_cancelled: 409,
  payment_expired: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  no_integration_available: 422,
  unknown_provider: 422,
  provider_not_configured: 422,
  currency_not_supported: 422,
  amount_out_of_range: 422,
  refund_account_required: 422,
  refund_exceeds_payment: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  provider_error: 502,
  unavailable: 503,
  provider_timeout: 504,
}

/** RFC 9457. The type is a URN, so it is the same on every installation. */
export function problemBody(problem: Problem, where: { path: string; requestId: string }) {
  const { title } = PROBLEMS[problem.code]
  return {
    type: `urn:manilla:problem:${problem.code}`,
    title,
    status: STATUS[problem.code],
    detail: problem.message,
    instance: where.path,
    code: problem.code,
    ...(problem.mistakes && { errors: problem.mistakes }),
    ...problem.extra,
    retryable: problem.retryable,
    requestId: where.requestId,
  }
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', String(problem.retryAfterSeconds))
  const body = problemBody(problem, { path: pathOf(request), requestId: request.id })
  return reply
    .code(body.status)
    .type('application/problem+json')
    .serializer((value: unknown) => JSON.stringify(value))
    .send(body)
}

export function pathOf(request: FastifyRequest): string {
  return (request.raw.url ?? '/').split('?', 1)[0] ?? '/'
}

// Rate limit: every request fails while the database is down, and each line contains a stack trace.
const awayLines = new RateLimiter({ perSecond: 1, burst: 20 })

/** Maps any error to a problem. An unexpected error is logged with its stack and answered without details. */
export function toProblem(error: unknown, request: FastifyRequest, log: Logger): Problem {
  if (error instanceof Problem) {
    if (error.code === 'unavailable' && error.cause && awayLines.take('').allowed)
      log.warn({ requestId: request.id, err: error.cause }, 'database away')
    return error
  }
  const known = fromFramework(error as FastifyError)
  if (known) return known
  log.error({ requestId: request.id, err: error }, 'request failed')
  return new Problem(
    'internal_error',
    'Something went wrong on our side, and we have a record of it. Quote the requestId when you ask.',
  )
}

function fromFramework(error: FastifyError): Problem | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', 'The body is larger than 64 KiB. Nothing we ask for needs that much.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
        ? new Problem(
            'unsupported_media_type',
            'Send the body as JSON, with the header "Content-Type: application/json".',
          )
        : new Problem('invalid_request', 'The body is not as long as its Content-Length says.')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
      return new Problem('invalid_request', 'The address is not a valid URL: check its percent-encoding.')
    default:
      return undefined
  }
}
