import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { startFakeMonnify } from '../fakes/monnify/fake.ts'
import { startPaying } from '../support/paying.ts'
import { assertAudited, recordsOf } from '../support/payment-records.ts'

const service = await startPaying()
const { database } = service

test('J1: two transfers at Monnify and then an answer without their list: nothing goes back, a person is asked', async () => {
  const monnify = await startFakeMonnify({ after })
  const shop = await service.addShop()
  const integration = { settings: monnify.settings, baseURL: monnify.upstream.url }
  await shop.call('PUT', '/payments/v1/integrations/monnify', integration)
  const ask = { provider: 'monnify-virtual-bank-account', reference: 'in-parts', amount: 1_250_000 }
  const { status, body } = await shop.initialize(ask)
  assert.equal(status, 200, JSON.stringify(body))
  const payment = await shop.payment('in-parts')
  const check = async () => {
    await makeChecksDue(database, payment.id)
    await checkDueAttempts(service.parts, 100)
    return shop.payment('in-parts')
  }
  const [order] = monnify.asked.flatMap(({ body: text }) => /"paymentReference":"([^"]+)"/.exec(text)?.[1] ?? [])
  for (const part of [500_000, 750_000]) {
    await monnify.customer.transfer?.(order ?? '', part)
    await check()
  }
  assert.equal((await shop.payment('in-parts')).status, 'successful')
  monnify.switches.hidesTransfers = true
  for (const _ of ['first', 'again']) await check()
  await sendDueRefunds(service.parts, 100)
  const paid = await shop.payment('in-parts')
  assert.deepEqual(
    [paid.status, paid.amountPaid, paid.attempts[0].amountReceived],
    ['successful', 1_250_000, 1_250_000],
  )
  assert.match(paid.attempts[0].needsReview, /^contradiction: /)
  const { refunds, eventTypes } = await recordsOf(database, payment)
  assert.deepEqual([refunds, eventTypes.includes('payment.surplus')], [[], false])
  assert.equal(monnify.ledger().givenBack.length, 0)
  await assertAudited(database, payment)
})
