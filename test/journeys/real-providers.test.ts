import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PaymentId } from '../../src/kernel/ids.ts'
import { type Currency, formatMoney, money } from '../../src/kernel/money.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import type { Features } from '../fakes/conformance-rig.ts'
import { eventually } from '../support/paying.ts'
import {
  assertAllAgree,
  assertBackAtShop,
  becomes,
  openTheirs,
  statusesOf,
  withEach,
} from '../support/provider-journey.ts'
import { type At, noticeUrl, startProviderWorld } from '../support/provider-world.ts'

const world = await startProviderWorld()
const { database } = world
const places = await withEach(world, 'a payment by card, from both endpoints', journeys)

function journeys({ notices, numbersTries = false }: Features, place: At): void {
  const { name, fake, shop, amount, currency, pump, hears, payment } = place
  const shown = formatMoney(money(amount, currency as Currency))

  test('a checkout is paid on the provider page after declines, and the shop gets an event for each', async () => {
    const { id, reference, shortURL } = await place.checkout()
    const customer = await openTheirs(place, shortURL)
    assert.ok(customer.text.includes(shown), `they ask for ${shown}`)
    const told: string[] = []
    for (const isNews of [true, numbersTries]) {
      await customer.press('decline')
      assert.match(customer.text, /Declined/)
      if (!notices.includes('failed')) await makeChecksDue(database, id as PaymentId)
      await pump()
      if (isNews) told.push('attempt.failed')
      await hears(reference, told)
      assert.equal((await payment(reference)).status, 'pending')
    }
    await customer.press('pay')
    assertBackAtShop(world, customer, reference)
    await hears(reference, [...told, 'payment.successful'])
    await pump(2)
    assert.deepEqual(await statusesOf(place, reference), ['successful', 'successful'])
    const { amountPaid, attempts } = await payment(reference)
    assert.deepEqual([amountPaid, attempts[0].provider, attempts[0].failure], [amount, name, null])
  })

  test('a customer who cancels after a decline returns to our page with the reason, and pays with another attempt', async () => {
    const { reference, url } = await place.checkout()
    const customer = await openTheirs(place, url)
    await customer.press('decline')
    await pump()
    await customer.press('cancel')
    assert.ok(customer.url.startsWith(`${world.baseUrl}/pay/`), customer.url)
    assert.equal(customer.state, 'failed')
    const { code } = (await payment(reference)).attempts[0].failure
    assert.match(code, /^(card_declined|insufficient_funds)$/)
    assert.ok(customer.text.includes(code))
    await hears(reference, ['attempt.failed'])
    await customer.send({ action: 'pay', method: 'card' })
    assert.equal(customer.state, 'provider')
    await customer.goOn()
    await place.forgetLastQuestion(reference)
    await customer.press('pay')
    assertBackAtShop(world, customer, reference)
    await pump()
    const told = await hears(reference, ['attempt.failed', 'payment.successful'])
    assert.deepEqual(
      told.map(({ data }) => [data.attempt.number, data.attempt.provider]),
      [
        [1, name],
        [2, name],
      ],
    )
    assert.deepEqual(await statusesOf(place, reference), ['successful', 'failed', 'successful'])
  })

  test('initialize returns the provider link, its reference and the public key; a notice reports the money', async () => {
    const { status, body } = await place.initialize()
    assert.equal(status, 200, JSON.stringify(body))
    const { data } = body
    assert.deepEqual([data.provider, data.channel, data.amount], [name, 'card', amount])
    const { message, link, reference: theirs, publicKey } = data.data
    assert.ok(link.startsWith(fake.upstream.url) && message.includes(shown))
    assert.equal(publicKey, fake.settings.publicKey ?? fake.settings.apiKey)
    const { reference, attempts } = await payment(data.reference)
    assert.deepEqual([attempts[0].providerReference, attempts[0].status], [theirs, 'pending'])
    await fake.customer.payByCard(await place.orderOf(reference), { save: false })
    await pump(2)
    const [told] = await hears(reference, ['payment.successful'])
    assert.deepEqual([told?.data.payment.amountPaid, told?.data.payment.status], [amount, 'successful'])
    assert.deepEqual(await place.cards({ email: 'ada@example.com' }), [])
  })

  test('after a decline that we had to ask for, initialize with the same reference is another try', async () => {
    const reference = `twice-${name}`
    await place.initialize({ reference })
    await fake.customer.failByCard(await place.orderOf(reference))
    fake.takeNotices()
    await makeChecksDue(database, (await payment(reference)).id)
    await eventually(
      () => payment(reference),
      ({ attempts }) => attempts.at(-1).status === 'failed',
    )
    await hears(reference, ['attempt.failed'])
    await place.initialize({ reference })
    await fake.customer.payByCard(await place.orderOf(reference), { save: false })
    await pump()
    await hears(reference, ['attempt.failed', 'payment.successful'])
    const again = await place.initialize({ reference })
    assert.deepEqual([again.status, again.body.code], [409, 'payment_already_completed'])
  })

  test('money whose notice was lost is found by our own check', async () => {
    const { data } = (await place.initialize()).body
    const { id, reference } = await payment(data.reference)
    await fake.customer.payByCard(await place.orderOf(reference), { save: false })
    assert.ok(fake.takeNotices().length > 0, 'there was something to lose')
    await makeChecksDue(database, id)
    await hears(reference, ['payment.successful'])
  })

  test('a forged notice changes nothing', async () => {
    const { data } = (await place.initialize()).body
    const order = await place.orderOf(data.reference)
    await fake.customer.payByCard(order, { save: false })
    fake.takeNotices()
    const body = fake.notices.bodyOf('paid', order) ?? assert.fail()
    const { headers } = fake.notices.signAsAnother(body, new Date())
    const response = await fetch(noticeUrl(world, shop, name), {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: body.toString(),
    })
    assert.equal(response.status, 401)
    assert.deepEqual(await statusesOf(place, data.reference), ['pending', 'pending'])
    await makeChecksDue(database, (await payment(data.reference)).id)
    await becomes(place, data.reference, 'successful')
  })
}

test('an operator has a lost payment asked for by the command line, and then a lost refund of it', async () => {
  const place = places[0] ?? assert.fail()
  const { data } = (await place.initialize()).body
  const order = await place.orderOf(data.reference)
  const resync = async () => {
    place.fake.takeNotices()
    const { code, output } = await world.manilla('payment', 'resync', data.reference)
    assert.equal(code, 0, output)
    return output
  }
  await place.fake.customer.payByCard(order, { save: false })
  assert.match(await resync(), /status +successful/)
  await place.fake.refundAtProvider(order, 100_000)
  assert.match(await resync(), /refunded +₦1,000\.00/)
})

test('at the end both ledgers agree, every event was delivered once, and the audit finds no difference', () =>
  assertAllAgree(world, places))
