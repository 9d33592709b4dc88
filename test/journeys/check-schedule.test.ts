import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import type { Providers } from '../../src/providers/provider.ts'
import { startWorker } from '../../src/worker/worker.ts'
import type { Said } from '../fakes/upstream.ts'
import { hold, startBetween, startUnanswered } from '../support/between.ts'
import { eventually, request, startPaying } from '../support/paying.ts'
import { letPass, nextCheck, recordOf, recordsOf } from '../support/payment-records.ts'
import { AMOUNT, charge, isPaid, loseNotices, start, TRANSFER, transfer } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, parts } = service

test('B19: a notice that never comes: the money is found by our own check, ten seconds after the attempt was started', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const card = await start(shop)
  const account = await start(shop, TRANSFER)
  await charge(shop, card.order)
  await transfer(shop, account.accountNumber, AMOUNT)
  for (const { payment } of [card, account]) {
    assert.equal((await shop.payment(payment.id)).status, 'pending')
    assert.equal(await nextCheck(parts, payment), 10)
    assert.ok(isPaid(await shop.payment(payment.id)))
    assert.equal((await recordsOf(database, payment)).events.at(-1)?.cause, 'check: paid')
  }
})

test('B19: while the customer may be paying it is asked for after 10 s, 30 s, each minute for 15 minutes, then less often; after the account closed, for a day more', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const { payment, accountNumber } = await start(shop, TRANSFER)
  const times: number[] = []
  for (;;) {
    const at = await nextCheck(parts, payment)
    if (at === null) break
    times.push(at)
    assert.ok(times.length < 100, 'it ends')
  }
  const isOpen = times.filter((at) => at < 1_800)
  const minutes = Array.from({ length: 15 }, (_, index) => (index + 1) * 60)
  assert.deepEqual(isOpen, [10, 30, ...minutes, 1_200, 1_500])
  assert.deepEqual(
    times.slice(isOpen.length).map((at) => at - 1_800),
    [60, 600, 3_600, 21_600, 86_400],
  )
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.deepEqual([attempt.status, attempt.needsReview], ['pending', null], 'nobody paid, and nothing is unknown')
  assert.deepEqual((await recordsOf(database, payment)).eventTypes, ['attempt.started', 'attempt.pending'])

  await transfer(shop, accountNumber, AMOUNT)
  await request(`${service.baseUrl}/return/${attempt.id}`, 'GET')
  assert.ok(isPaid(await shop.payment(payment.id)), 'a customer who comes back is always a reason to ask')
})

test('B19: an unknown outcome needs review after seven days and is still checked daily; it never fails automatically', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  const payment = await startUnanswered(between)
  upstream.garble = () => ({ status: 200, text: JSON.stringify({ data: recordOf(payment, 'processing') }) })
  const times: number[] = []
  for (;;) {
    const [attempt] = (await shop.payment(payment.id)).attempts
    assert.equal(attempt.status, 'processing')
    if (times.length === 16) break
    assert.equal(attempt.needsReview === null, times.length < 14, 'not before the seventh day')
    times.push((await nextCheck(between.parts, payment)) ?? assert.fail('it is asked about for ever'))
  }
  const day = 86_400
  const days = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((count) => count * day)
  assert.deepEqual(times, [5, 10, 30, 120, 600, 3_600, 21_600, ...days])
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.deepEqual([attempt.status, attempt.failure, attempt.resolvedAt], ['processing', null, null])
  assert.match(attempt.needsReview, /^unanswered: /)
  assert.deepEqual((await recordsOf(database, payment)).eventTypes, ['attempt.started', 'attempt.needs_review'])
})

test('B19: two processes make a due check once', async (t) => {
  const between = await startBetween(t, service)
  const { payment, order } = await start(between.shop)
  await charge(between.shop, order)
  await letPass(database, payment, 11)
  const before = between.asked.length
  await Promise.all(Array.from({ length: 8 }, () => checkDueAttempts(between.parts, 100)))
  assert.equal(between.asked.slice(before).filter(({ path }) => path.endsWith(order)).length, 1)
  assert.ok(isPaid(await between.shop.payment(payment.id)))
  await recordsOf(database, payment)
})

test('B20: after some 429 answers the circuit breaker opens; requests that were not sent fail, and other providers are not affected', async (t) => {
  const between = await startBetween(t, service)
  const { shop, asked } = between
  const ours = `Bearer ${gatewayKeys(service.masterKey, shop.merchantUuid).secretKey}`
  const calls = () => asked.filter(({ headers }) => headers.authorization === ours).length
  const tooMany: Said = { status: 429, text: '{}' }
  between.meanwhile = async ({ headers }) => (headers.authorization === ours ? tooMany : undefined)
  const answers = []
  for (let count = 0; count < 12; count++) answers.push(await shop.initialize({ reference: `busy-${count}` }))
  const codes = answers.map(({ status, body }) => `${status} ${body.code}`)
  assert.deepEqual(codes, [...Array(8).fill('504 provider_timeout'), ...Array(4).fill('502 provider_error')])
  assert.equal(calls(), 8, 'no call went out after the eighth')
  const last = await shop.payment('busy-11')
  assert.deepEqual(
    [last.status, last.attempts[0].status, last.attempts[0].failure.code, last.attempts[0].failure.retryable],
    ['pending', 'failed', 'provider_unavailable', true],
  )
  assert.deepEqual((await recordsOf(database, last)).eventTypes, ['attempt.started', 'attempt.failed'])
  assert.ok(Number(answers.at(-1)?.headers['retry-after']) > 0)
  // A check that may not be sent decides nothing.
  const first = await shop.payment('busy-0')
  await nextCheck(between.parts, first)
  assert.equal((await shop.payment('busy-0')).attempts[0].status, 'processing')
  assert.equal(calls(), 8)

  const neighbour = await service.addShop()
  const other = await request(`${between.baseUrl}/payments/v1/payments/initialize`, 'POST', neighbour.headers, {
    provider: 'gateway',
    amount: 100,
    user: { email: 'ada@example.com' },
  })
  assert.equal(other.status, 200, 'another account at the same provider, in the same process')
})

test('B20: Retry-After of a provider is obeyed', async (t) => {
  const between = await startBetween(t, service)
  const { shop, asked } = between
  between.upstream.garble = () => ({ status: 429, text: '{}', headers: { 'retry-after': '30' } })
  assert.equal((await shop.initialize({ reference: 'first' })).body.code, 'provider_timeout')
  between.upstream.garble = undefined
  for (between.aheadMs of [0, 15_000]) {
    assert.equal((await shop.initialize()).body.code, 'provider_error', `${between.aheadMs} ms later`)
    assert.equal(asked.length, 1)
  }
  between.aheadMs = 31_000
  assert.equal((await shop.initialize()).status, 200)
  assert.equal(asked.length, 2)
})

test('B20: a provider that is down for an hour: nothing is lost, and every outcome is found when it is back', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  const { payment, order } = await start(shop)
  await charge(shop, order)
  upstream.trouble = 'answering 500 before the work'
  for (let minutes = 0; minutes < 60; minutes += 5) {
    await letPass(database, payment, 300)
    await checkDueAttempts(between.parts, 100)
    assert.equal((await shop.payment(payment.id)).attempts[0].status, 'pending')
  }
  upstream.trouble = undefined
  // The breaker's own pause is real time, and another process has a breaker of its own.
  await nextCheck(parts, payment)
  assert.ok(isPaid(await shop.payment(payment.id)))
  await recordsOf(database, payment)
})

test('B20: while one provider keeps a question waiting, the money of another merchant is found on time', async (t) => {
  const between = await startBetween(t, service)
  const silent = await start(between.shop)
  const shop = await service.addShop()
  await loseNotices(shop)
  const healthy = await start(shop)
  await charge(shop, healthy.order)
  const { reached, letGo } = hold(between)
  const providers: Providers = {
    ...parts.providers,
    connect: (owner, ...of) =>
      (owner.merchantId === shop.merchantId ? parts : between.parts).providers.connect(owner, ...of),
  }
  await database.rows(sql`update attempts set next_check_at = null`) // what other tests have left to do
  await makeChecksDue(database, silent.payment.id)
  const worker = startWorker({ ...parts, providers })
  try {
    await reached
    await makeChecksDue(database, healthy.payment.id)
    await eventually(() => shop.payment(healthy.payment.id), isPaid)
  } finally {
    letGo()
    await worker.stop()
  }
})
