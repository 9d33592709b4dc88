import { recordAct } from '../../events/audit-log-store.ts'
import { updateRefundLimit } from '../../members/member-store.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { refundView } from '../../payments/state/refund.ts'
import { listRefunds } from '../../payments/store/refunds.ts'
import { listUnmatchedNotices } from '../../payments/store/unmatched.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import type { App } from '../server/framework.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { DEFAULT_PAGE_SIZE } from './payment-routes.ts'
import {
  NumberedQuery,
  RefundLimit,
  RefundLimitAnswer,
  RefundsAnswer,
  RefundsQuery,
  UnmatchedNoticesAnswer,
} from './payments-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

/** Refunds, their limit, and unmatched notices. */
export function moneyRoutes(app: App, { database }: PaymentDeps): void {
  const config = { access: 'read' } as const

  app.get(
    `${OF_MERCHANT}/refunds`,
    { config, schema: { querystring: RefundsQuery, response: { 200: RefundsAnswer } } },
    async (request) => {
      const { status, limit, cursor } = request.query
      const pageSize = Number(limit ?? DEFAULT_PAGE_SIZE)
      const before = cursor === undefined ? undefined : readCursor('refund', cursor)
      const found = await listRefunds(database.reads, scopeOf(request), { status, before, limit: pageSize + 1 })
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
