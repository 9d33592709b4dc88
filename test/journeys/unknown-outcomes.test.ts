import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, uuidOf } from '../../src/kernel/ids.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { type Said, TROUBLES } from '../fakes/upstream.ts'
import { hold, startBetween, startUnanswered } from '../support/between.ts'
import { eventually, request, startPaying } from '../support/paying.ts'
import {
  type Json,
  letPass,
  nextCheck,
  noticeAbout,
  notify,
  recordAt,
  recordOf,
  recordsOf,
} from '../support/payment-records.ts'
import { AMOUNT, charge, isPaid, loseNotices, start, TRANSFER } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { database } = service

for (const trouble of TROUBLES) {
  test(`B13: a provider that is ${trouble} when an attempt is created: 504 with the attempt, which is processing, and found out later`, async (t) => {
    const between = await startBetween(t, service)
    const { shop, upstream } = between
    upstream.trouble = trouble
    const { status, body, headers } = await shop.initialize({ reference: 'order-7' })
    assert.deepEqual([status, body.code], [504, 'provider_timeout'])
    assert.match(body.attempt, /^order-7-/)
    assert.ok(Number(headers['retry-after']) > 0)
    const payment = await shop.payment(body.attempt)
    const [attempt] = payment.attempts
    assert.deepEqual(
      [payment.status, attempt.status, attempt.reference, attempt.failure, attempt.instructions],
      ['pending', 'processing', body.attempt, null, null],
    )
    assert.equal((await shop.initialize({ reference: 'order-7' })).body.code, 'attempt_in_progress')
    assert.equal((await shop.call('POST', '/payments/v1/payments/order-7/cancel')).body.code, 'attempt_in_progress')
    assert.deepEqual((await recordsOf(database, payment)).eventTypes, ['attempt.started'])

    upstream.trouble = undefined
    assert.equal(await nextCheck(between.parts, payment), 5)
    const wasDone = /after the work|breaking off/.test(trouble)
    const after = await shop.payment(payment.id)
    assert.equal(after.attempts[0].status, wasDone ? 'pending' : 'processing')
    if (!wasDone) return
    assert.equal((await shop.initialize({ reference: 'order-7' })).status, 200, 'it is the customer’s turn again')
    await recordsOf(database, payment)
  })
}

test('B13: a card is charged and the provider never says so: the return makes it processing, no second attempt can start, and a check finds the money', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, attempt, order } = await start(shop)
  assert.equal((await charge(shop, order, CARD.staysSilent)).result, 'pending')
  // Longer than 8 s, on a busy machine too.
  await database.rows(sql`
    update gateway_transactions set settles_at = now() + interval '1 hour' where merchant_id = ${shop.merchantUuid}`)
  between.isSilent = true
  const { status, headers } = await request(`${between.baseUrl}/return/${attempt.id}`, 'GET')
  assert.equal(status, 302)
  assert.match(String(headers.location), new RegExp(`^${between.baseUrl}/pay/emr_`))
  assert.equal((await shop.payment(payment.id)).attempts[0].status, 'processing')
  assert.equal((await shop.initialize({ reference: payment.reference })).body.code, 'attempt_in_progress')
  await nextCheck(between.parts, payment)
  assert.equal((await shop.payment(payment.id)).attempts[0].status, 'processing', 'still silent, still unknown')

  // The provider's own silence ends.
  await database.rows(sql`update gateway_transactions set settles_at = now() where merchant_id = ${shop.merchantUuid}`)
  between.isSilent = false
  await nextCheck(between.parts, payment)
  const paid = await shop.payment(payment.id)
  assert.deepEqual([paid.status, paid.amountPaid, paid.attempts[0].status], ['successful', AMOUNT, 'successful'])
  assert.deepEqual((await recordsOf(database, payment)).eventTypes, [
    'attempt.started',
    'attempt.pending',
    'attempt.processing',
    'attempt.successful',
    'payment.successful',
  ])
})

test('B13: the first answer is lost after the money was taken: the reference is the same at every call, so nothing is charged twice', async (t) => {
  const between = await startBetween(t, service)
  const { shop, asked } = between
  const payment = await startUnanswered(between)
  const order = payment.attempts[0].providerReference
  await charge(shop, order)
  await nextCheck(between.parts, payment)
  assert.ok(isPaid(await shop.payment(payment.id)))
  // Who is slow to get here may be asked about payments of other tests as well; what is sent is of this one.
  const sent = asked.filter(({ body }) => body).map(({ body }) => JSON.parse(body).reference)
  assert.deepEqual(new Set(sent), new Set([order]))
  assert.ok(asked.some(({ method, path }) => method === 'GET' && path.endsWith(`/${order}`)))
  const { body: ledger } = await shop.call('GET', '/sandbox/gateway/ledger')
  assert.deepEqual(
    ledger.data.map(({ amount }: Json) => amount),
    [AMOUNT],
  )
})

test('B14: "no such transaction" of an order that the provider has known proves nothing in the first ten minutes; later, twice in a row, the attempt has failed and another may start', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  const payment = await startUnanswered(between, 'before', { reference: 'never-there' })
  for (const after of [5, 15]) {
    assert.equal(await nextCheck(between.parts, payment), after)
    const [attempt] = (await shop.payment(payment.id)).attempts
    assert.deepEqual([attempt.status, attempt.failure], ['processing', null], `after ${after} s`)
  }
  // One answer that knows of it breaks the row.
  upstream.garble = () => ({ status: 200, text: JSON.stringify({ data: recordOf(payment, 'processing') }) })
  assert.equal(await nextCheck(between.parts, payment), 60)
  upstream.garble = undefined
  for (const after of [120, 600]) {
    assert.equal(await nextCheck(between.parts, payment), after)
    assert.equal((await shop.payment(payment.id)).attempts[0].status, 'processing', 'once is not enough')
  }
  assert.equal(await nextCheck(between.parts, payment), 3_600)
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.deepEqual(
    [attempt.status, attempt.failure.code, attempt.failure.retryable],
    ['failed', 'provider_unavailable', true],
  )
  assert.deepEqual((await recordsOf(database, payment)).eventTypes, ['attempt.started', 'attempt.failed'])
  assert.equal((await shop.payment(payment.id)).status, 'pending')
  const again = await start(shop, { reference: 'never-there' })
  assert.deepEqual([again.payment.id, again.attempt.number], [payment.id, 2])
})

test('B14: an order that was not there, failed, and is paid after all: the money makes it successful', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  const payment = await startUnanswered(between)
  upstream.garble = () => ({
    status: 404,
    text: '{"type":"urn:manilla:problem:not_found","code":"not_found","detail":"No."}',
  })
  while ((await shop.payment(payment.id)).attempts[0].status === 'processing') await nextCheck(between.parts, payment)
  upstream.garble = undefined
  await charge(shop, payment.attempts[0].providerReference)
  const checked = await nextCheck(between.parts, payment)
  assert.notEqual(checked, null, 'an attempt that failed without the provider’s word is asked for again')
  const paid = await shop.payment(payment.id)
  assert.deepEqual([paid.status, paid.attempts[0].status, paid.attempts[0].failure], ['successful', 'successful', null])
  assert.deepEqual((await recordsOf(database, payment)).eventTypes, [
    'attempt.started',
    'attempt.failed',
    'attempt.successful',
    'payment.successful',
  ])
})

test('B15: while one attempt is being started, a second ask for the same payment is 409 attempt_in_progress, with its reference', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { reached, letGo } = hold(between)
  const first = shop.initialize({ reference: 'two-tabs' })
  await reached
  const others = await Promise.all(Array.from({ length: 5 }, () => shop.initialize({ reference: 'two-tabs' })))
  for (const { status, body, headers } of others) {
    assert.deepEqual([status, body.code], [409, 'attempt_in_progress'])
    assert.match(body.attempt, /^two-tabs-/)
    assert.ok(Number(headers['retry-after']) > 0)
  }
  letGo()
  const { status, body } = await first
  assert.equal(status, 200)
  const payment = await shop.payment('two-tabs')
  assert.deepEqual(
    payment.attempts.map(({ reference, status: each }: Json) => [reference, each]),
    [[body.data.reference, 'pending']],
  )
  assert.deepEqual((await recordsOf(database, payment)).eventTypes, ['attempt.started', 'attempt.pending'])
})

test('B15: an attempt that only waits for the customer blocks nothing: the same payment gets another, and both are of it', async () => {
  const shop = await service.addShop()
  const first = await start(shop, { reference: 'back-and-forth' })
  const second = await start(shop, { ...TRANSFER, reference: 'back-and-forth' })
  assert.equal(first.payment.id, second.payment.id)
  assert.deepEqual(
    second.payment.attempts.map(({ number, channel, status }: Json) => [number, channel, status]),
    [
      [1, 'card', 'pending'],
      [2, 'virtual-bank-account', 'pending'],
    ],
  )
})

test('B15: returning ten times, before and after paying, changes nothing; the page shows the current state', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const { payment, attempt, order } = await start(shop)
  const comeBack = () =>
    Promise.all(Array.from({ length: 10 }, () => request(`${service.baseUrl}/return/${attempt.id}`, 'GET')))
  const page = async () => (await request(payment.url, 'GET')).body
  const before = await recordsOf(database, payment)
  for (const { status, headers } of await comeBack()) {
    assert.equal(status, 302)
    assert.match((await request(String(headers.location), 'GET')).body, /data-state="provider"/)
  }
  assert.deepEqual(await recordsOf(database, payment), before)
  assert.match(await page(), /data-state="provider"/)

  await charge(shop, order)
  await letPass(database, payment, 4)
  await comeBack()
  assert.ok(isPaid(await shop.payment(payment.id)), 'the return found it, with no notice')
  const after = await recordsOf(database, payment)
  await comeBack()
  assert.deepEqual(await recordsOf(database, payment), after)
  assert.match(await page(), /data-state="already_paid"/)
})

test('B16: cancelling while an attempt waits for the customer ends both; while one is processing it is refused, until its outcome is known', async (t) => {
  const waiting = await service.addShop()
  const { payment } = await start(waiting)
  const cancelled = await waiting.call('POST', `/payments/v1/payments/${payment.id}/cancel`)
  assert.deepEqual(
    [cancelled.status, cancelled.body.data.status, cancelled.body.data.attempts[0].status],
    [200, 'cancelled', 'abandoned'],
  )
  assert.notEqual(cancelled.body.data.attempts[0].resolvedAt, null)
  assert.deepEqual((await recordsOf(database, payment)).eventTypes.slice(2), ['attempt.abandoned', 'payment.cancelled'])

  const between = await startBetween(t, service)
  const { shop, upstream } = between
  upstream.trouble = 'reset after the work'
  const { body } = await shop.initialize()
  const cancel = () => shop.call('POST', `/payments/v1/payments/${body.attempt}/cancel`)
  const refused = await cancel()
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.attempt],
    [409, 'attempt_in_progress', body.attempt],
  )
  const unknown = await shop.payment(body.attempt)
  assert.deepEqual([unknown.status, unknown.attempts[0].status], ['pending', 'processing'])
  upstream.trouble = undefined
  await nextCheck(between.parts, unknown)
  assert.deepEqual([(await cancel()).status, (await cancel()).body.code], [200, 'payment_cancelled'])
  await recordsOf(database, unknown)
})

/** Answers that a provider should never give. */
const ODD: [what: string, answer: (record: Json) => Said, isReadableAtFirst?: boolean][] = [
  ['nothing', () => said('')],
  ['a page', () => said('<html>Welcome to the hotel’s Wi-Fi</html>')],
  ['null', () => said('null')],
  ['no data', () => said('{}')],
  ['a list', (record) => said(JSON.stringify([record]))],
  ['half of it', (record) => said(JSON.stringify({ data: record }).slice(0, -30))],
  ['a status that is a number', (record) => data({ ...record, status: 7 })],
  ['no reference', (record) => data({ ...record, reference: null })],
  ['another reference', (record) => data({ ...record, reference: 'f'.repeat(32) })],
  ['amounts in words', (record) => data({ ...record, requested: String(record.requested) })],
  ['an amount beyond numbers', (record) => said(JSON.stringify({ data: record }).replace('1250000', '1e400'))],
  ['an amount with a fraction', (record) => data({ ...record, requested: 1_250_000.5 })],
  ['a currency that is none', (record) => data({ ...record, currency: '₦' })],
  ['transactions that are none', (record) => data({ ...record, transactions: 'none' })],
  ['one transaction that cannot be read', (record) => data({ ...record, status: 'paid', transactions: [{ id: 1 }] })],
  ['paid by nothing', (record) => data({ ...record, status: 'paid', transactions: [] }), true],
  ['a time that is none', (record) => data({ ...record, expiresAt: 'soon' })],
  ['depth', () => said(`{"data":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`)],
  ['size', () => said(`{"data":"${'x'.repeat(2 * 1024 * 1024)}"}`)],
  ['traps', () => said('{"__proto__":{"status":"paid"},"constructor":{"prototype":{}}}')],
  ['204', () => ({ status: 204, text: '' })],
  ['418', () => ({ status: 418, text: '{"type":"urn:manilla:problem:teapot","code":"teapot","detail":"short"}' })],
]

const said = (text: string): Said => ({ status: 200, text })
const data = (record: Json): Said => said(JSON.stringify({ data: record }))

test('B22: an unreadable answer is an unknown outcome: never a crash, never a final status', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  const payment = await startUnanswered(between)
  const { id, providerReference: order } = payment.attempts[0]
  await charge(shop, order)
  for (const [what, answer, isReadableAtFirst] of ODD) {
    between.meanwhile = async ({ path }) => (path.endsWith(order) ? answer(recordOf(payment, 'pending')) : undefined)
    await database.rows(sql`update attempts set next_check_at = now() where id = ${uuidOf(id as AttemptId)}`)
    await checkDueAttempts(between.parts, 100)
    const now = await shop.payment(payment.id)
    assert.deepEqual(
      [now.status, now.attempts[0].status, now.attempts[0].failure],
      ['pending', 'processing', null],
      what,
    )
    const call = await database.row<{ outcome: string; detail: string }>(sql`
      select outcome, detail from provider_calls where attempt_id = ${uuidOf(id as AttemptId)}
       order by id desc limit 1`)
    assert.equal(call?.outcome, 'unknown', what)
    assert.doesNotMatch(String(call?.detail), /deadline|not being asked/, `${what} was heard`)
    between.meanwhile = undefined
    if (isReadableAtFirst) continue
    upstream.garble = ({ text }) => answer(JSON.parse(text).data)
    const started = await shop.initialize()
    assert.deepEqual([started.status, started.body.code], [504, 'provider_timeout'], what)
    assert.equal((await shop.payment(started.body.attempt)).attempts[0].status, 'processing', what)
    upstream.garble = undefined
  }
  assert.deepEqual((await recordsOf(database, payment)).receipts, [])
  await nextCheck(between.parts, payment)
  assert.ok(isPaid(await shop.payment(payment.id)))
})

test('B22: an unknown status does not end an attempt, and unknown fields are ignored', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  upstream.garble = ({ status, text }) => {
    const { data: record } = JSON.parse(text)
    return { status, text: JSON.stringify({ data: { ...record, status: 'levitating', mood: { is: 'good' } }, v: 2 }) }
  }
  const { payment, order } = await start(shop)
  await nextCheck(between.parts, payment)
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.deepEqual([attempt.status, attempt.failure], ['pending', null])
  await charge(shop, order)
  await nextCheck(between.parts, payment)
  const after = await shop.payment(payment.id)
  assert.notEqual(after.status, 'successful', 'a card is paid when the provider says so, in a word that we know')
  upstream.garble = ({ status, text }) => {
    const { data: record } = JSON.parse(text)
    return { status, text: JSON.stringify({ data: { ...record, mood: { is: 'good' } }, v: 2 }) }
  }
  await nextCheck(between.parts, payment)
  const paid = await shop.payment(payment.id)
  assert.deepEqual([paid.status, paid.amountPaid], ['successful', AMOUNT])
  await recordsOf(database, payment)
})

test('a stale answer of "pending" after a notice of "processing" does not reopen the attempt', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order } = await start(shop, { reference: 'overtaken' })
  const old = await recordAt(service, shop, order)
  assert.equal(old.status, 'pending')
  const { reached, letGo } = hold(between, ({ method }) => method === 'GET')
  await letPass(database, payment, 15)
  const checking = checkDueAttempts(between.parts, 100)
  await reached
  await notify(between, shop, noticeAbout({ ...old, status: 'processing' }, 'payment.processing'))
  const statusNow = async () => (await shop.payment('overtaken')).attempts[0].status
  await eventually(statusNow, (status) => status === 'processing')
  letGo({ status: 200, text: JSON.stringify({ data: old }) })
  await checking
  assert.equal(await statusNow(), 'processing', 'what was true before is old news')
  between.meanwhile = undefined
  const second = await shop.initialize({ reference: 'overtaken' })
  assert.deepEqual([second.status, second.body.code], [409, 'attempt_in_progress'])

  await letPass(database, payment, 15)
  await checkDueAttempts(between.parts, 100)
  assert.equal(await statusNow(), 'pending', 'a question that was put since is answered with what is true now')
})
