import type { Rule, Schema } from './schema.ts'

/**
 * What a provider accepts although its description does not have it. Each has a reason and a source. A gap that no
 * request needs fails the check.
 */
export interface Gap {
  name: string
  call: string
  field: string
  rule: Rule
  /** For a value that is missing from a list. */
  value?: string
  /** For a field that is missing: what it holds, in the provider's own words elsewhere. */
  schema?: Schema
  because: string
  source: string
}

const XOF_MISSING =
  'the list of currencies lacks the franc of West Africa, which merchants in Côte d’Ivoire are paid in'
const XOF_SOURCE = 'https://paystack.com/docs/api/#supported-currency'
const text: Schema = { type: 'string' }

export const PAYSTACK_GAPS: Gap[] = [
  {
    name: 'francs on a page',
    ...{ call: 'POST /transaction/initialize', field: 'body.currency', rule: 'enum', value: 'XOF' },
    ...{ because: XOF_MISSING, source: XOF_SOURCE },
  },
  {
    name: 'francs from a saved card',
    ...{ call: 'POST /transaction/charge_authorization', field: 'body.currency', rule: 'enum', value: 'XOF' },
    ...{ because: XOF_MISSING, source: XOF_SOURCE },
  },
  {
    name: 'francs given back',
    ...{ call: 'POST /refund', field: 'body.currency', rule: 'enum', value: 'XOF' },
    ...{ because: XOF_MISSING, source: XOF_SOURCE },
  },
  {
    name: 'the way back from a saved card',
    ...{ call: 'POST /transaction/charge_authorization', field: 'body.callback_url', rule: 'unknown field' },
    schema: text,
    because: 'a bank may ask the customer for a code first, and this is where they come back to',
    source: 'https://paystack.com/docs/payments/recurring-charges/',
  },
  {
    name: 'pay with transfer',
    ...{ call: 'POST /charge', field: 'body.bank_transfer', rule: 'unknown field' },
    schema: { type: 'object', properties: { account_expires_at: { type: 'string', format: 'date-time' } } },
    because:
      'the description of a charge knows cards, banks, mobile money, USSD and EFT, and no transfer into an account',
    source: 'https://paystack.com/docs/payments/payment-channels/',
  },
  {
    name: 'the currency of a charge',
    ...{ call: 'POST /charge', field: 'body.currency', rule: 'unknown field' },
    schema: { type: 'string', enum: ['NGN', 'GHS', 'KES', 'ZAR', 'XOF'] },
    because: 'most samples have it, and without it the currency is that of the integration: in Kenya the shilling',
    source: 'https://paystack.com/docs/payments/payment-channels/',
  },
  {
    name: 'pay by QR code',
    ...{ call: 'POST /charge', field: 'body.qr', rule: 'unknown field' },
    schema: { type: 'object', properties: { provider: { type: 'string', enum: ['scan-to-pay'] } } },
    because: 'the description of a charge knows no QR code',
    source: 'https://paystack.com/docs/payments/payment-channels/',
  },
  {
    name: 'refunds of one transaction',
    ...{ call: 'GET /refund', field: 'query.transaction', rule: 'unknown field' },
    schema: { type: 'integer' },
    because: 'the API reference has it as a filter of the list, the description has not',
    source: 'https://paystack.com/docs/api/refund/#list',
  },
  {
    name: 'the size of a page of transactions',
    ...{ call: 'GET /transaction', field: 'query.perPage', rule: 'unknown field' },
    schema: { type: 'integer' },
    because:
      'their page about lists says `perPage` for every list, and the description `per_page` for this one; both are sent',
    source: 'https://paystack.com/docs/api/pagination/',
  },
  ...(['from', 'to'] as const).map(
    (name): Gap => ({
      name: `settlements by time: ${name}`,
      ...{ call: 'GET /settlement', field: `query.${name}`, rule: 'unknown field' },
      schema: { type: 'string', format: 'date-time' },
      because: 'the description that others have corrected has it as a filter of the list',
      source: 'https://github.com/alexasomba/paystack-openapi',
    }),
  ),
  {
    name: 'settlements of the main account',
    ...{ call: 'GET /settlement', field: 'query.subaccount', rule: 'unknown field' },
    schema: { type: 'string', enum: ['none'] },
    because: 'the description that others have corrected has it, with “none” for the main account alone',
    source: 'https://github.com/alexasomba/paystack-openapi',
  },
  ...(['perPage', 'page'] as const).map(
    (name): Gap => ({
      name: `pages of a settlement: ${name}`,
      ...{ call: 'GET /settlement/{id}/transactions', field: `query.${name}`, rule: 'unknown field' },
      schema: { type: 'integer' },
      because: 'their page about lists has it for every list, and the sample of this one counts its pages',
      source: 'https://paystack.com/docs/api/pagination/',
    }),
  ),
]

const NEWER = 'the description is of 2023-08-16, and we speak 2026-10-28.endive'
const onlyCards: Schema = { type: 'array', items: { type: 'string', enum: ['card'] } }

export const STRIPE_GAPS: Gap[] = [
  {
    name: 'cards alone on a page',
    ...{ call: 'POST /v1/checkout/sessions', field: 'body.allowed_payment_method_types', rule: 'unknown field' },
    schema: onlyCards,
    because: `${NEWER}, which refuses payment_method_types and has this instead`,
    source: 'https://docs.stripe.com/changelog/endive/2026-09-30/remove-payment-method-types-checkout-sessions',
  },
  {
    name: 'cards alone for a saved one',
    ...{ call: 'POST /v1/payment_intents', field: 'body.allowed_payment_method_types', rule: 'unknown field' },
    schema: onlyCards,
    because: `${NEWER}, which refuses payment_method_types and has this instead`,
    source:
      'https://docs.stripe.com/changelog/endive/2026-09-30/removes-the-payment-method-types-parameter-from-payment-intents-and-setup-intents',
  },
  {
    name: 'no currency of their choice',
    ...{ call: 'POST /v1/checkout/sessions', field: 'body.adaptive_pricing', rule: 'unknown field' },
    schema: { type: 'object', properties: { enabled: { type: 'boolean' } } },
    because: NEWER,
    source: 'https://rubydoc.info/gems/stripe/Stripe/Checkout/SessionCreateParams/AdaptivePricing',
  },
  {
    name: 'pages of one hour',
    ...{ call: 'GET /v1/checkout/sessions', field: 'query.created', rule: 'unknown field' },
    schema: { type: 'object', properties: { gte: { type: 'integer' }, lte: { type: 'integer' } } },
    because: NEWER,
    source: 'https://stripe.dev/stripe-java/com/stripe/param/checkout/SessionListParams.html',
  },
]
