import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Manilla } from '../../clients/typescript/src/index.ts'
import { describeService } from '../../src/compose.ts'
import { ANNOUNCED } from '../../src/events/event.ts'
import { API_PROBLEMS } from '../../src/kernel/problem.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { breakingChanges } from './breaking-changes.ts'
import { clientTypes, widgetTypes } from './client-types.ts'
import { emittedClients } from './emitted-clients.ts'
import { surface } from './surface.ts'

const committed = () => JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8'))
const current = JSON.parse(JSON.stringify(await describeService()))

test('the API is compatible with clients of the committed docs/openapi.json', () => {
  assert.deepEqual(breakingChanges(committed(), current), [])
})

test('docs/openapi.json matches the routes (after a change: npm run openapi)', () => {
  assert.deepEqual(current, committed())
})

test('the types of the client library match docs/openapi.json and the widget (after a change: npm run openapi)', () => {
  const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
  assert.equal(read('clients/typescript/src/api-types.ts'), clientTypes(current))
  assert.equal(read('clients/typescript/src/widget-types.ts'), widgetTypes(read('web/widget/types.d.ts')))
  for (const [name, text] of emittedClients(current)) assert.equal(read(name), text, name)
})

test('the clients for PHP and Python have the same resources and calls as the one for TypeScript', () => {
  const { webhooks, ...manilla } = new Manilla({ baseUrl: 'http://x', clientId: 'x', clientSecret: 'x' })
  assert.deepEqual(
    Object.fromEntries(surface(current).map(({ name, methods }) => [name, methods.map((each) => each.name)])),
    Object.fromEntries(Object.entries(manilla).map(([name, calls]) => [name, Object.keys(calls)])),
  )
})

test('it is OpenAPI 3.1, and each operation has an id, a summary, a response and its errors', () => {
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

test('each reference in the document leads to a part of it', () => {
  const references = [...JSON.stringify(current).matchAll(/"\$ref":"([^"]*)"/g)].map(([, name = '']) => name)
  assert.ok(references.length > 100, `${references.length} references`)
  for (const name of new Set(references)) {
    const [root, ...path] = name.split('/')
    assert.equal(root, '#', name)
    assert.ok(
      path.reduce<Record<string, never> | undefined>((part, key) => part?.[key], current),
      name,
    )
  }
})

test('each kind of breaking change is detected', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the document is changed by name
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

test('an addition is not a breaking change', () => {
  const api = structuredClone(current)
  api.components.schemas.CheckoutRequest.properties.locale = { type: 'string' }
  api.components.schemas.Payment.properties.risk = { type: 'string' }
  api.paths['/payments/v1/payouts'] = { get: { responses: {} } }
  assert.deepEqual(breakingChanges(current, api), [])
})

// biome-ignore lint/suspicious/noExplicitAny: the document is read by name
type Json = Record<string, any>
const operations: Json[] = Object.values<Json>(current.paths).flatMap((methods) => Object.values<Json>(methods))

test('each request and response has an example without placeholders', () => {
  for (const { operationId, requestBody, responses } of operations) {
    const answers = Object.entries<Json>(responses).filter(([status]) => status.startsWith('2'))
    for (const { content } of [requestBody, ...answers.map(([, answer]) => answer)].filter(Boolean)) {
      const { example } = content['application/json'] ?? content['text/csv']
      assert.ok(Object.keys(example).length > 0, operationId)
      for (const [name, value] of Object.entries(example)) {
        assert.notEqual(value, 'string', `${operationId} ${name}`)
        if (name !== 'nextCursor') assert.notEqual(value, null, `${operationId} ${name}`)
      }
    }
  }
})

test('each error code is listed by an operation, except those of the HTTP server itself', () => {
  const listed = operations.flatMap(({ responses }) =>
    Object.values<Json>(responses).flatMap(({ content }) =>
      Object.keys(content['application/problem+json']?.examples ?? {}),
    ),
  )
  const ofServer = ['method_not_allowed', 'headers_too_large', 'request_timeout', 'internal_error']
  assert.deepEqual(new Set([...listed, ...ofServer]), new Set(Object.keys(API_PROBLEMS)))
})

test('the webhooks section has each event with the members that are really sent', async () => {
  assert.deepEqual(Object.keys(current.webhooks), [...ANNOUNCED])
  const { addShop } = await startPaying()
  const shop = await addShop()
  const pay = async (changes: Json, how: (data: Json) => Promise<unknown>) => {
    const { body } = await shop.initialize(changes)
    await how(body.data.data)
    return body.data.data.reference
  }
  const charge = (card: string) => (data: Json) =>
    shop.call('POST', `/sandbox/gateway/charges/${data.reference}`, { card })
  const transfer =
    (...amounts: number[]) =>
    async (data: Json) => {
      const { accountNumber } = data
      for (const amount of amounts) await shop.call('POST', '/sandbox/gateway/transfers', { accountNumber, amount })
    }
  const account = { provider: 'gateway-virtual-bank-account', amount: 1_000 }
  await pay({}, charge('4000 0000 0000 0002'))
  await pay({ reference: 'cancelled' }, () => shop.call('POST', '/payments/v1/payments/cancelled/cancel'))
  await pay({ ...account, reference: 'in-parts' }, async (data) => {
    await transfer(900)(data)
    await eventually(
      () => shop.payment('in-parts'),
      ({ amountPaid }) => amountPaid === 900,
    )
    await transfer(200)(data)
  })
  await pay({ ...account, reference: 'twice' }, transfer(1_000))
  const isPaid = ({ status }: Json) => status === 'successful'
  await eventually(() => shop.payment('twice'), isPaid)
  await shop.call('POST', '/payments/v1/payments/twice/refunds', { amount: 100 })
  const again = (await shop.payment('twice')).attempts[0].instructions
  await transfer(1_000)(again)
  const reference = await pay({ reference: 'disputed' }, charge('4084 0840 8408 4081'))
  await eventually(() => shop.payment('disputed'), isPaid)
  const { body } = await shop.call('POST', '/sandbox/gateway/disputes', { reference })
  await shop.call('POST', `/sandbox/gateway/disputes/${body.data.id}/close`, { outcome: 'lost' })
  const wanted = [
    ...['payment.successful', 'payment.cancelled', 'payment.underpaid', 'payment.overpaid', 'payment.surplus'],
    ...['attempt.failed', 'refund.successful', 'dispute.opened', 'dispute.lost'],
  ]
  const events = await eventually(
    async () => (await shop.call('GET', '/payments/v1/events?limit=100')).body.data as Json[],
    (found) => wanted.filter((type) => !found.some((event) => event.type === type)).length === 0,
  )
  for (const { type, ...event } of events) {
    const { schema } = current.webhooks[type].post.requestBody.content['application/json']
    assert.deepEqual(Object.keys({ ...event, type }).sort(), [...schema.required].sort(), type)
    assert.deepEqual(Object.keys(event.data).sort(), [...schema.properties.data.required].sort(), type)
  }
})

const { baseUrl } = await startPaying()

test('each sandbox path of the document exists and asks for credentials', async () => {
  const paths = Object.entries<Json>(current.paths).filter(([path]) => path.startsWith('/sandbox/'))
  assert.ok(paths.length > 0)
  for (const [path, methods] of paths) {
    for (const method of Object.keys(methods)) {
      const { status } = await fetch(baseUrl + path.replace(/\{\w+\}/, 'x'), { method: method.toUpperCase() })
      assert.equal(status, 401, `${method} ${path}`)
    }
  }
})

test('the page at /docs runs scripts of this server only', async () => {
  const page = await fetch(`${baseUrl}/docs`)
  const policy = page.headers.get('content-security-policy') ?? ''
  for (const part of [
    /^default-src 'none'; script-src 'self';/,
    /style-src 'self' 'unsafe-inline';/,
    /connect-src 'self';/,
  ])
    assert.match(policy, part)
  const scripts = [...(await page.text()).matchAll(/<script(.*?)><\/script>/gs)].map(([, attributes]) => attributes)
  assert.deepEqual(scripts, [' src="/docs/js/scalar.js"', ' src="/docs/js/start.js"'])
  const [library, start] = await Promise.all(
    ['/docs/js/scalar.js', '/docs/js/start.js'].map(async (path) => (await fetch(baseUrl + path)).text()),
  )
  assert.ok(library?.includes('createApiReference'))
  assert.match(start ?? '', /^Scalar\.createApiReference\('#reference', \{"url":"\/openapi\.json"/)
})
