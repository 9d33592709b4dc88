import { Type } from 'typebox'
import type { Database } from '../../database/database.ts'
import { type PaymentId, parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import { disputeView } from '../../payments/state/dispute.ts'
import { type DisputeOfPayment, findDispute, listDisputes } from '../../payments/store/disputes.ts'
import { findPaymentState } from '../../payments/store/payment-states.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import { DisputeAnswer, DisputesAnswer, DisputesQuery } from '../contract/dispute.ts'
import { problems } from '../contract/problem.ts'
import type { App } from '../server/framework.ts'

const DEFAULT_PAGE_SIZE = 20

export function disputeRoutes(app: App, { database }: { database: Database }): void {
  const tags = ['Payments']

  app.get(
    '/disputes',
    {
      schema: {
        operationId: 'listDisputes',
        summary: 'List disputes',
        description: 'Newest first.',
        tags,
        querystring: DisputesQuery,
        response: { 200: DisputesAnswer, ...problems('invalid_request', 'not_found') },
      },
    },
    async ({ caller, query }) => {
      const { status, payment, limit, cursor } = query
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const found = await listDisputes(payment === undefined ? database.reads : database, caller, {
        status,
        paymentId: payment === undefined ? undefined : await ownPaymentId(database, caller, payment),
        before: cursor === undefined ? undefined : readCursor('dispute', cursor),
        limit: pageSize + 1,
      })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return { data: page.map(answerOf), nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null }
    },
  )

  app.get(
    '/disputes/:id',
    {
      schema: {
        operationId: 'getDispute',
        summary: 'Get a dispute',
        tags,
        params: Type.Object({ id: Type.String({ description: 'The `dsp_` id.' }) }),
        response: { 200: DisputeAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => {
      const id = parseId('dispute', params.id)
      const dispute = id && (await findDispute(database, caller, id))
      if (!dispute) throw new Problem('not_found', 'You have no dispute with this id in this mode.')
      return { data: answerOf(dispute) }
    },
  )
}

function answerOf(dispute: DisputeOfPayment) {
  return { payment: dispute.paymentReference, attempt: dispute.attemptId, ...disputeView(dispute) }
}

/** Another merchant's payment is answered like a payment that does not exist. */
export async function ownPaymentId(database: Database, caller: Caller, name: string): Promise<PaymentId> {
  // Other characters never occur in a reference, and PostgreSQL rejects some of them.
  const state = /^[\x21-\x7e]{1,120}$/.test(name) ? await findPaymentState(database, caller, name) : undefined
  if (!state) throw new Problem('not_found', 'You have no payment with this reference or id in this mode.')
  return state.payment.id
}
