import type { ProviderCall } from '../../src/providers/provider.ts'
import { type Description, readDescription } from './description.ts'

export const [paystack, stripe] = [readDescription('paystack.json'), readDescription('stripe.json')]
const key = { authorization: 'Bearer sk_test_x' }
export const asJSON = (path: string, body: object): ProviderCall => ({
  method: 'POST',
  url: `https://api.paystack.co${path}`,
  headers: { ...key, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const asForm = (path: string, body: string): ProviderCall => ({
  method: 'POST',
  url: `https://api.stripe.com${path}`,
  headers: { ...key, 'content-type': 'application/x-www-form-urlencoded' },
  body,
})
export const get = (path: string, headers: Record<string, string> = key): ProviderCall => ({
  method: 'GET',
  url: `https://provider.example${path}`,
  headers,
})
export const page = { email: 'ada@example.com', amount: 5_000 }
const session = 'success_url=https://x.example&line_items[0][price_data][currency]=usd'

/** Requests that the checks are tried with, and the mistakes in them. */
export const REQUESTS: [string, Description, ProviderCall, string[]][] = [
  ['a page', paystack, asJSON('/transaction/initialize', page), []],
  ['an amount in text', paystack, asJSON('/transaction/initialize', { ...page, amount: '5000' }), ['type body.amount']],
  ['part of a kobo', paystack, asJSON('/transaction/initialize', { ...page, amount: 0.5 }), ['type body.amount']],
  ['no amount', paystack, asJSON('/transaction/initialize', { email: 'a@x.co' }), ['missing body.amount']],
  [
    'a name for what they call otherwise',
    paystack,
    asJSON('/transaction/initialize', { ...page, callbackUrl: 'https://x.example' }),
    ['unknown field body.callbackUrl'],
  ],
  [
    'a currency and a channel that they do not take',
    paystack,
    asJSON('/transaction/initialize', { ...page, currency: 'EUR', channels: ['card', 'cash'] }),
    ['enum body.currency', 'enum body.channels[1]'],
  ],
  ['notes of any kind', paystack, asJSON('/transaction/initialize', { ...page, metadata: { a: { b: [1] } } }), []],
  [
    'notes that are text',
    paystack,
    asJSON('/transaction/initialize', { ...page, metadata: '' }),
    ['type body.metadata'],
  ],
  ['a member of what is put together', paystack, asJSON('/charge', { ...page, bank: { code: '057' } }), []],
  [
    'no member of any of it',
    paystack,
    asJSON('/charge', { ...page, bank: { bic: 'x' } }),
    ['unknown field body.bank.bic'],
  ],
  [
    'a body in another form',
    paystack,
    { ...asJSON('/refund', {}), headers: { ...key, 'content-type': 'text/xml' } },
    ['content type body'],
  ],
  ['no body', paystack, { ...asJSON('/refund', {}), body: undefined }, ['missing body.transaction']],
  ['a path that is not theirs', paystack, asJSON('/transaction/initialise', page), ['unknown call path']],
  ['another method', paystack, get('/transaction/initialize/x'), ['unknown call path']],
  ['a transaction by its number', paystack, get('/transaction/17'), []],
  ['a transaction by a word', paystack, get('/transaction/r17'), ['type path.id']],
  ['a list by pages', paystack, get('/refund?perPage=100&page=1'), []],
  [
    'a list by a parameter that they do not name',
    paystack,
    get('/refund?page=1&per_page=2'),
    ['unknown field query.per_page'],
  ],
  ['no key', paystack, get('/balance', {}), ['key authorization']],
  ['a form', stripe, asForm('/v1/checkout/sessions', session), []],
  [
    'a sum with a point',
    stripe,
    asForm('/v1/checkout/sessions', `${session}&line_items[0][price_data][unit_amount]=10.99`),
    ['type body.line_items[0].price_data.unit_amount'],
  ],
  [
    'an unknown member deep in a form',
    stripe,
    asForm('/v1/checkout/sessions', `${session}&line_items[0][price_data][unit_price]=1`),
    ['unknown field body.line_items[0].price_data.unit_price'],
  ],
  ['a form without what it must have', stripe, asForm('/v1/payment_intents', 'amount=1'), ['missing body.currency']],
  ['one of two kinds', stripe, asForm('/v1/payment_intents', 'amount=1&currency=usd&off_session=true'), []],
  [
    'none of two kinds',
    stripe,
    asForm('/v1/payment_intents', 'amount=1&currency=usd&off_session=maybe'),
    ['type body.off_session'],
  ],
  [
    'text that is too long',
    stripe,
    asForm('/v1/payment_intents', `amount=1&currency=usd&description=${'x'.repeat(1_001)}`),
    ['length body.description'],
  ],
  ['what is to be expanded', stripe, get('/v1/payment_intents/pi_1?expand[]=latest_charge&expand[]=customer'), []],
  ['an hour', stripe, get('/v1/payment_intents?created[gte]=1&created[lte]=2'), []],
  ['an hour in words', stripe, get('/v1/payment_intents?created[gte]=now'), ['type query.created.gte']],
]
