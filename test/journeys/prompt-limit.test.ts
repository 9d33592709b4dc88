import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS, Limits } from '../../src/http/server/limits.ts'
import { newId } from '../../src/kernel/ids.ts'
import { startWithPhones } from '../support/mobile-provider.ts'
import { newVisitor } from '../support/visitor.ts'

// A stranger with a public link chooses whose phone rings.

const { phones, openShop } = await startWithPhones({ rateLimit: true, livePrivate: true })

test('one phone gets six requests at once from the pages of a merchant, then ten an hour', async () => {
  const shop = await openShop('live')
  const wanted = { amount: 12_000, country: 'GH', currency: 'GHS', user: { email: 'ama@example.com' } }
  async function pay(phoneNumber: string) {
    const { body } = await shop.call('POST', '/payments/v1/checkouts', wanted)
    const visitor = newVisitor()
    await visitor.go(body.data.url)
    await visitor.send({ action: 'pay', method: 'mobile' }, { phoneNumber })
    return visitor
  }
  const { burst } = LIMITS.prompts
  for (let times = 0; times < burst; times++) assert.equal((await pay('0551234987')).state, 'prompt')
  const refused = await pay('+233 55 123 4987')
  assert.deepEqual([refused.status, refused.state, phones.orders.size], [422, 'choose', burst])
  assert.match(refused.text, /id="mobile-phoneNumber-error">This number has had too many requests\. Wait a few minutes/)
  assert.match(refused.text, /value="551234987"/)
})

test('the limit is of one number, one merchant and live mode', () => {
  const limits = new Limits(true)
  const [merchantId, other] = [newId('merchant', new Date()), newId('merchant', new Date())]
  const scope = { merchantId, mode: 'live', place: 1 } as const
  const many = (of: typeof scope | { mode: 'sandbox' }, number: string) =>
    Array.from({ length: 20 }, () => limits.mayPrompt({ ...scope, ...of }, number)).filter(Boolean).length
  assert.equal(many(scope, '+233551234987'), LIMITS.prompts.burst)
  assert.equal(limits.mayPrompt(scope, '+233242222222'), true)
  assert.equal(limits.mayPrompt({ ...scope, merchantId: other }, '+233551234987'), true)
  assert.equal(many({ mode: 'sandbox' }, '+233551234987'), 20)
})
