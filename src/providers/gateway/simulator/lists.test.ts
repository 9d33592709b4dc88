import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CARD, startSimulator } from '../../../../test/support/simulator.ts'

const shop = await (await startSimulator()).addShop()

test('refunds and disputes of the account are listed by time, page by page, as their payments list them', async () => {
  const { reference } = await shop.open()
  await shop.charge(reference, { card: CARD.pays })
  const { body: byHand } = await shop.control('POST', '/refunds', { reference, amount: 300 })
  await shop.api('POST', '/refunds', { reference: 'refund-1', payment: reference, amount: 200 })
  const { body: disputed } = await shop.control('POST', '/disputes', { reference, amount: 400 })
  const { id } = disputed.data
  await shop.control('POST', `/disputes/${id}/close`, { outcome: 'lost' })
  const { body: settling } = await shop.control('POST', '/refunds', { reference, dispute: id })
  const returns = (await shop.api('GET', `/payments/${reference}/returns`)).body.data
  assert.deepEqual(
    returns.refunds.map((refund: { id: string; dispute?: string }) => [refund.id, refund.dispute]),
    [
      [byHand.data.id, undefined],
      [returns.refunds[1].id, undefined],
      [settling.data.id, id],
    ],
  )

  const listed = async (name: string, from: number, to: number) => {
    const range = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`
    const entries = []
    for (let cursor = ''; ; ) {
      const { status, body } = await shop.api('GET', `/${name}?${range}&limit=2${cursor}`)
      assert.equal(status, 200)
      entries.push(...body.data[name])
      if (body.data.nextCursor === null) return entries
      cursor = `&cursor=${body.data.nextCursor}`
    }
  }
  const minute = 60_000
  const now = Date.now()
  const ofPayment = (entries: object[]) => entries.map((entry) => ({ ...entry, payment: reference }))
  assert.deepEqual(await listed('refunds', now - minute, now + minute), ofPayment(returns.refunds))
  assert.deepEqual(await listed('disputes', now - minute, now + minute), ofPayment(returns.disputes))
  for (const name of ['refunds', 'disputes']) assert.deepEqual(await listed(name, now - 2 * minute, now - minute), [])
})
