import type { FastifyReply, FastifyRequest } from 'fastify'
import { renderSVG } from 'uqr'
import type { IntegrationCache } from '../../integrations/integration-cache.ts'
import { CHANNELS, type Channel } from '../../kernel/channel.ts'
import { type PaymentId, parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { isStorable } from '../../kernel/storable-text.ts'
import { allowsOrigin, parseLanguage } from '../../merchants/branding.ts'
import type { FindBranding } from '../../merchants/branding-cache.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { cancelPayment } from '../../payments/settle/cancel-payment.ts'
import { type PageChoice, payOnPage } from '../../payments/start/pay-on-page.ts'
import { submitCode } from '../../payments/start/submit-code.ts'
import { type Attempt, isOpen } from '../../payments/state/attempt.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { returnAddress } from '../../payments/state/return-address.ts'
import { findPaymentStateById } from '../../payments/store/payment-states.ts'
import { findPaymentIdByShortCode } from '../../payments/store/payments.ts'
import { STATUS } from '../contract/problem.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import { toProblem } from '../server/problems.ts'
import { customerChecks } from './customer-checks.ts'
import type { Documents } from './document.ts'
import { embedId, pageOf, returnEmbedId } from './embed.ts'
import { type MethodMistake, methodValues, readMethodForm, type Typed } from './method-input.ts'
import {
  errorPage,
  framedReturnPage,
  type PageData,
  type PageError,
  paymentPage,
  paymentPanel,
  type Visit,
} from './payment-page.ts'
import { type FoundPage, hasValidToken, pageReader, withoutSavedCards } from './read-page.ts'
import { sendReceipt } from './receipt-routes.ts'
import { IN_URL } from './screen.ts'
import { sendPage } from './send-page.ts'
import { languageFor } from './texts/texts.ts'

export type CheckoutDeps = PaymentDeps & {
  limits: Limits
  documents: Documents
  findBranding: FindBranding
  integrationCache: IntegrationCache
}

type PageRequest = FastifyRequest<{ Params: { id: string }; Querystring: Record<string, unknown> }>

const FORM_LIMIT = 4 * 1024
/** Open attempts that "check now" asks about, the newest ones. */
const MOST_ASKED = 3
const HIDDEN = { schema: { hide: true } }

/** The hosted payment page. Every error is answered with an HTML page, because customers see it. */
export function pageRoutes(app: App, deps: CheckoutDeps): void {
  const { database, links, limits, log, documents } = deps
  const pages = pageReader(deps)
  const checks = customerChecks(deps)

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
    const shown = PAGE_ERRORS[problem.code] ?? (STATUS[problem.code] < 500 ? 'notFound' : 'wentWrong')
    return sendErrorPage(request, reply, documents, STATUS[problem.code], shown)
  })

  app.get('/pay/:id', HIDDEN, async (request: PageRequest, reply) => {
    const address = pageOf(deps, request.params.id)
    const found = address && (await pages.read(address))
    if (!found) return sendUnknownPayment(request, reply, deps)
    return answer(request, reply, 200, await pages.show(found))
  })

  app.post('/pay/:id', HIDDEN, async (request: PageRequest, reply) => {
    const address = pageOf(deps, request.params.id)
    const found = address && (await pages.read(address))
    if (!found) return sendUnknownPayment(request, reply, deps)
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    if (isCrossSite(request, links.payment(address.id)) || !hasValidToken(deps, address.id, form.get('token') ?? ''))
      return answer(request, reply, 403, await pages.show(found))
    if (form.get('action') === 'cancel' && !address.mayCancel)
      return answer(request, reply, 403, await pages.show(found))
    const { state = await findPaymentStateById(database, address.id), ...done } = await act(request, found, form)
    return answerForm(request, reply, await pages.show(found, state), done)
  })

  /** Applies a submitted form. The page that is rendered afterwards shows the payment's state. */
  async function act(
    request: PageRequest,
    { address: { bare, byReference }, state: before, branding }: FoundPage,
    form: URLSearchParams,
  ): Promise<FormResult & { state?: PaymentState }> {
    const { payment } = before
    const action = form.get('action')
    const asked = visitOf(request, { branding })
    const language = languageFor(asked.language, branding.brand.language, asked.acceptLanguage)
    const text = (form.get('key') ?? '').slice(0, 64)
    const key = isStorable(text) ? text : ''
    try {
      if (action === 'pay' || action === 'new-account') {
        const channel = action === 'new-account' ? 'virtual-bank-account' : channelNamed(form.get('method'))
        if (!channel || !key) return {}
        if (await pages.isUsedUp(payment)) return {}
        const { fields, typed } = await readFields(before, channel, form, bare)
        if (typed) return { typed }
        const choice = {
          channel,
          merchantName: branding.name,
          key,
          ...fields,
          ...atMost(form),
          ...(action === 'new-account' && { newAccount: true }),
          ...{ byReference, language },
        }
        return { state: await payOnPage(deps, payment, choice) }
      }
      if (action === 'receipt' && !bare) return await sendReceipt(deps, request, payment.id, { form, language })
      if (action === 'code') return await giveCode(before, form, byReference)
      if (action === 'cancel') {
        await cancelPayment(deps, payment.id)
        return { leave: true }
      }
      if (action === 'check') {
        if (limits.mayAsk(payment.id)) await askNow(withoutSavedCards(before, bare).attempts)
        return { sent: true }
      }
    } catch (error) {
      // The page shows the payment's own refusals; other errors get an error page.
      if (!(error instanceof Problem) || STATUS[error.code] >= 500) throw error
      if (error.code === 'too_many_attempts') throw error
      // submitted again after its response was lost
      if (action === 'cancel' && error.code === 'payment_cancelled') return { leave: true }
    }
    return {}
  }

  /** What the form of this method says, or the form again with its mistakes. */
  async function readFields(
    { payment }: PaymentState,
    channel: Channel,
    form: URLSearchParams,
    bare: boolean,
  ): Promise<{ fields: Pick<PageChoice, 'card' | 'saveCard' | 'input'>; typed?: Typed }> {
    switch (channel) {
      case 'card':
        return { fields: cardFields(form, bare) }
      case 'virtual-bank-account':
      case 'qr':
        return { fields: {} }
      case 'mobile-money':
      case 'ussd':
      case 'bank': {
        const method = (await pages.methods(payment)).find((each) => each.channel === channel)
        if (!method) return { fields: {} }
        const values = methodValues(form)
        const { input, mistakes } = readMethodForm(method, values, payment.country, form.get('guess') ?? '')
        if (mistakes.length === 0 && input.phoneNumber && !limits.mayPrompt(payment, input.phoneNumber))
          mistakes.push({ field: 'phoneNumber', why: 'too many' })
        return mistakes.length > 0 ? { fields: {}, typed: { channel, values, mistakes } } : { fields: { input } }
      }
    }
  }

  async function giveCode(
    { payment, attempts }: PaymentState,
    form: URLSearchParams,
    byReference: boolean,
  ): Promise<FormResult & { state?: PaymentState }> {
    // Who knows the reference alone cannot end an attempt of the customer by wrong codes.
    if (byReference && !attempts.findLast(({ status }) => status === 'pending')?.byReference) return {}
    const values = methodValues(form)
    const wrong = (why: MethodMistake['why']) => ({ typed: { values, mistakes: [{ field: 'code' as const, why }] } })
    if (values.code === '') return wrong('missing')
    try {
      return { state: await submitCode(deps, payment, values.code) }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      if (error.code === 'input_refused') return wrong('code refused')
      if (error.code === 'provider_error') return wrong('not sent')
      throw error
    }
  }

  async function askNow(attempts: Attempt[]): Promise<void> {
    // The customer may have approved an earlier request.
    const [last, ...others] = attempts.filter(isOpen).toReversed().slice(0, MOST_ASKED)
    if (last) await checks.ask([last, ...others])
  }

  /** The whole page, or only its panel for the script of an open page. */
  async function answer(
    request: PageRequest,
    reply: FastifyReply,
    status: number,
    shown: PageData,
  ): Promise<FastifyReply> {
    const visit = visitOf(request, shown)
    if (!isPanelWanted(request)) return sendPage(request, reply, status, paymentPage(documents, shown, visit))
    return sendPanel(reply, status, paymentPanel(shown, visit))
  }

  function answerForm(
    request: PageRequest,
    reply: FastifyReply,
    shown: PageData,
    { sent = false, leave = false, typed, wrongAddress }: FormResult,
  ): FastifyReply | Promise<FastifyReply> {
    const visit = { ...visitOf(request, shown, { sent, typed }), wrongAddress }
    const hasMistakes = typed !== undefined || wrongAddress !== undefined
    if (isPanelWanted(request)) {
      const back = leave && returnAddress(shown.state.payment)
      if (back) reply.header('x-go', back)
      return sendPanel(reply, hasMistakes ? 422 : 200, paymentPanel(shown, visit))
    }
    if (hasMistakes) return sendPage(request, reply, 422, paymentPage(documents, shown, visit))
    // Chromium applies form-action to redirects after a form, the merchant's site included, so this redirects to the
    // page itself.
    const query = new URL(request.raw.url ?? '/', 'http://here').searchParams
    query.delete('method')
    query.delete('sent')
    if (sent) query.set('sent', '1')
    if (shown.state.payment.status === 'successful') query.set('back', '1')
    return reply.headers(NO_STORE).redirect(`${visit.path}${query.size > 0 ? `?${query}` : ''}`, 303)
  }

  app.get<{ Params: { code: string } }>('/s/:code', HIDDEN, async (request, reply) => {
    const { code } = request.params
    const id = SHORT_CODE.test(code) ? await findPaymentIdByShortCode(database, code) : undefined
    if (!id) return sendUnknownPayment(request, reply, deps)
    return reply.headers(NO_STORE).redirect(links.payment(id), 302)
  })

  /** The QR code of a short link. It needs no lookup, because it only encodes its own URL. */
  app.get<{ Params: { code: string } }>('/s/:code/qr.svg', HIDDEN, async (request, reply) => {
    const { code } = request.params
    if (!SHORT_CODE.test(code)) return sendUnknownPayment(request, reply, deps)
    return reply
      .headers({ 'content-type': 'image/svg+xml', 'cache-control': 'private, max-age=86400' })
      .send(renderSVG(links.short(code), { border: 1 }))
  })

  /**
   * Return from the provider's page. The query proves nothing, so the provider is asked before the customer is sent
   * on.
   */
  app.get<{ Params: { attempt: string } }>('/return/:attempt', HIDDEN, async (request, reply) => {
    const id = parseId('attempt', request.params.attempt)
    const state = id && (await checks.afterReturn(id))
    if (!state) return sendUnknownPayment(request, reply, deps)
    const { payment } = state
    const isOver = payment.status !== 'pending'
    const byReference = state.attempts.some((attempt) => attempt.id === id && attempt.byReference)
    const page = isOver ? links.payment(payment.id) : embedPage(payment.id, byReference)
    const onwards = (isOver ? returnAddress(payment) : undefined) ?? `${page}${isOver ? '?back=1' : ''}`
    const branding = request.headers['sec-fetch-dest'] === 'iframe' ? await deps.findBranding(payment) : undefined
    if (!branding) return reply.headers(NO_STORE).redirect(onwards, 302)
    const acceptLanguage = request.headers['accept-language']
    return sendPage(request, reply, 200, framedReturnPage(documents, { onwards, branding, acceptLanguage }))
  })

  /**
   * The page of a pending payment for a returning customer. An embed id, because the customer may have known the
   * reference only, and the link would show saved cards.
   */
  function embedPage(id: PaymentId, byReference: boolean): string {
    const embed = byReference ? embedId : returnEmbedId
    return new URL(embed(deps.secrets, id, deps.clock.now()), links.payment(id)).href
  }
}

/** The result of a submitted form, besides the payment's new state. */
interface FormResult {
  sent?: boolean
  /** The customer cancelled. */
  leave?: boolean
  /** The form has mistakes, and nothing was done. */
  typed?: Typed
  wrongAddress?: string | undefined
}

export const SHORT_CODE = /^[1-9A-HJ-NP-Za-km-z]{15,16}$/
export const NO_STORE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }
const PAGE_ERRORS: Partial<Record<string, PageError>> = {
  rate_limited: 'tooManyTries',
  too_many_attempts: 'tooManyAttempts',
  unavailable: 'cannotShow',
}

/** Statuses that an open page may have shown before a success: late money still completes a payment. */
const FOLLOWING: ReadonlySet<string> = new Set(['pending', 'cancelled', 'expired'])

function visitOf(
  request: PageRequest,
  { branding }: Pick<PageData, 'branding'>,
  { sent, typed }: Pick<FormResult, 'sent' | 'typed'> = {},
): Visit {
  const { query, headers } = request
  const text = (name: string) => (typeof query[name] === 'string' ? (query[name] as string) : undefined)
  const origin = text('embed') === '1' ? text('origin') : undefined
  const theme = text('theme')
  const posted = request.method === 'POST'
  return {
    path: `./${request.params.id}`, // relative: the service may run under a path prefix
    input: {
      channel: posted ? typed?.channel : channelNamed(text('method')),
      sent: sent ?? text('sent') === '1',
      following: FOLLOWING.has(String(headers['x-panel'])) || text('back') === '1',
    },
    typed,
    language: parseLanguage((text('lang') ?? '').slice(0, 2).toLowerCase()), // fr-CA becomes fr
    acceptLanguage: headers['accept-language'],
    theme: theme === 'dark' || theme === 'light' ? theme : 'auto',
    embeddedIn: origin !== undefined && allowsOrigin(branding, origin) ? origin : undefined,
    saveData: headers['save-data'] === 'on',
  }
}

/** A page without the link never charges or saves a card of the customer, even for a known card id. */
function cardFields(form: URLSearchParams, bare: boolean): Pick<PageChoice, 'card' | 'saveCard'> {
  if (bare) return { card: 'new' }
  const card = parseId('card', form.get('card') ?? '') ?? 'new'
  return { card, ...(form.get('save') === '1' && { saveCard: true }) }
}

/** The highest amount that the page showed. Without it the customer pays the current price. */
function atMost(form: URLSearchParams): { atMost?: number } {
  const total = form.get('total') ?? ''
  return /^\d{1,15}$/.test(total) ? { atMost: Number(total) } : {}
}

function channelNamed(text: string | null | undefined): Channel | undefined {
  return CHANNELS.find((channel) => IN_URL[channel] === text)
}

function isPanelWanted({ headers }: FastifyRequest): boolean {
  return headers['x-panel'] !== undefined
}

/** CSRF protection by Origin and Sec-Fetch-Site. Browsers send "null" for our own page, because it sets no-referrer. */
export function isCrossSite({ headers }: FastifyRequest, ownAddress: string): boolean {
  const { origin } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return true
  if (origin === undefined || origin === 'null') return false
  return origin !== URL.parse(ownAddress)?.origin && URL.parse(origin)?.host !== headers.host
}

/** Whether the URL is a customer's link, valid or not. */
export function isLink(request: FastifyRequest): boolean {
  return /^\/(pay|s|l|r|return)\//.test(request.raw.url ?? '')
}

export function sendUnknownPayment(
  request: FastifyRequest,
  reply: FastifyReply,
  { limits, documents }: { limits: Limits; documents: Documents },
): Promise<FastifyReply> {
  limits.wrongLink(request)
  return sendErrorPage(request, reply, documents, 404, 'notFound')
}

function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  documents: Documents,
  status: number,
  error: PageError,
): Promise<FastifyReply> {
  return sendPage(request, reply, status, errorPage(documents, error, request.headers['accept-language']))
}

function sendPanel(reply: FastifyReply, status: number, panel: string): FastifyReply {
  return reply
    .code(status)
    .headers({ ...NO_STORE, 'content-type': 'text/html; charset=utf-8', 'x-state': '1' })
    .send(panel)
}
