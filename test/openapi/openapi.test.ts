import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeService } from '../../src/compose.ts'
import { breakingChanges } from './breaking-changes.ts'

const committed = () => JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'))
const current = JSON.parse(JSON.stringify(await describeService()))

test('the API breaks nobody who was written for the committed openapi.json', () => {
  assert.deepEqual(breakingChanges(committed(), current), [])
})

test('openapi.json is what the routes say (after a change: npm run openapi)', () => {
  assert.deepEqual(current, committed())
})

test('it is OpenAPI 3.1, and every call has a name, a summary, an answer and its refusals', () => {
  assert.match(current.openapi, /^3\.1/)
  for (const [path, methods] of Object.entries<Record<string, Record<string, Record<string, unknown>>>>(
    current.paths,
  )) {
    for (const [method, operation] of Object.entries(methods)) {
      assert.ok(operation.operationId && operation.summary, `${method} ${path}`)
      const statuses = Object.keys(operation.responses ?? {})
      assert.ok(statuses.some((status) => status.startsWith('2')) && statuses.includes('401'), `${method} ${path}`)
    }
  }
})

test('a breaking change is noticed, whichever way it breaks', () => {
  // biome-ignore lint/suspicious/noExplicitAny: a description is cut up at will here
  type Loose = Record<string, any>
  const damage: [RegExp, (api: Loose) => void][] = [
    [/GET \/payments\/v1\/payments: gone/, (api) => delete api.paths['/payments/v1/payments'].get],
    [/reference is now required/, (api) => api.components.schemas.CheckoutRequest.required.push('reference')],
    [/metadata is no longer known/, (api) => delete api.components.schemas.CheckoutRequest.properties.metadata],
    [
      /amount: maximum is now 100/,
      (api) => {
        api.components.schemas.CheckoutRequest.properties.amount.maximum = 100
      },
    ],
    [
      /currency: no longer takes null/,
      (api) => {
        api.components.schemas.CheckoutRequest.properties.currency.type = 'string'
      },
    ],
    [
      /shortURL may now be missing/,
      (api) => {
        api.components.schemas.Checkout.required = ['id']
      },
    ],
    [
      /amountPaid: may now be string/,
      (api) => {
        api.components.schemas.Payment.properties.amountPaid.type = 'string'
      },
    ],
    [/no longer answers 409/, (api) => delete api.paths['/payments/v1/checkouts'].post.responses['409']],
    [
      /parameter cursor is gone/,
      (api) => {
        const call = api.paths['/payments/v1/payments'].get
        call.parameters = call.parameters.filter(({ name }: Loose) => name !== 'cursor')
      },
    ],
  ]
  for (const [expected, break_] of damage) {
    const api = structuredClone(current)
    break_(api)
    assert.match(breakingChanges(current, api).join('\n'), expected)
  }
})

test('an addition breaks nobody', () => {
  const api = structuredClone(current)
  api.components.schemas.CheckoutRequest.properties.locale = { type: 'string' }
  api.components.schemas.Payment.properties.risk = { type: 'string' }
  api.paths['/payments/v1/refunds'] = { get: { responses: {} } }
  assert.deepEqual(breakingChanges(current, api), [])
})
