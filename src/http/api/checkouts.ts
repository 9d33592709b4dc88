import { type Country, parseCountry } from '../../kernel/country.ts'
import { DEFAULT_CURRENCY, parseCurrency } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Links } from '../../payments/links.ts'
import {
  type CreateDeps,
  createPayment,
  DuplicateReference,
  type PaymentTicket,
} from '../../payments/start/create-payment.ts'
import type { PaymentRequest } from '../../payments/state/payment.ts'
import { keepTrace } from '../../tracing/payment-traces.ts'
import { type Checkout, CheckoutAnswer, CheckoutRequest } from '../contract/checkout.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { IdempotencyHeaders, readIdempotencyKey } from '../server/idempotency.ts'
import { type AllowPrivate, knownFields, readBody } from '../server/read-body.ts'

interface Deps extends CreateDeps {
  links: Links
  allowPrivate: AllowPrivate
}

export const DEFAULT_EXPIRY_SECONDS = 86_400

const KNOWN = knownFields(CheckoutRequest)

export function checkoutRoutes(app: App, deps: Deps): void {
  const { links, allowPrivate } = deps

  app.post(
    '/checkouts',
    {
      attachValidation: true, // readBody reports schema errors together with misspelt fields and blocked URLs
      schema: {
        operationId: 'createCheckout',
        summary: 'Create a checkout',
        description: 'Creates a payment and returns the links to its payment page.',
        tags: ['Checkouts'],
        headers: IdempotencyHeaders,
        body: ref(CheckoutRequest),
        response: {
          201: CheckoutAnswer,
          ...problems(...BODY_PROBLEMS, 'duplicate_reference', 'no_integration_available', 'idempotency_key_reused'),
        },
      },
    },
    async (request, reply) => {
      const body = readBody<CheckoutRequest>(request, KNOWN, allowPrivate)
      const idempotency = readIdempotencyKey(request)
      try {
        const { ticket, replayed } = await createPayment(deps, {
          caller: request.caller,
          request: paymentRequestOf(body),
          reference: body.reference ?? undefined,
          expiresInSeconds: body.expiresIn ?? DEFAULT_EXPIRY_SECONDS,
          idempotency,
        })
        if (replayed) reply.header('idempotent-replayed', 'true')
        else await keepTrace(deps.database, ticket.id)
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

function paymentRequestOf(body: CheckoutRequest): PaymentRequest {
  return { ...commonRequestOf(body), country: parseCountry(body.country) as Country }
}

/** The fields that checkouts and initialize share, with defaults. */
export function commonRequestOf(body: Omit<CheckoutRequest, 'country'>): Omit<PaymentRequest, 'country'> {
  return {
    amount: body.amount,
    currency: (body.currency && parseCurrency(body.currency)) || DEFAULT_CURRENCY,
    customerBearsCharge: body.customerBearsCharge ?? false,
    user: {
      id: body.user.id ?? null,
      email: body.user.email,
      phoneNumber: body.user.phoneNumber ?? null,
      name: body.user.name?.normalize('NFC') ?? null,
    },
    redirectURL: body.redirectURL ?? null,
    webhook: body.webhook ?? null,
    metadata: (body.metadata as Record<string, string> | null | undefined) ?? {},
  }
}
