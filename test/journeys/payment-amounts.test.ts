import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { startBetween } from '../support/between.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import {
  assertAudited,
  type Json,
  noticeAbout,
  notify,
  paidTransaction,
  recordAt,
  recordsOf,
  workedOff,
} from '../support/payment-records.ts'
import { AMOUNT, becomes, charge, isPaid, ledger, start, TRANSFER, transfer } from '../support/sandbox-payments.ts'

const alerts: { level: number; msg: string; attemptId?: string }[] = []
const log = pino({ level: 'error' }, { write: (line) => void alerts.push(JSON.parse(line)) })
const service = await startPaying({ log })
const { database, parts } = service
const statuses = ({ attempts }: Json) => attempts.map(({ status }: Json) => status)

test('B9: a transfer of less than was asked leaves the payment open and says what is missing', async () => {
  const shop = await service.addShop()
  const { payment, order, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, 1_000_000)
  const short = await becomes(shop, payment, ({ amountPaid }) => amountPaid > 0)
  assert.deepEqual([short.status, short.amountPaid, statuses(short)], ['pending', 1_000_000, ['pending']])
  assert.equal(short.attempts[0].amountReceived, 1_000_000)
  const { eventTypes, events } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes, ['attempt.started', 'attempt.pending', 'payment.underpaid'])
  assert.deepEqual(events.at(-1)?.data.missing, { amount: 250_000, currency: 'NGN' })
  assert.equal(events.at(-1)?.data.payment.amountPaid, 1_000_000, 'the event tells of the payment as of then')
  assert.equal((await ledger(shop, order)).amount, 1_000_000)
})

test('B10: partial transfers make the payment successful when their sum reaches the amount; the timeline shows them', async () => {
  const shop = await service.addShop()
  const { payment, accountNumber } = await start(shop, TRANSFER)
  const counts = (amount: number) => becomes(shop, payment, ({ amountPaid }) => amountPaid === amount)
  await transfer(shop, accountNumber, 500_000)
  assert.equal((await counts(500_000)).status, 'pending')
  await transfer(shop, accountNumber, 749_999)
  assert.equal((await counts(1_249_999)).status, 'pending', 'one kobo is missing')
  await transfer(shop, accountNumber, 1)
  const paid = await counts(AMOUNT)
  assert.deepEqual([paid.status, statuses(paid)], ['successful', ['successful']])

  const { eventTypes, events } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), [
    'payment.underpaid',
    'payment.underpaid',
    'attempt.successful',
    'payment.successful',
  ])
  assert.deepEqual(
    events.slice(2, 4).map(({ data }) => data.missing.amount),
    [750_000, 1],
  )
  const { body } = await shop.call('GET', `/payments/v1/payments/${payment.id}/timeline`)
  const money = body.data.filter(({ kind }: Json) => kind === 'money')
  assert.deepEqual(
    money.map(({ detail }: Json) => [detail.amount, detail.counted]),
    [
      [500_000, true],
      [749_999, true],
      [1, true],
    ],
  )
})

test('B10: parts that arrive at the same moment are each counted once', async () => {
  const shop = await service.addShop()
  const { payment, accountNumber } = await start(shop, { ...TRANSFER, amount: 1_000 })
  await Promise.all(Array.from({ length: 10 }, () => transfer(shop, accountNumber, 100)))
  const paid = await becomes(shop, payment, isPaid)
  assert.equal(paid.amountPaid, 1_000)
  const { receipts, eventTypes } = await recordsOf(database, payment)
  assert.equal(receipts.length, 10)
  assert.ok(!eventTypes.includes('payment.surplus') && !eventTypes.includes('payment.overpaid'))
})

test('B11: a transfer of more than was asked succeeds, the excess is announced, and nothing is refunded automatically', async () => {
  const shop = await service.addShop()
  const { payment, order, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT + 30_000)
  const paid = await becomes(shop, payment, isPaid)
  assert.deepEqual([paid.amountPaid, paid.attempts[0].amountReceived], [AMOUNT + 30_000, AMOUNT + 30_000])
  const { eventTypes, events, refunds } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), ['attempt.successful', 'payment.successful', 'payment.overpaid'])
  assert.deepEqual(events.at(-1)?.data.excess, { amount: 30_000, currency: 'NGN' })
  await sendDueRefunds(parts, 100)
  assert.deepEqual(refunds, [])
  assert.equal((await ledger(shop, order)).refunded, 0)
})

/** With the provider's page charging another amount than it was asked to. */
async function chargedWrongly(shop: Shop, direction: 'less' | 'more') {
  for (let seed = 1; ; seed++) {
    await shop.call('PUT', '/sandbox/gateway/faults', { seed, wrongAmount: 1 })
    const started = await start(shop)
    const { amount } = await charge(shop, started.order)
    assert.notEqual(amount, AMOUNT)
    if (amount < AMOUNT === (direction === 'less')) return { ...started, taken: amount as number }
  }
}

test('B12: a card page that takes less than was asked is no success: amount_mismatch, needsReview, an alert, and the money stays on record', async () => {
  const shop = await service.addShop()
  const { payment, attempt, taken } = await chargedWrongly(shop, 'less')
  const after = await becomes(shop, payment, ({ attempts }) => attempts[0].status === 'failed')
  assert.deepEqual([after.status, after.amountPaid], ['pending', taken])
  const [{ failure, needsReview, amountReceived }] = after.attempts
  assert.deepEqual([failure.code, failure.retryable, amountReceived], ['amount_mismatch', false, taken])
  assert.match(needsReview, /^amount_mismatch: /)
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), ['attempt.failed', 'attempt.needs_review'])
  assert.deepEqual(receipts, [{ attempt: 1, amount: taken, currency: 'NGN', counted: true }])
  assert.ok(alerts.some(({ msg, attemptId }) => msg === 'attempt needs review' && attemptId === attempt.id))
})

test('B12: a card page that takes more than was asked is at least enough: successful, and the excess is announced', async () => {
  const shop = await service.addShop()
  const { payment, taken } = await chargedWrongly(shop, 'more')
  const paid = await becomes(shop, payment, isPaid)
  assert.equal(paid.amountPaid, taken)
  const { events } = await recordsOf(database, payment)
  const overpaid = events.find(({ type }) => type === 'payment.overpaid')
  assert.deepEqual(overpaid?.data.excess, { amount: taken - AMOUNT, currency: 'NGN' })
})

test('B12: money in another currency is never a success: it is recorded, not counted, and needs review', async (t) => {
  const between = await startBetween(t, service)
  const { payment, attempt, order } = await start(between.shop)
  const dollars = paidTransaction({ amount: AMOUNT, currency: 'USD' })
  between.upstream.garble = ({ status, text }) => {
    const { data } = JSON.parse(text)
    return { status, text: JSON.stringify({ data: { ...data, status: 'paid', transactions: [dollars] } }) }
  }
  const record = { ...(await recordAt(service, between.shop, order)), status: 'paid' }
  for (let times = 0; times < 2; times++) {
    assert.equal((await notify(between, between.shop, noticeAbout(record, 'payment.paid'))).status, 200)
  }
  await workedOff(database, order, 2)
  const after = await between.shop.payment(payment.id)
  assert.deepEqual([after.status, after.amountPaid, after.attempts[0].amountReceived], ['pending', 0, 0])
  assert.deepEqual([after.attempts[0].status, after.attempts[0].failure.code], ['failed', 'amount_mismatch'])
  assert.match(after.attempts[0].needsReview, /^amount_mismatch: money came in another currency: .*12,500/)
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.deepEqual(receipts, [{ attempt: 1, amount: AMOUNT, currency: 'USD', counted: false }])
  assert.deepEqual(eventTypes.slice(2), ['attempt.failed', 'attempt.needs_review'])
  assert.ok(alerts.some(({ msg, attemptId }) => msg === 'attempt needs review' && attemptId === attempt.id))
})

const sums = ({ status, amountPaid, amountRefunded }: Json) => [status, amountPaid, amountRefunded]

/** The provider is asked now, as on any schedule. */
async function check(through: typeof parts, { id }: Json) {
  await makeChecksDue(database, id)
  await checkDueAttempts(through, 100)
}

/** The provider answers that these transactions have paid the order. */
async function startAnswering(t: TestContext) {
  const between = await startBetween(t, service)
  const { payment } = await start(between.shop, TRANSFER)
  const answers = async (...transactions: unknown[]) => {
    between.upstream.garble = ({ status, text }) => {
      const { data } = JSON.parse(text)
      return { status, text: JSON.stringify({ data: { ...data, status: 'paid', transactions } }) }
    }
    await check(between.parts, payment)
    return between.shop.payment(payment.id)
  }
  return { payment, answers }
}

test('B12: money in another currency is for a person to see to, before the payment is paid and after it', async (t) => {
  const { payment, answers } = await startAnswering(t)
  const dollars = paidTransaction({ amount: 777, currency: 'USD', kind: 'transfer' })
  const naira = paidTransaction({ amount: AMOUNT, kind: 'transfer' })
  const foreign = await answers(dollars)
  assert.deepEqual([...sums(foreign), ...statuses(foreign)], ['pending', 0, 0, 'failed'])
  const paid = await answers(dollars, naira)
  assert.deepEqual([...sums(paid), ...statuses(paid)], ['successful', AMOUNT, 0, 'successful'])
  assert.match(paid.attempts[0].needsReview, /another currency/)
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.equal(eventTypes.filter((type) => type === 'attempt.needs_review').length, 1, 'told once')
  assert.deepEqual(
    receipts.map(({ amount, currency, counted }) => [amount, currency, counted]),
    [
      [777, 'USD', false],
      [AMOUNT, 'NGN', true],
    ],
  )
  await assertAudited(database, payment)
})

test('B12: money in another currency beside all that was asked for, in one answer: paid at once, and needsReview is set', async (t) => {
  const { payment, answers } = await startAnswering(t)
  const paid = await answers(
    paidTransaction({ amount: 777, currency: 'USD', kind: 'transfer' }),
    paidTransaction({ amount: AMOUNT, kind: 'transfer' }),
  )
  assert.deepEqual([...sums(paid), ...statuses(paid)], ['successful', AMOUNT, 0, 'successful'])
  assert.match(paid.attempts[0].needsReview, /another currency/)
  assert.deepEqual((await recordsOf(database, payment)).eventTypes.slice(2), [
    'attempt.successful',
    'payment.successful',
    'attempt.needs_review',
  ])
})

test('B22: implausible amounts change nothing; the next plausible answer is applied', async (t) => {
  const { payment, answers } = await startAnswering(t)
  const absurd = await answers(
    paidTransaction({ amount: Number.MAX_SAFE_INTEGER, kind: 'transfer' }),
    paidTransaction({ amount: 5, kind: 'transfer' }),
  )
  assert.deepEqual([...sums(absurd), ...statuses(absurd)], ['pending', 0, 0, 'pending'])
  const checks = await database.row(sql`select checks from attempts where payment_id = ${uuidOf(payment.id)}`)
  assert.deepEqual(checks, { checks: 1 }, 'asked and heard; the next question comes on schedule')
  const paid = await answers(paidTransaction({ amount: AMOUNT, kind: 'transfer' }))
  assert.deepEqual(sums(paid), ['successful', AMOUNT, 0])
  assert.equal((await recordsOf(database, payment)).receipts.length, 1)
})
