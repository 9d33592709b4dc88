import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { AttemptId } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { settleAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { audit } from '../../src/payments/state/audit.ts'
import { findAttempt } from '../../src/payments/store/attempts.ts'
import { recordsAfter } from '../../src/payments/store/audit-records.ts'
import { draw } from '../../src/providers/gateway/simulator/faults.ts'
import type { SavedCardToken } from '../../src/providers/provider.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { assertAudited, closeInstructions, type Json, letPass, recordsOf } from '../support/payment-records.ts'
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

  await letPass(database, paid, 61)
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
  await letPass(database, payment, 61)
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
  await letPass(database, card.payment, 61)
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
  await letPass(database, paid, 61)
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

const cancel = async (shop: Shop, { id }: Json) =>
  assert.equal((await shop.call('POST', `/payments/v1/payments/${id}/cancel`)).status, 200)

const sums = ({ status, amountPaid, amountRefunded }: Json) => [status, amountPaid, amountRefunded]

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
  await letPass(database, paid, 61)
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
