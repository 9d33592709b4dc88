import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import { channelsConformance } from '../../../test/fakes/conformance-channels.ts'
import type { Rig } from '../../../test/fakes/conformance-rig.ts'
import { fakeMpesa, PAYBILL, startFakeMpesa } from '../../../test/fakes/mpesa/fake.ts'
import { orderOf } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import type { ProviderHttp } from '../provider.ts'
import { mpesa } from './adapter.ts'

async function rigFor(t: TestContext) {
  const fake = await startFakeMpesa(t)
  const [calls, logins] = [httpTo(fake.upstream), httpTo(fake.upstream)]
  // Logins have a way out of their own, so that the first call after one meets no kept connection: the suite tells
  // those apart.
  const http: ProviderHttp = { request: (call) => (call.url.includes('/oauth/') ? logins : calls).request(call) }
  const connection = mpesa.connect({ mode: 'sandbox', settings: fake.settings, baseURL: fake.upstream.url, http })
  // What the suite loses on the way is then the call itself, not the login before it.
  await connection.verifyKeys()
  return { ...fake, connection }
}

conformanceSuite(fakeMpesa, rigFor)

// M-PESA hears of a payment to the paybill when it is made, so the customers of other suites cannot make it.
channelsConformance(mpesa, { ...fakeMpesa.features, channels: [PAYBILL] }, async (t) => {
  const rig = await rigFor(t)
  const approve = async (reference: string) => void (await rig.payOrder(reference))
  return { ...rig, customer: { ...rig.customer, approve, expire: async () => {} } }
})

test('what is no mobile money is not offered, and no card is charged', async (t) => {
  const { connection, asked } = await rigFor(t)
  const before = asked.length
  const order = orderOf({ price: { amount: 1_000, currency: 'KES', country: 'KE' } } as Rig, { channel: 'card' })
  assert.equal((await connection.start(order)).kind, 'declined')
  assert.equal((await connection.chargeSavedCard(order, 'token')).kind, 'declined')
  assert.equal(asked.length, before)
})
