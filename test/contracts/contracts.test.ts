import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderCall } from '../../src/providers/provider.ts'
import { CONTRACTS, checkContract, findingsOf } from './check.ts'
import { type Description, judge, readDescription } from './description.ts'
import { readForm } from './form.ts'
import { PAYSTACK_GAPS } from './gaps.ts'
import { faultFinder, type Schema } from './schema.ts'

for (const contract of CONTRACTS) {
  test(`every request to ${contract.name} matches its description or a listed gap`, async () => {
    const { calls, wrong } = await checkContract(contract)
    assert.deepEqual(wrong, [])
    assert.ok(calls.size > 0)
  })

  test(`every gap of ${contract.name} has a unique name, a reason and a source`, () => {
    assert.equal(new Set(contract.gaps.map(({ name }) => name)).size, contract.gaps.length)
    for (const { because, source } of contract.gaps) assert.ok(because && new URL(source))
  })
}

const [paystack, stripe] = [readDescription('paystack.json'), readDescription('stripe.json')]
const key = { authorization: 'Bearer sk_test_x' }
const asJSON = (path: string, body: object): ProviderCall => ({
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
const get = (path: string, headers: Record<string, string> = key): ProviderCall => ({
  method: 'GET',
  url: `https://provider.example${path}`,
  headers,
})
const page = { email: 'ada@example.com', amount: 5_000 }
const session = 'success_url=https://x.example&line_items[0][price_data][currency]=usd'

const REQUESTS: [string, Description, ProviderCall, string[]][] = [
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
for (const [name, description, request, faults] of REQUESTS) {
  test(`a request with ${name} ${faults.length === 0 ? 'is accepted' : 'is rejected'}`, () => {
    const found = judge(description, request).faults.map(({ rule, field }) => `${rule} ${field}`)
    assert.deepEqual(found, faults)
  })
}

test('a gap allows its own field only, and its value is checked', () => {
  const wrongWith = (bank_transfer: unknown, gaps = PAYSTACK_GAPS) => {
    const call = asJSON('/charge', { ...page, bank_transfer })
    const { wrong } = findingsOf(paystack, gaps, [{ during: 'openVirtualAccount', call }])
    return wrong.filter((sentence) => sentence.startsWith('POST /charge'))
  }
  assert.deepEqual(wrongWith({ account_expires_at: '2026-11-20T10:00:00Z' }), [])
  assert.match(wrongWith({ account_expires_at: 'soon' })[0] ?? '', /bank_transfer\.account_expires_at .*“format”/)
  assert.match(
    wrongWith({ expires_at: '2026-11-20T10:00:00Z' })[0] ?? '',
    /bank_transfer\.expires_at .*“unknown field”/,
  )
  assert.match(wrongWith({}, [])[0] ?? '', /body\.bank_transfer .*“unknown field”/)
})

test('an unused gap and an unused call are reported', () => {
  const { wrong } = findingsOf(paystack, PAYSTACK_GAPS, [{ during: 'verifyKeys', call: get('/balance') }])
  assert.ok(wrong.includes('the gap “pay with transfer” is one no more: strike it from the list'))
  assert.ok(wrong.includes('POST /charge is described, and no request of ours makes it: leave it out'))
  assert.ok(!wrong.some((sentence) => sentence.startsWith('GET /balance')))
})

test('a literal path comes before a path with a parameter', () => {
  const paths = { '/t/{id}': { get: {} }, '/t/totals': { get: {} } }
  const description: Description = { servers: [], paths, components: { schemas: {} } }
  assert.equal(judge(description, get('/t/totals')).call, 'GET /t/totals')
  assert.equal(judge(description, get('/t/other')).call, 'GET /t/{id}')
})

test('form fields: brackets nest, numbers and empty brackets make lists, and no field is repeated', () => {
  assert.deepEqual(readForm('a[b][c]=1&d[0][e]=2&d[1][e]=3&f[]=4&f[]=5&g='), {
    a: { b: { c: '1' } },
    d: [{ e: '2' }, { e: '3' }],
    f: ['4', '5'],
    g: '',
  })
  for (const odd of ['a=1&a=2', 'a=1&a[b]=2', 'a[b=1', '[a]=1']) assert.throws(() => readForm(odd), odd)
})

test('schemas: anyOf, nullable, and an error for unknown keywords', () => {
  const find = faultFinder({ Sum: { type: 'integer' } })
  const rules = (value: unknown, schema: Schema) => find(value, schema, 'x', 'json').map(({ rule }) => rule)
  const either: Schema[] = [{ $ref: '#/components/schemas/Sum' }, { type: 'number' }]
  assert.deepEqual(rules(1.5, { oneOf: either }), [])
  assert.deepEqual(rules(1, { oneOf: either }), ['one of'])
  assert.deepEqual(rules(1, { anyOf: either }), [])
  assert.deepEqual(rules(null, { type: 'string' }), ['type'])
  assert.deepEqual(rules(null, { type: 'string', nullable: true }), [])
  assert.throws(() => rules(1, { minimum: 0 } as Schema), /minimum: write its rule/)
  assert.throws(() => rules('x', { type: 'string', format: 'uri' }), /format uri: write its rule/)
})
