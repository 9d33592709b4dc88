import { Type } from 'typebox'
import type { Channel } from '../../../kernel/channel.ts'
import { ATTEMPT_STATUSES, type AttemptStatus } from '../../../payments/state/attempt.ts'
import { FAILURE_CODES, type FailureCode } from '../../../providers/provider.ts'
import { CheckoutRequest, User } from './checkout.ts'
import { dataOf, nullable, optional, ref, wholeListOf } from './schema.ts'

const Time = Type.String({ format: 'date-time' })
export const ChannelName = Type.Unsafe<Channel>({ type: 'string', enum: ['card', 'virtual-bank-account'] })

export const Attempt = Type.Object(
  {
    id: Type.String(),
    reference: Type.String({ description: 'The payment’s reference with something added; unique.' }),
    number: Type.Integer(),
    provider: Type.String(),
    channel: ChannelName,
    status: Type.Unsafe<AttemptStatus>({ type: 'string', enum: [...ATTEMPT_STATUSES] }),
    amountCharged: Type.Integer({ description: 'What the customer is asked to pay.' }),
    fee: Type.Integer({ description: 'What the provider keeps of it.' }),
    amountReceived: Type.Integer({ description: 'What has arrived through this attempt so far.' }),
    failure: Type.Unsafe<null | {
      code: FailureCode
      message: string
      retryable: boolean
      providerCode: string | null
    }>({
      type: ['object', 'null'],
      properties: {
        code: { type: 'string', enum: [...FAILURE_CODES] },
        message: { type: 'string' },
        retryable: { type: 'boolean' },
        providerCode: { type: ['string', 'null'] },
      },
    }),
    needsReview: nullable(Type.String({ description: 'Why a person has to look at it.' })),
    providerReference: Type.String(),
    instructions: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'What the customer needs to pay: a link, or an account to transfer to.',
    }),
    createdAt: Time,
    resolvedAt: nullable(Time),
  },
  { description: 'One try at paying, through one provider.' },
)

const { amount, reference, redirectURL, webhook, currency, customerBearsCharge, metadata, expiresIn } =
  CheckoutRequest.properties

export const InitializeRequest = Type.Object(
  {
    provider: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Name of a provider for its card channel, or the name with `-virtual-bank-account` behind it.',
    }),
    amount,
    user: User,
    reference,
    redirectURL,
    webhook,
    currency,
    country: optional(CheckoutRequest.properties.country),
    customerBearsCharge,
    metadata,
    expiresIn,
    saveCard: optional(
      Type.Boolean({
        default: false,
        description:
          'The customer agreed that the card be kept for the next time. Only for providers whose own page does not ask them.',
      }),
    ),
  },
  { $id: 'InitializeRequest' },
)
export type InitializeRequest = Type.Static<typeof InitializeRequest>

export const Initialized = Type.Object(
  {
    provider: Type.String(),
    channel: ChannelName,
    reference: Type.String({ description: 'Reference of the attempt. Pass it to the inline widget.' }),
    amount: Type.Integer(),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description:
        'card: `message`, `link`, `reference`, `publicKey` (null while a saved card waits for a PIN or code that was asked for on the payment page). virtual-bank-account: `message`, `accountName`, `accountNumber`, `bankName`, `expiresAt`, `amountToTransfer`.',
    }),
  },
  { $id: 'Initialized' },
)
export type Initialized = Type.Static<typeof Initialized>
export const InitializeAnswer = dataOf(ref(Initialized))

export const RefundRequest = Type.Object(
  {
    amount: optional(
      Type.Integer({
        minimum: 1,
        maximum: 999_999_999_999,
        description: 'In the lowest denomination. Absent: all that can still be refunded.',
      }),
    ),
    reason: optional(Type.String({ format: 'plain-text', maxLength: 200 })),
    allowDuplicate: optional(
      Type.Boolean({
        default: false,
        description:
          'Without an Idempotency-Key, the same amount of the same payment within a minute is refused as `duplicate_refund`. `true` makes it all the same.',
      }),
    ),
  },
  { $id: 'RefundRequest' },
)
export type RefundRequest = Type.Static<typeof RefundRequest>

export const Refund = Type.Object(
  {
    id: Type.String(),
    payment: Type.String({ description: 'Id of the payment.' }),
    amount: Type.Integer(),
    currency: Type.String(),
    kind: Type.Unsafe<string>({
      type: 'string',
      enum: ['merchant', 'surplus', 'provider', 'chargeback'],
      description:
        '`merchant`: asked for through this API. `surplus`: sent back by Manilla, because the payment had been paid already. `provider`: made at the provider, for example in its dashboard. `chargeback`: taken back by the customer’s bank after a lost dispute.',
    }),
    status: Type.Unsafe<string>({ type: 'string', enum: ['pending', 'successful', 'failed'] }),
    reason: nullable(Type.String()),
    failure: nullable(Type.String()),
    needsReview: nullable(
      Type.String({ description: 'Why a person has to look at it: the provider has not finished it within 3 days.' }),
    ),
    createdAt: Time,
    resolvedAt: nullable(Time),
  },
  { $id: 'Refund' },
)
export const RefundAnswer = dataOf(ref(Refund))
export const RefundId = Type.Object({ id: Type.String({ description: 'Id of the refund: `rfd_…`.' }) })
export const RefundsAnswer = wholeListOf(ref(Refund))

export const Timeline = wholeListOf(
  Type.Object({
    at: Time,
    kind: Type.String({ description: '`request`, `change`, `call`, `notice`, `money` or `refund`.' }),
    what: Type.String(),
    attempt: nullable(Type.String()),
    detail: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
  }),
)

export const Card = Type.Object(
  {
    id: Type.String(),
    provider: Type.String(),
    userId: nullable(Type.String({ description: 'The `user.id` that the card belongs to. Null: the e-mail address.' })),
    email: Type.String({ description: 'The address that the card was saved with.' }),
    brand: Type.String(),
    last4: Type.String(),
    expiryMonth: Type.Integer(),
    expiryYear: Type.Integer(),
    createdAt: Time,
  },
  { $id: 'Card' },
)
export const CardsAnswer = wholeListOf(ref(Card))
export const CardAnswer = dataOf(ref(Card))

export const QuoteRequest = Type.Object(
  { amount, currency, country: CheckoutRequest.properties.country, customerBearsCharge },
  { $id: 'QuoteRequest' },
)
export type QuoteRequest = Type.Static<typeof QuoteRequest>

export const QuoteAnswer = wholeListOf(
  Type.Object({
    provider: Type.String(),
    channel: ChannelName,
    fee: Type.Integer(),
    amountCharged: Type.Integer({ description: 'What the customer pays.' }),
    amountSettled: Type.Integer({ description: 'What the merchant gets.' }),
  }),
)
