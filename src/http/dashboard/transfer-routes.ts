import type { FastifyRequest } from 'fastify'
import type { Database } from '../../database/database.ts'
import { type MemberId, parseId } from '../../kernel/ids.ts'
import type { Money } from '../../kernel/money.ts'
import { findMemberNames } from '../../members/member-store.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import type { Refund } from '../../payments/state/refund.ts'
import { type ListedReview, listReviews } from '../../payments/store/reviews.ts'
import { FIRST_PAGE, listTransfers, type TransferCursor } from '../../payments/store/transfers.ts'
import {
  closeTransfer,
  findTransfer,
  type Handling,
  matchTransfer,
  refundTransfer,
} from '../../payments/transfers/handle-transfer.ts'
import { reviewPayment } from '../../payments/transfers/review-payment.ts'
import { ownPayment } from '../api/payments.ts'
import { bankAccountIn } from '../api/refunds.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import type { App } from '../server/framework.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { DEFAULT_PAGE_SIZE } from './payment-routes.ts'
import { checkRefundAccount, checkRefundLimit } from './refund-limit.ts'
import { OF_MERCHANT } from './shared-routes.ts'
import {
  HandledQuery,
  MatchTransfer,
  NoteTransfer,
  RefundTransfer,
  type Review,
  ReviewPayment,
  ReviewsAnswer,
  TransferResult,
  TransfersAnswer,
  TransfersQuery,
} from './transfers-contract.ts'

const MAX_REVIEWS_OF_PAYMENT = 100

/** Money that does not add up: the list, and the three ways off it. Reviews of payments. */
export function transferRoutes(app: App, deps: PaymentDeps): void {
  const { database } = deps
  const read = { access: 'read' } as const
  const change = { access: 'refunds' } as const

  app.get(
    `${OF_MERCHANT}/transfers`,
    { config: read, schema: { querystring: TransfersQuery, response: { 200: TransfersAnswer } } },
    async (request) => {
      const { limit, cursor } = request.query
      const pageSize = Number(limit ?? DEFAULT_PAGE_SIZE)
      const { transfers, next } = await listTransfers(database, scopeOf(request), cursorOf(cursor), pageSize)
      return {
        data: transfers.map(({ paymentId, at, ...transfer }) => ({
          ...transfer,
          payment: paymentId,
          at: at.toISOString(),
        })),
        nextCursor: next && `${next.receipt}.${next.attempt}.${next.payment}`,
      }
    },
  )

  app.get(
    `${OF_MERCHANT}/transfers/handled`,
    { config: read, schema: { querystring: HandledQuery, response: { 200: ReviewsAnswer } } },
    async (request) => {
      const { limit, cursor } = request.query
      const pageSize = Number(limit ?? DEFAULT_PAGE_SIZE)
      const before = cursor === undefined ? undefined : readCursor('review', cursor)
      const found = await listReviews(database, scopeOf(request), { before, limit: pageSize + 1 })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: await withNames(database, page),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

  app.post<{ Params: { transfer: string }; Body: MatchTransfer }>(
    `${OF_MERCHANT}/transfers/:transfer/match`,
    { config: change, schema: { body: MatchTransfer, response: { 200: TransferResult } } },
    async (request) => {
      const by = handlingOf(request, request.body.note ?? null)
      const name = await findTransfer(deps, by.scope, request.params.transfer)
      const { payment } = await ownPayment(database, by.scope, request.body.payment)
      const state = await matchTransfer(deps, by, name, payment.id, request.body.amount)
      return { data: { state: 'matched', paymentStatus: state.payment.status, failure: null } }
    },
  )

  app.post<{ Params: { transfer: string }; Body: RefundTransfer }>(
    `${OF_MERCHANT}/transfers/:transfer/return`,
    { config: change, schema: { body: RefundTransfer, response: { 200: TransferResult } } },
    async (request) => {
      checkRefundAccount(request)
      const { amount, byHand, note } = request.body
      const by = { ...handlingOf(request, note), note }
      const name = await findTransfer(deps, by.scope, request.params.transfer)
      if (byHand) {
        await closeTransfer(deps, by, name, 'returned_by_hand', amount)
        return { data: { state: 'returned', paymentStatus: null, failure: null } }
      }
      return {
        data: resultOf(await refundTransfer(deps, { ...by, account: bankAccountIn(request.body) }, name, amount)),
      }
    },
  )

  app.post<{ Params: { transfer: string }; Body: NoteTransfer }>(
    `${OF_MERCHANT}/transfers/:transfer/note`,
    { config: change, schema: { body: NoteTransfer, response: { 200: TransferResult } } },
    async (request) => {
      const { amount, note } = request.body
      const by = { ...handlingOf(request, note), note }
      await closeTransfer(deps, by, await findTransfer(deps, by.scope, request.params.transfer), 'noted', amount)
      return { data: { state: 'noted', paymentStatus: null, failure: null } }
    },
  )

  app.get<{ Params: { reference: string } }>(
    `${OF_MERCHANT}/payments/:reference/reviews`,
    { config: read, schema: { response: { 200: ReviewsAnswer } } },
    async (request) => {
      const scope = scopeOf(request)
      const { payment } = await ownPayment(database, scope, request.params.reference)
      const found = await listReviews(database, scope, { paymentId: payment.id, limit: MAX_REVIEWS_OF_PAYMENT })
      return { data: await withNames(database, found), nextCursor: null }
    },
  )

  app.post<{ Params: { reference: string }; Body: ReviewPayment }>(
    `${OF_MERCHANT}/payments/:reference/review`,
    { config: change, schema: { body: ReviewPayment } },
    async (request, reply) => {
      const { note } = request.body
      const by = { ...handlingOf(request, note), note }
      const { payment } = await ownPayment(database, by.scope, request.params.reference)
      await reviewPayment(deps, by, payment.id)
      return reply.code(204).send()
    },
  )
}

function handlingOf(request: FastifyRequest, note: string | null): Handling {
  const limit = (total: Money) => checkRefundLimit(request, total)
  return { scope: scopeOf(request), actor: inMerchant(request).actor, note, limit }
}

function cursorOf(text: string | undefined): TransferCursor {
  if (text === undefined) return FIRST_PAGE
  const [receipt = '', attempt = '', payment = ''] = text.split('.')
  return { receipt: Number(receipt), attempt, payment }
}

function resultOf({ status, failure }: Refund): {
  state: 'returned' | 'returning' | 'failed'
  paymentStatus: null
  failure: string | null
} {
  const states = { pending: 'returning', successful: 'returned', failed: 'failed' } as const
  return { state: states[status], paymentStatus: null, failure }
}

async function withNames(database: Database, reviews: ListedReview[]): Promise<Review[]> {
  const memberOf = ({ actor }: ListedReview) => parseId('member', actor.replace(/^member:/, ''))
  const names = await findMemberNames(database, [...new Set(reviews.flatMap((each) => memberOf(each) ?? []))])
  return reviews.map((review) => {
    const { actor: _, paymentId, at, ...shown } = review
    const by = names.get(memberOf(review) as MemberId) ?? null
    return { ...shown, payment: paymentId, by, at: at.toISOString() }
  })
}
