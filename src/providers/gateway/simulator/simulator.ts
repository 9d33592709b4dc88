import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Database } from '../../../database/database.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { Problem } from '../../../kernel/problem.ts'
import { decideDuePayments } from './answer-prompt.ts'
import { apiRoutes } from './api-routes.ts'
import { controlRoutes, type VerifyCaller } from './control-routes.ts'
import { diceOf } from './dice.ts'
import { HeldSockets } from './held-sockets.ts'
import type { LedgerDeps } from './ledger.ts'
import { pageRoutes } from './page-routes.ts'
import { PURGES } from './purge-store.ts'
import { notFound, problemOf, Refusal } from './refusal.ts'
import { noticeSender } from './send-notices.ts'

export { controlOperations } from './openapi.ts'

export interface SimulatorDeps {
  database: Database
  clock: Clock
  log: Logger
  masterKey: Buffer
  verifyCredential: VerifyCaller
  /** Where the world finds us, without a slash at its end. */
  publicUrl: () => string
  /** See `LedgerDeps`; absent: 5, which is 6 in Lagos. */
  settlesAtHour?: number | undefined
  /** Where the notices of that merchant go. */
  noticeUrl: (merchantUuid: string) => string
}

export interface Simulator {
  /** For a context of its own, under the prefix /sandbox/gateway. */
  routes(app: FastifyInstance): Promise<void>
  /**
   * Sends up to `limit` notices that are due, and decides as many payments whose customer acts by now. Returns the
   * larger number. Any number of processes may do so at once.
   */
  sendDueNotices(limit: number): Promise<number>
  /** Old rows of its books. */
  purges: typeof PURGES
  /** Closes held sockets, starts nothing new, and waits for notices that are being sent. */
  stop(): Promise<void>
}

/**
 * The sandbox provider: a payment provider in small, with a ledger of its own. Our adapter speaks to it over HTTP as to
 * any other. It tells of each change right after the commit; what has to wait (a retry, a late notice) goes out with
 * `sendDueNotices`, and so does what customers do by themselves.
 */
export function createSimulator(deps: SimulatorDeps): Simulator {
  const { database, clock, log, masterKey, verifyCredential, publicUrl, settlesAtHour = 5 } = deps
  const sender = noticeSender(deps)
  const ledger: LedgerDeps = { database, clock, publicUrl, settlesAtHour, wake: sender.wake }
  const dice = diceOf(database)
  const held = new HeldSockets()

  return {
    async routes(app) {
      app.addHook('onRequest', (_request, reply, done) => {
        reply.header('cache-control', 'no-store')
        done()
      })
      app.addHook('preClose', async () => held.stop())
      const refuse = (request: FastifyRequest, reply: FastifyReply, refusal: Refusal) =>
        reply.code(refusal.status).type('application/problem+json').send(problemOf(refusal, request))
      app.setErrorHandler((error, request, reply) => refuse(request, reply, refusalOf(error, log)))
      app.setNotFoundHandler((request, reply) => refuse(request, reply, notFound('There is nothing at this address.')))
      apiRoutes(app, { ledger, dice, held, masterKey })
      controlRoutes(app, { ledger, dice, verifyCredential })
      await app.register(async (pages) => pageRoutes(pages, { ledger, dice, log }))
    },
    async sendDueNotices(limit) {
      const sent = await sender.sendDue(limit)
      return Math.max(sent, await decideDuePayments(ledger, dice, limit))
    },
    purges: PURGES,
    async stop() {
      held.stop()
      await sender.stop()
    },
  }
}

/** A credential that is not allowed this use. */
const USE_REFUSED = { credential_expired: 401, address_not_allowed: 403, insufficient_scope: 403 } as const

/** Maps any thrown error to an error of the sandbox provider. */
function refusalOf(error: unknown, log: Logger): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof Problem && error.code === 'unavailable') return new Refusal(503, 'unavailable', error.message)
  if (error instanceof Problem && error.code in USE_REFUSED)
    return new Refusal(USE_REFUSED[error.code as keyof typeof USE_REFUSED], error.code, error.message)
  if (error instanceof Problem) return new Refusal(400, 'invalid_request', error.message)
  const { statusCode = 500 } = error as { statusCode?: number }
  if (statusCode < 500) return new Refusal(statusCode, 'invalid_request', 'The request cannot be read.')
  log.error({ provider: 'gateway', err: error }, 'sandbox provider failed')
  return new Refusal(500, 'server_error', 'Something went wrong. Please try again.')
}
