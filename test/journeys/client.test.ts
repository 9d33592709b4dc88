import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import {
  Manilla,
  ManillaApiError,
  ManillaConnectionError,
  type ManillaOptions,
} from '../../clients/typescript/src/index.ts'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { createDatabase } from '../support/database.ts'
import { type Heard, type Manner, startListener, takes } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { startService } from '../support/service.ts'

const { url: databaseUrl, database } = await createDatabase()
const { baseUrl, addShop } = await startPaying({ database, databaseUrl, deliver: true })
const ORDER = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }
const PAYS = '4084 0840 8408 4081'

async function openClient(changes: Partial<ManillaOptions> = {}) {
  const shop = await addShop()
  const { 'client-id': clientId, 'client-secret': clientSecret } = shop.headers
  const manilla = new Manilla({ baseUrl, clientId, clientSecret, ...changes })
  return { shop, clientSecret, manilla }
}

/** Loses the answers to the first tries: the service has carried out the call, and the client does not know. */
function losing(answers: number) {
  const sent: { method: string; key: string | null }[] = []
  const lossy: typeof fetch = async (url, request) => {
    sent.push({ method: request?.method ?? '', key: new Headers(request?.headers).get('idempotency-key') })
    const response = await fetch(url, request)
    if (sent.length > answers) return response
    await response.arrayBuffer()
    throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
  }
  return { fetch: lossy, sent }
}

/** A client of a server that behaves badly. */
async function clientOf(manner: Manner, changes: Partial<ManillaOptions> = {}) {
  const listener = await startListener(manner)
  const { origin } = new URL(listener.url)
  return { listener, manilla: new Manilla({ baseUrl: origin, clientId: 'cid_x', clientSecret: 'sec_x', ...changes }) }
}

async function refusal(call: Promise<unknown>): Promise<ManillaApiError> {
  const error = await call.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof ManillaApiError, inspect(error))
  return error
}

test('a payment from the first call to the refund, with every resource', async () => {
  const { manilla, shop } = await openClient()
  const checkout = await manilla.checkouts.create({ ...ORDER, reference: 'ORD/1' })
  assert.equal(checkout.amount, ORDER.amount)
  assert.equal((await manilla.payments.cancel('ORD/1')).status, 'cancelled')
  const card = await manilla.payments.initialize({ ...ORDER, provider: 'gateway', reference: 'ORD-2' })
  assert.ok(card.channel === 'card' && card.data.link.startsWith(baseUrl))
  const account = await manilla.payments.initialize({ ...ORDER, provider: 'gateway-virtual-bank-account' })
  assert.ok(account.channel === 'virtual-bank-account' && account.data.amountToTransfer === ORDER.amount)
  await shop.call('POST', `/sandbox/gateway/charges/${card.data.reference}`, { card: PAYS })
  await eventually(
    () => manilla.payments.retrieve('ORD-2'),
    ({ status }) => status === 'successful',
  )
  assert.equal((await manilla.payments.timeline('ORD-2'))[0]?.what, 'payment created')
  const refund = await manilla.payments.refund('ORD-2', { amount: 50_000 })
  assert.deepEqual(
    (await manilla.payments.refunds('ORD-2')).map(({ id }) => id),
    [refund.id],
  )
  assert.equal((await manilla.refunds.retrieve(refund.id)).amount, 50_000)
  const twice = await refusal(manilla.payments.refund('ORD-2', { amount: 50_000 }))
  assert.ok(twice.is('duplicate_refund') && twice.existing.id === refund.id, 'a double click refunds once')
  const meant = await manilla.payments.refund('ORD-2', { amount: 50_000 }, { idempotencyKey: 'refund-2' })
  const repeated = await manilla.payments.refund('ORD-2', { amount: 50_000 }, { idempotencyKey: 'refund-2' })
  assert.equal(repeated.id, meant.id)
  await manilla.payments.refund('ORD-2', { amount: 50_000, allowDuplicate: true })
  assert.equal((await manilla.payments.refunds('ORD-2')).length, 3)
  assert.match((await manilla.payments.createWidgetToken('ORD-2')).token, /^wgt_/)
  const events = await manilla.events.list({ payment: 'ORD-2', type: 'payment.successful' }).page()
  const paid = events.data[0] ?? assert.fail()
  assert.equal((await manilla.events.retrieve(paid.id)).event.id, paid.id)
  assert.deepEqual(await manilla.events.redeliver(paid.id), { deliveries: 0 })
  assert.deepEqual(await manilla.events.redeliverExhausted({ from: '2026-01-01' }), { deliveries: 0 })
  assert.deepEqual((await manilla.disputes.list().page()).data, [])
  assert.deepEqual(await manilla.cards.list({ email: 'ada@example.com' }), [])
  const [quote] = await manilla.fees.quote({ amount: 1_000_000, country: 'NG' })
  assert.equal(quote?.provider, 'gateway')
  assert.equal((await manilla.integrations.list({ currency: 'NGN' }))[0]?.provider, 'gateway')
  assert.deepEqual(await manilla.integrations.check('gateway'), { keys: 'good', reason: null })
  const { data, warning } = await manilla.integrations.set('gateway', { priority: 5 })
  assert.deepEqual([data.priority, warning], [5, null])
  assert.equal((await manilla.integrations.retrieve('gateway')).priority, 5)
  const link = await manilla.links.create({ title: 'Class', country: 'NG', amount: 100 })
  assert.equal((await manilla.links.update(link.id, { active: false })).status, 'inactive')
  assert.equal((await manilla.links.retrieve(link.id)).status, 'inactive')
  assert.equal((await manilla.links.list().page()).data.length, 1)
  const csv = await (await manilla.exports.payments({ columns: 'reference,amount' })).text()
  assert.match(csv, /^reference,amount\r\n/)
})

test('a refused call is an error with its code, the request id, all mistakes and what exists already', async () => {
  const { manilla } = await openClient()
  const first = await manilla.checkouts.create({ ...ORDER, reference: 'ORD-1' })
  const used = await refusal(manilla.checkouts.create({ ...ORDER, reference: 'ORD-1' }))
  assert.ok(used.is('duplicate_reference') && used.existing.url === first.url)
  assert.deepEqual([used.status, used.retryable, used.retries], [409, false, 0])
  const wrong = await refusal(manilla.checkouts.create({ ...ORDER, amount: 1.5, user: { email: '' } }))
  assert.deepEqual(wrong.errors.map(({ pointer }) => pointer).sort(), ['/amount', '/user/email'])
  assert.equal(wrong.code, 'invalid_request')
  assert.ok(wrong.requestId && wrong.message.includes(wrong.requestId))
  const stranger = new Manilla({ baseUrl, clientId: 'cid_sandbox_x', clientSecret: 'sec_sandbox_x' })
  assert.equal((await refusal(stranger.payments.retrieve('ORD-1'))).code, 'invalid_credentials')
  assert.equal((await refusal(manilla.payments.retrieve('none'))).code, 'not_found')
})

test('after a lost answer the call is repeated with the same key, and there is one payment', async () => {
  const { fetch, sent } = losing(2)
  const { manilla } = await openClient({ fetch })
  const { id } = await manilla.checkouts.create(ORDER)
  const [first, second, third] = sent
  assert.ok(first?.key)
  assert.deepEqual([second?.key, third?.key, sent.length], [first.key, first.key, 3])
  const payments = await manilla.payments.list().page()
  assert.deepEqual(
    payments.data.map((each) => each.id),
    [id],
  )
  await manilla.checkouts.create(ORDER)
  assert.notEqual(sent.at(-1)?.key, first.key, 'another call has another key')
})

test('a mistake of the caller is refused at once and nothing is sent: NaN in JSON would refund in full', async () => {
  const { manilla, listener } = await clientOf(takes.well)
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const mistakes: [RegExp, () => Promise<unknown>][] = [
    [/amount is NaN/, () => manilla.payments.refund('ORD-1', { amount: Number('12,50') })],
    [/maxAmount is Infinity/, () => manilla.links.create({ title: 'x', country: 'NG', maxAmount: 1 / 0 })],
    [/amount is 100/, () => manilla.checkouts.create({ ...ORDER, amount: 100n as never })],
    [/idempotencyKey/, () => manilla.checkouts.create(ORDER, { idempotencyKey: 'заказ-1' })],
    [/idempotencyKey/, () => manilla.checkouts.create(ORDER, { idempotencyKey: '' })],
    [/circular/, () => manilla.checkouts.create({ ...ORDER, metadata: circular as never })],
    ...['', '.', '..'].map((id): [RegExp, () => Promise<unknown>] => [/empty/, () => manilla.events.redeliver(id)]),
    [/empty/, () => manilla.payments.retrieve('')],
  ]
  for (const [message, call] of mistakes) {
    const error = await call().then(
      () => assert.fail(`${message} was sent`),
      (error: Error) => error,
    )
    assert.match(error.message, message)
    assert.ok(!(error instanceof ManillaConnectionError), error.message)
  }
  assert.equal(listener.heard.length, 0)
})

test('an option that is undefined has its default, and a timeout longer than a timer can be is a long one', async () => {
  const { manilla } = await openClient()
  const { reference } = await manilla.checkouts.create(ORDER, { timeoutMs: 2 ** 32, deadlineMs: Infinity })
  const none = { timeoutMs: undefined, deadlineMs: undefined, maxRetries: undefined, signal: undefined }
  assert.equal((await manilla.payments.retrieve(reference, { ...none })).reference, reference)
  const { manilla: refused, listener } = await clientOf(takes.with(503, { 'retry-after': '99999999999' }))
  await refusal(refused.payments.retrieve('x', { deadlineMs: Infinity }))
  assert.equal(listener.heard.length, 1)
})

test('the path of the base URL is kept, and nothing of it gets lost in a query', async () => {
  const urls: string[] = []
  const fetch = async (url: unknown) => {
    urls.push(String(url))
    return Response.json({ data: {} })
  }
  for (const baseUrl of ['https://pay.test', 'https://pay.test/?', 'https://pay.test/manilla//', 'https://pay.test/#'])
    await new Manilla({ baseUrl, clientId: 'c', clientSecret: 's', fetch }).payments.retrieve('a/../b')
  const path = '/payments/v1/payments/a%2F..%2Fb'
  const [root, under] = [`https://pay.test${path}`, `https://pay.test/manilla${path}`]
  assert.deepEqual(urls, [root, root, under, root])
})

test('a call whose key is still in use is waited for, however many retries are allowed', async () => {
  const running = JSON.stringify({ code: 'idempotency_in_progress', detail: 'It is still running.' })
  const { manilla, listener } = await clientOf((heard, response) => {
    const isDone = listener.heard.length === 3
    takes.with(isDone ? 200 : 409, {}, isDone ? '{"data":{"id":"chk_1"}}' : running)(heard, response)
  })
  assert.equal((await manilla.checkouts.create(ORDER, { maxRetries: 1 })).id, 'chk_1')
  assert.equal(new Set(listener.heard.map(({ headers }) => headers['idempotency-key'])).size, 1)
  // It would be waited for beyond the deadline.
  listener.answer = takes.with(409, { 'retry-after': '3600' }, running)
  const error = await refusal(manilla.checkouts.create(ORDER))
  assert.equal(error.code, 'idempotency_in_progress')
})

test('an answer that is not from Manilla is an http_error, also with status 200, and a list of it ends', async () => {
  const { manilla, listener } = await clientOf(takes.well)
  for (const text of ['<html>Sign in to the Wi-Fi</html>', '', '{}', 'null', '[]']) {
    listener.answer = takes.with(200, {}, text)
    const error = await refusal(manilla.checkouts.create(ORDER))
    assert.deepEqual([error.code, error.status, error.errors], ['http_error', 200, []], text)
    assert.ok(error.idempotencyKey)
  }
  assert.equal(listener.heard.length, 5)
  listener.answer = takes.with(429, {}, '{"code":1010,"errors":"Too many"}')
  const limited = await refusal(manilla.payments.retrieve('x', { maxRetries: 0 }))
  assert.deepEqual([limited.code, limited.retryable, limited.errors], ['http_error', true, []])
  listener.answer = takes.with(200, {}, '\ufeff{"data":[{"reference":"only"}]}')
  const seen: string[] = []
  for await (const { reference } of manilla.payments.list()) if (seen.push(reference) > 2) break
  assert.deepEqual(seen, ['only'])
})

test('a list whose cursors come again ends with an error', async () => {
  const { manilla, listener } = await clientOf(takes.well)
  const readAll = async () => {
    for await (const _ of manilla.payments.list()) assert.fail('it is empty')
  }
  const { heard } = listener
  for (const cursors of [['same'], ['a', 'b', 'c']]) {
    const before = heard.length
    listener.answer = (_, response) => {
      const nextCursor = cursors[(heard.length - before) % cursors.length]
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [], nextCursor }))
      if (heard.length - before > 10) listener.answer = takes.with(400) // else a list without an end hangs
    }
    await assert.rejects(readAll, /The list does not end/)
    assert.equal(heard.length - before, cursors.length + 1)
  }
})

test('cancelling and deleting succeed when only the answer was lost', async () => {
  const { shop, manilla } = await openClient()
  const { 'client-id': clientId, 'client-secret': clientSecret } = shop.headers
  const { reference } = await manilla.checkouts.create(ORDER)
  const lossy = () => new Manilla({ baseUrl, clientId, clientSecret, fetch: losing(1).fetch })
  assert.equal((await lossy().payments.cancel(reference)).status, 'cancelled')
  assert.equal((await refusal(manilla.payments.cancel(reference))).code, 'payment_cancelled')
  const { id } = await manilla.webhookEndpoints.create({ url: 'http://127.0.0.1:9/hook' })
  await lossy().webhookEndpoints.delete(id)
  assert.deepEqual(await manilla.webhookEndpoints.list(), [])
})

test('a call that must not be carried out twice is not repeated: rotating twice would end the secret in use', async () => {
  const { fetch, sent } = losing(1)
  const { manilla } = await openClient({ fetch })
  await assert.rejects(manilla.webhookEndpoints.rotateDefaultSecret(), ManillaConnectionError)
  assert.equal(sent.length, 1)
})

test('429 is repeated after Retry-After, not before', async () => {
  const { manilla, listener } = await clientOf((heard, response) => {
    const isFirst = listener.heard.length === 1
    const manner = isFirst
      ? takes.with(429, { 'retry-after': '1' })
      : takes.with(200, {}, '{"data":{"secret":"whsec_"}}')
    manner(heard, response)
  })
  await manilla.webhookEndpoints.rotateDefaultSecret() // a refused call has done nothing, so every call is repeated
  const [first, second] = listener.heard as [Heard, Heard]
  assert.ok(second.at - first.at >= 990, `after ${second.at - first.at} ms`)
})

test('the rate limit of the service is an error that says when to come back', async () => {
  const { app } = await startService({ rateLimit: true })
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const stranger = new Manilla({ baseUrl, clientId: 'cid_sandbox_x', clientSecret: 'x', maxRetries: 0 })
  let error = await refusal(stranger.payments.retrieve('x'))
  for (let guess = 0; error.code === 'invalid_credentials' && guess < 20; guess++)
    error = await refusal(stranger.payments.retrieve('x'))
  assert.deepEqual([error.code, error.status, error.retryable], ['rate_limited', 429, true])
  assert.ok((error.retryAfterSeconds ?? 0) >= 1)
})

test('502, 503 and 504 of a proxy are repeated a limited number of times', async () => {
  let calls = 0
  const order = { ...ORDER }
  const { manilla, listener } = await clientOf((heard, response) => {
    order.amount++ // the caller's object may change while the call is repeated
    const status = [502, 503][calls++] ?? 200
    takes.with(status, {}, status === 200 ? '{"data":{"id":"chk_1"}}' : '<html>')(heard, response)
  })
  assert.equal((await manilla.checkouts.create(order)).id, 'chk_1')
  assert.equal(new Set(listener.heard.map(({ headers }) => headers['idempotency-key'])).size, 1)
  assert.equal(new Set(listener.heard.map(({ body }) => body)).size, 1)
  assert.equal(listener.heard.length, 3)
  listener.answer = takes.with(504)
  const error = await refusal(manilla.payments.retrieve('x', { maxRetries: 1 }))
  assert.deepEqual([error.code, error.status, error.retries], ['http_error', 504, 1])
})

test('it is not repeated: a wait beyond the deadline, a provider that did not answer, a mistake of the caller', async () => {
  const problem = (code: string) => JSON.stringify({ code, detail: 'No.', requestId: 'r1', attempt: 'a1' })
  const { manilla, listener } = await clientOf(takes.with(503, { 'retry-after': '3600' }, problem('unavailable')))
  assert.equal((await refusal(manilla.payments.retrieve('x'))).retryAfterSeconds, 3600)
  listener.answer = takes.with(504, {}, problem('provider_timeout'))
  assert.equal((await refusal(manilla.payments.initialize({ ...ORDER, provider: 'gateway' }))).attempt, 'a1')
  listener.answer = takes.with(400, {}, problem('invalid_request'))
  await refusal(manilla.checkouts.create(ORDER))
  assert.equal(listener.heard.length, 3)
})

test('a call ends at its timeout, at its deadline, and when its signal is aborted', async () => {
  // Counted here: on a busy machine a try may time out before it arrives.
  let tries = 0
  const counting: typeof fetch = (...call) => {
    tries++
    return fetch(...call)
  }
  const { manilla, listener } = await clientOf(takes.inSilence, { fetch: counting })
  const slow = await manilla.checkouts.create(ORDER, { timeoutMs: 50, maxRetries: 1 }).catch((error: unknown) => error)
  assert.ok(slow instanceof ManillaConnectionError && slow.timedOut && slow.idempotencyKey)
  assert.equal(tries, 2)
  const late = await manilla.checkouts.create(ORDER, { deadlineMs: 50 }).catch((error: unknown) => error)
  assert.ok(late instanceof ManillaConnectionError && late.retries === 0)
  const stop = new AbortController()
  const call = manilla.payments.list({}, { signal: stop.signal }).page()
  await listener.hears(listener.heard.length + 1)
  stop.abort(new Error('the customer left'))
  await assert.rejects(call, /the customer left/)
  await assert.rejects(manilla.payments.retrieve('x', { signal: stop.signal }), /the customer left/)

  listener.answer = takes.byDrips()
  const drips = await manilla.payments.retrieve('x', { timeoutMs: 50, maxRetries: 0 }).catch((error: unknown) => error)
  assert.ok(drips instanceof ManillaConnectionError && drips.timedOut, 'the body counts')
  const enough = new AbortController()
  const csv = await manilla.exports.payments({}, { signal: enough.signal })
  enough.abort(new Error('that is enough'))
  await assert.rejects(csv.text(), /that is enough/)
})

test('a redirect is not followed: it would carry the secret to another host', async () => {
  const other = await startListener()
  const { manilla } = await clientOf(takes.with(302, { location: other.url }))
  assert.equal((await refusal(manilla.payments.retrieve('x'))).status, 302)
  assert.equal(other.heard.length, 0)
})

test('for await reads all pages of 1 000 payments, each once and newest first', async () => {
  const { shop, manilla } = await openClient()
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge,
                          user_email, metadata, expires_at)
    select ${shop.place}, uuidv7(), ${uuidOf(shop.merchantId)}, 'sandbox', 'r' || n, ${shop.merchantUuid} || n, n, 'NGN', 'NG', false,
           'a@b.co', '{}', now() + interval '1 day' from generate_series(1, 1000) n`)
  const seen = new Set<string>()
  for await (const { reference } of manilla.payments.list({ status: 'pending' })) seen.add(reference)
  assert.equal(seen.size, 1000)
  assert.equal((await manilla.payments.list({ q: 'r7' }).page()).data[0]?.amount, 7, 'a search')
  const page = await manilla.payments.list({ limit: 7 }).page()
  const next = await manilla.payments.list({ limit: 7, cursor: page.nextCursor ?? '' }).page()
  assert.deepEqual([page.data.length, next.data.length], [7, 7])
  assert.deepEqual(
    [...page.data, ...next.data].map(({ reference }) => reference),
    [...seen].slice(0, 14),
  )
})
