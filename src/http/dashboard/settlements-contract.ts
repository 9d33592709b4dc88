import { type Static, Type } from 'typebox'
import { LINE_KINDS, SETTLEMENT_STATUSES } from '../../payments/state/settlement.ts'
import { nullable, oneOf, wholeListOf } from '../contract/schema.ts'

const Amount = Type.Integer({ description: 'In the lowest denomination.' })
const Day = nullable(Type.String({ description: '2026-11-16' }))

/** Where the money of a payment went: `kind` is null for money that no settlement has yet. */
export const PaymentSettlementsAnswer = wholeListOf(
  Type.Object({
    settlement: nullable(Type.String()),
    provider: Type.String(),
    providerId: nullable(Type.String()),
    status: nullable(oneOf(SETTLEMENT_STATUSES)),
    kind: nullable(oneOf(LINE_KINDS)),
    currency: Type.String(),
    gross: Amount,
    fee: nullable(Amount),
    net: nullable(Amount),
    paidAt: nullable(Type.String()),
    expectedOn: Day,
    bankReference: nullable(Type.String()),
    bankDay: Day,
    late: Type.Boolean(),
  }),
)
export type PaymentSettlementsAnswer = Static<typeof PaymentSettlementsAnswer>

/** Lines that contradict themselves, or our records of the money. */
export const OddLinesAnswer = wholeListOf(
  Type.Object({
    key: Type.String({ description: 'The provider’s id of the line, or its number.' }),
    kind: oneOf(LINE_KINDS),
    payment: nullable(Type.String()),
    gross: Amount,
    fee: nullable(Amount),
    net: nullable(Amount),
    received: nullable(Type.Integer({ description: 'As on record here.' })),
    feeCharged: nullable(Type.Integer({ description: 'As on record here.' })),
    isInAnother: Type.Boolean(),
  }),
)
export type OddLinesAnswer = Static<typeof OddLinesAnswer>

/** The days, both included, in a zone. */
export const MoneyQuery = Type.Object({
  from: Type.String({ format: 'day' }),
  to: Type.String({ format: 'day' }),
  zone: Type.String({ maxLength: 64 }),
})
/** By currency, the one with the most money first. */
export const MoneyAnswer = wholeListOf(
  Type.Object({
    currency: Type.String(),
    gross: Amount,
    fees: Amount,
    calculated: Type.Integer({ description: 'The part of the fees that no provider has confirmed.' }),
    refunds: Amount,
    disputes: Amount,
  }),
)
export type MoneyAnswer = Static<typeof MoneyAnswer>
