import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { RateLimiter } from './rate-limit.ts'

/** Per status. The next line of the same status has the number of skipped ones. */
const REFUSAL_LINES = { perSecond: 5, burst: 100 }
/** Per route and status of unauthenticated requests: scripts, health, pages. */
const OTHER_LINES = { perSecond: 20, burst: 500 }

/** One log line per response. Responses to unauthenticated callers are sampled, so that they cannot fill the disk. */
export function answerLog(log: Logger): (reply: FastifyReply) => void {
  const refusals = new RateLimiter(REFUSAL_LINES)
  const others = new RateLimiter(OTHER_LINES)
  const leftOut = new Map<string, number>()

  return (reply) => {
    if (!log.isLevelEnabled('info')) return
    const { request, statusCode: status } = reply
    const { merchantId, mode } = request.caller ?? {}
    const route = request.routeOptions.url ?? 'unknown'
    const kind = status >= 400 ? String(status) : `${status} ${route}`
    if (!merchantId && !(status >= 400 ? refusals : others).take(kind).allowed) {
      leftOut.set(kind, (leftOut.get(kind) ?? 0) + 1)
      return
    }
    const count = leftOut.get(kind)
    leftOut.delete(kind)
    const tookMs = Math.round(reply.elapsedTime * 10) / 10
    log.info(
      { requestId: request.id, method: request.method, route, status, tookMs, merchantId, mode, count },
      'answered',
    )
  }
}
