import { Type } from 'typebox'
import { LINE_KINDS, SETTLEMENT_STATUSES } from '../../payments/state/settlement.ts'
import { settlementExample, settlementLineExample } from './examples.ts'
import { dataOf, listOf, nullable, oneOf, ref, wholeListOf } from './schema.ts'

const Time = Type.String({ format: 'date-time' })
const Day = Type.String({ format: 'date' })
const amount = (description: string) => nullable(Type.Integer({ description }))

const members = {
  id: Type.String(),
  mode: oneOf(['sandbox', 'live']),
  provider: Type.String(),
  providerId: Type.String({ description: 'The provider’s own id.' }),
  status: oneOf(
    SETTLEMENT_STATUSES,
    '`pending`: not paid out yet, or held back. `paid`: sent to the bank account. `failed`: the bank sent it back, or it was cancelled.',
  ),
  because: nullable(Type.String({ description: 'Why it failed or is held back, in the provider’s words.' })),
  currency: Type.String(),
  gross: amount('What customers paid, less what was given back to them by name. In the lowest denomination.'),
  fees: amount('What the provider kept.'),
  deductions: amount('What was kept back besides, and no line names.'),
  net: amount('What reaches the bank account.'),
  expectedOn: nullable(Day),
  paidAt: nullable(Time),
  madeAt: Time,
  bankReference: nullable(Type.String()),
  lines: Type.Unsafe<null | { count: number; foreign: number }>({
    type: ['object', 'null'],
    properties: {
      count: { type: 'integer' },
      foreign: { type: 'integer', description: 'Lines of payments, refunds and disputes that are none of yours here.' },
    },
    description: 'Null: the provider does not say which payments it is for, or they are not read yet.',
  }),
  bankCredit: Type.Unsafe<null | { id: string; day: string }>({
    type: ['object', 'null'],
    properties: { id: { type: 'string' }, day: { type: 'string' } },
    description: 'The credit on the bank statement that was uploaded.',
  }),
  difference: nullable(Type.String({ description: 'What does not add up, with both numbers. There is a case, too.' })),
}

export const Settlement = Type.Object(members, { $id: 'Settlement', examples: [settlementExample] })
export const SettlementsAnswer = listOf(ref(Settlement))

const sums = {
  count: Type.Integer(),
  gross: Type.Integer(),
  fees: Type.Integer(),
  net: Type.Integer(),
}
export const SettlementAnswer = dataOf(
  Type.Object(
    {
      ...members,
      sums: Type.Array(Type.Object({ kind: oneOf(LINE_KINDS), ...sums }), {
        description: 'The lines by what they are about.',
      }),
    },
    {
      examples: [
        { ...settlementExample, sums: [{ kind: 'payment', count: 1, gross: 1_250_000, fees: 28_750, net: 1_221_250 }] },
      ],
    },
  ),
)

const moment = (description: string) => Type.Optional(Type.String({ format: 'moment', description }))
const limit = Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' }))
const cursor = (format: string) =>
  Type.Optional(Type.String({ format, description: '`nextCursor` of the previous page.' }))
const provider = Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,50}$' }))

export const SettlementFilters = Type.Object({
  status: Type.Optional(oneOf(SETTLEMENT_STATUSES)),
  provider,
  currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
  from: moment('Made at or after: RFC 3339, or a date.'),
  to: moment('Made before: RFC 3339, or a date.'),
})
export const SettlementsQuery = Type.Object({
  ...SettlementFilters.properties,
  withoutBankCredit: Type.Optional(oneOf(['true'], 'Only paid ones that no bank statement shows.')),
  limit,
  cursor: cursor('settlement-cursor'),
})

export const SettlementLine = Type.Object(
  {
    kind: oneOf(LINE_KINDS, 'What it is about. A dispute above 0 was won again.'),
    payment: nullable(Type.String({ description: 'Reference of your payment. Null: it names none of yours.' })),
    paymentId: nullable(Type.String()),
    transactionId: nullable(Type.String({ description: 'At the provider.' })),
    orderReference: nullable(Type.String({ description: '`providerReference` of the attempt.' })),
    gross: Type.Integer({ description: 'Below 0: taken from the payout.' }),
    fee: amount('Null: the provider does not say.'),
    net: amount('`gross` less `fee`.'),
  },
  { $id: 'SettlementLine', examples: [settlementLineExample] },
)
export const SettlementLinesAnswer = listOf(ref(SettlementLine))
export const SettlementLinesQuery = Type.Object({
  foreign: Type.Optional(oneOf(['true'], 'Only lines that name no payment of yours.')),
  limit,
  cursor: cursor('number-cursor'),
})

export const UnsettledQuery = Type.Object({
  provider,
  late: Type.Optional(oneOf(['true'], 'Only those that are usually settled by now.')),
  limit,
  cursor: cursor('unsettled-cursor'),
})
export const UnsettledAnswer = listOf(
  Type.Object(
    {
      payment: nullable(Type.String({ description: 'Reference of the payment. Null: money of none, see Transfers.' })),
      paymentId: nullable(Type.String()),
      provider: Type.String(),
      transactionId: Type.String(),
      amount: Type.Integer(),
      currency: Type.String(),
      takenAt: Time,
      expectedOn: Type.String({ format: 'date', description: 'By the provider’s usual delay, in working days.' }),
      late: Type.Boolean(),
    },
    {
      examples: [
        {
          ...{ payment: 'ORD-20932', paymentId: settlementLineExample.paymentId, provider: settlementExample.provider },
          ...{ transactionId: '4099260516', amount: 1_250_000, currency: 'NGN', takenAt: '2026-11-15T07:16:33.792Z' },
          ...{ expectedOn: '2026-11-17', late: false },
        },
      ],
    },
  ),
)
export const UnsettledSumsAnswer = wholeListOf(
  Type.Object(
    {
      provider: Type.String(),
      currency: Type.String(),
      usualDays: Type.Integer({ description: 'Working days from a payment to its settlement.' }),
      payments: Type.Integer(),
      amount: Type.Integer({ description: 'What was paid and no settlement has, before fees.' }),
      late: Type.Integer({ description: 'Of those payments: usually settled by now.' }),
      lateAmount: Type.Integer(),
      refunds: Type.Integer({ description: 'Refunds and chargebacks that no settlement has deducted by name.' }),
      refundAmount: Type.Integer(),
    },
    {
      examples: [
        {
          ...{ provider: settlementExample.provider, currency: 'NGN', usualDays: 1, payments: 12, amount: 8_450_000 },
          ...{ late: 0, lateAmount: 0, refunds: 1, refundAmount: 250_000 },
        },
      ],
    },
  ),
)

export const ChargedFeesQuery = Type.Object({
  from: Type.String({ format: 'day', description: 'The first day.' }),
  to: Type.String({ format: 'day', description: 'The day after the last one: at most 366 later.' }),
})
export const ChargedFeesAnswer = wholeListOf(
  Type.Object(
    {
      provider: Type.String(),
      currency: Type.String(),
      month: Type.String({ description: 'In UTC: 2026-11.' }),
      payments: Type.Integer({ description: 'With a known fee of the provider.' }),
      gross: Type.Integer(),
      fees: Type.Integer({ description: 'As calculated when the customer paid.' }),
      feesCharged: Type.Integer({ description: 'As the provider kept them.' }),
    },
    {
      examples: [
        {
          ...{ provider: settlementExample.provider, currency: 'NGN', month: '2026-11', payments: 812 },
          ...{ gross: 1_015_000_000, fees: 17_337_500, feesCharged: 17_421_300 },
        },
      ],
    },
  ),
)

export const RefreshAnswer = dataOf(
  Type.Object(
    { due: Type.Integer({ description: 'Accounts whose list is read now. 0: each was read in the last minute.' }) },
    { examples: [{ due: 1 }] },
  ),
)
