import { recordAct } from '../../events/audit-log-store.ts'
import { Problem } from '../../kernel/problem.ts'
import { updateRefundLimit } from '../../members/member-store.ts'
import type { PaymentDependencies } from '../../payments/dependencies.ts'
import { refundView } from '../../payments/state/refund.ts'
import { summarizeCustomer } from '../../payments/store/customers.ts'
import { listRefunds } from '../../payments/store/refunds.ts'
import { listCards } from '../../payments/store/saved-cards.ts'
import { listUnmatchedNotices } from '../../payments/store/unmatched.ts'
import { makeCursor, readCursor } from '../api/contract/cursor.ts'
import { FORMATS } from '../api/contract/formats.ts'
import type { App } from '../server/framework.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { DEFAULT_PAGE_SIZE } from './payment-routes.ts'
import {
  CustomerAnswer,
  NumberedQuery,
  RefundLimit,
  RefundLimitAnswer,
  RefundsAnswer,
  RefundsQuery,
  UnmatchedNoticesAnswer,
} from './payments-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

/** A shop may use one address for many signed-in customers. */
const MAX_USER_IDS = 10

/** Refunds, unmatched money and customers. */
export function moneyRoutes(app: App, { database }: PaymentDependencies): void {
  const config = { access: 'read' } as const

  app.get(
    `${OF_MERCHANT}/refunds`,
    { config, schema: { querystring: RefundsQuery, response: { 200: RefundsAnswer } } },
    async (request) => {
      const { status, limit, cursor } = request.query
      const pageSize = Number(limit ?? DEFAULT_PAGE_SIZE)
      const before = cursor === undefined ? undefined : readCursor('refund', cursor)
      const found = await listRefunds(database, scopeOf(request), { status, before, limit: pageSize + 1 })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map((refund) => {
          const { paymentReference, email, provider } = refund
          return { ...refundView(refund), paymentReference, email, provider }
        }),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

  app.put(
    '/merchants/:merchant/refund-limit',
    {
      config: { access: 'settings', stepUp: 'second-factor' },
      schema: { body: RefundLimit, response: { 200: RefundLimitAnswer } },
    },
    async (request) => {
      const { actor, membership } = inMerchant(request)
      const { merchantId } = membership
      const { refundLimit } = request.body
      await database.transaction(async (tx) => {
        if (await updateRefundLimit(tx, merchantId, refundLimit))
          await recordAct(tx, { actor, act: 'merchant.refund_limit_changed', merchantId, subject: String(refundLimit) })
      })
      return { data: { refundLimit } }
    },
  )

  app.get(
    '/merchants/:merchant/refund-limit',
    { config, schema: { response: { 200: RefundLimitAnswer } } },
    (request) => ({
      data: { refundLimit: inMerchant(request).membership.refundLimit },
    }),
  )

  app.get(
    `${OF_MERCHANT}/transfers/notices`,
    { config, schema: { querystring: NumberedQuery, response: { 200: UnmatchedNoticesAnswer } } },
    async (request) => {
      const { limit, before } = pageOf(request.query)
      const found = await listUnmatchedNotices(database, scopeOf(request), { before, limit: limit + 1 })
      return numbered(found, limit, ({ receivedAt, ...notice }) => ({
        ...notice,
        receivedAt: receivedAt.toISOString(),
      }))
    },
  )

  app.get<{ Params: { email: string } }>(
    `${OF_MERCHANT}/customers/:email`,
    { config, schema: { response: { 200: CustomerAnswer } } },
    async (request) => {
      const { email } = request.params
      const scope = scopeOf(request)
      const isEmail = email.length <= 254 && FORMATS['e-mail']?.test(email)
      const summary = isEmail ? await summarizeCustomer(database, scope, email) : undefined
      if (!summary) throw new Problem('not_found', 'You have no payment of a customer with this e-mail address.')
      const owners = [null, ...summary.userIds.slice(0, MAX_USER_IDS)]
      const cards = await Promise.all(owners.map((id) => listCards(database, scope, { id, email })))
      return {
        data: {
          ...summary,
          email,
          firstAt: summary.firstAt.toISOString(),
          lastAt: summary.lastAt.toISOString(),
          cards: cards.flat().map((card) => ({ ...card, createdAt: card.createdAt.toISOString() })),
        },
      }
    },
  )
}

function pageOf({ limit, cursor }: { limit?: string; cursor?: string }) {
  return { limit: Number(limit ?? DEFAULT_PAGE_SIZE), before: cursor === undefined ? undefined : Number(cursor) }
}

/** A page of rows, of which one too many was read. */
function numbered<Row extends { id: number }, Shown>(found: Row[], limit: number, show: (row: Row) => Shown) {
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return { data: page.map(show), nextCursor: found.length > limit && last ? String(last.id) : null }
}
