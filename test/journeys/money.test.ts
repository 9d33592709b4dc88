import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { processWaitingNotices } from '../../src/payments/settle/receive-notice.ts'
import { settleAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { audit } from '../../src/payments/state/audit.ts'
import { findAttempt, makeChecksDue } from '../../src/payments/store/attempts.ts'
import { recordsAfter } from '../../src/payments/store/audit-records.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { draw } from '../../src/providers/gateway/simulator/faults.ts'
import type { SavedCardToken } from '../../src/providers/provider.ts'
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
  paidTransaction,
  recordAt,
  recordsOf,
  workedOff,
} from '../support/payment-records.ts'
import { refund } from '../support/returns.ts'
import {
  AMOUNT,
  becomes,
  charge,
  isPaid,
  ledger,
  loseNotices,
  payByCard,
  start,
  TRANSFER,
  transfer,
} from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const alerts: { level: number; msg: string; attemptId?: string }[] = []
const log = pino({ level: 'error' }, { write: (line) => void alerts.push(JSON.parse(line)) })
const service = await startPaying({ log })
const { database, parts } = service

const statuses = ({ attempts }: Json) => attempts.map(({ status }: Json) => status)

test('B3: a decline, then a success on the same page: the payment succeeds once, and the sequence orders the events', async () => {
  const shop = await service.addShop()
  const { payment, order } = await start(shop)
  await charge(shop, order, CARD.insufficientFunds)
  const declined = await becomes(shop, payment, ({ attempts }) => attempts[0].status === 'failed')
  assert.equal(declined.status, 'pending', 'a failed attempt leaves the payment open')
  assert.deepEqual(
    [declined.attempts[0].failure.code, declined.attempts[0].failure.retryable],
    ['insufficient_funds', true],
  )

  await charge(shop, order)
  const paid = await becomes(shop, payment, isPaid)
  assert.deepEqual(statuses(paid), ['successful'])
  assert.equal(paid.attempts[0].failure, null)
  assert.equal(paid.amountPaid, AMOUNT)
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes, [
    'attempt.started',
    'attempt.pending',
    'attempt.failed',
    'attempt.successful',
    'payment.successful',
  ])
  assert.deepEqual(receipts, [{ attempt: 1, amount: AMOUNT, currency: 'NGN', counted: true }])
})

test('B4: two attempts of one payment both succeed: the first counts, the second is announced as surplus and sent back', async () => {
  const shop = await service.addShop()
  const first = await start(shop, { reference: 'twice' })
  await closeInstructions(database, 'twice')
  const second = await start(shop, { reference: 'twice' })
  assert.equal(first.payment.id, second.payment.id)
  await charge(shop, first.order)
  await becomes(shop, first.payment, isPaid)
  await charge(shop, second.order)
  const paid = await becomes(shop, first.payment, ({ attempts }) => attempts[1].status === 'surplus')

  assert.deepEqual(statuses(paid), ['successful', 'surplus'])
  assert.deepEqual([paid.status, paid.amountPaid, paid.amountRefunded], ['successful', AMOUNT, 0])
  assert.equal(paid.attempts[1].amountReceived, AMOUNT)
  const before = await recordsOf(database, paid)
  assert.deepEqual(before.eventTypes.slice(4), [
    'attempt.successful',
    'payment.successful',
    'attempt.abandoned',
    'attempt.surplus',
    'payment.surplus',
  ])
  assert.deepEqual(before.events.at(-1)?.data.surplus, { amount: AMOUNT, currency: 'NGN' })
  assert.deepEqual(before.receipts, [
    { attempt: 1, amount: AMOUNT, currency: 'NGN', counted: true },
    { attempt: 2, amount: AMOUNT, currency: 'NGN', counted: false },
  ])
  assert.deepEqual(before.refunds, [{ amount: AMOUNT, kind: 'surplus', status: 'pending' }])

  await sendDueRefunds(parts, 100)
  assert.deepEqual((await recordsOf(database, paid)).refunds, [
    { amount: AMOUNT, kind: 'surplus', status: 'successful' },
  ])
  assert.equal((await ledger(shop, second.order)).refunded, AMOUNT)
  assert.equal((await ledger(shop, first.order)).refunded, 0, 'what was wanted is kept')
  assert.equal((await shop.payment(paid.id)).amountRefunded, 0, 'what went back was never part of the payment')
})

test('B4: both attempts are paid at the same moment, ten times: one success each, the other is surplus', async () => {
  const shop = await service.addShop()
  await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const reference = `race-${index}`
      const first = await start(shop, { reference })
      await closeInstructions(database, reference)
      const second = await start(shop, { reference })
      await Promise.all([charge(shop, first.order), charge(shop, second.order)])
      const paid = await becomes(shop, first.payment, (payment) => statuses(payment).includes('surplus'))
      assert.deepEqual(statuses(paid).sort(), ['successful', 'surplus'])
      assert.equal(paid.amountPaid, AMOUNT)
      const { eventTypes } = await recordsOf(database, paid)
      assert.equal(eventTypes.filter((type) => type === 'payment.surplus').length, 1)
    }),
  )
})

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
  assert.deepEqual(
    [after.attempts[0].status, after.attempts[0].failure.code, after.attempts[0].needsReview],
    ['failed', 'amount_mismatch', 'amount_mismatch: money came in another currency.'],
  )
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.deepEqual(receipts, [{ attempt: 1, amount: AMOUNT, currency: 'USD', counted: false }])
  assert.deepEqual(eventTypes.slice(2), ['attempt.failed', 'attempt.needs_review'])
  assert.ok(alerts.some(({ msg, attemptId }) => msg === 'attempt needs review' && attemptId === attempt.id))
})

test('B17: a card is charged after the payment was cancelled: successful once, and late', async () => {
  const shop = await service.addShop()
  const { payment, order } = await start(shop)
  const cancelled = await shop.call('POST', `/payments/v1/payments/${payment.id}/cancel`)
  assert.deepEqual([cancelled.status, cancelled.body.data.status], [200, 'cancelled'])
  assert.deepEqual(statuses(cancelled.body.data), ['abandoned'])
  await charge(shop, order)
  const paid = await becomes(shop, payment, isPaid)
  assert.deepEqual([paid.late, paid.amountPaid, statuses(paid)], [true, AMOUNT, ['successful']])
  const { eventTypes, events } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), [
    'attempt.abandoned',
    'payment.cancelled',
    'attempt.successful',
    'payment.successful',
  ])
  assert.equal(events.at(-1)?.data.payment.late, true)
})

test('B17: a transfer arrives after the payment expired: successful once, and late; without a notice too', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const { payment, accountNumber } = await start(shop, { ...TRANSFER, expiresIn: 900 })
  await letPass(database, payment, 1_000)
  await expirePayments(parts, 100)
  assert.equal((await shop.payment(payment.id)).status, 'expired')
  await transfer(shop, accountNumber, AMOUNT)
  await letPass(database, payment, 3_600)
  await checkDueAttempts(parts, 100)
  const paid = await shop.payment(payment.id)
  assert.deepEqual([paid.status, paid.late, paid.amountPaid], ['successful', true, AMOUNT])
  const { eventTypes } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), [
    'attempt.abandoned',
    'payment.expired',
    'attempt.successful',
    'payment.successful',
  ])
})

test('B17: a payment that is cancelled, expired and paid concurrently ends successful, in every order', async () => {
  const shop = await service.addShop()
  for (let round = 0; round < 10; round++) {
    const { payment, order } = await start(shop)
    await letPass(database, payment, 86_400)
    await Promise.all([
      shop.call('POST', `/payments/v1/payments/${payment.id}/cancel`),
      charge(shop, order),
      expirePayments(parts, 100),
    ])
    const paid = await becomes(shop, payment, isPaid)
    const { eventTypes } = await recordsOf(database, payment)
    assert.equal(paid.late, eventTypes.includes('payment.cancelled') || eventTypes.includes('payment.expired'))
  }
})

test('B18: a second transfer to the account of a paid payment is surplus: recorded, announced, sent back, never counted', async () => {
  const shop = await service.addShop()
  const { payment, order, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT)
  await becomes(shop, payment, isPaid)
  await transfer(shop, accountNumber, 70_000)
  const after = await becomes(shop, payment, ({ attempts }) => attempts[0].amountReceived > AMOUNT)
  assert.deepEqual([after.status, after.amountPaid, statuses(after)], ['successful', AMOUNT, ['successful']])
  const { events, receipts } = await recordsOf(database, payment)
  assert.equal(events.at(-1)?.type, 'payment.surplus')
  assert.deepEqual(events.at(-1)?.data.surplus, { amount: 70_000, currency: 'NGN' })
  assert.deepEqual(
    receipts.map(({ amount, counted }) => [amount, counted]),
    [
      [AMOUNT, true],
      [70_000, false],
    ],
  )
  await sendDueRefunds(parts, 100)
  assert.equal((await ledger(shop, order)).refunded, 70_000)
  const end = await shop.payment(payment.id)
  assert.deepEqual([end.amountPaid, end.amountRefunded], [AMOUNT, 0])
})

test('B18: a transfer to an abandoned account, after the payment was paid by card, is surplus of that attempt', async () => {
  const shop = await service.addShop()
  const account = await start(shop, { ...TRANSFER, reference: 'two-ways' })
  const card = await start(shop, { reference: 'two-ways' })
  await charge(shop, card.order)
  await becomes(shop, card.payment, isPaid)
  await transfer(shop, account.accountNumber, AMOUNT)
  const after = await becomes(shop, card.payment, ({ attempts }) => attempts[0].amountReceived > 0)
  assert.deepEqual([statuses(after), after.amountPaid], [['surplus', 'successful'], AMOUNT])
  await sendDueRefunds(parts, 100)
  assert.equal((await ledger(shop, account.order)).refunded, AMOUNT)
  assert.equal((await ledger(shop, card.order)).refunded, 0)
})

test('B18: a partial transfer before a full card payment is refunded as surplus', async () => {
  const shop = await service.addShop()
  const account = await start(shop, { ...TRANSFER, reference: 'part-and-card' })
  await transfer(shop, account.accountNumber, 400_000)
  await becomes(shop, account.payment, ({ amountPaid }) => amountPaid === 400_000)
  const card = await start(shop, { reference: 'part-and-card' })
  await charge(shop, card.order)
  const paid = await becomes(shop, card.payment, isPaid)
  assert.deepEqual([paid.amountPaid, statuses(paid)], [AMOUNT, ['abandoned', 'successful']])
  const { events, refunds } = await recordsOf(database, paid)
  assert.deepEqual(events.at(-1)?.data.surplus, { amount: 400_000, currency: 'NGN' })
  assert.deepEqual(refunds, [{ amount: 400_000, kind: 'surplus', status: 'pending' }])
  await sendDueRefunds(parts, 100)
  assert.equal((await ledger(shop, account.order)).refunded, 400_000)
})

test('B18: a transfer to the account of a cancelled payment belongs to that payment and to no other', async () => {
  const shop = await service.addShop()
  const closed = await start(shop, TRANSFER)
  const other = await start(shop, TRANSFER)
  await shop.call('POST', `/payments/v1/payments/${closed.payment.id}/cancel`)
  await transfer(shop, closed.accountNumber, 1_000)
  const after = await becomes(shop, closed.payment, ({ amountPaid }) => amountPaid > 0)
  assert.deepEqual([after.status, after.amountPaid, statuses(after)], ['cancelled', 1_000, ['abandoned']])
  assert.equal((await recordsOf(database, closed.payment)).eventTypes.at(-1), 'payment.underpaid')
  assert.equal((await shop.payment(other.payment.id)).amountPaid, 0)
  assert.deepEqual((await recordsOf(database, other.payment)).receipts, [])
})

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

const cancel = async (shop: Shop, { id }: Json) =>
  assert.equal((await shop.call('POST', `/payments/v1/payments/${id}/cancel`)).status, 200)
const sums = ({ status, amountPaid, amountRefunded }: Json) => [status, amountPaid, amountRefunded]

/** The provider is asked now, as on any schedule. */
async function check(through: typeof parts, { id }: Json) {
  await makeChecksDue(database, id)
  await checkDueAttempts(through, 100)
}

test('B17: returned money of another attempt does not prevent a late success', async () => {
  const shop = await service.addShop()
  const terms = { amount: 1_000_000, reference: 'late-after-refund', customerBearsCharge: true }
  const account = await start(shop, { ...TRANSFER, ...terms })
  const card = await start(shop, terms)
  // One in which the card page takes a little less than was asked, and still more than the account asks for.
  const seed = Array.from({ length: 10_000 }, (_, index) => index).find(
    (each) =>
      100 + Math.floor(draw(each, 'wrongAmount:by', 0) * 4_901) < 140 && draw(each, 'wrongAmount:direction', 0) < 0.5,
  )
  await shop.call('PUT', '/sandbox/gateway/faults', { seed, wrongAmount: 1 })
  await charge(shop, card.order)
  await shop.call('PUT', '/sandbox/gateway/faults', {})
  const short = await becomes(shop, card.payment, ({ attempts }) => attempts[1].status === 'failed')
  const taken = short.attempts[1].amountReceived
  assert.ok(taken > account.attempt.amountCharged && taken < card.attempt.amountCharged, String(taken))
  await cancel(shop, short)
  assert.deepEqual((await refund(shop, short.id)).body.data.amount, taken)

  await transfer(shop, account.accountNumber, account.attempt.amountCharged)
  const paid = await becomes(shop, short, isPaid)
  assert.equal(paid.late, true)
  assert.deepEqual(sums(paid), ['successful', account.attempt.amountCharged, 0])
  assert.deepEqual((await recordsOf(database, paid)).refunds, [
    { amount: taken, kind: 'merchant', status: 'successful' },
  ])
  await assertAudited(database, paid)
})

test('B17: returned money does not complete a payment; only held money counts', async () => {
  const shop = await service.addShop()
  const { payment, accountNumber } = await start(shop, { ...TRANSFER, amount: 1_000_000 })
  await transfer(shop, accountNumber, 400_000)
  await becomes(shop, payment, ({ amountPaid }) => amountPaid === 400_000)
  await cancel(shop, payment)
  assert.equal((await refund(shop, payment.id)).body.data.status, 'successful')

  await transfer(shop, accountNumber, 600_000)
  const held = await becomes(shop, payment, ({ amountPaid }) => amountPaid === 1_000_000)
  assert.deepEqual(sums(held), ['cancelled', 1_000_000, 400_000])
  const { events } = await recordsOf(database, payment)
  assert.deepEqual([events.at(-1)?.type, events.at(-1)?.data.missing.amount], ['payment.underpaid', 400_000])

  await transfer(shop, accountNumber, 400_000)
  const paid = await becomes(shop, payment, isPaid)
  assert.deepEqual(sums(paid), ['successful', 1_400_000, 400_000])
  assert.equal(
    (await recordsOf(database, payment)).eventTypes.includes('payment.overpaid'),
    false,
    'nobody has too much',
  )
  await assertAudited(database, paid)
})

test('B18: a part that went back already is not announced or sent back again when another attempt pays it all', async () => {
  const shop = await service.addShop()
  const first = await start(shop, { ...TRANSFER, amount: 1_000_000, reference: 'went-back' })
  await closeInstructions(database, 'went-back')
  const second = await start(shop, { ...TRANSFER, amount: 1_000_000, reference: 'went-back' })
  await transfer(shop, first.accountNumber, 400_000)
  await becomes(shop, first.payment, ({ amountPaid }) => amountPaid === 400_000)
  await cancel(shop, first.payment)
  assert.equal((await refund(shop, first.payment.id, { amount: 300_000 })).body.data.status, 'successful')
  await transfer(shop, second.accountNumber, 1_000_000)
  const paid = await becomes(shop, first.payment, isPaid)
  assert.deepEqual(sums(paid), ['successful', 1_000_000, 0])
  await sendDueRefunds(parts, 100)
  const { refunds, events } = await recordsOf(database, paid)
  assert.deepEqual(refunds, [
    { amount: 300_000, kind: 'merchant', status: 'successful' },
    { amount: 100_000, kind: 'surplus', status: 'successful' },
  ])
  const surplus = events.filter(({ type }) => type === 'payment.surplus').map(({ data }) => data.surplus.amount)
  assert.deepEqual(surplus, [100_000], 'only what was still there')
  assert.equal((await ledger(shop, first.order)).refunded, 400_000)

  const whole = await refund(shop, paid.id, { amount: 1_000_000 })
  assert.deepEqual([whole.status, whole.body.data?.status], [201, 'successful'], 'all that was paid can still go back')
  assert.equal((await ledger(shop, second.order)).refunded, 1_000_000)
  await assertAudited(database, paid)
})

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

test('two payments that save one card at the same moment are both settled, and the card is kept once', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const card = { token: 'gct_x' as SavedCardToken, brand: 'visa', last4: '4081', expiryMonth: 12, expiryYear: 2_030 }
  for (let round = 0; round < 5; round++) {
    const user = { email: `ada-${round}@example.com` }
    const both = [await start(shop, { user }), await start(shop, { user })]
    await Promise.all(
      both.map(async ({ attempt, order }) => {
        const found = await findAttempt(database, attempt.id as AttemptId)
        assert.ok(found)
        const receipt = {
          transactionId: `gtx_${order}`,
          idIsProviders: true as const,
          amount: money(AMOUNT, 'NGN' as Currency),
          at: new Date(),
        }
        await settleAttempt(parts, found, {
          source: 'check',
          outcome: { kind: 'paid', savedCard: card, receipts: [receipt] },
        })
      }),
    )
    for (const { payment } of both) assert.equal((await shop.payment(payment.id)).status, 'successful')
    const { body } = await shop.call('GET', `/payments/v1/cards?email=${encodeURIComponent(user.email)}`)
    assert.equal(body.data.length, 1)
  }
})

test('an audit during payments reads a consistent snapshot and finds no difference', async () => {
  const shop = await service.addShop()
  const findings: string[] = []
  let rounds = 0
  let isOver = false
  async function auditOn() {
    while (!isOver) {
      for (const records of await database.transaction((tx) => recordsAfter(tx, undefined, 500))) {
        findings.push(...audit(records).map((each) => `${records.state.payment.reference}: ${each}`))
      }
      rounds++
    }
  }
  const auditing = auditOn()
  for (let index = 0; index < 4; index++) {
    const { payment } = await payByCard(shop, { reference: `audited-${index}` })
    assert.equal((await refund(shop, payment.id, { amount: 5 })).status, 201)
  }
  isOver = true
  await auditing
  assert.ok(rounds > 1)
  assert.deepEqual(
    findings.filter((each) => each.startsWith('audited-')),
    [],
  )
})
