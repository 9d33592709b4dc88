import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { PROBLEMS, Problem } from '../../kernel/problem.ts'
import { STATUS } from '../contract/problem.ts'
import { RateLimiter } from './rate-limit.ts'

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
