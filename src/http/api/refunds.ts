import { parseId, type RefundId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { actorOf, type Caller } from '../../merchants/merchant.ts'
import type { PaymentDependencies } from '../../payments/dependencies.ts'
import { withIdempotencyKey } from '../../payments/idempotent-call.ts'
import { refundPayment } from '../../payments/refund-payment.ts'
import { type Refund, refundView } from '../../payments/state/refund.ts'
import { findRefund, refundsOf } from '../../payments/store/refunds.ts'
import type { App } from '../server/framework.ts'
import { IdempotencyHeaders, readIdempotencyKey } from '../server/idempotency.ts'
import { knownFields, readBody } from '../server/read-body.ts'
import { answers } from './contract/answers.ts'
import { RefundAnswer, RefundId as RefundParams, RefundRequest, RefundsAnswer } from './contract/attempt.ts'
import { PaymentName } from './contract/payment.ts'
import { ref } from './contract/schema.ts'
import { ownPayment } from './payments.ts'

const REFUND_FIELDS = knownFields(RefundRequest)

export function refundRoutes(app: App, parts: PaymentDependencies): void {
  const { database } = parts

  app.post(
    '/payments/:reference/refunds',
    {
      attachValidation: true, // a misspelt `amount` would send all of it back
      schema: {
        operationId: 'refundPayment',
        summary: 'Send money back, all of it or a part',
        tags: ['Payments'],
        params: PaymentName,
        headers: IdempotencyHeaders,
        body: ref(RefundRequest),
        response: { 201: RefundAnswer, ...answers(400, 401, 403, 404, 409, 413, 415, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      const { amount, reason, allowDuplicate } = readBody<RefundRequest>(request, REFUND_FIELDS)
      const { payment } = await ownPayment(database, request.caller, request.params.reference)
      const idempotency = readIdempotencyKey(request)
      const call = { endpoint: `refunds of ${payment.id}`, reference: undefined, idempotency }
      const wanted = {
        amount: amount ?? undefined,
        reason: reason ?? null,
        mayRepeat: idempotency !== undefined || allowDuplicate === true,
      }
      const { answer, replayed } = await withIdempotencyKey(parts, request.caller, call, async ({ reference }) =>
        refundView(
          await refundPayment(parts, actorOf(request.caller), payment.id, { ...wanted, callReference: reference }),
        ),
      )
      if (!replayed) return reply.code(201).send({ data: answer })
      // The first answer may have been `pending`: a repeat tells how the refund stands now.
      const now = await ownRefund(request.caller, answer.id)
      return reply
        .code(201)
        .header('idempotent-replayed', 'true')
        .send({ data: refundView(now) })
    },
  )

  app.get(
    '/payments/:reference/refunds',
    {
      schema: {
        operationId: 'listRefunds',
        summary: 'Refunds of a payment, oldest first',
        tags: ['Payments'],
        params: PaymentName,
        response: { 200: RefundsAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async (request) => {
      const { payment } = await ownPayment(database, request.caller, request.params.reference)
      return { data: (await refundsOf(database, payment.id)).map(refundView), nextCursor: null }
    },
  )

  app.get(
    '/refunds/:id',
    {
      schema: {
        operationId: 'getRefund',
        summary: 'A refund',
        tags: ['Payments'],
        params: RefundParams,
        response: { 200: RefundAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async (request) => ({ data: refundView(await ownRefund(request.caller, request.params.id)) }),
  )

  /** Another merchant's refund is answered like one that does not exist. */
  async function ownRefund(caller: Caller, text: string): Promise<Refund> {
    const id: RefundId | undefined = parseId('refund', text)
    const refund = id && (await findRefund(database, caller, id))
    if (!refund) throw new Problem('not_found', 'You have no refund with this id in this mode.')
    return refund
  }
}
