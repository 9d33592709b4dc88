import { type Static, Type } from 'typebox'
import { Card, Refund } from '../contract/attempt.ts'
import { DeliveryFilters, PaymentFilters, RefundFilters } from '../contract/export.ts'
import { listOf, nullable } from '../contract/schema.ts'
import { Delivery, PaymentRow } from './rows-contract.ts'

/**
 * Requests and answers of the dashboard's lists. One payment, its refunds and so on are answered as in the merchants'
 * API.
 */

const Moment = Type.String({ description: 'ISO 8601, UTC' })
const Limit = Type.Optional(Type.String({ format: 'page-size' }))

export const PaymentsQuery = Type.Object({
  ...PaymentFilters.properties,
  limit: Limit,
  cursor: Type.Optional(Type.String({ format: 'cursor' })),
})
export type PaymentsQuery = Static<typeof PaymentsQuery>

/** A page may be short, or empty, and still have a next one: a rare criterion is looked for in steps. */
export const PaymentsAnswer = listOf(PaymentRow)

export const ResyncAnswer = Type.Object({ data: Type.Object({ checks: Type.Integer() }) })

export const DeliveriesAnswer = listOf(Delivery)
export const DeliveriesQuery = Type.Object({
  ...DeliveryFilters.properties,
  limit: Limit,
  cursor: Type.Optional(Type.String({ format: 'delivery-cursor' })),
})

export const RefundsQuery = Type.Object({
  ...RefundFilters.properties,
  limit: Limit,
  cursor: Type.Optional(Type.String({ format: 'refund-cursor' })),
})
const RefundRow = Type.Object({
  ...Refund.properties,
  paymentReference: Type.String(),
  email: Type.String(),
  provider: Type.String(),
})
export type RefundRow = Static<typeof RefundRow>
export const RefundsAnswer = listOf(RefundRow)

export const RefundLimit = Type.Object({ refundLimit: Type.Integer({ minimum: 0, maximum: 999_999_999_999 }) })
export const RefundLimitAnswer = Type.Object({ data: RefundLimit })

/** Pages of rows that are numbered. */
export const NumberedQuery = Type.Object({
  limit: Limit,
  cursor: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,14}$' })),
})
export const UnmatchedNoticesAnswer = listOf(
  Type.Object({
    id: Type.Integer(),
    provider: Type.String(),
    reference: nullable(Type.String()),
    says: Type.String(),
    note: nullable(Type.String()),
    times: Type.Integer(),
    receivedAt: Moment,
  }),
)

export const CustomersQuery = Type.Object({
  limit: Limit,
  cursor: Type.Optional(Type.String({ format: 'cursor' })),
})
/** A page may be short, and still have a next one. */
export const CustomersAnswer = listOf(
  Type.Object({
    email: Type.String(),
    name: nullable(Type.String()),
    lastPayment: Type.String(),
    lastAt: Moment,
  }),
)
/** `isComplete`: false if there are so many payments that the call must be repeated. */
export const ErasureAnswer = Type.Object({
  data: Type.Object({ payments: Type.Integer(), isComplete: Type.Boolean() }),
})

export const CustomerAnswer = Type.Object({
  data: Type.Object({
    email: Type.String(),
    name: nullable(Type.String()),
    phoneNumber: nullable(Type.String()),
    userIds: Type.Array(Type.String()),
    firstAt: Moment,
    lastAt: Moment,
    /** There are so many payments that only the newest are summed up. */
    isPartial: Type.Boolean(),
    totals: Type.Array(
      Type.Object({
        currency: Type.String(),
        payments: Type.Integer(),
        successful: Type.Integer(),
        amountPaid: Type.Integer(),
        amountRefunded: Type.Integer(),
      }),
    ),
    cards: Type.Array(Type.Object(Card.properties)),
  }),
})
export type CustomerAnswer = Static<typeof CustomerAnswer>
