import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { processWaitingNotices } from '../../src/payments/settle/receive-notice.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { hold, startBetween } from '../support/between.ts'
import { eventually, request, type Shop, startPaying } from '../support/paying.ts'
import {
  assertAudited,
  closeInstructions,
  type Json,
  letPass,
  noticeAbout,
  noticesAbout,
  notify,
  recordAt,
  recordsOf,
  workedOff,
} from '../support/payment-records.ts'
import { refund } from '../support/returns.ts'
import { AMOUNT, becomes, charge, isPaid, ledger, loseNotices, payByCard, start } from '../support/sandbox-payments.ts'

const alerts: { level: number; msg: string; attemptId?: string }[] = []
const log = pino({ level: 'error' }, { write: (line) => void alerts.push(JSON.parse(line)) })
const service = await startPaying({ log })
const { database, parts } = service
const statuses = ({ attempts }: Json) => attempts.map(({ status }: Json) => status)

/** As a person on the provider's dashboard would. */
async function refundAtProvider(shop: Shop, payment: string, amount: number, reference: string) {
  const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
  const url = `${service.baseUrl}/sandbox/gateway/v1/refunds`
  const answer = await request(url, 'POST', { authorization: `Bearer ${secretKey}` }, { reference, payment, amount })
  assert.equal(answer.status, 200)
  return answer.body.data
}

test('B21: a refund made on the provider’s side is recorded as its own object; the payment stays successful', async () => {
  const shop = await service.addShop()
  const { payment, order } = await payByCard(shop)
  await refundAtProvider(shop, order, 300_000, 'made-on-the-dashboard')
  const after = await becomes(shop, payment, ({ amountRefunded }) => amountRefunded > 0)
  assert.deepEqual([after.status, after.amountPaid, after.amountRefunded], ['successful', AMOUNT, 300_000])
  const { eventTypes, events, refunds } = await recordsOf(database, payment)
  assert.equal(eventTypes.at(-1), 'refund.successful')
  assert.deepEqual([events.at(-1)?.data.refund.kind, events.at(-1)?.data.refund.amount], ['provider', 300_000])
  assert.deepEqual(refunds, [{ amount: 300_000, kind: 'provider', status: 'successful' }])
})

test('B21: a refund that is announced in two different notices is recorded once', async () => {
  const shop = await service.addShop()
  const { payment, order } = await payByCard(shop)
  const { id } = await refundAtProvider(shop, order, AMOUNT, 'told-often')
  await becomes(shop, payment, ({ amountRefunded }) => amountRefunded > 0)
  const record = await recordAt(service, shop, order)
  const notice = () => noticeAbout(record, 'refund.successful', { refund: { id, amount: AMOUNT, currency: 'NGN' } })
  const answers = await Promise.all(Array.from({ length: 10 }, () => notify(service, shop, notice())))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  await eventually(
    () => noticesAbout(database, order),
    (notices) => notices.every(({ state }) => state !== 'waiting'),
  )
  const after = await shop.payment(payment.id)
  assert.deepEqual([after.status, after.amountRefunded], ['successful', AMOUNT])
  assert.equal((await recordsOf(database, payment)).refunds.length, 1)
})

test('B21: a chargeback is recorded as its own object; the payment stays successful', async () => {
  const shop = await service.addShop()
  const { payment, order } = await payByCard(shop)
  const { body } = await shop.call('POST', '/sandbox/gateway/disputes', { reference: order })
  await shop.call('POST', `/sandbox/gateway/disputes/${body.data.id}/close`, { outcome: 'lost' })
  const after = await becomes(shop, payment, ({ amountRefunded }) => amountRefunded > 0)
  assert.deepEqual([after.status, after.amountRefunded, statuses(after)], ['successful', AMOUNT, ['successful']])
  assert.deepEqual((await recordsOf(database, payment)).refunds, [
    { amount: AMOUNT, kind: 'chargeback', status: 'successful' },
  ])
})

test('B21: a refund of ours whose answer never came is done once: the repeat finds it, and so does the notice', async (t) => {
  const between = await startBetween(t, service)
  const { payment, order } = await start(between.shop)
  await charge(between.shop, order)
  await letPass(database, payment, 15)
  await checkDueAttempts(between.parts, 100)
  between.upstream.trouble = 'reset after the work'
  const { status, body } = await between.shop.call('POST', `/payments/v1/payments/${payment.id}/refunds`, {
    amount: 200_000,
  })
  assert.deepEqual([status, body.data.status], [201, 'pending'])
  assert.equal((await ledger(between.shop, order)).refunded, 200_000, 'it went back, and nobody told us')
  assert.equal((await between.shop.payment(payment.id)).amountRefunded, 0)

  between.upstream.trouble = undefined
  await letPass(database, payment, 120)
  await sendDueRefunds(between.parts, 100)
  const done = await between.shop.payment(payment.id)
  assert.deepEqual([done.status, done.amountRefunded], ['successful', 200_000])
  assert.equal((await ledger(between.shop, order)).refunded, 200_000)

  const record = await recordAt(service, between.shop, order)
  const { id } = record.transactions.find(({ kind }: { kind: string }) => kind === 'refund')
  await notify(
    between,
    between.shop,
    noticeAbout(record, 'refund.successful', { refund: { id, amount: 200_000, currency: 'NGN' } }),
  )
  await workedOff(database, order, 1)
  assert.equal((await between.shop.payment(payment.id)).amountRefunded, 200_000)
  assert.deepEqual((await recordsOf(database, payment)).refunds, [
    { amount: 200_000, kind: 'merchant', status: 'successful' },
  ])
})

test('B21: a refund that two processes send concurrently is made once and announced once', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order } = await start(shop)
  await charge(shop, order)
  await letPass(database, payment, 15)
  await checkDueAttempts(between.parts, 100)
  const { reached, letGo } = hold(between)
  const slow = shop.call('POST', `/payments/v1/payments/${payment.id}/refunds`, { amount: 200_000 })
  await reached
  await letPass(database, payment, 61) // the first is so slow that its lease ends
  await sendDueRefunds(parts, 100)
  assert.equal((await shop.payment(payment.id)).amountRefunded, 200_000)
  letGo()
  const { status, body } = await slow
  assert.deepEqual([status, body.data.status], [201, 'successful'])
  assert.equal((await shop.payment(payment.id)).amountRefunded, 200_000)
  assert.equal((await ledger(shop, order)).refunded, 200_000)
  const { eventTypes, refunds } = await recordsOf(database, payment)
  assert.deepEqual(refunds, [{ amount: 200_000, kind: 'merchant', status: 'successful' }])
  assert.equal(eventTypes.filter((type) => type === 'refund.successful').length, 1)
})

test('B21: two refunds of one amount are not confused when the provider announces one', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  const { payment, order } = await start(shop)
  await charge(shop, order)
  await letPass(database, payment, 15)
  await checkDueAttempts(between.parts, 100)
  const refund = () =>
    shop.call('POST', `/payments/v1/payments/${payment.id}/refunds`, { amount: 100_000, allowDuplicate: true })
  const workOff = async () => {
    await database.rows(sql`update notices set due_at = now() where state = 'waiting' and reference = ${order}`)
    await processWaitingNotices(between.parts, 100)
  }
  upstream.trouble = 'reset before the work'
  await refund()
  upstream.trouble = 'reset after the work'
  await refund()
  assert.equal((await ledger(shop, order)).refunded, 100_000, 'the second was made, the first was not')
  upstream.trouble = undefined

  const record = await recordAt(service, shop, order)
  await notify(between, shop, noticeAbout(record, 'refund.successful'))
  await workOff()
  await letPass(database, payment, 120)
  await sendDueRefunds(between.parts, 100)
  assert.equal((await ledger(shop, order)).refunded, 200_000, 'the customer gets both')
  assert.equal((await shop.payment(payment.id)).amountRefunded, 200_000)
  assert.deepEqual(
    (await recordsOf(database, payment)).refunds,
    Array(2).fill({ amount: 100_000, kind: 'merchant', status: 'successful' }),
  )

  await workOff()
  const told = await noticesAbout(database, order)
  assert.ok(told.length === 1 && told[0]?.state !== 'waiting')
  assert.equal((await shop.payment(payment.id)).amountRefunded, 200_000)
})

test('B21: refunds of the same amount that are under way at once are each made once', async () => {
  const shop = await service.addShop()
  for (let round = 0; round < 5; round++) {
    const { payment, order } = await payByCard(shop)
    const answers = await Promise.all(
      [1, 2, 3].map(() =>
        shop.call('POST', `/payments/v1/payments/${payment.id}/refunds`, { amount: 100_000, allowDuplicate: true }),
      ),
    )
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.data?.status]),
      Array(3).fill([201, 'successful']),
    )
    assert.equal((await shop.payment(payment.id)).amountRefunded, 300_000)
    assert.equal((await ledger(shop, order)).refunded, 300_000)
  }
})

const sums = ({ status, amountPaid, amountRefunded }: Json) => [status, amountPaid, amountRefunded]

test('B21: a notice of a refund before the payment is known to be paid: the money is recorded first, with its refund', async () => {
  const shop = await service.addShop()
  const { payment, order } = await start(shop)
  await loseNotices(shop)
  await charge(shop, order)
  await shop.call('PUT', '/sandbox/gateway/faults', {})
  await refundAtProvider(shop, order, AMOUNT, 'before-anybody-knew')
  const after = await becomes(shop, payment, ({ attempts }) => attempts[0].status === 'failed')
  assert.deepEqual(sums(after), ['pending', 0, 0], 'money that has gone back pays nothing')
  await workedOff(database, order, 1)
  const { eventTypes, refunds } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), ['attempt.failed'])
  assert.deepEqual(refunds, [{ amount: AMOUNT, kind: 'provider', status: 'successful' }])
  await assertAudited(database, after)
})

test('B21: a refund of the surplus attempt that was made on the provider’s side is not the payment’s, which can still be refunded', async () => {
  const shop = await service.addShop()
  const first = await start(shop, { reference: 'surplus-by-hand' })
  await closeInstructions(database, 'surplus-by-hand')
  const second = await start(shop, { reference: 'surplus-by-hand' })
  await charge(shop, first.order)
  await becomes(shop, first.payment, isPaid)
  await charge(shop, second.order)
  await becomes(shop, first.payment, ({ attempts }) => attempts[1].status === 'surplus')
  // A person is quicker than our clock, and sends it back on the provider's dashboard.
  await loseNotices(shop)
  const { id } = await refundAtProvider(shop, second.order, AMOUNT, 'by-hand')
  const told = { id, reference: 'by-hand', amount: AMOUNT, currency: 'NGN' }
  const record = await recordAt(service, shop, second.order)
  await notify(service, shop, noticeAbout(record, 'refund.successful', { refund: told }))
  const workOff = async () => {
    await database.rows(sql`update notices set due_at = now() where state = 'waiting' and reference = ${second.order}`)
    await processWaitingNotices(parts, 100)
  }
  await workOff()
  await letPass(database, first.payment, 61)
  await sendDueRefunds(parts, 100)
  await workOff()
  const after = await shop.payment(first.payment.id)
  assert.deepEqual(sums(after), ['successful', AMOUNT, 0])
  assert.deepEqual((await recordsOf(database, after)).refunds, [
    { amount: AMOUNT, kind: 'surplus', status: 'failed' },
    { amount: AMOUNT, kind: 'provider', status: 'successful' },
  ])
  const own = await refund(shop, after.id)
  assert.deepEqual([own.status, own.body.data?.status], [201, 'successful'])
  assert.equal((await ledger(shop, first.order)).refunded, AMOUNT)
  await assertAudited(database, after)
})
