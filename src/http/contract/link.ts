import { Type } from 'typebox'
import { DEFAULT_CURRENCY, MAX_AMOUNT } from '../../kernel/money.ts'
import { LINK_STATUSES, type LinkStatus, MAX_COUNTED } from '../../payments/state/payment-link.ts'
import { CheckoutRequest, Metadata } from './checkout.ts'
import { linkExample } from './examples.ts'
import { dataOf, listOf, nullable, optional, ref } from './schema.ts'

const Amount = (description: string) => Type.Integer({ minimum: 1, maximum: MAX_AMOUNT, description })
const YEAR_SECONDS = 31_536_000

const Title = Type.String({
  format: 'shown-text',
  maxLength: 100,
  description: 'What the customer pays for. The page shows it as its heading.',
})

/** The fields that can be changed later. */
const terms = {
  description: optional(Type.String({ format: 'shown-text', maxLength: 500, description: 'Shown below the title.' })),
  amount: optional(
    Amount('A fixed amount, in the lowest denomination of the currency. Absent: the customer chooses the amount.'),
  ),
  minAmount: optional(Amount('The lowest amount that the customer may choose. Without `amount` only.')),
  maxAmount: optional(Amount('The highest amount that the customer may choose. Without `amount` only.')),
  customerBearsCharge: CheckoutRequest.properties.customerBearsCharge,
  collectName: optional(Type.Boolean({ default: false, description: 'The page asks for the customer’s name.' })),
  collectPhoneNumber: optional(
    Type.Boolean({ default: false, description: 'The page asks for the customer’s phone number.' }),
  ),
  customField: optional(
    Type.String({
      format: 'shown-text',
      maxLength: 40,
      description:
        'The label of one more field. The answer, at most 200 characters, is `metadata` of the payment, under this name.',
    }),
  ),
  maxPayments: optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_COUNTED,
      description:
        'The link is `used_up` after this many successful payments. A payment that was begun before can still be paid. Absent: any number.',
    }),
  ),
  active: optional(Type.Boolean({ default: true, description: 'An inactive link takes no payments.' })),
  expiresIn: optional(
    Type.Integer({
      minimum: 900,
      maximum: YEAR_SECONDS,
      description: 'Seconds from now until the link expires. Absent: it does not expire.',
    }),
  ),
  redirectURL: CheckoutRequest.properties.redirectURL,
  metadata: optional(Metadata),
}

export const LinkRequest = Type.Object(
  {
    title: Title,
    currency: optional(
      Type.String({
        format: 'currency-code',
        description: 'ISO 4217, any case. Absent, null or empty: NGN.',
        default: DEFAULT_CURRENCY,
      }),
    ),
    country: CheckoutRequest.properties.country,
    ...terms,
  },
  {
    $id: 'LinkRequest',
    examples: [{ title: 'Cooking class', amount: 1_250_000, country: 'NG', collectName: true, maxPayments: 12 }],
  },
)
export type LinkRequest = Type.Static<typeof LinkRequest>

export const LinkChanges = Type.Object(
  { title: optional(Title), ...terms },
  {
    $id: 'LinkChanges',
    description:
      'An absent field stays. `null` removes `description`, `amount`, `minAmount`, `maxAmount`, `customField`, `maxPayments`, the expiry (`expiresIn`) and `redirectURL`. Currency and country cannot be changed.',
    examples: [{ active: false }],
  },
)
export type LinkChanges = Type.Static<typeof LinkChanges>

const Time = Type.String({ format: 'date-time' })

export const Link = Type.Object(
  {
    id: Type.String(),
    url: Type.String({ format: 'uri', description: 'The page of the link, for customers.' }),
    mode: Type.Union([Type.Literal('sandbox'), Type.Literal('live')]),
    status: Type.Unsafe<LinkStatus>({
      type: 'string',
      enum: [...LINK_STATUSES],
      description:
        '`active`: it can be paid. `inactive`: switched off. `expired`: its time is over. `used_up`: paid `maxPayments` times.',
    }),
    title: Type.String(),
    description: nullable(Type.String()),
    amount: nullable(Type.Integer()),
    minAmount: nullable(Type.Integer()),
    maxAmount: nullable(Type.Integer()),
    currency: Type.String(),
    country: Type.String(),
    customerBearsCharge: Type.Boolean(),
    collectName: Type.Boolean(),
    collectPhoneNumber: Type.Boolean(),
    customField: nullable(Type.String()),
    maxPayments: nullable(Type.Integer()),
    timesPaid: Type.Integer({ description: `Successful payments, counted up to ${MAX_COUNTED}.` }),
    active: Type.Boolean(),
    redirectURL: nullable(Type.String()),
    metadata: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
    createdAt: Time,
    expiresAt: nullable(Time),
  },
  { $id: 'Link', examples: [linkExample] },
)
export type Link = Type.Static<typeof Link>

export const LinkAnswer = dataOf(ref(Link))
export const LinksAnswer = listOf(ref(Link))

export const LinksQuery = Type.Object({
  limit: Type.Optional(Type.String({ format: 'page-size', description: '1 to 100; default 20.' })),
  cursor: Type.Optional(Type.String({ format: 'link-cursor', description: '`nextCursor` of the previous page.' })),
})
