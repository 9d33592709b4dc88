import { type Static, Type } from 'typebox'
import { CHANNELS } from '../../kernel/channel.ts'
import { PAYMENT_STATUSES } from '../../payments/state/payment.ts'
import type { PaymentCriteria } from '../../payments/store/payment-search.ts'
import { EXPORTED } from './exported-columns.ts'
import { SearchText } from './payment.ts'
import { oneOf } from './schema.ts'
import { SettlementFilters } from './settlement.ts'

const amount = (description: string) => Type.Optional(Type.String({ pattern: '^\\d{1,12}$', description }))
const moment = (description: string) => Type.Optional(Type.String({ format: 'moment', description }))

/** What payments can be searched by. The dashboard's list takes the same. */
export const PaymentFilters = Type.Object({
  q: SearchText,
  status: Type.Optional(oneOf(PAYMENT_STATUSES)),
  provider: Type.Optional(Type.String({ pattern: '^[a-z0-9-]{1,50}$', description: 'Of any attempt.' })),
  channel: Type.Optional(oneOf(CHANNELS, 'Of any attempt.')),
  currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
  amountFrom: amount('At least, in the lowest denomination.'),
  amountTo: amount('At most, in the lowest denomination.'),
  from: moment('Created at or after: RFC 3339, or a date.'),
  to: moment('Created before: RFC 3339, or a date.'),
  late: Type.Optional(oneOf(['true'], 'Paid after they were cancelled or had expired.')),
  needsReview: Type.Optional(oneOf(['true'], 'A person must check them.')),
})

export function criteriaOf(filters: Static<typeof PaymentFilters>): PaymentCriteria {
  const { q, status, provider, channel, currency, from, to, amountFrom, amountTo, late, needsReview } = filters
  return {
    ...{ status, provider, channel, currency },
    search: q?.trim() || undefined,
    ...(from !== undefined && { from: new Date(from) }),
    ...(to !== undefined && { to: new Date(to) }),
    ...(amountFrom !== undefined && { amountFrom: Number(amountFrom) }),
    ...(amountTo !== undefined && { amountTo: Number(amountTo) }),
    ...(late && { late: true }),
    ...(needsReview && { needsReview: true }),
  }
}

const REFUND_STATUSES = ['pending', 'successful', 'failed'] as const
export const RefundFilters = Type.Object({ status: Type.Optional(oneOf(REFUND_STATUSES)) })

export const DeliveryFilters = Type.Object({
  state: Type.Optional(
    oneOf(
      ['retrying', 'given-up'],
      '`retrying`: waiting after a failed try. `given-up`: exhausted, or its endpoint is disabled.',
    ),
  ),
})

function exportQuery<Filters extends Parameters<typeof Type.Object>[0]>(filters: Filters, columns: object) {
  return Type.Object({
    ...filters,
    columns: Type.Optional(
      Type.String({
        pattern: '^\\w{1,30}(,\\w{1,30}){0,49}$',
        description: `Names with commas, in the order of the file. Absent: all, which are ${Object.keys(columns).join(', ')}.`,
      }),
    ),
    bom: Type.Optional(oneOf(['true'], 'Begin with a byte order mark: Excel needs it to read UTF-8.')),
  })
}

export const PaymentsExportQuery = exportQuery(PaymentFilters.properties, EXPORTED.payments)
export const RefundsExportQuery = exportQuery(RefundFilters.properties, EXPORTED.refunds)
export const TransfersExportQuery = exportQuery({}, EXPORTED.transfers)
export const DeliveriesExportQuery = exportQuery(DeliveryFilters.properties, EXPORTED.deliveries)

export const SettlementsExportQuery = exportQuery(SettlementFilters.properties, EXPORTED.settlements)
export const SettlementLinesExportQuery = exportQuery(
  {
    ...SettlementFilters.properties,
    settlement: Type.Optional(Type.String({ description: 'The `stl_` id. Absent: the lines of all.' })),
  },
  EXPORTED['settlement-lines'],
)

/** The answer of an export for the description: a header line and one row. */
export function csvAnswer(example: string) {
  return {
    description: 'CSV (RFC 4180) in UTF-8, with a header line.',
    content: { 'text/csv': { schema: { type: 'string', examples: [example] } } },
  }
}
