import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { RateLimiter } from './rate-limit.ts'

/** For each status. What is left out is counted on the next line of that status. */
const REFUSAL_LINES = { perSecond: 5, burst: 100 }
/** For each route and status, where a request costs a stranger nothing: scripts, health, pages. Counted in the same way. */
const OTHER_LINES = { perSecond: 20, burst: 500 }

/** One line per answer, except that answers to unknown callers are sampled: a stranger must not fill the disk with log lines. */
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
