import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeChecksDue } from '../../../src/payments/store/attempts.ts'
import type { Features } from '../../fakes/conformance-rig.ts'
import { letPass } from '../../support/payment-records.ts'
import { assertAllAgree, assertBackAtShop, payByCard, statusesOf, withEach } from '../../support/provider-journey.ts'
import { type At, newUser, startProviderWorld } from '../../support/provider-world.ts'
import { newVisitor, SHOP } from '../../support/visitor.ts'

const world = await startProviderWorld()
const { database } = world
const places = await withEach(world, 'transfers, saved cards and refunds', journeys)

function journeys({ wrongTransferAmounts, asksForSteps }: Features, place: At): void {
  const { name, fake, shop, amount, currency, pump, hears, payment } = place

  if (wrongTransferAmounts) accounts(wrongTransferAmounts)
  else {
    test('it has no accounts, and says so', async () => {
      const { status, body } = await place.initialize({ provider: `${name}-virtual-bank-account` })
      assert.deepEqual([status, body.code], [422, 'unknown_provider'])
    })
  }

  function accounts(wrongAmounts: NonNullable<Features['wrongTransferAmounts']>): void {
    const byTransfer = { provider: `${name}-virtual-bank-account` }
    const transfer = async (reference: string, sum: number) => {
      await fake.customer.transfer?.(await place.orderOf(reference), sum)
      await pump()
    }

    test('initialize gives an account number, and a transfer to it pays', async () => {
      const { status, body } = await place.initialize(byTransfer)
      assert.equal(status, 200, JSON.stringify(body))
      const { accountName, accountNumber, bankName, amountToTransfer, expiresAt } = body.data.data
      assert.match(accountNumber, /^\d{10}$/)
      assert.ok(accountName && bankName && Date.parse(expiresAt) > Date.now())
      assert.equal(amountToTransfer, amount)
      const { reference } = await payment(body.data.reference)
      await transfer(reference, amount)
      await hears(reference, ['payment.successful'])
    })

    test('our page shows the number, and goes on to the shop when the money is there', async () => {
      const { reference, url } = await place.checkout()
      const customer = newVisitor()
      await customer.go(`${url}?method=transfer`)
      await customer.send({ action: 'pay', method: 'transfer' })
      assert.equal(customer.state, 'awaiting')
      const { accountNumber } = (await payment(reference)).attempts[0].instructions
      assert.ok(customer.text.includes(accountNumber))
      await transfer(reference, amount)
      await hears(reference, ['payment.successful'])
      await customer.go(`${url}?back=1`)
      assert.equal(customer.state, 'succeeded')
      assert.ok(customer.text.includes(`${SHOP}/thanks?order=7&amp;status=successful&amp;reference=${reference}`))
    })

    test(`a transfer of too little is ${wrongAmounts}, and the payment waits for the right one`, async () => {
      const { data } = (await place.initialize(byTransfer)).body
      const { reference } = await payment(data.reference)
      const isKept = wrongAmounts === 'kept'
      await transfer(reference, amount - 100_000)
      const first = isKept ? ['payment.underpaid'] : []
      const [told] = await hears(reference, first)
      if (isKept) assert.deepEqual(told?.data.missing, { amount: 100_000, currency })
      await transfer(reference, isKept ? 100_000 : amount)
      await hears(reference, [...first, 'payment.successful'])
      assert.equal((await payment(reference)).amountPaid, amount)
    })

    test(`a transfer of too much is ${wrongAmounts}`, async () => {
      const { data } = (await place.initialize(byTransfer)).body
      const { reference, id } = await payment(data.reference)
      await transfer(reference, amount + 5_000)
      if (wrongAmounts === 'kept') {
        const told = await hears(reference, ['payment.successful', 'payment.overpaid'])
        assert.deepEqual(told[1]?.data.excess, { amount: 5_000, currency })
        assert.equal((await payment(reference)).amountPaid, amount + 5_000)
        return
      }
      await makeChecksDue(database, id)
      await transfer(reference, amount)
      await hears(reference, ['payment.successful'])
      assert.equal((await payment(reference)).amountPaid, amount)
    })
  }

  test('a card is kept with the customer’s yes, and the next payment is one press on our page', async () => {
    const user = newUser()
    await payByCard(place, { user })
    assert.deepEqual(await place.cards(user), [], 'without a yes there is none')
    await payByCard(place, { user }, { save: true })
    const [card, ...others] = await place.cards(user)
    assert.deepEqual([card.provider, others.length], [name, 0])

    const { data } = (await place.initialize({ user })).body
    const { reference, url } = await payment(data.reference)
    assert.equal(data.data.link, url, 'their page takes no saved cards, so ours asks')
    const customer = newVisitor()
    await customer.go(data.data.link)
    assert.equal(customer.state, 'choose')
    assert.match(customer.text, new RegExp(card.last4))
    await customer.send({ action: 'pay', card: card.id })
    assert.equal(customer.state, 'succeeded')
    assert.ok(customer.text.includes(`${SHOP}/thanks?order=7&amp;status=successful&amp;reference=${reference}`))
    await pump()
    await hears(reference, ['payment.successful'])
    assert.deepEqual(await statusesOf(place, reference), ['successful', 'successful'])
    assert.equal((await place.cards(user)).length, 1)
  })

  test('a saved card that is declined fails on our page, and another card pays', async () => {
    const user = newUser()
    await place.plantCard(user, fake.savedCards.declining)
    const [card] = await place.cards(user)
    const { reference, url } = await place.checkout({ user })
    const customer = newVisitor()
    await customer.go(url)
    await customer.send({ action: 'pay', card: card.id })
    assert.equal(customer.state, 'failed')
    await pump()
    await hears(reference, ['attempt.failed'])
    await customer.go(`${url}?method=card`)
    await customer.send({ action: 'pay', method: 'card' }, { card: 'new' })
    await customer.goOn()
    await customer.press('pay')
    assertBackAtShop(world, customer, reference)
    await hears(reference, ['attempt.failed', 'payment.successful'])
  })

  if (asksForSteps) {
    test('a saved card whose bank wants a code first leads there and back', async () => {
      const user = newUser()
      await place.plantCard(user, fake.savedCards.askingForAStep ?? assert.fail())
      const { data } = (await place.initialize({ user })).body
      const { reference } = await payment(data.reference)
      const customer = newVisitor()
      await customer.go(data.data.link)
      const [card] = await place.cards(user)
      await customer.send({ action: 'pay', card: card.id })
      assert.equal(customer.state, 'provider')
      await customer.goOn()
      assert.ok(customer.url.startsWith(fake.upstream.url), customer.url)
      await customer.press('pay')
      assertBackAtShop(world, customer, reference)
      await pump()
      await hears(reference, ['payment.successful'])
    })
  }

  test('two partial refunds go through the provider, and the shop gets an event for each', async () => {
    const reference = await payByCard(place)
    const { id } = await payment(reference)
    const part = Math.floor(amount / 3)
    const refund = async (body: object, sum: number) => {
      const { status, body: answer } = await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, body)
      assert.ok(status < 300, JSON.stringify(answer))
      assert.equal(answer.data.amount, sum)
      await pump()
      await letPass(database, { id }, 3_600) // one that was pending is asked for again
    }
    await refund({ amount: part, reason: 'One of three was missing' }, part)
    await hears(reference, ['payment.successful', 'refund.successful'])
    await refund({}, amount - part)
    await hears(reference, ['payment.successful', 'refund.successful', 'refund.successful'])
    assert.equal((await payment(reference)).amountRefunded, amount)
    const order = await place.orderOf(reference)
    const given = fake.ledger().givenBack.filter((entry) => entry.reference === order)
    assert.deepEqual(
      given.map((entry) => entry.amount.amount),
      [part, amount - part],
    )
  })
}

test('at the end both ledgers agree, every event was delivered once, and the audit finds no difference', () =>
  assertAllAgree(world, places))
