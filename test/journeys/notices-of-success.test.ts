import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { eventually } from '../support/paying.ts'
import { newEmail, startProviderWorld } from '../support/provider-world.ts'

const world = await startProviderWorld()
const place = await world.addProvider(startFakePaystack)
const { shop, fake } = place

async function start(email = newEmail()) {
  const { status, body } = await place.initialize({ user: { email } })
  assert.equal(status, 200, JSON.stringify(body))
  const { reference, data } = body.data
  return { payment: await shop.payment(reference), order: data.reference as string }
}

test('a notice of success after a decline that another process recorded blocks other attempts until the provider agrees', async () => {
  const { payment, order } = await start()
  const { database } = world
  // The decline as another process writes it.
  await database.transaction(async (tx) => {
    await tx.rows(
      sql`update payments set version = version + 1 where place = ${shop.place} and id = ${uuidOf(payment.id)}`,
    )
    await tx.rows(sql`
      update attempts set status = 'failed', resolved_at = now(), failure = '{"code": "declined", "message": "No.", "providerCode": null}'
       where place = ${shop.place} and payment_id = ${uuidOf(payment.id)}`)
  })
  await fake.customer.payByCard(order, { save: false })
  // The provider's list is behind its notices.
  const late = { status: 200, text: JSON.stringify({ status: true, message: 'OK', data: null }) }
  fake.upstream.trouble = ({ path }) => (path.endsWith(`/verify/${order}`) ? { ...late, status: 404 } : undefined)
  await place.pump()
  const blocked = await eventually(
    () => shop.payment(payment.id),
    ({ attempts }) => attempts[0].status === 'processing',
  )
  assert.equal(blocked.status, 'pending')
  fake.upstream.trouble = undefined
})

test('a saved card that cannot be read is not offered, and the payment goes on', async () => {
  const user = { id: `user-${Date.now()}`, email: newEmail() }
  const first = (await place.initialize({ user, saveCard: true })).body.data
  await fake.customer.payByCard(first.data.reference, { save: true })
  await place.pump()
  await place.hears((await shop.payment(first.reference)).reference, ['payment.successful'])
  const broken = await world.database.rows(sql`
    update saved_cards set sealed_token = decode('00', 'hex') where place = ${shop.place} and user_id = ${user.id} returning id`)
  assert.equal(broken.length, 1)
  const { status, body } = await place.initialize({ user })
  assert.equal(status, 200, JSON.stringify(body))
})
