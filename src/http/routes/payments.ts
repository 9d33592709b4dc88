import type { Database } from '../../database/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import { cancelPayment } from '../../payments/cancel-payment.ts'
import type { Payment, PaymentStatus } from '../../payments/payment.ts'
import { findPayment, listPayments } from '../../payments/payment-store.ts'
import { answers } from '../contract/answers.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import * as contract from '../contract/payment.ts'
import type { App } from '../framework.ts'
import type { Links } from '../links.ts'

interface Parts {
  database: Database
  clock: Clock
  links: Links
}

const DEFAULT_PAGE_SIZE = 20

export function paymentRoutes(app: App, parts: Parts): void {
  const { database, links } = parts

  app.get(
    '/payments/:reference',
    {
      schema: {
        operationId: 'getPayment',
        summary: 'A payment, by its reference or its id',
        tags: ['Payments'],
        params: contract.PaymentName,
        response: { 200: contract.PaymentAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async (request) => ({
      data: paymentAnswer(await ownPayment(database, request.caller, request.params.reference), links),
    }),
  )

  app.get(
    '/payments',
    {
      schema: {
        operationId: 'listPayments',
        summary: 'Payments, newest first',
        tags: ['Payments'],
        querystring: contract.PaymentsQuery,
        response: { 200: contract.PaymentsAnswer, ...answers(400, 401, 403, 429, 503) },
      },
    },
    async (request) => {
      const { status, email, from, to, limit, cursor } = request.query
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const found = await listPayments(database, request.caller, {
        status: status as PaymentStatus | undefined,
        email: email || undefined,
        from: from === undefined ? undefined : new Date(from),
        to: to === undefined ? undefined : new Date(to),
        before: cursor === undefined ? undefined : readCursor(cursor),
        limit: pageSize + 1, // one more than asked for tells whether there is a next page
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map((payment) => paymentAnswer(payment, links)),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

  app.post(
    '/payments/:reference/cancel',
    {
      schema: {
        operationId: 'cancelPayment',
        summary: 'Give a pending payment up',
        tags: ['Payments'],
        params: contract.PaymentName,
        response: { 200: contract.PaymentAnswer, ...answers(401, 403, 404, 409, 429, 503) },
      },
    },
    async (request) => {
      const payment = await ownPayment(database, request.caller, request.params.reference)
      return { data: paymentAnswer(await cancelPayment(parts, payment.id), links) }
    },
  )
}

/** Another merchant's payment is as absent as one that never was. */
async function ownPayment(database: Database, caller: Caller, name: string): Promise<Payment> {
  // Nothing outside this alphabet was ever a reference, and PostgreSQL would choke on some of it.
  const payment = /^[\x21-\x7e]{1,100}$/.test(name) ? await findPayment(database, caller, name) : undefined
  if (!payment) throw new Problem('not_found', 'You have no payment with this reference or id in this mode.')
  return payment
}

export function paymentAnswer(payment: Payment, links: Links): contract.Payment {
  const { id, reference, mode, status, late, amount, currency, country, customerBearsCharge, user } = payment
  return {
    id,
    reference,
    mode,
    status,
    late,
    amount,
    currency,
    country,
    customerBearsCharge,
    fee: null,
    amountCharged: null,
    amountPaid: payment.amountPaid,
    amountRefunded: payment.amountRefunded,
    user,
    redirectURL: payment.redirectURL,
    webhook: payment.webhook,
    metadata: payment.metadata,
    url: links.payment(id),
    shortURL: links.short(payment.shortCode),
    attempts: [],
    createdAt: payment.createdAt.toISOString(),
    expiresAt: payment.expiresAt.toISOString(),
    completedAt: payment.completedAt?.toISOString() ?? null,
  }
}
