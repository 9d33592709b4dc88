import type { Database } from '../../database/database.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import { cancelPayment } from '../../payments/cancel-payment.ts'
import type { PaymentDependencies } from '../../payments/dependencies.ts'
import { type PaymentView, viewOf } from '../../payments/payment-view.ts'
import type { PaymentStatus } from '../../payments/state/payment.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { findPaymentState, withAttempts } from '../../payments/store/payment-states.ts'
import { listPayments } from '../../payments/store/payments.ts'
import { refundsOfAll } from '../../payments/store/refunds.ts'
import { timelineOf } from '../../payments/store/timeline.ts'
import { widgetToken } from '../checkout/embed.ts'
import type { App } from '../server/framework.ts'
import { Timeline } from './contract/attempt.ts'
import { makeCursor, readCursor } from './contract/cursor.ts'
import * as contract from './contract/payment.ts'
import { problems } from './contract/problem.ts'

const DEFAULT_PAGE_SIZE = 20

/** One payment. The dashboard has the same routes. */
export function paymentRoutes(app: App, parts: PaymentDependencies): void {
  const { database, links } = parts

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
      return { data: await view(await cancelPayment(parts, payment.id)) }
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

/** The routes that only the API has: the dashboard lists payments by more criteria. */
export function paymentListRoutes(app: App, parts: PaymentDependencies): void {
  const { database, links, secrets, clock } = parts

  app.get(
    '/payments',
    {
      schema: {
        operationId: 'listPayments',
        summary: 'List payments',
        description: 'Newest first.',
        tags: ['Payments'],
        querystring: contract.PaymentsQuery,
        response: { 200: contract.PaymentsAnswer, ...problems('invalid_request') },
      },
    },
    async (request) => {
      const { status, email, userId, from, to, limit, cursor } = request.query
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const found = await listPayments(database.reads, request.caller, {
        status: status as PaymentStatus | undefined,
        email: email || undefined,
        userId,
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
        before: cursor === undefined ? undefined : readCursor('payment', cursor),
        limit: pageSize + 1, // one extra row shows whether there is a next page
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      const states = await withAttempts(database.reads, page)
      const refunds = await refundsOfAll(database.reads, states)
      return {
        data: states.map((state) => viewOf(state, refunds.get(state.payment.id) ?? [], links)),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

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
