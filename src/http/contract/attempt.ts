import { Type } from 'typebox'
import { CHANNEL_FACTS, CHANNELS, type Channel } from '../../kernel/channel.ts'
import { ATTEMPT_STATUSES, type AttemptStatus } from '../../payments/state/attempt.ts'
import { FAILURE_CODES, type FailureCode } from '../../providers/provider.ts'
import { BankAccount } from './bank-account.ts'
import { CheckoutRequest, User } from './checkout.ts'
import {
  attemptExample,
  cardExample,
  initializedExample,
  quoteExample,
  refundExample,
  timelineExample,
} from './examples.ts'
import { dataOf, nullable, optional, ref, wholeListOf } from './schema.ts'

const Time = Type.String({ format: 'date-time' })
export const ChannelName = Type.Unsafe<Channel>({ type: 'string', enum: [...CHANNELS] })

export const Attempt = Type.Object(
  {
    id: Type.String(),
    reference: Type.String({ description: 'The payment’s reference with a unique suffix.' }),
    number: Type.Integer(),
    provider: Type.String(),
    channel: ChannelName,
    status: Type.Unsafe<AttemptStatus>({
      type: 'string',
      enum: [...ATTEMPT_STATUSES],
      description:
        '`pending`: the customer has a link or an account number and has not paid yet. ' +
        '`processing`: the provider is working on it or did not answer, so the outcome is not known yet. ' +
        '`successful`: it paid the payment. `failed`: see `failure`; the customer can try again. ' +
        '`abandoned`: the payment ended in another way first. ' +
        '`surplus`: it was paid after the payment had already been paid; the money is refunded, or `needsReview` says why not.',
    }),
    amountCharged: Type.Integer({ description: 'The amount that the customer pays.' }),
    fee: Type.Integer({ description: 'The provider’s fee, part of `amountCharged`.' }),
    feeCharged: nullable(
      Type.Integer({
        description: 'The fee that the provider really kept; null until it says so, see docs/settlements.md.',
      }),
    ),
    amountReceived: Type.Integer({ description: 'The amount that has arrived through this attempt so far.' }),
    failure: Type.Unsafe<null | {
      code: FailureCode
      message: string
      retryable: boolean
      providerCode: string | null
    }>({
      type: ['object', 'null'],
      properties: {
        code: { type: 'string', enum: [...FAILURE_CODES] },
        message: {
          type: 'string',
          description:
            'For you, in English. The payment page shows its own text for `code`, in the customer’s language.',
        },
        retryable: { type: 'boolean' },
        providerCode: { type: ['string', 'null'] },
      },
    }),
    needsReview: nullable(Type.String({ description: 'Why a person must check this attempt.' })),
    providerReference: Type.String(),
    paidFrom: Type.Unsafe<null | { phoneNumber: string | null; network: string | null; bank: string | null }>({
      type: ['object', 'null'],
      properties: {
        phoneNumber: { type: ['string', 'null'], description: 'Masked.' },
        network: { type: ['string', 'null'] },
        bank: { type: ['string', 'null'], description: 'The provider’s code of the bank.' },
      },
      description: 'What the customer gave for the channel.',
    }),
    instructions: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'How the customer pays: a link, an account to transfer to, a prompt on the phone, or a code.',
    }),
    createdAt: Time,
    resolvedAt: nullable(Time),
  },
  { $id: 'Attempt', description: 'One try at paying a payment, through one provider.', examples: [attemptExample] },
)

const SUFFIXES = CHANNELS.flatMap((channel) => CHANNEL_FACTS[channel].suffix || [])
  .map((suffix) => `\`${suffix}\``)
  .join(', ')
const SEE_CHANNELS = 'See `GET /payments/v1/channels`.'

const { amount, reference, redirectURL, webhook, currency, customerBearsCharge, metadata, expiresIn } =
  CheckoutRequest.properties

export const InitializeRequest = Type.Object(
  {
    provider: Type.String({
      minLength: 1,
      maxLength: 100,
      description: `Name of a provider for its card channel, or the name followed by the channel: ${SUFFIXES}.`,
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
        description: 'The customer agreed to save the card. Only for providers whose own page does not ask.',
      }),
    ),
    phoneNumber: optional(
      Type.String({
        format: 'plain-text',
        maxLength: 32,
        description: 'mobile-money: the number that pays, as people write it. Absent: `user.phoneNumber`.',
      }),
    ),
    network: optional(
      Type.String({
        format: 'plain-text',
        maxLength: 40,
        description: `mobile-money: the network of the number. Absent: guessed from the number. ${SEE_CHANNELS}`,
      }),
    ),
    bank: optional(
      Type.String({
        format: 'plain-text',
        maxLength: 40,
        description: `ussd and bank: the code of the customer’s bank, where the provider asks for it. ${SEE_CHANNELS}`,
      }),
    ),
    preAuthorisationCode: optional(
      Type.String({
        format: 'plain-text',
        maxLength: 40,
        description: 'mobile-money: a code that the customer made beforehand, where the network wants one.',
      }),
    ),
  },
  {
    $id: 'InitializeRequest',
    examples: [
      {
        ...{ provider: initializedExample.provider, amount: 1_250_000, reference: 'ORD-20932' },
        user: { email: 'ada@example.com' },
      },
    ],
  },
)
export type InitializeRequest = Type.Static<typeof InitializeRequest>

export const Initialized = Type.Object(
  {
    provider: Type.String(),
    channel: ChannelName,
    reference: Type.String({ description: 'Reference of the attempt. The widget accepts it.' }),
    amount: Type.Integer(),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description:
        'By channel. card: `message`, `link`, `reference`, `publicKey` (null while a saved card waits for a PIN or code). ' +
        'virtual-bank-account: `message`, `accountName`, `accountNumber`, `bankName`, `expiresAt`, `amountToTransfer`; `narration` where the transfer must have it, as by Pesalink; `dialCodes` (`bank`, `bankName`, `code`) where a bank makes the transfer when the customer dials. ' +
        'mobile-money: `message`, `phoneNumber` (masked), `network`, `expiresAt`; `link` where the network wants a page; `input` where it wants a code (`kind`: `otp` or `voucher`); `payTo` (`number`, `account`) where the customer pays from the network’s menu. ' +
        'ussd: `message`, `code` to dial, `bankName`, `expiresAt`. bank: `message`, `link`, `reference`, `publicKey`, `expiresAt`. qr: `message`, `qr` (the text to encode), `expiresAt`. ' +
        'ussd and qr have `link`, `reference` and `publicKey` where the provider has a page for them.',
    }),
  },
  { $id: 'Initialized', examples: [initializedExample] },
)
export type Initialized = Type.Static<typeof Initialized>
export const InitializeAnswer = dataOf(ref(Initialized))

export const RefundRequest = Type.Object(
  {
    amount: optional(
      Type.Integer({
        minimum: 1,
        maximum: 999_999_999_999,
        description: 'In the lowest denomination. Absent: the whole amount that can still be refunded.',
      }),
    ),
    reason: optional(Type.String({ format: 'plain-text', maxLength: 200 })),
    destinationAccountNumber: optional(BankAccount.destinationAccountNumber),
    destinationAccountBankCode: optional(BankAccount.destinationAccountBankCode),
    allowDuplicate: optional(
      Type.Boolean({
        description:
          'Without an Idempotency-Key, the same amount of the same payment within a minute is rejected as `duplicate_refund`. `true` allows it. `false` rejects it also with a key.',
      }),
    ),
  },
  { $id: 'RefundRequest', examples: [{ amount: 250_000, reason: 'one item returned' }] },
)
export type RefundRequest = Type.Static<typeof RefundRequest>

export const RefundRetry = Type.Object(BankAccount, {
  $id: 'RefundRetry',
  examples: [{ destinationAccountNumber: '0690000031', destinationAccountBankCode: '044' }],
})
export type RefundRetry = Type.Static<typeof RefundRetry>

export const RefundEnd = Type.Object(
  {
    note: Type.String({
      ...{ minLength: 1, maxLength: 500 },
      description: 'What the provider’s dashboard shows. No personal data of customers.',
    }),
  },
  { $id: 'RefundEnd', examples: [{ note: 'Not in the list of refunds in their dashboard.' }] },
)
export type RefundEnd = Type.Static<typeof RefundEnd>

export const RefundAccount = Type.Object(
  {
    needed: Type.Boolean({
      description: 'Send `destinationAccountNumber` and `destinationAccountBankCode` with a refund.',
    }),
    provider: Type.String(),
    banks: Type.Array(Type.Object({ code: Type.String(), name: Type.String() }), {
      description: 'The banks that the provider lists. Empty: it has no list, or does not answer.',
    }),
  },
  {
    $id: 'RefundAccount',
    examples: [{ needed: true, provider: attemptExample.provider, banks: [{ code: '044', name: 'Access Bank' }] }],
  },
)
export const RefundAccountQuery = Type.Object({
  attempt: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'The `att_` id of an attempt of this payment, to return surplus or other money that did not pay it. Default: the attempt that paid.',
    }),
  ),
})

export const RefundAccountAnswer = dataOf(ref(RefundAccount))

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
        '`merchant`: requested through this API. `surplus`: made by Manilla, because the payment had already been paid. `provider`: made at the provider, for example in its dashboard, or by hand. `chargeback`: taken by the customer’s bank after a lost dispute.',
    }),
    status: Type.Unsafe<string>({ type: 'string', enum: ['pending', 'successful', 'failed'] }),
    reason: nullable(Type.String()),
    failure: nullable(Type.String()),
    needsReview: nullable(
      Type.String({
        description:
          'Why a person must check this refund. `refund_unfinished: …`: the provider has not finished it in time (3 days, longer for some providers). `refund_needs_account: …`: the provider waits for the customer’s bank account, see `POST /refunds/{id}/retry`. `unanswered: …`: the provider was asked for it and does not list it, see `POST /refunds/{id}/end`.',
      }),
    ),
    createdAt: Time,
    resolvedAt: nullable(Time),
  },
  { $id: 'Refund', examples: [refundExample] },
)
export const RefundAnswer = dataOf(ref(Refund))
export const RefundId = Type.Object({ id: Type.String({ description: 'Id of the refund: `rfd_…`.' }) })
export const RefundsAnswer = wholeListOf(ref(Refund))

export const Timeline = wholeListOf(
  Type.Object(
    {
      at: Time,
      kind: Type.String({ description: '`request`, `change`, `call`, `notice`, `money` or `refund`.' }),
      what: Type.String(),
      attempt: nullable(Type.String()),
      detail: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    },
    { examples: [timelineExample] },
  ),
)

export const Card = Type.Object(
  {
    id: Type.String(),
    provider: Type.String(),
    userId: nullable(Type.String({ description: 'The `user.id` that the card belongs to. Null: the e-mail address.' })),
    email: Type.String({ description: 'The e-mail address that the card was saved with.' }),
    brand: Type.String(),
    last4: Type.String(),
    expiryMonth: Type.Integer(),
    expiryYear: Type.Integer(),
    createdAt: Time,
  },
  { $id: 'Card', examples: [cardExample] },
)
export const CardsAnswer = wholeListOf(ref(Card))
export const CardAnswer = dataOf(ref(Card))

export const QuoteRequest = Type.Object(
  { amount, currency, country: CheckoutRequest.properties.country, customerBearsCharge },
  { $id: 'QuoteRequest', examples: [{ amount: 1_250_000, currency: 'NGN', country: 'NG' }] },
)
export type QuoteRequest = Type.Static<typeof QuoteRequest>

export const QuoteAnswer = wholeListOf(
  Type.Object(
    {
      provider: Type.String(),
      channel: ChannelName,
      fee: Type.Integer(),
      amountCharged: Type.Integer({ description: 'The amount that the customer pays.' }),
      amountSettled: Type.Integer({ description: 'The amount that the merchant gets.' }),
    },
    { examples: [quoteExample] },
  ),
)
