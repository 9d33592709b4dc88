import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providerName } from '../../src/kernel/channel.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import type { ChannelSample, Features } from '../fakes/conformance-rig.ts'
import { assertAllAgree, becomes, withEach } from '../support/provider-journey.ts'
import { type At, startProviderWorld } from '../support/provider-world.ts'

const world = await startProviderWorld()
const places = await withEach(world, 'a payment by each channel', journeys)

function journeys({ channels = [] }: Features, place: At): void {
  const { fake, name, pump, hears, payment } = place
  let count = 0

  /** Up to where the customer decides. */
  async function start({ channel, input, price, code }: ChannelSample): Promise<string> {
    const reference = `${name}-${++count}`
    const wish = { provider: providerName(name, channel), reference, ...price, ...input }
    const { status, body } = await place.initialize(wish)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual([body.data.channel, body.data.amount], [channel, price.amount])
    if (code) {
      const kind = body.data.data.input.kind
      const path = `/payments/v1/payments/${reference}/input`
      const given = await place.shop.call('POST', path, { [kind]: code.right })
      assert.equal(given.status, 200, JSON.stringify(given.body))
    }
    return reference
  }

  for (const sample of channels) {
    const { channel, input, price, expired } = sample
    const what = [channel, input.network ?? input.bank, price.currency].filter(Boolean).join(' ')

    test(`${what}: it is approved, and the notice tells the shop`, async () => {
      const reference = await start(sample)
      const order = await place.orderOf(reference)
      await fake.customer.approve?.(order)
      await pump(2)
      await hears(reference, ['payment.successful'])
      const { amountPaid, attempts } = await payment(reference)
      assert.deepEqual([amountPaid, attempts[0].channel], [price.amount, channel])
      assert.deepEqual(await place.cards({ email: 'ada@example.com' }), [], 'no card is saved')
    })

    test(`${what}: an approval after its time, whose notice was lost, is found`, async () => {
      const reference = await start(sample)
      const { id } = await payment(reference)
      const order = await place.orderOf(reference)
      await fake.customer.expire?.(order)
      await makeChecksDue(world.database, id)
      if (expired) await hears(reference, ['attempt.failed'])
      await fake.customer.approve?.(order)
      fake.takeNotices()
      await makeChecksDue(world.database, id)
      await becomes(place, reference, 'successful')
    })
  }
}

test('all of it is in our records, and in those of the providers', () => assertAllAgree(world, places))
