import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { makeChecksDue } from '../../src/attempts/attempt-store.ts'
import { audit } from '../../src/attempts/audit.ts'
import { recordsAfter } from '../../src/attempts/audit-records-store.ts'
import { sql } from '../../src/database/sql.ts'
import { ANNOUNCED } from '../../src/events/event.ts'
import type { PaymentId } from '../../src/kernel/ids.ts'
import { type Currency, formatMoney, money } from '../../src/kernel/money.ts'
import type { StartFake } from '../../src/providers/fake-provider.ts'
import { startFakeFlutterwave } from '../../src/providers/flutterwave/fake.ts'
import { startFakeMonnify } from '../../src/providers/monnify/fake.ts'
import { startFakePaystack } from '../../src/providers/paystack/fake.ts'
import { startFakeStripe } from '../../src/providers/stripe/fake.ts'
import { letPass } from '../support/books.ts'
import { eventually } from '../support/paying.ts'
import { type At, newEmail, startProviderWorld } from '../support/provider-world.ts'
import { newVisitor, SHOP, type Visitor } from '../support/visitor.ts'

/** What is a provider's own way; all else is the same for each. */
interface Way {
  start: StartFake
  /** It sends a notice of a card that was declined; else we find out by asking. */
  tellsOfDeclines: boolean
  /** It tells one try on its page from the next; else a second decline is no news. */
  numbersTries: boolean
  /** What it does with a transfer that is not of the amount; absent: it has no accounts. */
  otherAmounts?: 'goes back to its sender' | 'is kept'
  /** A saved card may need a PIN or a code. */
  asksForSteps: boolean
}

const WAYS: Way[] = [
  {
    ...{ start: startFakePaystack, tellsOfDeclines: false, numbersTries: true, asksForSteps: true },
    otherAmounts: 'goes back to its sender',
  },
  {
    ...{ start: startFakeFlutterwave, tellsOfDeclines: true, numbersTries: true, asksForSteps: true },
    otherAmounts: 'is kept',
  },
  {
    ...{ start: startFakeMonnify, tellsOfDeclines: false, numbersTries: false, asksForSteps: false },
    otherAmounts: 'is kept',
  },
  { start: startFakeStripe, tellsOfDeclines: true, numbersTries: true, asksForSteps: true },
]

const world = await startProviderWorld()
const { database } = world
const places = await Promise.all(WAYS.map(async (way) => ({ way, place: await world.addProvider(way.start) })))

// Each provider has a shop of its own, so they do not wait for each other. What one of them tells is for one test at a time.
describe('the whole way of a payment', { concurrency: true }, () => {
  for (const { way, place } of places) describe(place.name, { concurrency: 1 }, () => journeys(way, place))
})

function journeys({ tellsOfDeclines, numbersTries, otherAmounts, asksForSteps }: Way, place: At): void {
  const { name, fake, shop, amount, currency, pump, hears, payment } = place
  const shown = formatMoney(money(amount, currency as Currency))
  const statusesOf = async (reference: string) => {
    const { status, attempts } = await payment(reference)
    return [status, ...attempts.map((attempt: { status: string }) => attempt.status)]
  }
  const becomes = (reference: string, status: string) =>
    eventually(
      () => payment(reference),
      (now) => now.status === status,
    )
  const lastBecomes = (reference: string, status: string) =>
    eventually(
      () => payment(reference),
      ({ attempts }) => attempts.at(-1).status === status,
    )

  /** Our page, and from there the provider's. */
  async function openTheirs(url: string, more: Record<string, string | undefined> = {}): Promise<Visitor> {
    const customer = newVisitor()
    await customer.go(url)
    assert.equal(customer.state, 'choose')
    await customer.send({ action: 'pay', method: 'card' }, more)
    assert.equal(customer.state, 'provider')
    await customer.goOn()
    assert.ok(customer.url.startsWith(fake.upstream.url), customer.url)
    return customer
  }

  function assertBackAtShop(customer: Visitor, reference: string): void {
    assert.equal(customer.url, `${SHOP}/thanks?order=7&status=successful&reference=${reference}`)
    const { url, status } = customer.hops.at(-1) ?? assert.fail()
    assert.ok(url.startsWith(`${world.baseUrl}/return/att_`), url)
    assert.equal(status, 302)
  }

  /** A customer pays on their page, and we hear of it by a notice. */
  async function payByCard(changes: Record<string, unknown> = {}, { save = false } = {}): Promise<string> {
    const { reference, url } = await place.checkout(changes)
    await openTheirs(url, { save: save ? '1' : undefined })
    await fake.customer.payByCard(await place.orderOf(reference), { save })
    await pump()
    await becomes(reference, 'successful')
    return reference
  }

  test('a checkout is paid on their page, where cards were declined first, and the shop hears of each', async () => {
    const { id, reference, shortURL } = await place.checkout()
    const customer = await openTheirs(shortURL)
    assert.ok(customer.text.includes(shown), `they ask for ${shown}`)
    const told: string[] = []
    for (const isNews of [true, numbersTries]) {
      await customer.press('decline')
      assert.match(customer.text, /Declined/)
      if (!tellsOfDeclines) await makeChecksDue(database, id as PaymentId)
      await pump()
      if (isNews) told.push('attempt.failed')
      await hears(reference, told)
      assert.equal((await payment(reference)).status, 'pending')
    }
    await customer.press('pay')
    assertBackAtShop(customer, reference)
    await hears(reference, [...told, 'payment.successful'])
    await pump(2)
    assert.deepEqual(await statusesOf(reference), ['successful', 'successful'])
    const { amountPaid, attempts } = await payment(reference)
    assert.deepEqual([amountPaid, attempts[0].provider, attempts[0].failure], [amount, name, null])
  })

  test('whoever gives up there is back on our page with the reason, and pays with another try', async () => {
    const { reference, url } = await place.checkout()
    const customer = await openTheirs(url)
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
    await customer.press('pay')
    assertBackAtShop(customer, reference)
    await pump()
    const told = await hears(reference, ['attempt.failed', 'payment.successful'])
    assert.deepEqual(
      told.map(({ data }) => [data.attempt.number, data.attempt.provider]),
      [
        [1, name],
        [2, name],
      ],
    )
    assert.deepEqual(await statusesOf(reference), ['successful', 'failed', 'successful'])
  })

  test('initialize gives their link, their word for it and the public key; a notice tells of the money', async () => {
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
    assert.deepEqual(await place.cards('ada@example.com'), [])
  })

  test('after a decline that we had to ask for, initialize with the same reference is another try', async () => {
    const reference = `twice-${name}`
    await place.initialize({ reference })
    await fake.customer.failByCard(await place.orderOf(reference))
    fake.takeNotices()
    await makeChecksDue(database, (await payment(reference)).id)
    await lastBecomes(reference, 'failed')
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
    const response = await fetch(`${world.baseUrl}/notices/${name}/sandbox/${shop.merchantId}`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: body.toString(),
    })
    assert.equal(response.status, 401)
    assert.deepEqual(await statusesOf(data.reference), ['pending', 'pending'])
    await makeChecksDue(database, (await payment(data.reference)).id)
    await becomes(data.reference, 'successful')
  })

  if (otherAmounts) accounts(otherAmounts)
  else {
    test('it has no accounts, and says so', async () => {
      const { status, body } = await place.initialize({ provider: `${name}-virtual-bank-account` })
      assert.deepEqual([status, body.code], [422, 'unknown_provider'])
    })
  }

  function accounts(otherwise: NonNullable<Way['otherAmounts']>): void {
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
      await customer.go(`${url}?method=bank`)
      await customer.send({ action: 'pay', method: 'bank' })
      assert.equal(customer.state, 'awaiting')
      const { accountNumber } = (await payment(reference)).attempts[0].instructions
      assert.ok(customer.text.includes(accountNumber))
      await transfer(reference, amount)
      await hears(reference, ['payment.successful'])
      await customer.go(`${url}?back=1`)
      assert.equal(customer.state, 'succeeded')
      assert.ok(customer.text.includes(`${SHOP}/thanks?order=7&amp;status=successful&amp;reference=${reference}`))
    })

    test(`a transfer of too little ${otherwise}, and the payment waits for the right one`, async () => {
      const { data } = (await place.initialize(byTransfer)).body
      const { reference } = await payment(data.reference)
      const isKept = otherwise === 'is kept'
      await transfer(reference, amount - 100_000)
      const first = isKept ? ['payment.underpaid'] : []
      const [told] = await hears(reference, first)
      if (isKept) assert.deepEqual(told?.data.missing, { amount: 100_000, currency })
      await transfer(reference, isKept ? 100_000 : amount)
      await hears(reference, [...first, 'payment.successful'])
      assert.equal((await payment(reference)).amountPaid, amount)
    })

    test(`a transfer of too much ${otherwise}`, async () => {
      const { data } = (await place.initialize(byTransfer)).body
      const { reference, id } = await payment(data.reference)
      await transfer(reference, amount + 5_000)
      if (otherwise === 'is kept') {
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
    const email = newEmail()
    await payByCard({ user: { email } })
    assert.deepEqual(await place.cards(email), [], 'without a yes there is none')
    await payByCard({ user: { email } }, { save: true })
    const [card, ...others] = await place.cards(email)
    assert.deepEqual([card.provider, others.length], [name, 0])

    const { data } = (await place.initialize({ user: { email } })).body
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
    assert.deepEqual(await statusesOf(reference), ['successful', 'successful'])
    assert.equal((await place.cards(email)).length, 1)
  })

  test('a saved card that is declined fails on our page, and another card pays', async () => {
    const email = newEmail()
    await place.plantCard(email, fake.savedCards.declining)
    const [card] = await place.cards(email)
    const { reference, url } = await place.checkout({ user: { email } })
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
    assertBackAtShop(customer, reference)
    await hears(reference, ['attempt.failed', 'payment.successful'])
  })

  if (asksForSteps) {
    test('a saved card whose bank wants a code first leads there and back', async () => {
      const email = newEmail()
      await place.plantCard(email, fake.savedCards.askingForAStep ?? assert.fail())
      const { data } = (await place.initialize({ user: { email } })).body
      const { reference } = await payment(data.reference)
      const customer = newVisitor()
      await customer.go(data.data.link)
      const [card] = await place.cards(email)
      await customer.send({ action: 'pay', card: card.id })
      assert.equal(customer.state, 'provider')
      await customer.goOn()
      assert.ok(customer.url.startsWith(fake.upstream.url), customer.url)
      await customer.press('pay')
      assertBackAtShop(customer, reference)
      await pump()
      await hears(reference, ['payment.successful'])
    })
  }

  test('a refund in two parts goes back through them, and the shop hears of each', async () => {
    const reference = await payByCard()
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

test('an operator has a lost payment asked for by the command line', async () => {
  const { place } = places[0] ?? assert.fail()
  const { data } = (await place.initialize()).body
  await place.fake.customer.payByCard(await place.orderOf(data.reference), { save: false })
  place.fake.takeNotices()
  const { code, output } = await world.manilla('payment', 'resync', data.reference)
  assert.equal(code, 0, output)
  assert.match(output, /status +successful/)
})

test('in the end our books are theirs, every event was told once, and the audit finds nothing', async () => {
  for (const { place } of places) {
    const { taken, givenBack } = place.fake.ledger()
    const ours = await database.rows<{ id: string; amount: number }>(sql`
      select r.transaction_id as id, r.amount from receipts r join attempts a on a.id = r.attempt_id
       where a.provider = ${place.name}`)
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
    assert.deepEqual(
      ours.toSorted(byId),
      taken.map(({ id, amount }) => ({ id, amount: amount.amount })).toSorted(byId),
      place.name,
    )
    const back = await database.row<{ sum: number }>(sql`
      select coalesce(sum(r.amount), 0)::bigint as sum from refunds r join attempts a on a.id = r.attempt_id
       where a.provider = ${place.name} and r.status = 'successful'`)
    assert.equal(
      Number(back?.sum),
      givenBack.reduce((sum, { amount }) => sum + amount.amount, 0),
    )
  }
  const events = await database.rows<{ count: number }>(
    sql`select 1 as count from events where type = any(${[...ANNOUNCED]})`,
  )
  const heard = await eventually(
    async () => world.listener.heard.map(({ headers }) => headers['webhook-id']),
    ({ length }) => length >= events.length,
  )
  assert.deepEqual([new Set(heard).size, heard.length], [events.length, events.length])
  const records = await database.transaction((tx) => recordsAfter(tx, undefined, 500))
  assert.ok(records.length > 30)
  assert.deepEqual(
    records.flatMap((each) => audit(each)),
    [],
  )
})
