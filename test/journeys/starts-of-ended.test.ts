import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, uuidOf } from '../../src/kernel/ids.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { findStateByAttempt } from '../../src/payments/store/payment-states.ts'
import { hold, startBetween } from '../support/between.ts'
import { submitById } from '../support/by-id.ts'
import { startPaying } from '../support/paying.ts'
import { closeInstructions, type Json } from '../support/payment-records.ts'
import { charge, start } from '../support/sandbox-payments.ts'

// A payment that ends while a provider is asked for another link: that link could be paid as well.

const service = await startPaying()
const { database, parts } = service
const key = (value: string) => ({ 'idempotency-key': value })

/** A payment with an older link. `begin` asks for another one, and the payment is paid by the older one meanwhile. */
async function paidMeanwhile<Answer>(
  t: TestContext,
  begin: (between: Awaited<ReturnType<typeof startBetween>>, payment: Json) => Promise<Answer>,
) {
  const between = await startBetween(t, service)
  const { payment, attempt, order } = await start(between.shop)
  await closeInstructions(database, payment.reference)
  const held = hold(between, ({ method }) => method === 'POST')
  const beginning = begin(between, payment)
  await held.reached
  await charge(between.shop, order)
  const found = (await findStateByAttempt(database, attempt.id as AttemptId)) ?? assert.fail()
  await checkAttempt(parts, found.attempt, { source: 'check' })
  held.letGo()
  const answer = await beginning
  between.meanwhile = undefined
  const after = await between.shop.payment(payment.id)
  assert.deepEqual(
    [after.status, ...after.attempts.map(({ status }: Json) => status)],
    ['successful', 'successful', 'abandoned'],
  )
  return { answer, between, payment }
}

test('a payment that is paid by an older link meanwhile: initialize hands out no other one, also when it is repeated', async (t) => {
  const ask = ({ shop }: Awaited<ReturnType<typeof startBetween>>, { reference }: Json) =>
    shop.initialize({ reference }, key('paid'))
  const { answer, between, payment } = await paidMeanwhile(t, ask)
  assert.deepEqual([answer.status, answer.body.code], [409, 'payment_already_completed'])
  const again = await ask(between, payment)
  assert.deepEqual([again.status, again.body.code], [409, 'payment_already_completed'])
})

test('a payment that is paid by an older link meanwhile: the page shows it as paid', async (t) => {
  const { answer } = await paidMeanwhile(t, (between, { id }) =>
    submitById(between.parts, id, { channel: 'card', key: 'second' }),
  )
  assert.deepEqual([answer.payment.status, answer.attempts.at(-1)?.status], ['successful', 'abandoned'])
})

test('a payment that expires while its first link is made: the link is not handed out, and a repeat makes no other payment', async (t) => {
  const between = await startBetween(t, service)
  const { shop, asked } = between
  const held = hold(between, ({ method }) => method === 'POST')
  const asking = shop.initialize({}, key('expired'))
  await held.reached
  await database.rows(sql`update payments set expires_at = now() where merchant_id = ${shop.merchantUuid}`)
  assert.equal(await expirePayments(parts, 100), 1)
  held.letGo()
  const calls = asked.length
  for (const { status, body } of [await asking, await shop.initialize({}, key('expired'))])
    assert.deepEqual([status, body.code], [409, 'payment_expired'])
  assert.equal(asked.length, calls)
})

test('a call that died before its answer was stored: a repeat hands out no link of a payment that has ended since', async () => {
  const shop = await service.addShop()
  for (const status of ['cancelled', 'expired']) {
    const { body } = await shop.initialize({ reference: status }, key(status))
    await database.rows(sql`
      update idempotent_calls set answer = null, running_until = now() - interval '1 second' where key = ${status}`)
    const { id } = await shop.payment(body.data.reference)
    if (status === 'cancelled') await shop.call('POST', `/payments/v1/payments/${id}/cancel`)
    else await database.rows(sql`update payments set expires_at = now() where id = ${uuidOf(id)}`)
    const again = await shop.initialize({ reference: status }, key(status))
    assert.deepEqual([again.status, again.body.code], [409, `payment_${status}`])
  }
})
