import type { FastifyRequest } from 'fastify'
import type { PaymentId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import type { LivePayments } from './live-payments.ts'

interface Parts {
  live: LivePayments
  limits: Limits
  /** What stands in the address of a page; undefined when it can be no payment's. */
  paymentIdOf(text: string): PaymentId | undefined
}

/** How an open payment page hears of changes: told as they happen, or by asking. The page itself holds what they mean. */
export function liveRoutes(app: App, { live, limits, paymentIdOf }: Parts): void {
  app.addHook('onRequest', async (request) => {
    limits.status(request)
    limits.beforeLink(request)
  })
  // Before the door waits for the last answer, which these would never give by themselves.
  app.addHook('preClose', async () => live.stop())

  const schema = { hide: true }
  // Without HEAD: an answer without a body would be a stream without a word.
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
