import { type Static, Type } from 'typebox'
import { CHANNELS } from '../../kernel/channel.ts'
import { ATTEMPT_STATUSES, PAYMENT_STATUSES } from '../../payments/state/statuses.ts'
import { nullable } from '../contract/schema.ts'

/** Rows of lists. This file imports so little that the pages can have its types. */

const oneOf = <Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values] })
const Moment = Type.String({ description: 'ISO 8601, UTC' })

/** A row of the list. `last…`: of the last attempt. */
export const PaymentRow = Type.Object({
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
  lastChannel: nullable(oneOf(CHANNELS)),
  lastFailure: nullable(Type.String()),
  createdAt: Moment,
  completedAt: nullable(Type.String()),
})
export type PaymentRow = Static<typeof PaymentRow>
export const Delivery = Type.Object({
  id: Type.String(),
  event: Type.String(),
  payment: nullable(Type.String()),
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
