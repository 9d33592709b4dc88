import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { processWaitingNotices } from '../../src/payments/settle/receive-notice.ts'
import { startFakeFlutterwave } from '../fakes/flutterwave/fake.ts'
import { type Between, startBetween } from '../support/between.ts'
import { startPaying } from '../support/paying.ts'
import { assertAudited, letPass, noticeAbout, notify, recordAt } from '../support/payment-records.ts'
import { charge, isPaid, start } from '../support/sandbox-payments.ts'

// Days without an answer: the attempt has ended long before the provider is back.

const service = await startPaying()
const { database } = service

/** The hours pass, and whatever is due in each of them is asked. */
async function wait({ parts }: Between, payment: { id: string }, hours: number): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    await letPass(database, payment, 3_600)
    await checkDueAttempts(parts, 100)
  }
}

for (const hours of [26, 49]) {
  test(`J5: a payment that was made before ${hours} hours without notices and answers is found after them`, async (t) => {
    const between = await startBetween(t, service)
    const { shop, upstream } = between
    const { payment, order } = await start(shop)
    await charge(shop, order)
    upstream.trouble = 'answering 500 before the work'
    await wait(between, payment, hours)
    assert.equal((await shop.payment(payment.id)).amountPaid, 0)
    upstream.trouble = undefined
    between.aheadMs = 3_600_000
    await wait(between, payment, 24)
    const paid = await shop.payment(payment.id)
    assert.ok(isPaid(paid), `${paid.status}, and its attempt ${paid.attempts[0].status}`)
    await assertAudited(database, payment)
  })
}

test('J4: a signed notice of money in an outage of 30 hours leads to the success when the provider is back', async (t) => {
  const between = await startBetween(t, service)
  const { shop, upstream } = between
  const { payment, order } = await start(shop)
  await charge(shop, order)
  const notice = noticeAbout(await recordAt(service, shop, order), 'payment.paid')
  upstream.trouble = 'answering 500 before the work'
  await notify(between, shop, notice)
  const workOnNotice = async () => {
    await database.rows(sql`update notices set due_at = now() where reference = ${order} and state = 'waiting'`)
    await processWaitingNotices(between.parts, 100)
    return (await database.row<{ state: string }>(sql`select state from notices where reference = ${order}`))?.state
  }
  for (let hours = 0; hours < 30; hours += 6) {
    await wait(between, payment, 6)
    assert.equal(await workOnNotice(), 'waiting', `after ${hours + 6} hours`)
  }
  upstream.trouble = undefined
  between.aheadMs = 3_600_000
  assert.equal(await workOnNotice(), 'done')
  assert.ok(isPaid(await shop.payment(payment.id)))
  await assertAudited(database, payment)
})

test('a payment that was made while the keys were refused for 60 hours is found with new keys', async () => {
  const flutterwave = await startFakeFlutterwave({ after })
  const shop = await service.addShop()
  const path = '/payments/v1/integrations/flutterwave'
  await shop.call('PUT', path, { settings: flutterwave.settings, baseURL: flutterwave.upstream.url })
  const { status, body } = await shop.initialize({ provider: 'flutterwave', reference: 'refused-keys' })
  assert.equal(status, 200, JSON.stringify(body))
  const payment = await shop.payment('refused-keys')
  const row = await database.row<{ order: string }>(sql`
    select order_reference as order from attempts where merchant_id = ${shop.merchantUuid}`)
  await flutterwave.customer.payByCard(row?.order ?? '', { save: false })
  flutterwave.upstream.garble = () => ({
    status: 401,
    text: '{"status":"error","message":"Invalid authorization key","data":null}',
  })
  for (let hour = 0; hour < 60; hour++) {
    await letPass(database, payment, 3_600)
    await checkDueAttempts(service.parts, 100)
  }
  assert.equal((await shop.payment('refused-keys')).amountPaid, 0)
  flutterwave.upstream.garble = undefined
  await shop.call('PUT', path, { settings: { ...flutterwave.settings, secretHash: 'a-new-secret-hash' } })
  await letPass(database, payment, 120)
  await checkDueAttempts(service.parts, 100)
  assert.ok(isPaid(await shop.payment('refused-keys')))
  await assertAudited(database, payment)
})
