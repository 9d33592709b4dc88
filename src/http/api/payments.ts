import type { Database } from '../../database/database.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import { Problem, refuse } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { type PaymentView, viewOf } from '../../payments/payment-view.ts'
import { cancelPayment } from '../../payments/settle/cancel-payment.ts'
import { withIdempotencyKey } from '../../payments/start/idempotent-call.ts'
import { submitCode } from '../../payments/start/submit-code.ts'
import type { Payment } from '../../payments/state/payment.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { searchPayments } from '../../payments/store/payment-search.ts'
import { findPaymentState, withAttempts } from '../../payments/store/payment-states.ts'
import { findPayments, listPayments } from '../../payments/store/payments.ts'
import { refundsOfAll } from '../../payments/store/refunds.ts'
import { timelineOf } from '../../payments/store/timeline.ts'
import { widgetToken } from '../checkout/embed.ts'
import { Timeline } from '../contract/attempt.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import { criteriaOf } from '../contract/export.ts'
import * as contract from '../contract/payment.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { IdempotencyHeaders, readIdempotencyKey } from '../server/idempotency.ts'
import { knownFields, readBody } from '../server/read-body.ts'

const DEFAULT_PAGE_SIZE = 20

interface Page {
  payments: Payment[]
  nextBefore: PaymentId | null
}

/** One payment. The dashboard has the same routes. */
export function paymentRoutes(app: App, deps: PaymentDeps): void {
  const { database, links } = deps

  async function view(state: PaymentState): Promise<PaymentView> {
    const refunds = await refundsOfAll(database, [state])
    return viewOf(state, refunds.get(state.payment.id) ?? [], links)
  }

  app.get(
    '/payments/:reference',
    {
      schema: {
        operationId: 'getPayment',
        summary: 'Get a payment',
        tags: ['Payments'],
        params: contract.PaymentName,
        response: { 200: contract.PaymentAnswer, ...problems('not_found') },
      },
    },
    async (request) => ({ data: await view(await ownPayment(database, request.caller, request.params.reference)) }),
  )

  app.post(
    '/payments/:reference/cancel',
    {
      schema: {
        operationId: 'cancelPayment',
        summary: 'Cancel a payment',
        description: 'Only a pending payment without an attempt in `processing` can be cancelled.',
        tags: ['Payments'],
        params: contract.PaymentName,
        response: {
          200: contract.PaymentAnswer,
          ...problems(
            'not_found',
            'payment_already_completed',
            'payment_cancelled',
            'payment_expired',
            'attempt_in_progress',
          ),
        },
      },
    },
    async (request) => {
      const { payment } = await ownPayment(database, request.caller, request.params.reference)
      return { data: await view(await cancelPayment(deps, payment.id)) }
    },
  )

  app.get(
    '/payments/:reference/timeline',
    {
      schema: {
        operationId: 'getTimeline',
        summary: 'Get the timeline of a payment',
        description: 'Requests, changes, provider calls, notices, money and refunds, oldest first.',
        tags: ['Payments'],
        params: contract.PaymentName,
        response: { 200: Timeline, ...problems('not_found') },
      },
    },
    async (request) => {
      const { payment } = await ownPayment(database, request.caller, request.params.reference)
      const entries = await timelineOf(database, payment.id)
      return { data: entries.map((entry) => ({ ...entry, at: entry.at.toISOString() })), nextCursor: null }
    },
  )
}

const KNOWN = knownFields(contract.InputRequest)

/** The code that a provider asks for, from a page of the shop. */
export function inputRoutes(app: App, deps: PaymentDeps): void {
  const { database, links } = deps
  app.post(
    '/payments/:reference/input',
    {
      attachValidation: true,
      schema: {
        operationId: 'submitInput',
        summary: 'Give a code',
        description:
          'Gives the provider the code that it asks for: see `input` in the answer of initialize. A wrong code is `input_refused`, and can be repeated: an attempt takes five codes, or fewer if the provider allows fewer. The answer is the payment: its last attempt says what comes next. An attempt in `processing` has no answer of the provider yet: do not give the code again, the outcome is found.',
        tags: ['Payments'],
        params: contract.PaymentName,
        headers: IdempotencyHeaders,
        body: ref(contract.InputRequest),
        response: {
          200: contract.PaymentAnswer,
          ...problems(
            ...BODY_PROBLEMS,
            'not_found',
            'input_not_expected',
            'input_refused',
            'attempt_in_progress',
            'payment_already_completed',
            'payment_cancelled',
            'payment_expired',
            'idempotency_in_progress',
            'idempotency_key_reused',
            'provider_error',
          ),
        },
      },
    },
    async (request, reply) => {
      const { otp, voucher } = readBody<contract.InputRequest>(request, KNOWN)
      const code = (otp ?? voucher)?.trim()
      if (!code) refuse([{ pointer: '/otp', code: 'required', message: 'Send the code as `otp` or as `voucher`.' }])
      const { payment } = await ownPayment(database, request.caller, request.params.reference)
      const call = { endpoint: 'input', reference: payment.reference, idempotency: readIdempotencyKey(request) }
      const { answer, replayed } = await withIdempotencyKey(deps, request.caller, call, async () => {
        const state = await submitCode(deps, payment, code)
        const refunds = await refundsOfAll(database, [state])
        return viewOf(state, refunds.get(payment.id) ?? [], links)
      })
      if (replayed) reply.header('idempotent-replayed', 'true')
      return { data: answer }
    },
  )
}

/** The routes that only the API has: the dashboard lists payments by more criteria. */
export function paymentListRoutes(app: App, deps: PaymentDeps): void {
  const { database, links, secrets, clock } = deps

  app.get(
    '/payments',
    {
      schema: {
        operationId: 'listPayments',
        summary: 'List payments',
        description:
          'Newest first. A page of a search with `q` may be short, or empty, and still have a `nextCursor`: a rare text is looked for in steps.',
        tags: ['Payments'],
        querystring: contract.PaymentsQuery,
        response: { 200: contract.PaymentsAnswer, ...problems('invalid_request') },
      },
    },
    async ({ caller, query }) => {
      const limit = query.limit === undefined ? DEFAULT_PAGE_SIZE : Number(query.limit)
      const { payments, nextBefore } = await (query.q?.trim() ? search : list)(caller, query, limit)
      const states = await withAttempts(database.reads, payments)
      const refunds = await refundsOfAll(database.reads, states)
      return {
        data: states.map((state) => viewOf(state, refunds.get(state.payment.id) ?? [], links)),
        nextCursor: nextBefore && makeCursor(nextBefore),
      }
    },
  )

  async function list(scope: Scope, query: contract.PaymentsQuery, limit: number): Promise<Page> {
    const { status, email, userId, from, to, cursor } = query
    const found = await listPayments(database.reads, scope, {
      status,
      email: email || undefined,
      userId,
      from: from === undefined ? undefined : new Date(from),
      to: to === undefined ? undefined : new Date(to),
      before: cursor === undefined ? undefined : readCursor('payment', cursor),
      limit: limit + 1, // one extra row shows whether there is a next page
    })
    const payments = found.slice(0, limit)
    return { payments, nextBefore: found.length > limit ? (payments.at(-1)?.id ?? null) : null }
  }

  /** The search of the dashboard. The customer is compared here, so that a page may be short. */
  async function search(scope: Scope, query: contract.PaymentsQuery, limit: number): Promise<Page> {
    const { q, status, email, userId, from, to, cursor } = query
    const page = await searchPayments(database.reads, scope, criteriaOf({ q, status, from, to }), {
      before: cursor === undefined ? undefined : readCursor('payment', cursor),
      limit,
    })
    const found = page.payments.filter(
      (each) =>
        (!email || each.email.toLowerCase() === email.toLowerCase()) &&
        (userId === undefined || each.userId === userId),
    )
    const ids = found.map(({ id }) => id)
    return { payments: await findPayments(database.reads, scope.place, ids), nextBefore: page.nextBefore }
  }

  app.post(
    '/payments/:reference/widget-token',
    {
      schema: {
        operationId: 'createWidgetToken',
        summary: 'Create a widget token',
        description: 'The token opens this payment in the widget for 15 minutes.',
        tags: ['Payments'],
        params: contract.PaymentName,
        response: { 201: contract.WidgetTokenAnswer, ...problems('not_found') },
      },
    },
    async (request, reply) => {
      const { payment } = await ownPayment(database, request.caller, request.params.reference)
      const { token, expiresAt } = widgetToken(secrets, payment.id, clock.now())
      return reply.code(201).send({ data: { token, expiresAt: expiresAt.toISOString() } })
    },
  )
}

/** Another merchant's payment is answered like a payment that does not exist. */
export async function ownPayment(database: Database, scope: Scope, name: string): Promise<PaymentState> {
  // Other characters never occur in a reference, and PostgreSQL rejects some of them.
  const state = /^[\x21-\x7e]{1,120}$/.test(name) ? await findPaymentState(database, scope, name) : undefined
  if (!state) throw new Problem('not_found', 'You have no payment with this reference or id in this mode.')
  return state
}
