import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { renderSVG } from 'uqr'
import type { IntegrationCache } from '../../integrations/integration-cache.ts'
import { type PaymentId, parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { allowsOrigin, parseLanguage } from '../../merchants/branding.ts'
import type { FindBranding } from '../../merchants/branding-cache.ts'
import { cancelPayment } from '../../payments/cancel-payment.ts'
import type { PaymentDependencies } from '../../payments/dependencies.ts'
import { type PageChoice, payOnPage } from '../../payments/pay-on-page.ts'
import { checkAttempt } from '../../payments/settle-attempt.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import { returnAddress } from '../../payments/state/return-address.ts'
import { claimProviderCheck, findAttempt } from '../../payments/store/attempts.ts'
import { findPaymentById, findPaymentIdByShortCode } from '../../payments/store/payments.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import { STATUS, toProblem } from '../server/problems.ts'
import type { Documents } from './document.ts'
import { embedId, type PageAddress, pageOf } from './embed.ts'
import {
  framedReturnPage,
  paymentPage,
  paymentPanel,
  type Shown,
  type Trouble,
  troublePage,
  type Visit,
} from './payment-page.ts'
import { isOwnForm, pageReader } from './read-page.ts'
import { CHANNEL, type MethodName } from './screen.ts'
import { sendPage } from './send-page.ts'

export type PageParts = PaymentDependencies & {
  limits: Limits
  documents: Documents
  findBranding: FindBranding
  integrationCache: IntegrationCache
}

type PageRequest = FastifyRequest<{ Params: { id: string }; Querystring: Record<string, unknown> }>

// A provider that hangs must not hold the customer, who has been there already: the page goes on without its answer.
const WAIT_FOR_PROVIDER_MS = 4_000
const FORM_LIMIT = 4 * 1024
const HIDDEN = { schema: { hide: true } }

/** What customers open. They are people: whatever goes wrong, they get a page. */
export function pageRoutes(app: App, parts: PageParts): void {
  const { database, links, limits, log, documents } = parts
  const readPage = pageReader(parts)

  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_LIMIT },
    (_request, body, done) => done(null, new URLSearchParams(body as string)),
  )
  app.addHook('onRequest', (request, _reply, done) => {
    limits.page(request)
    limits.beforeLink(request)
    done()
  })

  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, request, log)
    if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', String(problem.retryAfterSeconds))
    const trouble = TROUBLE[problem.code] ?? (STATUS[problem.code] < 500 ? 'notFound' : 'wentWrong')
    return sendTrouble(request, reply, documents, STATUS[problem.code], trouble)
  })

  app.get('/pay/:id', HIDDEN, async (request: PageRequest, reply) => {
    const meant = pageOf(parts, request.params.id)
    const shown = meant && (await readPage(meant))
    if (!shown) return sendUnknownPayment(request, reply, parts)
    return answer(request, reply, shown)
  })

  app.post('/pay/:id', HIDDEN, async (request: PageRequest, reply) => {
    const meant = pageOf(parts, request.params.id)
    const shown = meant && (await readPage(meant))
    if (!shown) return sendUnknownPayment(request, reply, parts)
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    if (isFromAnotherSite(request, links.payment(meant.id)) || !isOwnForm(parts, meant.id, form.get('token') ?? ''))
      return answerAnew(request, reply, meant, 403)
    if (form.get('action') === 'cancel' && !meant.mayCancel) return answerAnew(request, reply, meant, 403)
    const done = await act(shown, form, meant.bare)
    return answerAnew(request, reply, meant, 200, done)
  })

  /** A payment goes on, or it does not; either way the page says how it stands. */
  async function act({ state }: Shown, form: URLSearchParams, bare: boolean): Promise<Done> {
    const { payment } = state
    const action = form.get('action')
    const key = (form.get('key') ?? '').slice(0, 64)
    try {
      if (action === 'pay' || action === 'new-account') {
        const method = action === 'new-account' ? 'bank' : methodNamed(form.get('method'))
        if (!method || !key) return {}
        await payOnPage(parts, payment.id, {
          channel: CHANNEL[method],
          key,
          ...(method === 'card' && cardWish(form, bare)),
          ...atMost(form),
          ...(action === 'new-account' && { newAccount: true }),
        })
        return {}
      }
      if (action === 'cancel') {
        await cancelPayment(parts, payment.id)
        return { leave: true }
      }
      if (action === 'check') {
        if (limits.mayAsk(payment.id)) await askNow(state.attempts)
        return { sent: true }
      }
    } catch (error) {
      // What the payment itself tells is told by the page; the rest is trouble.
      if (!(error instanceof Problem) || STATUS[error.code] >= 500) throw error
      if (error.code === 'too_many_attempts') throw error
      if (action === 'cancel' && error.code === 'payment_cancelled') return { leave: true } // pressed again, for its answer was lost
    }
    return {}
  }

  async function askNow(attempts: Attempt[]): Promise<void> {
    const open = attempts.findLast(({ status }) => status === 'processing' || status === 'pending')
    if (open) await askAbout(open)
  }

  /** Within 3 seconds of the last time the page shows what the database has; a check follows when the 3 seconds are over. */
  async function askAbout(attempt: Attempt): Promise<void> {
    if (!(await claimProviderCheck(database, attempt))) return
    const asked = checkAttempt(parts, attempt, { source: 'return' }).catch((err) => {
      log.warn({ err, attemptId: attempt.id }, 'could not be asked for while the customer waited; the worker will')
    })
    await Promise.race([asked, sleep(WAIT_FOR_PROVIDER_MS, undefined, { ref: false })])
  }

  /** The page, or for one that is open already its panel. */
  async function answer(request: PageRequest, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
    const visit = visitOf(request, shown)
    if (!isPanelWanted(request)) return sendPage(request, reply, 200, paymentPage(documents, shown, visit))
    return sendPanel(reply, 200, paymentPanel(shown, visit))
  }

  async function answerAnew(
    request: PageRequest,
    reply: FastifyReply,
    meant: PageAddress,
    status: number,
    { sent = false, leave = false }: Done = {},
  ): Promise<FastifyReply> {
    const shown = await readPage(meant)
    if (!shown) return sendUnknownPayment(request, reply, parts)
    const visit = visitOf(request, shown, { sent })
    if (isPanelWanted(request)) {
      const back = leave && returnAddress(shown.state.payment)
      if (back) reply.header('x-go', back)
      return sendPanel(reply, status, paymentPanel(shown, visit))
    }
    if (status !== 200) return sendPage(request, reply, status, paymentPage(documents, shown, visit))
    // Chromium holds every redirect after a form against form-action, the shop's own site included: so back to this page, which has a link.
    const query = new URL(request.raw.url ?? '/', 'http://here').searchParams
    query.delete('method')
    query.delete('sent')
    if (sent) query.set('sent', '1')
    if (shown.state.payment.status === 'successful') query.set('back', '1')
    return reply.headers(NO_TRACE).redirect(`${visit.path}${query.size > 0 ? `?${query}` : ''}`, 303)
  }

  app.get<{ Params: { code: string } }>('/s/:code', HIDDEN, async (request, reply) => {
    const { code } = request.params
    const id = SHORT_CODE.test(code) ? await findPaymentIdByShortCode(database, code) : undefined
    if (!id) return sendUnknownPayment(request, reply, parts)
    return reply.headers(NO_TRACE).redirect(links.payment(id), 302)
  })

  /** Says nothing that its address does not say, so nothing is looked up. */
  app.get<{ Params: { code: string } }>('/s/:code/qr.svg', HIDDEN, async (request, reply) => {
    const { code } = request.params
    if (!SHORT_CODE.test(code)) return sendUnknownPayment(request, reply, parts)
    return reply
      .headers({ 'content-type': 'image/svg+xml', 'cache-control': 'private, max-age=86400' })
      .send(renderSVG(links.short(code), { border: 1 }))
  })

  /** Back from the provider's page. What the address says proves nothing: we ask the provider, then send the customer on. */
  app.get<{ Params: { attempt: string } }>('/return/:attempt', HIDDEN, async (request, reply) => {
    const id = parseId('attempt', request.params.attempt)
    const attempt = id && (await findAttempt(database, id))
    if (!attempt) return sendUnknownPayment(request, reply, parts)
    await askAbout(attempt)
    const payment = await findPaymentById(database, attempt.paymentId)
    const isOver = payment && payment.status !== 'pending'
    const page = isOver ? links.payment(payment.id) : standInFor(attempt.paymentId)
    const onwards = (isOver ? returnAddress(payment) : undefined) ?? `${page}${isOver ? '?back=1' : ''}`
    const branding = request.headers['sec-fetch-dest'] === 'iframe' ? await parts.findBranding(attempt) : undefined
    if (!branding) return reply.headers(NO_TRACE).redirect(onwards, 302)
    const acceptLanguage = request.headers['accept-language']
    return sendPage(request, reply, 200, framedReturnPage(documents, { onwards, branding, acceptLanguage }))
  })

  /**
   * The page of a payment for whoever comes back. They may have set out with no more than its reference, so they are not given the
   * link, which would show them the customer's cards to pay with.
   */
  function standInFor(id: PaymentId): string {
    return new URL(embedId(parts.secrets, id, parts.clock.now()), links.payment(id)).href
  }
}

/** What came of a form, beside what the payment tells. */
interface Done {
  sent?: boolean
  /** The customer gave it up. */
  leave?: boolean
}

const SHORT_CODE = /^[1-9A-HJ-NP-Za-km-z]{12,14}$/
const NO_TRACE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
const TROUBLE: Partial<Record<string, Trouble>> = {
  rate_limited: 'tooManyTries',
  too_many_attempts: 'tooManyAttempts',
  unavailable: 'cannotShow',
}

/** What an open page shows while it can still be paid: even late, money is money. */
const FOLLOWING: ReadonlySet<string> = new Set(['pending', 'cancelled', 'expired'])

function visitOf(request: PageRequest, { branding }: Shown, changes: { sent?: boolean } = {}): Visit {
  const { query, headers } = request
  const text = (name: string) => (typeof query[name] === 'string' ? (query[name] as string) : undefined)
  const origin = text('embed') === '1' ? text('origin') : undefined
  const theme = text('theme')
  const posted = request.method === 'POST'
  return {
    path: `./${request.params.id}`, // relative: the service may live under a path of somebody's host
    wish: {
      method: posted ? undefined : methodNamed(text('method')),
      sent: changes.sent ?? text('sent') === '1',
      following: FOLLOWING.has(String(headers['x-panel'])) || text('back') === '1',
    },
    language: parseLanguage((text('lang') ?? '').slice(0, 2).toLowerCase()), // of fr-CA its fr
    acceptLanguage: headers['accept-language'],
    theme: theme === 'dark' || theme === 'light' ? theme : 'auto',
    embeddedIn: origin !== undefined && allowsOrigin(branding, origin) ? origin : undefined,
    saveData: headers['save-data'] === 'on',
  }
}

/** Whoever has only a stand-in for the link may be anybody: no card of the customer's is charged or kept for them, even if they know its id. */
function cardWish(form: URLSearchParams, bare: boolean): Pick<PageChoice, 'card' | 'saveCard'> {
  if (bare) return { card: 'new' }
  const card = parseId('card', form.get('card') ?? '') ?? 'new'
  return { card, ...(form.get('save') === '1' && { saveCard: true }) }
}

/** What the page said they would pay. One who leaves it out has seen nothing, and pays what it costs. */
function atMost(form: URLSearchParams): { atMost?: number } {
  const total = form.get('total') ?? ''
  return /^\d{1,15}$/.test(total) ? { atMost: Number(total) } : {}
}

function methodNamed(text: string | null | undefined): MethodName | undefined {
  return text === 'card' || text === 'bank' ? text : undefined
}

function isPanelWanted({ headers }: FastifyRequest): boolean {
  return headers['x-panel'] !== undefined
}

/** Browsers say where a form comes from. ("null" where they were told to keep quiet, as our own page tells them.) */
function isFromAnotherSite({ headers }: FastifyRequest, ownAddress: string): boolean {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return true
  if (origin === undefined || origin === 'null') return false
  return origin !== URL.parse(ownAddress)?.origin && URL.parse(origin)?.host !== headers.host
}

/** Whether a customer's link was meant, however broken it is. */
export function isLink(request: FastifyRequest): boolean {
  return /^\/(pay|s|return)\//.test(request.raw.url ?? '')
}

export function sendUnknownPayment(
  request: FastifyRequest,
  reply: FastifyReply,
  { limits, documents }: { limits: Limits; documents: Documents },
): Promise<FastifyReply> {
  limits.wrongLink(request)
  return sendTrouble(request, reply, documents, 404, 'notFound')
}

function sendTrouble(
  request: FastifyRequest,
  reply: FastifyReply,
  documents: Documents,
  status: number,
  trouble: Trouble,
): Promise<FastifyReply> {
  return sendPage(request, reply, status, troublePage(documents, trouble, request.headers['accept-language']))
}

function sendPanel(reply: FastifyReply, status: number, panel: string): FastifyReply {
  return reply
    .code(status)
    .headers({ ...NO_TRACE, 'content-type': 'text/html; charset=utf-8', 'x-state': '1' })
    .send(panel)
}
