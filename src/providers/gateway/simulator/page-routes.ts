import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Problem } from '../../../kernel/problem.ts'
import { failureMessage } from '../../failure.ts'
import { answerPrompt, booksByNow } from './answer-prompt.ts'
import { type Card, cardOf, parseCardNumber } from './cards.ts'
import type { Dice } from './dice.ts'
import { cardPage, codePage, endPage, type Mistake, savedCardPage, troublePage } from './hosted-page.ts'
import { readAnswer } from './input.ts'
import type { Books, LedgerDeps } from './ledger.ts'
import { findPaymentByPage } from './ledger-store.ts'
import { PAGE_HEADERS } from './page-style.ts'
import { promptPage } from './prompt-page.ts'
import { isSilent, type Payment } from './record.ts'
import { Refusal } from './refusal.ts'
import { type ChargeWish, cancelPayment, chargeCard, forgetAwaitedCard, isExpired } from './take-money.ts'

interface Deps {
  ledger: LedgerDeps
  dice: Dice
  log: Logger
}

type PageRequest = FastifyRequest<{ Params: { token: string }; Querystring: Record<string, unknown> }>

const HIDDEN = { schema: { hide: true } }
const FORM_LIMIT = 8 * 1024

/**
 * The page on which a customer pays by card or from a bank, and the one that stands for the customer's phone. The token
 * in its URL is the only secret.
 */
export function pageRoutes(app: FastifyInstance, { ledger, dice, log }: Deps): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_LIMIT },
    (_request, body, done) => done(null, new URLSearchParams(body as string)),
  )
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof Refusal)
      return send(reply, error.status, troublePage(error.message, 'You have not been charged.'))
    if (error instanceof Problem && error.code === 'rate_limited') {
      reply.header('retry-after', String(error.retryAfterSeconds ?? 1))
      return send(reply, 429, troublePage('Too many tries', 'Please wait a moment, then open the link again.'))
    }
    const isInvalid = error instanceof Problem && error.code === 'invalid_request'
    const { statusCode = isInvalid ? 400 : 500 } = error as { statusCode?: number }
    if (statusCode < 500) {
      return send(reply, statusCode, troublePage('We can’t read that', 'Please open the link again.'))
    }
    if (!(error instanceof Problem)) log.error({ provider: 'gateway', err: error }, 'sandbox page failed')
    return send(
      reply,
      503,
      troublePage('Something went wrong on our side', 'Please open the link again in a moment, before you pay again.'),
    )
  })

  app.get('/pay/:token', HIDDEN, async (request: PageRequest, reply) => {
    const { payment, transactions } = await find(request)
    const { card, done } = request.query
    return show(reply, 200, { payment, transactions }, { newCard: card === 'new', leave: done !== undefined })
  })

  app.post('/pay/:token', HIDDEN, async (request: PageRequest, reply) => {
    refuseStrangers(request)
    const { payment } = await find(request)
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    if (payment.prompt) return answer(reply, payment, form)
    switch (form.get('action')) {
      case 'cancel':
        await cancelPayment(ledger, await dice(payment.merchantUuid), payment)
        return sendBack(reply, payment)
      case 'other':
        await forgetAwaitedCard(ledger, payment)
        return reply.redirect(`./${payment.pageToken}?card=new`, 303)
      case 'saved':
        return charge(request, reply, payment, {})
      case 'otp': {
        const code = form.get('otp')?.trim()
        if (code) return charge(request, reply, payment, { code })
        return show(reply, 422, await find(request), { mistake: { field: 'otp', message: 'Enter the code.' } })
      }
      default: {
        const card = readCard(form, ledger.clock.now())
        if ('message' in card) return show(reply, 422, await find(request), { mistake: card, newCard: true })
        return charge(request, reply, payment, { card, save: form.get('save') === 'yes' })
      }
    }
  })

  async function find({ params }: PageRequest): Promise<Books> {
    const payment = await findPaymentByPage(ledger.database, params.token)
    if (!payment) throw new Refusal(404, 'not_found', 'We can’t find this payment')
    return booksByNow(ledger, payment, dice)
  }

  async function answer(reply: FastifyReply, payment: Payment, form: URLSearchParams) {
    const chance = await dice(payment.merchantUuid)
    try {
      await answerPrompt(ledger, payment, readAnswer({ answer: form.get('action') }), { chance, exact: true })
    } catch (error) {
      // Answered meanwhile: the page shows how.
      if (!(error instanceof Refusal) || error.status !== 409) throw error
    }
    return sendBack(reply, payment)
  }

  /**
   * A form that another site filled in is not the customer's. (Browsers say "null" where they were told to keep quiet.)
   */
  function refuseStrangers({ headers }: FastifyRequest): void {
    const { origin } = headers
    if (origin === undefined || origin === 'null') return
    const isOurs = origin === URL.parse(ledger.publicUrl())?.origin || URL.parse(origin)?.host === headers.host
    if (!isOurs) throw new Refusal(403, 'forbidden', 'This form was sent from another site')
  }

  async function charge(request: PageRequest, reply: FastifyReply, payment: Payment, wish: ChargeWish) {
    const here = `./${payment.pageToken}`
    try {
      const chance = await dice(payment.merchantUuid)
      const { result, failure } = await chargeCard(ledger, chance, payment, { ...wish, exact: true })
      if (result === 'paid') return sendBack(reply, payment)
      if (result !== 'failed' || !failure) return reply.redirect(here, 303)
      const mistake: Mistake = {
        message: `${failureMessage(failure)} You have not been charged.`,
        ...(failure === 'incorrect_otp' && { field: 'otp' }),
      }
      return show(reply, 422, await find(request), { mistake, newCard: wish.card !== undefined })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      // Finished meanwhile, perhaps by a second submit of the same form: the customer is redirected as after the first.
      const { payment: now, transactions } = await find(request)
      return now.taken > 0 && !isSilent(now, transactions) ? sendBack(reply, now) : reply.redirect(here, 303)
    }
  }
}

interface Showing {
  mistake?: Mistake
  /** The form for a new card, though there is a saved one. */
  newCard?: boolean
  /** On to the shop by itself, if there is nothing left to do. */
  leave?: boolean
}

function show(reply: FastifyReply, status: number, books: Books, showing: Showing): FastifyReply {
  const { mistake, newCard, leave = false } = showing
  const { payment, transactions } = books
  const page = (text: string) => send(reply, status, text)
  const options = { ...(mistake && { mistake }), framed: reply.request.headers['sec-fetch-dest'] === 'iframe' }
  if (payment.prompt) return page(promptPage(books, { framed: options.framed, leave }))
  if (isSilent(payment, transactions)) {
    return page(
      endPage(payment, 'Your payment is being processed', 'You need not pay again. The shop will hear of it shortly.'),
    )
  }
  if (payment.taken > 0) {
    const isReturned = payment.refunded === payment.taken
    return page(endPage(payment, isReturned ? 'Refunded' : 'Paid', 'Nothing more to pay.', leave))
  }
  if (payment.cancelledAt) return page(endPage(payment, 'Cancelled', 'You have not been charged.', leave))
  if (isExpired(payment)) {
    return page(endPage(payment, 'This link has expired', 'You have not been charged. Ask the shop for a new link.'))
  }
  if (payment.awaitingCode && (!mistake || mistake.field === 'otp')) {
    return page(codePage(payment, payment.awaitingCode, options))
  }
  if (payment.offeredCard && !newCard) return page(savedCardPage(payment, payment.offeredCard, options))
  return page(cardPage(payment, options))
}

/**
 * By way of a page that sends the customer on. Chromium holds every redirect that follows a form against form-action,
 * the shop's own site at the end of them included, and that site is not known here: a customer who had paid would be
 * stopped.
 */
function sendBack(reply: FastifyReply, { pageToken }: Payment): FastifyReply {
  return reply.redirect(`./${pageToken}?done`, 303)
}

function send(reply: FastifyReply, status: number, page: string): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).send(page)
}

function readCard(form: URLSearchParams, now: Date): Card | Mistake {
  const digits = parseCardNumber(form.get('number') ?? '')
  if (!digits) return { field: 'number', message: 'Check the card number. One or more digits look wrong.' }
  const expiry = /^(0?[1-9]|1[0-2])[/-]?(?:20)?(\d\d)$/.exec((form.get('expiry') ?? '').replaceAll(/\s/g, ''))
  if (!expiry) return { field: 'expiry', message: 'Write the expiry date as on the card: MM / YY.' }
  const [month, year] = [Number(expiry[1]), 2000 + Number(expiry[2])]
  // Once its last month is over everywhere on earth: a card that is still valid somewhere is accepted.
  if (now.getTime() >= Date.UTC(year, month, 1, 12)) return { field: 'expiry', message: 'This card has expired.' }
  if (!/^\d{3,4}$/.test((form.get('cvv') ?? '').trim())) {
    return { field: 'cvv', message: 'Enter the 3 or 4 digits of the security code.' }
  }
  return cardOf(digits, { month, year })
}
