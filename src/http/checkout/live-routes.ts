import type { FastifyRequest } from 'fastify'
import type { PaymentId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import type { LivePayments } from './live-payments.ts'

interface Deps {
  live: LivePayments
  limits: Limits
  /** The payment of the id in a page's URL; undefined if the id is invalid. */
  paymentIdOf(text: string): PaymentId | undefined
}

/**
 * Endpoints for live updates of an open payment page: an SSE stream, and polling as the fallback. Both only say that
 * something changed.
 */
export function liveRoutes(app: App, { live, limits, paymentIdOf }: Deps): void {
  app.addHook('onRequest', async (request) => {
    limits.status(request)
    limits.beforeLink(request)
  })
  // The streams never end by themselves, so they are ended before the server waits for open requests.
  app.addHook('preClose', async () => live.stop())

  const schema = { hide: true }
  // No HEAD route: it would open a stream without a body.
  const unending = { schema, exposeHeadRoute: false }

  app.get<{ Params: { id: string } }>('/pay/:id/live', unending, async (request, reply) => {
    const id = paymentIdOf(request.params.id)
    if (!id) throw unknown(request)
    limits.stream(request, reply, id)
    if (!(await live.follow(id, reply))) throw unknown(request)
    return reply
  })

  app.get<{ Params: { id: string } }>('/pay/:id/status', { schema }, async (request, reply) => {
    const id = paymentIdOf(request.params.id)
    const state = id && (await live.stateOf(id))
    if (!state) throw unknown(request)
    reply.header('cache-control', 'no-store')
    return { v: state.sequence, status: state.status }
  })

  function unknown(request: FastifyRequest): Problem {
    limits.wrongLink(request)
    return new Problem('not_found', 'There is no such payment.')
  }
}
