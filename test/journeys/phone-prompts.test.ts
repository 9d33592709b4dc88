import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { type PhoneOrder, startWithPhones } from '../support/mobile-provider.ts'
import { assertAudited, type Json, letPass, nextCheck, recordsOf } from '../support/payment-records.ts'
import { becomes, isPaid } from '../support/sandbox-payments.ts'

// A phone asks for three minutes. What the customer does there, the provider tells late, twice or never.

const { phones, service, openShop } = await startWithPhones()
const { database, parts } = service
const shop = await openShop()
const MTN = { provider: 'phone-mobile-money', amount: 12_000, currency: 'GHS', phoneNumber: '0551234987' }
let orders = 0

async function startPrompt(changes: object = {}): Promise<{ payment: Json; order: PhoneOrder; reference: string }> {
  const wanted = { ...MTN, reference: `PROMPT-${++orders}`, ...changes }
  const { status, body } = await shop.initialize(wanted)
  assert.equal(status, 200, JSON.stringify(body))
  return { payment: await shop.payment(wanted.reference), order: phones.order(), reference: wanted.reference }
}

/** Our books say what the provider's ledger says: what it took, less what it gave back. */
async function assertBooksAgree(reference: string, ...theirs: PhoneOrder[]): Promise<Json> {
  const payment = await shop.payment(reference)
  await recordsOf(database, payment)
  await assertAudited(database, payment)
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
  const taken = sum(theirs.flatMap(({ transactions }) => transactions.map(({ amount }) => amount)))
  assert.equal(sum(payment.attempts.map((attempt: Json) => attempt.amountReceived)), taken)
  assert.equal(payment.amountPaid, taken - sum(theirs.map(({ refunded }) => refunded)))
  return payment
}

const statuses = ({ attempts }: Json) => attempts.map(({ status }: Json) => status)

test('a prompt is asked about after 15, 30, 60, 120 and 200 seconds, then as a card, for an hour after its end, and for a day less and less', async () => {
  const { payment } = await startPrompt()
  const times: number[] = []
  for (;;) {
    const at = await nextCheck(parts, payment)
    if (at === null) break
    times.push(at)
    assert.ok(times.length < 60, 'it ends')
  }
  const end = 180 + 3_600
  const minutes = Array.from({ length: 12 }, (_, index) => (index + 4) * 60)
  const fives = Array.from({ length: 9 }, (_, index) => 1_200 + index * 300)
  assert.deepEqual(times.slice(0, 26), [15, 30, 60, 120, 200, ...minutes, ...fives])
  assert.deepEqual(
    times.slice(26).map((at) => Math.round((at - end) / 10) * 10),
    [60, 600, 3_600, 21_600, 86_400],
  )
  const now = await shop.payment(payment.id)
  assert.deepEqual([now.status, ...statuses(now)], ['pending', 'pending'], 'nobody has said that it failed')
})

test('the countdown is over: the attempt waits on, since only the provider can say that it failed', async () => {
  const { payment, order, reference } = await startPrompt()
  await letPass(database, payment, 181)
  await nextCheck(parts, payment)
  assert.deepEqual(statuses(await shop.payment(reference)), ['pending'])
  phones.decline(order, 'prompt_expired')
  await nextCheck(parts, payment)
  const { status, attempts } = await assertBooksAgree(reference, order)
  assert.deepEqual([status, attempts[0].status, attempts[0].failure.code], ['pending', 'failed', 'prompt_expired'])
  assert.equal(attempts[0].failure.retryable, true)
})

test('a prompt that is approved after its time is found by a check, and counts', async () => {
  const { payment, order, reference } = await startPrompt()
  await letPass(database, payment, 30 * 60)
  phones.approve(order)
  await nextCheck(parts, payment)
  const paid = await assertBooksAgree(reference, order)
  assert.deepEqual([paid.status, paid.late, ...statuses(paid)], ['successful', false, 'successful'])
})

test('a prompt that is approved after the provider had called it failed is found within an hour', async () => {
  const { payment, order, reference } = await startPrompt()
  phones.decline(order, 'prompt_expired')
  await phones.notify(service, shop, order)
  await becomes(shop, payment, ({ attempts }) => attempts[0].status === 'failed')
  phones.approve(order)
  assert.equal(await nextCheck(parts, payment), 60)
  const paid = await assertBooksAgree(reference, order)
  assert.deepEqual([paid.status, ...statuses(paid)], ['successful', 'successful'])
})

test('a prompt that is approved after the payment has expired makes it successful, and late', async () => {
  const { payment, order, reference } = await startPrompt({ expiresIn: 900 })
  await letPass(database, payment, 901)

  await expirePayments(parts, 100)
  assert.equal((await shop.payment(reference)).status, 'expired')
  phones.approve(order)
  await nextCheck(parts, payment)
  const paid = await assertBooksAgree(reference, order)
  assert.deepEqual([paid.status, paid.late], ['successful', true])
})

test('a notice that comes twice counts once', async () => {
  const { payment, order, reference } = await startPrompt()
  phones.approve(order)
  const answers = await Promise.all([phones.notify(service, shop, order), phones.notify(service, shop, order)])
  assert.deepEqual(answers, [200, 200])
  await becomes(shop, payment, isPaid)
  await phones.notify(service, shop, order)
  const paid = await assertBooksAgree(reference, order)
  assert.equal(paid.amountPaid, 12_000)
  const { eventTypes } = await recordsOf(database, paid)
  assert.equal(eventTypes.filter((type) => type === 'payment.successful').length, 1)
})

test('a notice that never comes: a check finds the money after 15 seconds', async () => {
  const { payment, order, reference } = await startPrompt()
  phones.approve(order)
  assert.equal(await nextCheck(parts, payment), 15)
  assert.ok(isPaid(await assertBooksAgree(reference, order)))
})

test('two phones ask, and both are approved: the second is surplus, is announced, and goes back', async () => {
  const { payment, order: first, reference } = await startPrompt()
  const { order: second } = await startPrompt({ reference, phoneNumber: '0557654321' })
  assert.notEqual(first.reference, second.reference)
  phones.approve(first)
  phones.approve(second)
  await Promise.all([phones.notify(service, shop, first), phones.notify(service, shop, second)])
  const paid = await becomes(shop, payment, (now) => statuses(now).includes('surplus'))
  assert.deepEqual(statuses(paid).sort(), ['successful', 'surplus'])
  const { eventTypes, refunds } = await recordsOf(database, paid)
  assert.equal(eventTypes.filter((type) => type === 'payment.surplus').length, 1)
  assert.deepEqual(refunds, [{ amount: 12_000, kind: 'surplus', status: 'pending' }])
  await letPass(database, payment, 61)
  await sendDueRefunds(parts, 100)
  await assertBooksAgree(reference, first, second)
})

test('one phone asks while the customer pays by another channel: what it is approved for later is found, and is surplus', async () => {
  const { payment, order: prompt, reference } = await startPrompt()
  const { order: page } = await startPrompt({ reference, provider: 'phone-bank' })
  phones.approve(page)
  await phones.notify(service, shop, page)
  const paid = await becomes(shop, payment, isPaid)
  assert.deepEqual(statuses(paid), ['abandoned', 'successful'])
  phones.approve(prompt)
  assert.equal(await nextCheck(parts, payment), 15, 'nobody tells us')
  assert.deepEqual(statuses(await shop.payment(reference)), ['surplus', 'successful'])
  await letPass(database, payment, 61)
  await sendDueRefunds(parts, 100)
  await assertBooksAgree(reference, prompt, page)
})

for (const code of [
  'insufficient_funds',
  'customer_cancelled',
  'incorrect_pin',
  'subscriber_unknown',
  'limit_exceeded',
] as const) {
  test(`what went wrong on the phone is told to the shop: ${code}`, async () => {
    const { payment, order, reference } = await startPrompt()
    phones.decline(order, code)
    await nextCheck(parts, payment)
    const { status, attempts } = await assertBooksAgree(reference, order)
    assert.deepEqual([status, attempts[0].status, attempts[0].failure.code], ['pending', 'failed', code])
    const again = await startPrompt({ reference })
    assert.notEqual(again.order.reference, order.reference, 'the phone asks again')
  })
}
