import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import type { Rig } from '../../../test/fakes/conformance-rig.ts'
import { fakePawapay, startFakePawapay } from '../../../test/fakes/pawapay/fake.ts'
import { orderOf } from '../../../test/fakes/rig.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { pawapay } from './adapter.ts'

async function rigFor(t: TestContext) {
  const fake = await startFakePawapay(t)
  const { settings, upstream, notices } = fake
  const http = httpTo(upstream)
  const connection = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  // The service does it before it reads a notice.
  await connection.prepareNotice?.(notices.sign(Buffer.from('{}'), new Date()))
  return { ...fake, connection }
}

conformanceSuite(fakePawapay, rigFor)

test('the order of a deposit is found by its id, with the token of this account', async (t) => {
  const { connection, upstream, depositOf, asked } = await rigFor(t)
  const order = orderOf({ price: fakePawapay.features.channels[0]?.price } as Rig, {
    ...{ channel: 'mobile-money', input: { phoneNumber: '+260763456700', network: 'mtn' } },
  })
  await connection.start(order)
  const deposit = depositOf(order.reference)
  assert.deepEqual(await connection.findReference?.(deposit.id), { kind: 'found', reference: order.reference })
  // Another program of the merchant has made it.
  deposit.asked.clientReferenceId = 'INV-1'
  assert.deepEqual(await connection.findReference?.(deposit.id), { kind: 'found', reference: deposit.id })
  assert.deepEqual(await connection.findReference?.(randomUUID()), { kind: 'missing' })
  const before = asked.length
  assert.deepEqual(await connection.findReference?.('../active-conf'), { kind: 'missing' })
  assert.equal(asked.length, before)
  upstream.trouble = 'answering 500 before the work'
  assert.equal((await connection.findReference?.(deposit.id))?.kind, 'unknown')
})

test('an unsigned callback costs no call, also when nothing was read of the account so far', async (t) => {
  const { upstream, settings } = await startFakePawapay(t)
  let calls = 0
  upstream.trouble = () => {
    calls++
    return { status: 401, text: '{"status":"REJECTED"}' }
  }
  const client = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http: httpTo(upstream) })
  const unsigned = { headers: {}, body: Buffer.from('{}'), receivedAt: new Date() }
  const signed = { ...unsigned, headers: { 'signature-input': 'sig-pp=();alg="x";keyid="invented";created=1' } }
  for (let n = 0; n < 50; n++) {
    await client.prepareNotice?.(unsigned)
    assert.equal(client.readNotice(unsigned).kind, 'forged')
  }
  assert.equal(calls, 0)
  for (let n = 0; n < 50; n++) await client.prepareNotice?.(signed)
  assert.equal(calls, 1, 'its keys are asked for once a minute')
})

test('what is no mobile money is not offered, and no card is charged', async (t) => {
  const { connection, asked } = await rigFor(t)
  const before = asked.length
  const order = orderOf({ price: { amount: 100, currency: 'ZMW', country: 'ZM' } } as Rig, { channel: 'card' })
  assert.equal((await connection.start(order)).kind, 'declined')
  assert.equal((await connection.chargeSavedCard(order, 'token')).kind, 'declined')
  assert.equal(asked.length, before)
})
