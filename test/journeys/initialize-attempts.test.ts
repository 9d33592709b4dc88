import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { startById } from '../support/by-id.ts'
import { doorInTrouble } from '../support/door-in-trouble.ts'
import { startPaying } from '../support/paying.ts'
import { closeInstructions } from '../support/payment-records.ts'
import { charge, TRANSFER } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, parts, baseUrl } = service
const shop = await service.addShop()
let orders = 0
const newReference = () => `ORD-${++orders}`

/** Each time another one, so that no test depends on another's payments. */
function checkout(reference: string, changes: Record<string, unknown> = {}) {
  const body = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' }, reference, ...changes }
  return shop.call('POST', '/payments/v1/checkouts', body)
}

test('the reference of a pending payment adds an attempt to it, also to a checkout', async () => {
  const reference = newReference()
  const { id } = (await checkout(reference)).body.data
  const first = await shop.initialize({ reference })
  const second = await shop.initialize({ ...TRANSFER, reference })
  assert.deepEqual([first.status, second.status], [200, 200])
  assert.notEqual(first.body.data.reference, second.body.data.reference)
  const payment = await shop.payment(reference)
  assert.equal(payment.id, id)
  assert.deepEqual(
    payment.attempts.map(({ number, channel, status }: Record<string, unknown>) => [number, channel, status]),
    [
      [1, 'card', 'pending'],
      [2, 'virtual-bank-account', 'pending'],
    ],
  )
})

test('the same reference with another amount or currency is 409 reference_conflict', async () => {
  const reference = newReference()
  await shop.initialize({ reference })
  for (const changes of [{ amount: 1_250_001 }, { currency: 'GHS' }]) {
    const { status, body } = await shop.initialize({ reference, ...changes })
    assert.deepEqual([status, body.code], [409, 'reference_conflict'])
  }
  assert.equal((await shop.payment(reference)).attempts.length, 1)
})

test('an ended payment accepts no attempts, and the error says how it ended', async () => {
  const [paid, cancelled, expired] = [newReference(), newReference(), newReference()]
  const { data } = (await shop.initialize({ reference: paid })).body
  await charge(shop, data.data.reference)
  await fetch(`${baseUrl}/return/${(await shop.payment(paid)).attempts[0].id}`, { redirect: 'manual' })
  await checkout(cancelled)
  await shop.call('POST', `/payments/v1/payments/${cancelled}/cancel`)
  await checkout(expired)
  await database.rows(sql`update payments set status = 'expired' where reference = ${expired}`)
  for (const [reference, code] of [
    [paid, 'payment_already_completed'],
    [cancelled, 'payment_cancelled'],
    [expired, 'payment_expired'],
  ] as const) {
    const { status, body } = await shop.initialize({ reference })
    assert.deepEqual([status, body.code, body.retryable], [409, code, false])
  }
})

test('an overdue payment accepts no attempts, also before the worker has expired it', async () => {
  const reference = newReference()
  await checkout(reference)
  await database.rows(sql`update payments set expires_at = now() - interval '1 second' where reference = ${reference}`)
  const { status, body } = await shop.initialize({ reference })
  assert.deepEqual([status, body.code], [409, 'payment_expired'])
  assert.equal((await shop.payment(reference)).attempts.length, 0)
})

test('B15: while an attempt is processing, another is 409 attempt_in_progress with its reference', async (t) => {
  const door = await doorInTrouble(t, service)
  const reference = newReference()
  door.upstream.trouble = 'silent after the work'
  const silent = await door.initialize(shop, { reference })
  assert.equal(silent.status, 504)
  for (const changes of [{}, TRANSFER]) {
    const { status, body, headers } = await shop.initialize({ reference, ...changes })
    assert.deepEqual([status, body.code, body.retryable], [409, 'attempt_in_progress', true])
    assert.equal(body.attempt, silent.body.attempt)
    assert.ok(Number(headers['retry-after']) > 0)
  }
  const cancel = await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
  assert.deepEqual([cancel.status, cancel.body.code], [409, 'attempt_in_progress'])
})

test('the 21st attempt is 409 too_many_attempts', async () => {
  const reference = newReference()
  for (let number = 1; number <= 20; number++) {
    assert.equal((await shop.initialize({ reference })).status, 200, `try ${number}`)
    await closeInstructions(database, reference)
  }
  const { status, body } = await shop.initialize({ reference })
  assert.deepEqual([status, body.code], [409, 'too_many_attempts'])
  assert.equal((await shop.payment(reference)).attempts.length, 20)
})

test('a refusal of the provider is 502 provider_error with its message, and the attempt fails', async (t) => {
  const door = await doorInTrouble(t, service)
  const reference = newReference()
  const refusal = {
    type: 'urn:manilla:problem:account_restricted',
    code: 'account_restricted',
    detail: 'Your account <b>is</b> restricted.',
  }
  door.upstream.garble = () => ({ status: 422, text: JSON.stringify(refusal) })
  const { status, body } = await door.initialize(shop, { reference })
  assert.deepEqual([status, body.code], [502, 'provider_error'])
  assert.equal(body.detail, 'gateway refused: Your account <b>is</b> restricted.')
  const payment = await shop.payment(reference)
  const [attempt] = payment.attempts
  assert.deepEqual([payment.status, attempt.status, attempt.reference], ['pending', 'failed', body.attempt])
  assert.deepEqual(attempt.failure, {
    code: 'provider_error',
    message: 'Your account <b>is</b> restricted.',
    retryable: true,
    providerCode: 'account_restricted',
  })
  assert.equal((await shop.initialize({ reference })).status, 200, 'and the payment can be tried again')
})

for (const trouble of [
  'silent before the work',
  'silent after the work',
  'reset after the work',
  'breaking off after the work',
  'answering 500 before the work',
  'answering 503 after the work',
  'answering 429',
] as const) {
  test(`B13: a provider that is ${trouble} is 504 provider_timeout: the attempt is processing, not failed`, async (t) => {
    const door = await doorInTrouble(t, service)
    door.upstream.trouble = trouble
    for (const changes of [{}, TRANSFER]) {
      const reference = newReference()
      const { status, body, headers } = await door.initialize(shop, { reference, ...changes })
      assert.deepEqual([status, body.code, body.retryable], [504, 'provider_timeout', true])
      assert.ok(Number(headers['retry-after']) > 0)
      const { attempts, status: now } = await shop.payment(reference)
      assert.deepEqual([now, attempts[0].status, attempts[0].reference], ['pending', 'processing', body.attempt])
      assert.ok(body.detail.includes(body.attempt))
      assert.equal(attempts[0].failure, null)
    }
  })
}

test('a failed connection to the provider is 502, the attempt fails, and another is allowed', async (t) => {
  const door = await doorInTrouble(t, service)
  await door.upstream.close()
  const reference = newReference()
  const { status, body, headers } = await door.initialize(shop, { reference })
  assert.deepEqual([status, body.code], [502, 'provider_error'])
  assert.ok(Number(headers['retry-after']) > 0)
  const [attempt] = (await shop.payment(reference)).attempts
  assert.deepEqual([attempt.status, attempt.failure.code], ['failed', 'provider_unavailable'])
  assert.equal((await shop.initialize({ reference })).status, 200)
})

test('F2: another merchant’s payment, attempt or reference is 404, like an unknown one', async () => {
  const other = await service.addShop()
  const { data } = (await shop.initialize({ reference: newReference() })).body
  const payment = await shop.payment(data.reference)
  const calls = (name: string) =>
    [
      ['GET', `/payments/v1/payments/${name}`],
      ['GET', `/payments/v1/payments/${name}/timeline`],
      ['POST', `/payments/v1/payments/${name}/cancel`],
      ['POST', `/payments/v1/payments/${name}/refunds`],
    ] as const
  const without = ({ instance: _, requestId: __, ...problem }: Record<string, unknown>) => problem
  for (const name of [payment.reference, data.reference, payment.id]) {
    for (const [index, [method, path]] of calls(name).entries()) {
      const body = path.endsWith('refunds') ? {} : undefined
      const theirs = await other.call(method, path, body)
      const [, nowhere] = calls('never-was')[index] as (typeof calls extends (name: string) => infer Calls
        ? Calls
        : never)[number]
      const madeUp = await other.call(method, nowhere, body)
      assert.equal(theirs.status, 404, `${method} ${path}`)
      assert.deepEqual(without(theirs.body), without(madeUp.body))
    }
  }
  assert.equal((await other.call('POST', `/sandbox/gateway/charges/${data.data.reference}`, {})).status, 404)
  const own = await other.initialize({ reference: payment.reference })
  assert.equal(own.status, 200, 'and a reference of one merchant is free for another')
  assert.notEqual((await other.payment(payment.reference)).id, payment.id)
  assert.equal((await shop.payment(payment.reference)).attempts.length, 1)
})

test('cancelling a payment abandons its pending attempt', async () => {
  const reference = newReference()
  const { data } = (await shop.initialize({ reference })).body
  const { status, body } = await shop.call('POST', `/payments/v1/payments/${data.reference}/cancel`)
  assert.equal(status, 200)
  const [attempt] = body.data.attempts
  assert.deepEqual([body.data.status, attempt.status], ['cancelled', 'abandoned'])
  assert.ok(attempt.resolvedAt && body.data.completedAt)
  assert.deepEqual(await shop.payment(reference), body.data)
})

test('an attempt that cannot be prepared starts nothing and does not block another', async () => {
  const reference = newReference()
  const { id } = (await checkout(reference)).body.data
  const { capabilities } = parts.providers.find('gateway') ?? assert.fail()
  await database.rows(sql`alter table integrations rename to integrations_away`)
  try {
    await assert.rejects(startById(parts, id, { capabilities, channel: 'card' }), /integrations/)
  } finally {
    await database.rows(sql`alter table integrations_away rename to integrations`)
  }
  assert.deepEqual((await shop.payment(reference)).attempts, [])
  assert.equal((await shop.initialize({ reference })).status, 200)
})
