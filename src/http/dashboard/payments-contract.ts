import { type Static, Type } from 'typebox'
import { ATTEMPT_STATUSES } from '../../payments/state/attempt.ts'
import { PAYMENT_STATUSES } from '../../payments/state/payment.ts'
import { Card, ChannelName, Refund } from '../api/contract/attempt.ts'
import { DeliveryFilters, PaymentFilters, RefundFilters } from '../api/contract/export.ts'
import { listOf, nullable } from '../api/contract/schema.ts'

/** Requests and answers of the dashboard's lists. One payment, its refunds and so on are answered as in the merchants' API. */

const oneOf = <Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values] })
const Moment = Type.String({ description: 'ISO 8601, UTC' })
const Limit = Type.Optional(Type.String({ format: 'page-size' }))

export const PaymentsQuery = Type.Object({
  ...PaymentFilters.properties,
  limit: Limit,
  cursor: Type.Optional(Type.String({ format: 'cursor' })),
})
export type PaymentsQuery = Static<typeof PaymentsQuery>

/** A row of the list. `last…`: of the last attempt. */
const PaymentRow = Type.Object({
  id: Type.String(),
  reference: Type.String(),
  status: oneOf(PAYMENT_STATUSES),
  late: Type.Boolean(),
  needsReview: Type.Boolean(),
  amount: Type.Integer(),
  currency: Type.String(),
  amountPaid: Type.Integer(),
  amountRefunded: Type.Integer(),
  email: Type.String(),
  name: nullable(Type.String()),
  attempts: Type.Integer(),
  lastStatus: nullable(oneOf(ATTEMPT_STATUSES)),
  lastProvider: nullable(Type.String()),
  lastChannel: nullable(ChannelName),
  lastFailure: nullable(Type.String()),
  createdAt: Moment,
  completedAt: nullable(Type.String()),
})
export type PaymentRow = Static<typeof PaymentRow>
/** A page may be short, or empty, and still have a next one: a rare criterion is looked for in steps. */
export const PaymentsAnswer = listOf(PaymentRow)

export const ResyncAnswer = Type.Object({ data: Type.Object({ checks: Type.Integer() }) })

const Delivery = Type.Object({
  id: Type.String(),
  event: Type.String(),
  payment: Type.String(),
  type: Type.String(),
  endpoint: nullable(Type.String()),
  url: Type.String(),
  state: oneOf(['waiting', 'delivered', 'exhausted', 'disabled']),
  tries: Type.Integer(),
  lastStatus: nullable(Type.Integer()),
  lastError: nullable(Type.String()),
  nextTryAt: nullable(Type.String()),
  createdAt: Moment,
})
export type Delivery = Static<typeof Delivery>
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
