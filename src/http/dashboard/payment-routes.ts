import { recordAct } from '../../events/audit-log-store.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { askForPerson } from '../../payments/store/attempts.ts'
import { type ListedPayment, searchPayments } from '../../payments/store/payment-search.ts'
import { deliveriesOfPayment, type ListedDelivery, listDeliveries } from '../../webhooks/delivery-list-store.ts'
import { ownPayment } from '../api/payments.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import { criteriaOf } from '../contract/export.ts'
import type { App } from '../server/framework.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { DeliveriesAnswer, DeliveriesQuery, PaymentsAnswer, PaymentsQuery, ResyncAnswer } from './payments-contract.ts'
import type { Delivery, PaymentRow } from './rows-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

export const DEFAULT_PAGE_SIZE = 50
const MAX_DELIVERIES_OF_PAYMENT = 100

/** The list of payments with its search box, and what the API has not: resync and deliveries. */
export function paymentSearchRoutes(app: App, deps: PaymentDeps): void {
  const { database } = deps
  const config = { access: 'read' } as const

  app.get(
    `${OF_MERCHANT}/payments`,
    { config, schema: { querystring: PaymentsQuery, response: { 200: PaymentsAnswer } } },
    async (request) => {
      const { limit, cursor, ...filters } = request.query
      const { payments, nextBefore } = await searchPayments(database.reads, scopeOf(request), criteriaOf(filters), {
        before: cursor === undefined ? undefined : readCursor('payment', cursor),
        limit: Number(limit ?? DEFAULT_PAGE_SIZE),
      })
      return { data: payments.map(rowOf), nextCursor: nextBefore && makeCursor(nextBefore) }
    },
  )

  app.get<{ Params: { reference: string } }>(
    `${OF_MERCHANT}/payments/:reference/deliveries`,
    { config, schema: { response: { 200: DeliveriesAnswer } } },
    async (request) => {
      const { payment } = await ownPayment(database, scopeOf(request), request.params.reference)
      const deliveries = await deliveriesOfPayment(database, payment.id, MAX_DELIVERIES_OF_PAYMENT)
      return { data: deliveries.map(deliveryOf), nextCursor: null }
    },
  )

  app.post<{ Params: { reference: string } }>(
    `${OF_MERCHANT}/payments/:reference/resync`,
    { config: { access: 'payments' }, schema: { response: { 200: ResyncAnswer } } },
    async (request) => {
      const { actor, membership } = inMerchant(request)
      const { payment } = await ownPayment(database, scopeOf(request), request.params.reference)
      // The worker makes the checks: its circuit breakers know which provider is down.
      const checks = await database.transaction(async (tx) => {
        const { merchantId } = membership
        await recordAct(tx, { actor, act: 'payment.resynced', merchantId, subject: payment.id })
        return askForPerson(tx, payment.id)
      })
      return { data: { checks } }
    },
  )

  app.get(
    `${OF_MERCHANT}/deliveries`,
    { config, schema: { querystring: DeliveriesQuery, response: { 200: DeliveriesAnswer } } },
    async (request) => {
      const { state, limit, cursor } = request.query
      const pageSize = Number(limit ?? DEFAULT_PAGE_SIZE)
      const found = await listDeliveries(database.reads, scopeOf(request), {
        filter: state,
        before: cursor === undefined ? undefined : readCursor('delivery', cursor),
        limit: pageSize + 1,
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      const hasMore = found.length > pageSize && state !== 'retrying'
      return { data: page.map(deliveryOf), nextCursor: hasMore && last ? makeCursor(last.id) : null }
    },
  )
}

function rowOf(payment: ListedPayment): PaymentRow {
  const { id, reference, status, late, amount, currency, amountPaid, amountRefunded, needsReview, email, name } =
    payment
  const { attempts, lastStatus, lastProvider, lastChannel, lastFailure, createdAt, completedAt } = payment
  return {
    ...{ id, reference, status, late, amount, currency, amountPaid, amountRefunded, needsReview, email, name },
    ...{ attempts, lastStatus, lastProvider, lastChannel, lastFailure },
    createdAt: createdAt.toISOString(),
    completedAt: completedAt?.toISOString() ?? null,
  }
}

function deliveryOf(delivery: ListedDelivery): Delivery {
  const { id, eventId, paymentId, type, endpointId, url, state, tries, lastStatus, lastError } = delivery
  return {
    ...{ id, event: eventId, payment: paymentId, type, endpoint: endpointId, url, state, tries, lastStatus, lastError },
    nextTryAt: delivery.nextTryAt?.toISOString() ?? null,
    createdAt: delivery.createdAt.toISOString(),
  }
}
