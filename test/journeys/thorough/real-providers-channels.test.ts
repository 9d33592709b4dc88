import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providerName } from '../../../src/kernel/channel.ts'
import { makeChecksDue } from '../../../src/payments/store/attempts.ts'
import type { ChannelSample, Features } from '../../fakes/conformance-rig.ts'
import { FAKES } from '../../fakes/index.ts'
import { assertAllAgree, becomes, withEach } from '../../support/provider-journey.ts'
import { type At, startProviderWorld } from '../../support/provider-world.ts'

const world = await startProviderWorld()
const { database } = world
const withChannels = FAKES.filter(({ features }) => features.channels)
const places = await withEach(world, 'channels beside cards and transfers', journeys, withChannels)

/** What `data.data` has for the customer. */
const SHOWN: Record<ChannelSample['starts'], string> = {
  link: 'link',
  account: 'accountNumber',
  prompt: 'phoneNumber',
  'pay to': 'payTo',
  'code wanted': 'input',
  dial: 'code',
  qr: 'qr',
}

function journeys({ channels = [] }: Features, place: At): void {
  const { name, fake, shop, pump, hears } = place
  const { approve, expire } = fake.customer

  for (const sample of channels) {
    const { channel, input, price, starts, code, expired } = sample
    const what = [channel, input.network ?? input.bank, price.currency].filter(Boolean).join(' ')
    const wanted = { provider: providerName(name, channel), ...price, ...input }

    async function start(): Promise<string> {
      const { status, body } = await place.initialize(wanted)
      assert.equal(status, 200, JSON.stringify(body))
      assert.ok(body.data.data[SHOWN[starts]], JSON.stringify(body.data))
      assert.ok(!JSON.stringify(body).includes(input.phoneNumber ?? 'no number'), 'a number is masked')
      const { id } = await place.payment(body.data.reference)
      const { reference } = await place.payment(id)
      if (code) {
        const { kind } = body.data.data.input
        const answer = await shop.call('POST', `/payments/v1/payments/${reference}/input`, { [kind]: code.right })
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
      }
      return reference
    }

    test(`${what}: approved, told twice, and paid once`, async () => {
      const reference = await start()
      await approve?.(await place.orderOf(reference))
      await pump(2)
      const { id } = await place.payment(reference)
      await makeChecksDue(database, id) // some tell nothing
      const [paid] = await hears(reference, ['payment.successful'])
      assert.equal(paid?.data.payment.amountPaid, price.amount)
    })

    if (starts !== 'pay to') {
      test(`${what}: approved after its time, and paid`, async () => {
        const reference = await start()
        const order = await place.orderOf(reference)
        await expire?.(order)
        await pump()
        const { id } = await place.payment(reference)
        if (expired) {
          await makeChecksDue(database, id)
          const [failed] = await hears(reference, ['attempt.failed'])
          assert.equal(failed?.data.attempt.failure.code, expired)
        }
        await approve?.(order)
        await pump()
        await makeChecksDue(database, id)
        await becomes(place, reference, 'successful')
      })
    }
  }
}

test('our books equal the ledger of each provider', () => assertAllAgree(world, places))
