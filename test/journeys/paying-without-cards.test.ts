import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { providerName } from '../../src/kernel/channel.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { FAKES } from '../fakes/index.ts'
import { eventually, request } from '../support/paying.ts'
import { becomes, statusesOf } from '../support/provider-journey.ts'
import { type At, noticeUrl, startProviderWorld } from '../support/provider-world.ts'

// The real providers that have no cards: their customers pay by the first channel of the samples.

const world = await startProviderWorld()
const { database } = world
const kinds = FAKES.filter(({ provider }) => provider.capabilities.offers.card === undefined)
const places = await Promise.all(kinds.map(({ start }) => world.addProvider(start)))

describe('without cards', { concurrency: true }, () => {
  for (const [index, place] of places.entries()) {
    const sample = kinds[index]?.features.channels?.[0] ?? assert.fail('it has a sample')
    describe(place.name, { concurrency: 1 }, () => journeys(place, sample))
  }
})

function journeys(
  place: At,
  { channel, input, price }: NonNullable<(typeof kinds)[number]['features']['channels']>[0],
) {
  const { fake, shop, name, hears, payment, pump } = place
  const { approve, refuse } = fake.customer
  assert.ok(approve && refuse)
  const wanted = { provider: providerName(name, channel), amount: price.amount, ...input }

  async function start(reference: string) {
    const { status, body } = await place.initialize({ ...wanted, reference })
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.data.channel, channel)
    return place.orderOf(reference)
  }
  const check = async (reference: string) => makeChecksDue(database, (await payment(reference)).id)

  test('what the customer approves is paid, and a notice that comes twice tells it once', async () => {
    const reference = `approved-${name}`
    await approve(await start(reference))
    await pump(2)
    await hears(reference, ['payment.successful'])
    assert.equal((await payment(reference)).amountPaid, price.amount)
  })

  test('after a refusal the same payment is started again and paid', async () => {
    const reference = `refused-${name}`
    await refuse(await start(reference))
    await pump()
    await check(reference)
    await hears(reference, ['attempt.failed'])
    await approve(await start(reference))
    await pump()
    await hears(reference, ['attempt.failed', 'payment.successful'])
    assert.deepEqual(await statusesOf(place, reference), ['successful', 'failed', 'successful'])
  })

  test('money whose notice was lost is found by our own check', async () => {
    const reference = `unnoticed-${name}`
    await approve(await start(reference))
    assert.ok(fake.takeNotices().length > 0, 'there was something to lose')
    await check(reference)
    await becomes(place, reference, 'successful')
  })

  test('a forged notice changes nothing', async () => {
    const reference = `forged-${name}`
    const order = await start(reference)
    await approve(order)
    fake.takeNotices()
    const body = fake.notices.bodyOf('paid', order) ?? assert.fail('it tells of money')
    const { headers, url } = fake.notices.signAsAnother(body, new Date())
    const answer = await request(
      url ?? noticeUrl(world, shop, name),
      'POST',
      headers as Record<string, string>,
      body.toString(),
    )
    assert.equal(answer.status, 401)
    assert.equal((await payment(reference)).status, 'pending')
    await check(reference)
    await becomes(place, reference, 'successful')
  })

  test('a start whose answer was lost is made once, and its notice tells what became of it', async () => {
    const reference = `lost-${name}`
    const before = fake.ordersMade()
    fake.upstream.trouble = 'breaking off after the work'
    const lost = await place.initialize({ ...wanted, reference })
    fake.upstream.trouble = undefined
    assert.deepEqual([lost.status, lost.body.code], [504, 'provider_timeout'])
    const again = await place.initialize({ ...wanted, reference })
    assert.deepEqual([again.status, again.body.code], [409, 'attempt_in_progress'])
    await approve(await place.orderOf(reference))
    await pump()
    await becomes(place, reference, 'successful')
    assert.equal(fake.ordersMade(), before + 1)
  })

  test('a payment is refunded once, and both ledgers agree', async () => {
    const reference = `approved-${name}`
    const { body } = await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, { reason: 'Returned' })
    assert.equal(body.data?.amount, price.amount, JSON.stringify(body))
    await eventually(
      async () => {
        await pump()
        await database.rows(sql`update refunds set due_at = now() where status = 'pending' and leased_until < now()`)
        return payment(reference)
      },
      ({ amountRefunded }) => amountRefunded === price.amount,
    )
    const { taken, givenBack } = fake.ledger()
    const ours = await database.rows<{ id: string }>(sql`
      select transaction_id as id from receipts where provider = ${name}`)
    assert.deepEqual(new Set(ours.map(({ id }) => id)), new Set(taken.map(({ id }) => id)))
    assert.equal(ours.length, taken.length)
    const back = await database.rows<{ id: string }>(sql`
      select provider_refund_id as id from refunds where status = 'successful' and attempt_id in
             (select id from attempts where provider = ${name})`)
    assert.deepEqual(
      back.map(({ id }) => id),
      givenBack.map(({ id }) => id),
    )
  })
}
