import { parseCountry } from '../../kernel/country.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import type { CreateDeps } from '../../payments/start/create-payment.ts'
import { withIdempotencyKey } from '../../payments/start/idempotent-call.ts'
import { initializePayment, type InitializeRequest as Wanted } from '../../payments/start/initialize-payment.ts'
import type { StartedAttempt } from '../../payments/start/start-attempt.ts'
import { InitializeAnswer, type Initialized, InitializeRequest } from '../contract/attempt.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { IdempotencyHeaders, readIdempotencyKey } from '../server/idempotency.ts'
import { type AllowPrivate, knownFields, readBody } from '../server/read-body.ts'
import { commonRequestOf, DEFAULT_EXPIRY_SECONDS } from './checkouts.ts'
import { howToPay } from './how-to-pay.ts'

const KNOWN = knownFields(InitializeRequest)

export function initializeRoutes(app: App, deps: PaymentDeps & CreateDeps & { allowPrivate: AllowPrivate }): void {
  app.post(
    '/payments/initialize',
    {
      attachValidation: true,
      schema: {
        operationId: 'initializePayment',
        summary: 'Initialize a payment',
        description:
          'Starts a payment with a provider of your choice. The reference of a pending payment adds an attempt to it. The same provider and input again, while the link, account number or phone prompt of its attempt is open, returns the same attempt. Another phone number, network or bank starts another attempt: the first one can still be paid, and what is paid twice is surplus. Another amount, currency or user than the payment’s is `409 reference_conflict`.',
        tags: ['Payments'],
        headers: IdempotencyHeaders,
        body: ref(InitializeRequest),
        response: {
          200: InitializeAnswer,
          ...problems(
            ...BODY_PROBLEMS,
            'unknown_network',
            'reference_conflict',
            'attempt_in_progress',
            'too_many_attempts',
            'payment_already_completed',
            'payment_cancelled',
            'payment_expired',
            'idempotency_in_progress',
            'idempotency_key_reused',
            'unknown_provider',
            'provider_not_configured',
            'currency_not_supported',
            'no_integration_available',
            'amount_out_of_range',
            'provider_error',
            'provider_timeout',
          ),
        },
      },
    },
    async (request, reply) => {
      const body = readBody<InitializeRequest>(request, KNOWN, deps.allowPrivate)
      const call = {
        endpoint: 'initialize',
        reference: body.reference ?? undefined,
        idempotency: readIdempotencyKey(request),
      }
      const { answer, replayed } = await withIdempotencyKey(deps, request.caller, call, async (turn) =>
        answerOf(body, await initializePayment(deps, request.caller, wantedOf(body, turn.reference), turn)),
      )
      if (replayed) reply.header('idempotent-replayed', 'true')
      return { data: answer }
    },
  )
}

function wantedOf(body: InitializeRequest, reference: string | undefined): Wanted {
  return {
    ...commonRequestOf(body),
    provider: body.provider,
    reference,
    country: body.country ? parseCountry(body.country) : undefined,
    expiresInSeconds: body.expiresIn ?? DEFAULT_EXPIRY_SECONDS,
    saveCard: body.saveCard ?? false,
    input: {
      phoneNumber: body.phoneNumber ?? undefined,
      network: body.network ?? undefined,
      bank: body.bank ?? undefined,
      preAuthorisationCode: body.preAuthorisationCode ?? undefined,
    },
  }
}

function answerOf({ provider, amount }: InitializeRequest, { attempt }: StartedAttempt): Initialized {
  const { channel, reference } = attempt
  return { provider, channel, reference, amount, data: howToPay(attempt) }
}
