import { Type } from 'typebox'
import { DEFAULT_CURRENCY, MAX_AMOUNT } from '../../kernel/money.ts'
import { checkoutExample } from './examples.ts'
import { dataOf, optional, ref } from './schema.ts'

export const User = Type.Object(
  {
    email: Type.String({
      format: 'e-mail',
      maxLength: 254,
      description: 'E-mail address of the customer. Stored as given, compared case-insensitively.',
    }),
    id: optional(
      Type.String({
        format: 'user-id',
        description:
          'Your own id of a customer who is signed in with you: 1 to 64 characters of `A-Z a-z 0-9 _ . : @ -`. Saved cards belong to it. The payment page offers saved cards only for a payment that has it. Never take it from user input.',
      }),
    ),
    phoneNumber: optional(
      Type.String({ format: 'plain-text', maxLength: 32, description: 'Phone number of the customer.' }),
    ),
    name: optional(Type.String({ format: 'plain-text', maxLength: 200, description: 'Name of the customer.' })),
  },
  { description: 'The customer.' },
)

export const Metadata = Type.Object(
  {},
  {
    additionalProperties: Type.String({ maxLength: 500 }),
    propertyNames: { minLength: 1, maxLength: 40 },
    maxProperties: 50,
    description: 'A flat object of strings. It is returned with the payment and in webhooks.',
  },
)

export const CheckoutRequest = Type.Object(
  {
    amount: Type.Integer({
      minimum: 1,
      maximum: MAX_AMOUNT,
      description: 'Amount to charge, in the lowest denomination of the currency (kobo for NGN).',
    }),
    user: User,
    reference: optional(
      Type.String({
        format: 'reference',
        description:
          'Your own reference, unique for each payment: 1 to 100 printable ASCII characters without spaces. Absent: Manilla generates one.',
      }),
    ),
    currency: optional(
      Type.String({
        format: 'currency-code',
        description: 'ISO 4217, any case. Absent, null or empty: NGN.',
        default: DEFAULT_CURRENCY,
      }),
    ),
    country: Type.String({
      format: 'country',
      description:
        'Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case.',
    }),
    redirectURL: optional(
      Type.String({
        format: 'web-address',
        description:
          'The customer returns here after the payment, with `status` and `reference` as query parameters. In live mode https only.',
      }),
    ),
    customerBearsCharge: optional(
      Type.Boolean({ default: false, description: 'The customer pays the provider’s fee on top of the amount.' }),
    ),
    webhook: optional(
      Type.String({
        format: 'web-address',
        description: 'Receives the events of this payment. In live mode https only.',
      }),
    ),
    metadata: optional(Metadata),
    expiresIn: optional(
      Type.Integer({
        minimum: 900,
        maximum: 2_592_000,
        default: 86_400,
        description: 'Seconds until the link expires.',
      }),
    ),
  },
  {
    $id: 'CheckoutRequest',
    examples: [
      {
        amount: 1_250_000,
        currency: 'NGN',
        country: 'NG',
        reference: 'ORD-20932',
        user: { email: 'ada@example.com', name: 'Ada' },
        redirectURL: 'https://shop.example/thanks',
      },
    ],
  },
)
export type CheckoutRequest = Type.Static<typeof CheckoutRequest>

export const Checkout = Type.Object(
  {
    id: Type.String({ description: 'Identifier of the checkout; `url` ends with it.' }),
    url: Type.String({ format: 'uri', description: 'Long link to the payment page.' }),
    shortURL: Type.String({ format: 'uri', description: 'Short link to the payment page.' }),
    reference: Type.String({ description: 'Reference of the payment: yours, or the generated one.' }),
    amount: Type.Integer({ description: 'Amount of the payment.' }),
  },
  { $id: 'Checkout', examples: [checkoutExample] },
)
export type Checkout = Type.Static<typeof Checkout>

export const CheckoutAnswer = dataOf(ref(Checkout))
