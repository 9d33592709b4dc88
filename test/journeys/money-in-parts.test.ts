import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { startFakeFlutterwave } from '../fakes/flutterwave/fake.ts'
import { startFakeMonnify } from '../fakes/monnify/fake.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { letPass, noticesAbout, recordsOf } from '../support/payment-records.ts'
import { isPaid } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { parts, database } = service
const fake = await startFakeFlutterwave({ after })
fake.odd.refundStatus = 'completed-mpgs'
const shop = await service.addShop()
const monnify = await startFakeMonnify({ after })
await shop.call('PUT', '/payments/v1/integrations/flutterwave', { settings: fake.settings, baseURL: fake.upstream.url })
await shop.call('PUT', '/payments/v1/integrations/monnify', {
  settings: monnify.settings,
  baseURL: monnify.upstream.url,
})
await eventually(
  async () => (await shop.call('GET', '/payments/v1/integrations')).body.data,
  (offered) =>
    ['flutterwave', 'monnify'].every((name) => offered.some(({ provider }: { provider: string }) => provider === name)),
)

/** The default of `initialize`. */
const PRICE = 1_250_000

const start = async (provider: string, reference: string) => {
  const { status, body } = await shop.initialize({ provider, reference })
  assert.equal(status, 200, JSON.stringify(body))
  const payment = await shop.payment(reference)
  const attempt = payment.attempts.at(-1)
  return { payment, attempt, order: uuidOf(attempt.id as AttemptId).replaceAll('-', '') }
}

async function check({ id }: { id: string }): Promise<void> {
  await makeChecksDue(database, id as PaymentId)
  await checkDueAttempts(parts, 10)
}

async function deliverNotices(): Promise<void> {
  for (const { headers, body } of fake.takeNotices()) {
    const url = parts.links.notices({ merchantId: shop.merchantId, mode: 'sandbox' }, 'flutterwave')
    await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })
  }
}

const isWorkedOff = (notices: { state: string }[]) => notices.every(({ state }) => state !== 'waiting')

test('a notice that calls a recorded partial payment "paid" does not change the attempt', async () => {
  const { payment, order } = await start('flutterwave-virtual-bank-account', 'part-1')
  await fake.customer.transfer?.(order, 500_000)
  await check(payment)
  assert.equal((await shop.payment('part-1')).amountPaid, 500_000)
  await deliverNotices()
  const [notice] = await eventually(() => noticesAbout(database, order), isWorkedOff)
  assert.equal(notice?.says, 'paid')
  assert.equal((await shop.payment('part-1')).attempts[0].status, 'pending')
  assert.equal((await shop.initialize({ provider: 'flutterwave', reference: 'part-1' })).status, 200, 'by card, then')
})

test('surplus partial payments are refunded one by one, because some providers refund one transaction at a time', async () => {
  const account = await start('flutterwave-virtual-bank-account', 'part-2')
  for (const amount of [300_000, 400_000]) await fake.customer.transfer?.(account.order, amount)
  await check(account.payment)
  const card = await start('flutterwave', 'part-2')
  await fake.customer.payByCard(card.order, { save: false })
  await check(card.payment)
  assert.equal((await shop.payment('part-2')).status, 'successful')
  await letPass(database, card.payment, 61)
  await sendDueRefunds(parts, 10)
  const { refunds } = await recordsOf(database, card.payment)
  assert.deepEqual(refunds.map(({ amount, status }) => [amount, status]).sort(), [
    [300_000, 'successful'],
    [400_000, 'successful'],
  ])
})

test('two surplus transfers in one answer are refunded one by one', async () => {
  const account = await start('flutterwave-virtual-bank-account', 'part-3')
  const card = await start('flutterwave', 'part-3')
  await fake.customer.payByCard(card.order, { save: false })
  await check(card.payment)
  for (const amount of [300_000, 400_000]) await fake.customer.transfer?.(account.order, amount)
  await check(account.payment)
  await letPass(database, card.payment, 61)
  await sendDueRefunds(parts, 10)
  const { refunds } = await recordsOf(database, card.payment)
  assert.deepEqual(refunds.map(({ amount, status }) => [amount, status]).sort(), [
    [300_000, 'successful'],
    [400_000, 'successful'],
  ])
})

test('a second refund of the same amount is made although the provider does not name the first one’s reference', async () => {
  const card = await start('flutterwave', 'part-4')
  await fake.customer.payByCard(card.order, { save: false })
  await check(card.payment)
  fake.odd.comments = 'forgotten'
  const path = '/payments/v1/payments/part-4/refunds'
  for (const key of ['first-refund', 'second-refund']) {
    const { status, body } = await shop.call('POST', path, { amount: 10_000 }, { 'idempotency-key': key })
    assert.equal(status, 201, JSON.stringify(body))
    assert.equal(body.data.status, 'successful', key)
  }
  fake.odd.comments = 'kept'
  const given = fake.ledger().givenBack.filter(({ reference }) => reference === card.order)
  assert.deepEqual(
    given.map(({ amount }) => amount.amount),
    [10_000, 10_000],
  )
})

test('a flat notice without an event leads to the payment’s success', async () => {
  const card = await start('flutterwave', 'part-5')
  fake.odd.noticesAs = 'flat'
  fake.takeNotices()
  await fake.customer.payByCard(card.order, { save: false })
  await deliverNotices()
  await eventually(() => shop.payment('part-5'), isPaid)
  fake.odd.noticesAs = 'events'
})

test('money that was refunded at the provider before we saw it makes no success', async () => {
  const card = await start('flutterwave', 'part-6')
  await fake.customer.payByCard(card.order, { save: false })
  fake.takeNotices()
  await fake.refundAtProvider(card.order, fake.ledger().taken.at(-1)?.amount.amount ?? 0)
  await check(card.payment)
  const payment = await shop.payment('part-6')
  assert.equal(payment.status, 'pending')
  assert.equal(payment.amountPaid, 0)
  const [attempt] = payment.attempts
  assert.deepEqual([attempt.status, attempt.failure?.code], ['failed', 'reversed'])
})

/** Events, refunds in our books and refund requests at the provider. */
async function outcomeOf(reference: string, payment: { id: string }) {
  const { events, refunds } = await recordsOf(database, payment)
  await sendDueRefunds(parts, 10)
  const { attempts, ...sums } = await shop.payment(reference)
  const asked = monnify.asked.filter(({ path }) => path.endsWith('/initiate-refund')).length
  return { types: events.map(({ type }) => type), refunds, sums, attempt: attempts[0], asked }
}

test('B18: two transfers on record and then one of their sum: nothing is refunded, and a person is asked once', async (t) => {
  const account = await start('monnify-virtual-bank-account', 'sum-1')
  for (const amount of [400_000, PRICE - 400_000]) await monnify.customer.transfer?.(account.order, amount)
  await check(account.payment)
  const paid = await outcomeOf('sum-1', account.payment)
  assert.equal(paid.sums.status, 'successful')
  monnify.switches.hidesTransfers = true
  t.after(() => {
    monnify.switches.hidesTransfers = false
  })
  for (const _ of ['first', 'again']) await check(account.payment)
  const { types, refunds, sums, attempt, asked } = await outcomeOf('sum-1', account.payment)
  assert.deepEqual([sums.status, sums.amountPaid, attempt.amountReceived], ['successful', PRICE, PRICE])
  assert.deepEqual([refunds, asked], [[], 0], 'nothing is sent back')
  assert.match(attempt.needsReview, /^contradiction: /)
  assert.deepEqual(types.slice(paid.types.length), ['attempt.needs_review'])
})

test('a sum that contradicts the partial transfers on record is not new money: nothing is shipped', async (t) => {
  const account = await start('monnify-virtual-bank-account', 'sum-2')
  for (const amount of [300_000, 250_000]) await monnify.customer.transfer?.(account.order, amount)
  await check(account.payment)
  assert.equal((await shop.payment('sum-2')).amountPaid, 550_000)
  const transaction = monnify.transactionOf(account.order)
  transaction.status = 'PAID'
  monnify.switches.hidesTransfers = true
  t.after(() => {
    monnify.switches.hidesTransfers = false
  })
  await check(account.payment)
  const contradicted = await outcomeOf('sum-2', account.payment)
  assert.deepEqual([contradicted.sums.status, contradicted.sums.amountPaid], ['pending', 550_000])
  assert.match(contradicted.attempt.needsReview, /^contradiction: /)
  monnify.switches.hidesTransfers = false
  await monnify.customer.transfer?.(account.order, PRICE - 550_000)
  await check(account.payment)
  const whole = await outcomeOf('sum-2', account.payment)
  assert.deepEqual([whole.sums.status, whole.attempt.needsReview], ['successful', null], 'a clear answer settles it')
})

test('B4: surplus whose ids the provider did not issue waits for a person, who can return it', async () => {
  const account = await start('monnify-virtual-bank-account', 'sum-3')
  await monnify.customer.transfer?.(account.order, PRICE)
  await check(account.payment)
  await monnify.customer.transfer?.(account.order, 20_000)
  await check(account.payment)
  const { types, refunds, sums, attempt, asked } = await outcomeOf('sum-3', account.payment)
  assert.deepEqual([sums.status, attempt.amountReceived], ['successful', PRICE + 20_000])
  assert.deepEqual([refunds, asked], [[], 0])
  assert.match(attempt.needsReview, /^surplus: /)
  assert.deepEqual(types.slice(-2), ['payment.surplus', 'attempt.needs_review'])
})

test('a partial transfer without an id of the provider is not refunded when a card pays the payment', async () => {
  const account = await start('monnify-virtual-bank-account', 'sum-4')
  await monnify.customer.transfer?.(account.order, 300_000)
  await check(account.payment)
  const card = await start('monnify', 'sum-4')
  await monnify.customer.payByCard(card.order, { save: false })
  await check(card.payment)
  const { types, refunds, sums, attempt, asked } = await outcomeOf('sum-4', account.payment)
  assert.deepEqual([sums.status, attempt.status, attempt.amountReceived], ['successful', 'abandoned', 300_000])
  assert.deepEqual([refunds, asked], [[], 0])
  assert.match(attempt.needsReview, /^surplus: /)
  assert.deepEqual(types.slice(-2), ['payment.surplus', 'attempt.needs_review'])
})

test('a notice about a payout is ignored, and not listed as unmatched', async () => {
  const payout = { 'event.type': 'Transfer', transfer: { id: 570, amount: 9000, reference: 'rave-transfer-1' } }
  const url = parts.links.notices({ merchantId: shop.merchantId, mode: 'sandbox' }, 'flutterwave')
  const headers = { 'verif-hash': fake.settings.secretHash ?? '', 'content-type': 'application/json' }
  const { status } = await fetch(url, { method: 'POST', headers, body: JSON.stringify(payout) })
  assert.equal(status, 200)
  const read = () =>
    database.rows<{ state: string; note: string }>(
      sql`select state, note from notices where says = 'other' and reference is null`,
    )
  const notices = await eventually(read, isWorkedOff)
  assert.deepEqual(notices, [{ state: 'ignored', note: 'is about no order' }])
})
