import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Database } from '../../database/database.ts'
import { parseId } from '../../kernel/ids.ts'
import { findPaymentForPage, findPaymentIdByShortCode } from '../../payments/payment-store.ts'
import type { App } from '../framework.ts'
import type { Limits } from '../limits.ts'
import type { Links } from '../links.ts'
import { PAGE_HEADERS } from '../pages/page.ts'
import { paymentPage, troublePage, unknownPaymentPage } from '../pages/payment-page.ts'
import { STATUS, toProblem } from '../problems.ts'

interface Parts {
  database: Database
  links: Links
  limits: Limits
  log: Logger
}

/** What customers open. They are people: whatever goes wrong, they get a page. */
export function pageRoutes(app: App, { database, links, limits, log }: Parts): void {
  app.addHook('onRequest', async (request) => {
    limits.page(request)
    limits.beforeLink(request)
  })

  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, request, log)
    if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', String(problem.retryAfterSeconds))
    if (problem.code === 'rate_limited')
      return sendPage(reply, 429, troublePage('Too many tries', 'Please wait a minute, then open the link again.'))
    if (problem.code === 'unavailable')
      return sendPage(
        reply,
        503,
        troublePage('We can’t show this payment right now', 'You have not been charged. Please try again in a moment.'),
      )
    if (STATUS[problem.code] < 500) return sendPage(reply, STATUS[problem.code], unknownPaymentPage())
    return sendPage(reply, 500, troublePage('Something went wrong on our side', 'Please try again in a moment.'))
  })

  app.get<{ Params: { id: string } }>('/pay/:id', { schema: { hide: true } }, async (request, reply) => {
    const id = parseId('payment', request.params.id)
    const found = id && (await findPaymentForPage(database, id))
    if (!found) return sendUnknownPayment(request, reply, limits)
    return sendPage(reply, 200, paymentPage(found))
  })

  app.get<{ Params: { code: string } }>('/s/:code', { schema: { hide: true } }, async (request, reply) => {
    const { code } = request.params
    const id = /^[1-9A-HJ-NP-Za-km-z]{12,14}$/.test(code) ? await findPaymentIdByShortCode(database, code) : undefined
    if (!id) return sendUnknownPayment(request, reply, limits)
    return reply
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'no-referrer')
      .redirect(links.payment(id), 302)
  })
}

/** Whether a customer's link was meant, however broken it is. */
export function isLink(request: FastifyRequest): boolean {
  return /^\/(pay|s)\//.test(request.raw.url ?? '')
}

export function sendUnknownPayment(request: FastifyRequest, reply: FastifyReply, limits: Limits): FastifyReply {
  limits.wrongLink(request)
  return sendPage(reply, 404, unknownPaymentPage())
}

function sendPage(reply: FastifyReply, status: number, page: string): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).send(page)
}
