import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { findDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { signedHeaders } from '../../src/webhooks/signature.ts'
import { startListener } from '../support/listener.ts'
import { startPaying } from '../support/paying.ts'

const service = await startPaying({ deliver: true })

test('the published test vector of Standard Webhooks holds', () => {
  const headers = signedHeaders(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    at: new Date(1614265330 * 1000),
    body: '{"test": 2432232314}',
  })
  assert.equal(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

test('two failed attempts and a success send two attempt.failed and one payment.successful, signed and in rising sequence', async () => {
  const shop = await service.addShop()
  const listener = await startListener()
  for (const [index, card] of ['4000 0000 0000 9995', '4000 0000 0000 0002', '4084 0840 8408 4081'].entries()) {
    const started = await shop.initialize({ reference: 'thrice', webhook: listener.url })
    await shop.call('POST', `/sandbox/gateway/charges/${started.body.data.data.reference}`, { card })
    await listener.hears(index + 1)
  }
  const secret = await findDefaultSecret(service.database, service.parts.secrets, {
    merchantId: shop.merchantId,
    mode: 'sandbox',
  })
  const judge = new Webhook(secret ?? '')
  const events = listener.heard.map(({ body, headers }) => {
    judge.verify(body, headers as Record<string, string>)
    const event = JSON.parse(body)
    assert.equal(headers['webhook-id'], event.id)
    return event
  })
  assert.deepEqual(
    events.map(({ type }) => type),
    ['attempt.failed', 'attempt.failed', 'payment.successful'],
  )
  const sequences = events.map(({ sequence }) => sequence)
  assert.deepEqual(
    sequences,
    sequences.toSorted((a: number, b: number) => a - b),
  )
  assert.equal(new Set(sequences).size, 3)
  assert.equal(events[2].data.payment.status, 'successful')
  assert.equal(events[0].data.attempt.failure.code, 'insufficient_funds')
  assert.equal(listener.heard.length, 3)
})
