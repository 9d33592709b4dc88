import { parseId, type RefundId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { endRefund } from '../../payments/refunds/end-refund.ts'
import { refundAccountOf } from '../../payments/refunds/refund-account.ts'
import { refundPayment } from '../../payments/refunds/refund-payment.ts'
import { retryRefund } from '../../payments/refunds/retry-refund.ts'
import { withIdempotencyKey } from '../../payments/start/idempotent-call.ts'
import { type Refund, refundView } from '../../payments/state/refund.ts'
import { findRefund, refundsOf } from '../../payments/store/refunds.ts'
import type { BankAccount } from '../../providers/provider.ts'
import {
  RefundAccountAnswer,
  RefundAccountQuery,
  RefundAnswer,
  RefundEnd,
  RefundId as RefundParams,
  RefundRequest,
  RefundRetry,
  RefundsAnswer,
} from '../contract/attempt.ts'
import { PaymentName } from '../contract/payment.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { IdempotencyHeaders, readIdempotencyKey } from '../server/idempotency.ts'
import { type KnownFields, knownFields, readBody } from '../server/read-body.ts'
import { ownPayment } from './payments.ts'

// Without an amount everything is refunded, so an unknown field such as `value` may be the amount.
const REFUND_FIELDS: KnownFields = { ...knownFields(RefundRequest), isExact: ({ amount }) => amount == null }
const RETRY_FIELDS = knownFields(RefundRetry)
const END_FIELDS = knownFields(RefundEnd)

export function refundRoutes(app: App, deps: PaymentDeps): void {
  const { database } = deps

  app.post(
    '/payments/:reference/refunds',
    {
      attachValidation: true, // a misspelt `amount` would refund the whole payment
      config: { hasOptionalBody: true },
      preValidation: (request, _reply, done) => {
        if (request.body === undefined) request.body = {}
        done()
      },
      schema: {
        operationId: 'refundPayment',
        summary: 'Create a refund',
        description:
          'Refunds a payment through the provider that took the money. Without a body, or without `amount`, the whole amount that can still be refunded; a body without `amount` may then have no unknown field. Some providers cannot send money back to the account that a transfer came from: then `refund_account_required` asks for the customer’s bank account.',
        tags: ['Payments'],
        params: PaymentName,
        headers: IdempotencyHeaders,
        body: ref(RefundRequest),
        response: {
          201: RefundAnswer,
          ...problems(
            ...BODY_PROBLEMS,
            'not_found',
            'payment_not_completed',
            'duplicate_refund',
            'too_many_refunds',
            'idempotency_in_progress',
            'refund_exceeds_payment',
            'refund_account_required',
            'idempotency_key_reused',
          ),
        },
      },
    },
    async (request, reply) => {
      const body = readBody<RefundRequest>(request, REFUND_FIELDS)
      const { amount, reason, allowDuplicate } = body
      const { payment } = await ownPayment(database, request.caller, request.params.reference)
      const idempotency = readIdempotencyKey(request)
      const call = { endpoint: `refunds of ${payment.id}`, reference: undefined, idempotency }
      const { limitRefunds } = request.caller
      const wanted = {
        amount: amount ?? undefined,
        reason: reason ?? null,
        account: bankAccountIn(body),
        // Of a member, a key protects one form only: another member, or the same one in a new form, may refund the
        // same.
        mayRepeat: allowDuplicate ?? (idempotency !== undefined && !limitRefunds),
        limit: limitRefunds,
      }
      const { answer, replayed } = await withIdempotencyKey(deps, request.caller, call, async ({ reference }) =>
        refundView(
          await refundPayment(deps, request.caller.actor, payment.id, { ...wanted, callReference: reference }),
        ),
      )
      if (!replayed) return reply.code(201).send({ data: answer })
      // The first answer may have been `pending`: a repeat returns the current refund.
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
        summary: 'List refunds of a payment',
        description: 'Oldest first.',
        tags: ['Payments'],
        params: PaymentName,
        response: { 200: RefundsAnswer, ...problems('not_found') },
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
        summary: 'Get a refund',
        tags: ['Payments'],
        params: RefundParams,
        response: { 200: RefundAnswer, ...problems('not_found') },
      },
    },
    async (request) => ({ data: refundView(await ownRefund(request.caller, request.params.id)) }),
  )

  app.post(
    '/refunds/:id/retry',
    {
      attachValidation: true,
      schema: {
        operationId: 'retryRefund',
        summary: 'Retry a refund with the customer’s bank account',
        description:
          'For a refund whose `needsReview` starts with `refund_needs_account`: the provider lacks the account that the money shall go to. Safe to repeat: once the provider has the account, the call is `409 refund_needs_no_account`.',
        tags: ['Payments'],
        params: RefundParams,
        body: ref(RefundRetry),
        response: { 200: RefundAnswer, ...problems(...BODY_PROBLEMS, 'not_found', 'refund_needs_no_account') },
      },
    },
    async (request) => {
      const account = bankAccountIn(readBody<RefundRetry>(request, RETRY_FIELDS))
      const { caller, params } = request
      const refund = await ownRefund(caller, params.id)
      if (!account) throw incompleteAccount()
      const limit = caller.limitRefunds
      return { data: refundView(await retryRefund(deps, caller.actor, refund, { account, limit })) }
    },
  )

  app.post(
    '/refunds/:id/end',
    {
      attachValidation: true,
      schema: {
        operationId: 'endRefund',
        summary: 'End a refund that the provider has not made',
        description:
          'For a refund whose `needsReview` starts with `unanswered`: the provider was asked for it and does not list it, so it is not asked for again. When its dashboard does not show it either, end it here: the refund fails, and the money can be refunded again. If the provider lists it later, it is successful after all.',
        tags: ['Payments'],
        params: RefundParams,
        body: ref(RefundEnd),
        response: { 200: RefundAnswer, ...problems(...BODY_PROBLEMS, 'not_found', 'conflict') },
      },
    },
    async (request) => {
      const { note } = readBody<RefundEnd>(request, END_FIELDS)
      const { caller, params } = request
      const refund = await ownRefund(caller, params.id)
      return { data: refundView(await endRefund(deps, { actor: caller.actor, note }, refund)) }
    },
  )

  app.get(
    '/payments/:reference/refund-account',
    {
      schema: {
        operationId: 'getRefundAccount',
        summary: 'Whether a refund needs a bank account',
        description:
          'Whether a refund of this payment needs the customer’s bank account, and the banks to choose from.',
        tags: ['Payments'],
        params: PaymentName,
        querystring: RefundAccountQuery,
        response: { 200: RefundAccountAnswer, ...problems('invalid_request', 'not_found', 'payment_not_completed') },
      },
    },
    async (request) => {
      const { payment, attempts } = await ownPayment(database, request.caller, request.params.reference)
      const wanted = request.query.attempt
      const attempt = attempts.find(({ id }) => id === wanted)
      if (wanted !== undefined && !attempt) throw new Problem('not_found', 'This payment has no attempt with this id.')
      return { data: await refundAccountOf(deps, payment.id, attempt?.id) }
    },
  )

  /** Another merchant's refund is answered like one that does not exist. */
  async function ownRefund(caller: Caller, text: string): Promise<Refund> {
    const id: RefundId | undefined = parseId('refund', text)
    const refund = id && (await findRefund(database, caller, id))
    if (!refund) throw new Problem('not_found', 'You have no refund with this id in this mode.')
    return refund
  }
}

/** The two fields stand for one account, so neither is of use alone. */
export function bankAccountIn({
  destinationAccountNumber: accountNumber,
  destinationAccountBankCode: bankCode,
}: Pick<RefundRequest, 'destinationAccountNumber' | 'destinationAccountBankCode'>): BankAccount | undefined {
  if (!accountNumber && !bankCode) return undefined
  if (!accountNumber || !bankCode) throw incompleteAccount()
  return { accountNumber, bankCode }
}

const incompleteAccount = () =>
  new Problem('invalid_request', 'Send destinationAccountNumber and destinationAccountBankCode together.')
