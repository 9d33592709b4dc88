import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { findAttempt } from '../../attempts/attempt-store.ts'
import type { AttemptParts } from '../../attempts/parts.ts'
import { checkAttempt } from '../../attempts/settle-attempt.ts'
import { parseId } from '../../kernel/ids.ts'
import { findPaymentById, findPaymentForPage, findPaymentIdByShortCode } from '../../payments/payment-store.ts'
import { returnAddress } from '../../payments/return-address.ts'
import type { App } from '../framework.ts'
import type { Limits } from '../limits.ts'
import { PAGE_HEADERS } from '../pages/page.ts'
import { paymentPage, troublePage, unknownPaymentPage } from '../pages/payment-page.ts'
import { STATUS, toProblem } from '../problems.ts'

type Parts = AttemptParts & { limits: Limits }

// A provider that hangs must not hold the customer, who has been there already: the page goes on without its answer.
const WAIT_FOR_PROVIDER_MS = 4_000

/** What customers open. They are people: whatever goes wrong, they get a page. */
export function pageRoutes(app: App, parts: Parts): void {
  const { database, links, limits, log } = parts
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

  /** Back from the provider's page. What the address says proves nothing: we ask the provider, then send the customer on. */
  app.get<{ Params: { attempt: string } }>('/return/:attempt', { schema: { hide: true } }, async (request, reply) => {
    const id = parseId('attempt', request.params.attempt)
    const attempt = id && (await findAttempt(database, id))
    if (!attempt) return sendUnknownPayment(request, reply, limits)
    const asked = checkAttempt(parts, attempt, { source: 'return' }).catch((err) => {
      log.warn({ err, attemptId: attempt.id }, 'could not be asked for at the return; the worker will')
    })
    await Promise.race([asked, sleep(WAIT_FOR_PROVIDER_MS, undefined, { ref: false })])
    const payment = await findPaymentById(database, attempt.paymentId)
    const onwards = payment && payment.status !== 'pending' ? returnAddress(payment) : undefined
    return reply
      .header('cache-control', 'no-store')
      .header('referrer-policy', 'no-referrer')
      .redirect(onwards ?? links.payment(attempt.paymentId), 302)
  })
}

/** Whether a customer's link was meant, however broken it is. */
export function isLink(request: FastifyRequest): boolean {
  return /^\/(pay|s|return)\//.test(request.raw.url ?? '')
}

export function sendUnknownPayment(request: FastifyRequest, reply: FastifyReply, limits: Limits): FastifyReply {
  limits.wrongLink(request)
  return sendPage(reply, 404, unknownPaymentPage())
}

function sendPage(reply: FastifyReply, status: number, page: string): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).send(page)
}
