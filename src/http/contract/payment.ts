import { Type } from 'typebox'
import { PAYMENT_STATUSES, type PaymentStatus } from '../../payments/state/payment.ts'
import { Attempt, Refund } from './attempt.ts'
import { paymentExample } from './examples.ts'
import { dataOf, listOf, nullable, optional, ref } from './schema.ts'

const Status = Type.Unsafe<PaymentStatus>({
  type: 'string',
  enum: [...PAYMENT_STATUSES],
  description:
    '`pending`: not paid yet; a failed attempt leaves it `pending`. `successful`: paid. ' +
    '`cancelled`, `expired`: ended unpaid; money that arrives later still makes it `successful`, with `late: true`.',
})
const Time = Type.String({ format: 'date-time' })

export const Payment = Type.Object(
  {
    id: Type.String(),
    reference: Type.String(),
    mode: Type.Union([Type.Literal('sandbox'), Type.Literal('live')]),
    status: Status,
    late: Type.Boolean({ description: 'The money arrived after the payment was cancelled or had expired.' }),
    amount: Type.Integer(),
    currency: Type.String(),
    country: Type.String(),
    customerBearsCharge: Type.Boolean(),
    fee: nullable(Type.Integer()),
    feeCharged: nullable(
      Type.Integer({ description: 'The fee that the provider really kept. `fee` is the one that was calculated.' }),
    ),
    amountCharged: nullable(Type.Integer()),
    amountPaid: Type.Integer(),
    amountRefunded: Type.Integer(),
    user: Type.Object({
      id: nullable(Type.String({ description: 'Your own id of the customer.' })),
      email: Type.String(),
      phoneNumber: nullable(Type.String()),
      name: nullable(Type.String()),
    }),
    redirectURL: nullable(Type.String()),
    webhook: nullable(Type.String()),
    metadata: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
    link: nullable(Type.String({ description: 'The id of the reusable link that the customer paid.' })),
    url: Type.String({ format: 'uri' }),
    shortURL: Type.String({ format: 'uri' }),
    attempts: Type.Array(ref(Attempt)),
    refunds: Type.Array(ref(Refund)),
    createdAt: Time,
    expiresAt: Time,
    completedAt: nullable(Time),
  },
  { $id: 'Payment', examples: [paymentExample] },
)
export type Payment = Type.Static<typeof Payment>

export const PaymentAnswer = dataOf(ref(Payment))
export const PaymentsAnswer = listOf(ref(Payment))

export const WidgetToken = Type.Object(
  {
    token: Type.String({ description: 'For `Pay.open({ reference, token })`. Valid for this payment only.' }),
    expiresAt: Time,
  },
  {
    $id: 'WidgetToken',
    examples: [{ token: 'wgt_4vJ8sKq2mN7xRb', expiresAt: '2026-11-15T07:31:33.470Z' }],
  },
)
export const WidgetTokenAnswer = dataOf(ref(WidgetToken))

const code = (description: string) => optional(Type.String({ format: 'plain-text', maxLength: 40, description }))

export const InputRequest = Type.Object(
  {
    otp: code('The code that was sent to the phone.'),
    voucher: code('The code that the customer made by dialling.'),
  },
  { $id: 'InputRequest', description: 'As `input.kind` says.', examples: [{ otp: '123456' }] },
)
export type InputRequest = Type.Static<typeof InputRequest>

export const PaymentName = Type.Object({
  reference: Type.String({ description: 'Reference of the payment or of one of its attempts, or the `chk_` id.' }),
})

export const SearchText = Type.Optional(
  Type.String({
    format: 'plain-text',
    maxLength: 254,
    description:
      'Reference, id, e-mail address, account number, reference or transaction at the provider, short code, decline code, or last four digits of a saved card.',
  }),
)

export const PaymentsQuery = Type.Object({
  q: SearchText,
  status: Type.Optional(Type.Unsafe<PaymentStatus>({ type: 'string', enum: [...PAYMENT_STATUSES] })),
  email: Type.Optional(
    Type.String({ format: 'plain-text', maxLength: 254, description: 'E-mail address of the customer, any case.' }),
  ),
  userId: Type.Optional(Type.String({ format: 'user-id', description: 'Your own id of the customer.' })),
  from: Type.Optional(Type.String({ format: 'moment', description: 'Created at or after: RFC 3339, or a date.' })),
  to: Type.Optional(Type.String({ format: 'moment', description: 'Created before: RFC 3339, or a date.' })),
  limit: Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' })),
  cursor: Type.Optional(Type.String({ format: 'cursor', description: '`nextCursor` of the previous page.' })),
})
export type PaymentsQuery = Type.Static<typeof PaymentsQuery>
