import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { RateLimiter } from './rate-limit.ts'

/** For each status. What is left out is counted on the next line of that status. */
const REFUSAL_LINES = { perSecond: 5, burst: 100 }

/** One line per answer, except that refusals of unknown callers are sampled: a stranger must not fill the disk with log lines. */
export function answerLog(log: Logger): (reply: FastifyReply) => void {
  const lines = new RateLimiter(REFUSAL_LINES)
  const leftOut = new Map<number, number>()

  return (reply) => {
    if (!log.isLevelEnabled('info')) return
    const { request, statusCode: status } = reply
    const { merchantId, mode } = request.caller ?? {}
    if (!merchantId && status >= 400 && !lines.take(String(status)).allowed) {
      leftOut.set(status, (leftOut.get(status) ?? 0) + 1)
      return
    }
    const count = leftOut.get(status)
    leftOut.delete(status)
    const tookMs = Math.round(reply.elapsedTime * 10) / 10
    const route = request.routeOptions.url ?? 'unknown'
    log.info(
      { requestId: request.id, method: request.method, route, status, tookMs, merchantId, mode, count },
      'answered',
    )
  }
}
