import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONTRACTS, checkContract, findingsOf } from './check.ts'
import { type Description, judge } from './description.ts'
import { readForm } from './form.ts'
import { PAYSTACK_GAPS } from './gaps.ts'
import { asJSON, get, page, paystack, REQUESTS } from './requests.ts'
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

for (const [name, description, request, faults] of REQUESTS) {
  test(`a request with ${name} ${faults.length === 0 ? 'is accepted' : 'is rejected'}`, () => {
    const found = judge(description, request).faults.map(({ rule, field }) => `${rule} ${field}`)
    assert.deepEqual(found, faults)
  })
}

test('a gap allows its own field only, and its value is checked', () => {
  const wrongWith = (bank_transfer: unknown, gaps = PAYSTACK_GAPS) => {
    const call = asJSON('/charge', { ...page, bank_transfer })
    const { wrong } = findingsOf(paystack, gaps, [{ during: 'start', call }])
    return wrong.filter((sentence) => sentence.startsWith('POST /charge in'))
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
