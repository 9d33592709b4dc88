import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { FAKES } from '../fakes/index.ts'
import { eventually } from '../support/paying.ts'
import type { Json } from '../support/payment-records.ts'
import { type At, startProviderWorld } from '../support/provider-world.ts'
import { reconcile } from '../support/reconciling.ts'

// What the real providers pay out, from their lists and notices to the settlements of a merchant.
const world = await startProviderWorld()

async function paid(place: At): Promise<{ reference: string; order: string }> {
  const { body } = await place.initialize()
  const { reference } = body.data
  const order = await place.orderOf(reference)
  await place.fake.customer.payByCard(order, { save: false })
  await place.pump()
  await eventually(
    () => place.payment(reference),
    ({ status }) => status === 'successful',
  )
  return { reference, order }
}

const list = async ({ shop }: At, path = 'settlements') =>
  (await shop.call('GET', `/payments/v1/${path}`)).body.data as Json[]

/** The provider pays out, and tells of it. */
async function settled(place: At, fault?: 'short'): Promise<Json> {
  const id = place.fake.settle?.(fault) ?? assert.fail('it settles')
  await place.pump()
  await reconcile(world.parts, place.shop, '10 days')
  const all = await eventually(
    () => list(place),
    (found) => found.some(({ providerId }) => providerId === id),
  )
  return all.find(({ providerId }) => providerId === id) ?? assert.fail()
}

const PART = 30_00

for (const { provider, features, start } of FAKES.filter(({ features }) => features.settlements)) {
  const { name } = provider.capabilities
  test(`${name}: a settlement is matched with its payments, to the unit, and says what each really cost`, async () => {
    const place = await world.addProvider(start)
    const [first, second] = [await paid(place), await paid(place)]
    const part = Math.min(PART, Math.floor(place.amount / 4))
    assert.ok(await place.fake.refundAtProvider(second.order, part))
    await place.pump()
    await eventually(
      () => place.payment(second.reference),
      ({ amountRefunded }) => amountRefunded === part,
    )
    const { id } = await settled(place)
    // A notice is read after it was answered.
    const all = await eventually(
      () => list(place, `settlements/${id}/lines`),
      ({ length }) => length >= 2,
    )
    const lines = all.filter(({ kind }) => kind === 'payment')
    const [settlement] = await list(place)
    const { status, net, difference, currency } = settlement ?? assert.fail()
    const payments = [await place.payment(first.reference), await place.payment(second.reference)]
    const fees = payments.map(({ feeCharged }) => feeCharged)
    for (const fee of fees) assert.ok(fee > 0, 'the real fee is known')
    assert.deepEqual(
      lines.map(({ payment, gross, fee }) => [payment, gross, fee]).toSorted(),
      payments.map(({ reference }, index) => [reference, place.amount, fees[index]]).toSorted(),
    )
    assert.deepEqual([status, difference, currency], ['paid', null, place.currency])
    // Monnify pays refunds from a wallet.
    assert.equal(net, 2 * place.amount - fees[0] - fees[1] - (features.settlements === 'in lists' ? part : 0))
    assert.deepEqual(await list(place, 'settlements/unsettled'), [])
    if (features.settlements === 'in notices') {
      const kept = await world.parts.database.rows<{ bytes: number }>(sql`
        select octet_length(body) as bytes from notices where merchant_id = ${uuidOf(place.shop.merchantId)} and reading ? 'settlement'`)
      assert.deepEqual(kept, [{ bytes: 0 }], 'customers that it names are not kept')
      return
    }
    await paid(place)
    const { providerId } = await settled(place, 'short')
    // The worker may be reading its lines still.
    const isDifferent = (each: Json) => each.providerId === providerId && each.difference !== null
    const differing = await eventually(
      () => list(place),
      (found) => found.some(isDifferent),
    )
    assert.match(differing.find(isDifferent)?.difference, /and (net|effective_amount|net_amount) is /)
  })
}

test('a notice of Monnify may be as long as its settlement, one of another provider may not, and nothing is longer', async () => {
  const { start } = FAKES.find(({ provider }) => provider.capabilities.name === 'monnify') ?? assert.fail()
  const { shop } = await world.addProvider(start)
  const send = async (provider: string, bytes: number) => {
    const url = world.parts.links.notices({ merchantId: shop.merchantId, mode: 'sandbox' }, provider)
    return (await fetch(url, { method: 'POST', body: 'x'.repeat(bytes) })).status
  }
  const [little, long, longer] = [100, 300 * 1024, 5 * 1024 * 1024]
  assert.deepEqual([await send('monnify', little), await send('monnify', long)], [401, 401])
  assert.equal(await send('monnify', longer), 413)
  assert.deepEqual([await send('paystack', little), await send('paystack', long)], [401, 413])
  const many = await Promise.all(Array.from({ length: 30 }, () => send('monnify', 3 * 1024 * 1024)))
  assert.ok(
    many.every((status) => status === 401 || status === 503 || status === 429),
    many.join(),
  )
  assert.equal(await send('monnify', long), 401, 'they are counted while they come in')
})
