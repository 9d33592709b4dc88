import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { eraseCustomer } from '../../src/payments/upkeep/erase-customer.ts'
import { RIGHT_CODE, startWithPhones } from '../support/mobile-provider.ts'
import { assertAudited, type Json, letPass } from '../support/payment-records.ts'
import { becomes, isPaid } from '../support/sandbox-payments.ts'
import { newVisitor, type Visitor } from '../support/visitor.ts'

// A code that the network wants before the phone asks, and starts and codes whose answer was lost.

const { phones, service, openShop } = await startWithPhones()
const { database, parts } = service
const shop = await openShop()
const TELECEL = { phoneNumber: '0201234987', network: 'telecel' }

/** The page of a new payment, on which the customer has chosen Telecel. */
async function chooseTelecel(): Promise<Visitor & { payment: Json }> {
  const wanted = { amount: 12_000, country: 'GH', currency: 'GHS', user: { email: 'ama@example.com' } }
  const { body } = await shop.call('POST', '/payments/v1/checkouts', wanted)
  const visitor = newVisitor()
  await visitor.go(body.data.url)
  await visitor.send({ action: 'pay', method: 'mobile' }, TELECEL)
  return Object.assign(visitor, { payment: body.data })
}

async function check(payment: Json): Promise<Json> {
  await makeChecksDue(database, payment.id)
  await checkDueAttempts(parts, 100)
  return shop.payment(payment.id)
}

const giveCode = (visitor: Visitor, code: string) => visitor.send({ action: 'code' }, { code })
const pageOf = async (visitor: Visitor) => {
  await visitor.go(visitor.url.split('?')[0] as string)
  return visitor.state
}

test('a code without an answer keeps the attempt from others; its time over, the page does not ask for it again', async () => {
  const visitor = await chooseTelecel()
  const { payment } = visitor
  phones.upstream.trouble = 'reset after the work'
  await giveCode(visitor, RIGHT_CODE)
  phones.upstream.trouble = undefined
  assert.equal(visitor.state, 'confirming')
  assert.equal((await check(payment)).attempts[0].status, 'processing', '"pending" may be from before the code')
  await letPass(database, payment, 181)
  assert.equal((await check(payment)).attempts[0].status, 'pending')
  assert.equal(await pageOf(visitor), 'waiting')
  assert.match(visitor.text, /Pay again only if you did not approve/)
  const again = await shop.call('POST', `/payments/v1/payments/${payment.reference}/input`, { voucher: RIGHT_CODE })
  assert.equal(again.body.code, 'input_not_expected')
  phones.approve(phones.order())
  await check(payment)
  await assertAudited(database, await becomes(shop, payment, isPaid))
})

test('five wrong codes end the attempt, and the customer can start again; money for it is booked all the same', async () => {
  const visitor = await chooseTelecel()
  const { payment } = visitor
  for (const code of ['1', '2', '3', '4']) {
    await giveCode(visitor, code)
    assert.deepEqual([visitor.status, visitor.state], [422, 'code'])
  }
  await giveCode(visitor, '5')
  assert.equal(visitor.state, 'failed')
  assert.match(visitor.text, /The code was not right\. Try again with a new one\. You have not been charged\./)
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.deepEqual([attempt.failure.code, attempt.failure.retryable], ['incorrect_otp', true])
  const more = await shop.call('POST', `/payments/v1/payments/${payment.reference}/input`, { voucher: RIGHT_CODE })
  assert.equal(more.body.code, 'input_not_expected')
  assert.equal(phones.order().codes.length, 5)
  const first = phones.order()
  await visitor.go(`${visitor.url.split('?')[0]}?method=mobile`)
  await visitor.send({ action: 'pay', method: 'mobile' }, TELECEL)
  assert.equal(visitor.state, 'code')
  phones.approve(first)
  await check(payment)
  const paid = await becomes(shop, payment, isPaid)
  assert.deepEqual(
    paid.attempts.map(({ status }: Json) => status),
    ['successful', 'abandoned'],
  )
  await assertAudited(database, paid)
})

test('a start without an answer is no request on the phone: the page says that it does not know', async () => {
  phones.upstream.trouble = 'reset after the work'
  const visitor = await chooseTelecel()
  phones.upstream.trouble = undefined
  const { payment } = visitor
  await check(payment)
  assert.equal(await pageOf(visitor), 'waiting')
  assert.match(visitor.text, /we do not know if your phone asks\. If it asks for GH₵120\.00, approve it/)
  assert.match(visitor.text, /role="timer"/)
  assert.doesNotMatch(visitor.text, /We sent a request|Try again/)
  assert.match(visitor.text, /Use another number/)
  const started = await shop.initialize({
    provider: 'phone-mobile-money',
    amount: 12_000,
    currency: 'GHS',
    ...TELECEL,
    reference: payment.reference,
    user: { email: 'ama@example.com' },
  })
  assert.match(started.body.data.data.message, /^If your phone asks you to pay/)
})

test('a code that the customer makes beforehand is listed with its network, and its lack is named', async () => {
  const { body } = await shop.call('GET', '/payments/v1/channels?country=CI&currency=XOF')
  const { fields, networks, codeHelp } = body.data[0]
  assert.deepEqual(fields, ['phoneNumber', 'network', 'preAuthorisationCode'])
  assert.deepEqual(
    networks.map((each: Json) => [each.code, each.preAuthorisationCode]),
    [
      ['orange', true],
      ['wave', false],
    ],
  )
  assert.equal(codeHelp, 'Composez #144*82#')
  const orange = {
    ...{ provider: 'phone-mobile-money', amount: 12_000, currency: 'XOF', country: 'CI' },
    ...{ phoneNumber: '0701020304', network: 'orange' },
  }
  const refused = await shop.initialize(orange)
  assert.equal(refused.status, 400)
  const [mistake] = refused.body.errors
  assert.deepEqual([mistake.pointer, mistake.code], ['/preAuthorisationCode', 'required'])
  assert.match(mistake.message, /required with orange: .* Composez #144\*82#$/)
  assert.equal((await shop.initialize({ ...orange, preAuthorisationCode: '1234' })).status, 200)
})

test('a number that is none of the country is named, also without a network', async () => {
  const { status, body } = await shop.initialize({
    ...{ provider: 'phone-mobile-money', amount: 12_000, currency: 'GHS', country: 'GH', phoneNumber: '0712345678' },
  })
  assert.deepEqual([status, body.code, body.errors[0].pointer], [400, 'invalid_request', '/phoneNumber'])
})

test('the number of a customer who was erased is gone, and its phone may still ask: the start is no failure', async () => {
  phones.upstream.trouble = 'reset after the work'
  const visitor = await chooseTelecel()
  phones.upstream.trouble = undefined
  const { payment } = visitor
  await eraseCustomer(service, 'test', { ...shop, mode: 'sandbox' }, 'ama@example.com')
  const [erased] = (await shop.payment(payment.id)).attempts
  assert.deepEqual(erased.paidFrom, { phoneNumber: null, network: 'telecel', bank: null })
  phones.orders.clear()
  await letPass(database, payment, 61)
  for (let times = 0; times < 2; times++) await check(payment)
  assert.equal((await shop.payment(payment.id)).attempts[0].status, 'processing')
})
