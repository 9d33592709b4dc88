import type { FastifyRequest } from 'fastify'
import { type Country, parseCountry } from '../../kernel/country.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, parseCurrency } from '../../kernel/money.ts'
import { type Mistake, Problem } from '../../kernel/problem.ts'
import { DuplicateReference, type PaymentCreator, type PaymentTicket } from '../../payments/create-payment.ts'
import type { PaymentRequest } from '../../payments/payment.ts'
import { answers } from '../contract/answers.ts'
import { type Checkout, CheckoutAnswer, CheckoutRequest, User } from '../contract/checkout.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../framework.ts'
import { IdempotencyHeaders, readIdempotencyKey } from '../idempotency.ts'
import type { Links } from '../links.ts'
import { mistakesOf, refuse } from '../mistakes.ts'
import { nearMisses } from '../near-miss.ts'

interface Parts {
  createPayment: PaymentCreator
  links: Links
}

const DEFAULT_CURRENCY = 'NGN' as Currency
const DEFAULT_EXPIRY_SECONDS = 86_400

export function checkoutRoutes(app: App, { createPayment, links }: Parts): void {
  app.post(
    '/checkouts',
    {
      attachValidation: true, // our own refusal adds what a schema cannot say
      schema: {
        operationId: 'createCheckout',
        summary: 'Make a payment and get the links to its page',
        tags: ['Checkouts'],
        headers: IdempotencyHeaders,
        body: ref(CheckoutRequest),
        response: { 201: CheckoutAnswer, ...answers(400, 401, 403, 409, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      const body = readBody(request)
      const idempotency = readIdempotencyKey(request)
      try {
        const { ticket, replayed } = await createPayment({
          caller: request.caller,
          request: paymentRequestOf(body),
          reference: body.reference ?? undefined,
          expiresInSeconds: body.expiresIn ?? DEFAULT_EXPIRY_SECONDS,
          idempotency,
        })
        if (replayed) reply.header('idempotent-replayed', 'true')
        const checkout = checkoutOf(ticket, links)
        return reply.code(201).header('location', checkout.url).send({ data: checkout })
      } catch (error) {
        if (!(error instanceof DuplicateReference)) throw error
        throw new Problem('duplicate_reference', error.message, {
          extra: { existing: checkoutOf(error.existing, links) },
        })
      }
    },
  )
}

function checkoutOf({ id, shortCode, reference, amount }: PaymentTicket, links: Links): Checkout {
  return { id, url: links.payment(id), shortURL: links.short(shortCode), reference, amount }
}

const KNOWN_FIELDS = Object.keys(CheckoutRequest.properties)
const KNOWN_USER_FIELDS = Object.keys(User.properties)

/** The body with every mistake in it found at once, or the request is refused. */
function readBody(request: FastifyRequest): CheckoutRequest {
  const body = request.body as CheckoutRequest
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const mistakes: Mistake[] = [
    ...mistakesOf(request.validationError?.validation ?? [], body),
    ...(isObject(body) ? nearMisses(body, KNOWN_FIELDS) : []),
    ...(isObject(body) && isObject(body.user) ? nearMisses(body.user, KNOWN_USER_FIELDS, '/user') : []),
    ...(isObject(body) ? plainAddresses(body, request.caller.mode) : []),
  ]
  if (mistakes.length > 0) refuse(mistakes)
  return body
}

/** With real money, what travels over the network is encrypted. */
function plainAddresses(body: CheckoutRequest, mode: Mode): Mistake[] {
  if (mode !== 'live') return []
  return (['redirectURL', 'webhook'] as const)
    .filter((field) => /^http:/i.test(String(body[field])))
    .map((field) => ({ pointer: `/${field}`, code: 'https_required', message: `${field} must be https in live mode.` }))
}

function paymentRequestOf(body: CheckoutRequest): PaymentRequest {
  return {
    amount: body.amount,
    currency: (body.currency && parseCurrency(body.currency)) || DEFAULT_CURRENCY,
    country: parseCountry(body.country) as Country,
    customerBearsCharge: body.customerBearsCharge ?? false,
    user: {
      email: body.user.email,
      phoneNumber: body.user.phoneNumber ?? null,
      name: body.user.name?.normalize('NFC') ?? null,
    },
    redirectURL: body.redirectURL ?? null,
    webhook: body.webhook ?? null,
    metadata: (body.metadata as Record<string, string> | null | undefined) ?? {},
  }
}
